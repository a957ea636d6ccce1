// Package upgrade takes over what an earlier version of gt left in projects:
// records, notes and checkpoints, which now stand in the person's state.
//
// What lies in a project is a claim. A folder counts as a home only where the
// person's own event log, or a client's own store, says that a session worked in
// it, and a record or checkpoint only where they know its session, in that folder.
// What they say themselves, such as who followed whom, is taken from them. A note
// proves nothing and is only ever told as a note.
package upgrade

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/session"
)

// Known is what the person's own log, and the clients' own stores, say of sessions.
type Known struct {
	getenv   func(string) string
	state    place.State
	sessions map[session.ID]*fact
	homes    map[string]home.Home // by a folder that somebody worked in

	transcripts map[string]bool // the clients' own
	taken       map[session.ID]string
	named       map[string]bool // homes that the person named
}

// fact is what is known of one session.
type fact struct {
	logged catalog.Session // the zero value where only its client knows it
	client string
	dirs   []string // the folders that it worked in, the first one first
	role   string   // the directory of its role in a town
}

// New knows nothing yet. Of the environment it takes only where the person's own
// folders are.
func New(getenv func(string) string) *Known {
	own := func(key string) string {
		switch key {
		case "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME":
			return getenv(key)
		}
		return ""
	}
	return &Known{
		getenv: own, state: place.StateOf(getenv), sessions: map[session.ID]*fact{},
		homes: map[string]home.Home{}, transcripts: map[string]bool{}, taken: map[session.ID]string{},
		named: map[string]bool{},
	}
}

func (k *Known) fact(id session.ID) *fact {
	f := k.sessions[id]
	if f == nil {
		f = &fact{}
		k.sessions[id] = f
	}
	return f
}

func (f *fact) in(dir string) {
	if filepath.IsAbs(dir) && !slices.Contains(f.dirs, filepath.Clean(dir)) {
		f.dirs = append(f.dirs, filepath.Clean(dir))
	}
}

// Log learns what a log that is believed says, with its archive. root is the town
// that it is of, "" for the person's own.
func (k *Known) Log(log eventlog.Log, root string, progress catalog.Progress) error {
	all, err := catalog.Read(log, progress)
	if err != nil {
		return err
	}
	for s := range all.All() {
		if _, err := session.ParseID(string(s.ID)); err != nil {
			continue
		}
		f := k.fact(s.ID)
		if f.logged.ID == "" {
			f.logged = *s
		}
		if root == "" || place.Inside(filepath.Clean(s.CWD), root) {
			f.in(s.CWD)
		}
		if id, err := identity.Parse(s.Actor); err == nil && root != "" && id.Dir() != "" {
			f.role = filepath.Join(root, id.Dir())
		}
	}
	return nil
}

// Stores learns what the clients' own stores say. A cache only saves time.
func (k *Known) Stores(getenv func(string) string, cache string, progress func(done, total int64)) []error {
	all, errs := scan.All(getenv, cache, progress)
	for _, c := range all {
		k.transcripts[c.File.Path] = true
		id := c.Metadata.ID
		if id == "" {
			id = c.File.ID
		}
		if _, err := session.ParseID(string(id)); err != nil || c.Metadata.Parent != "" || c.File.Parent != "" {
			continue
		}
		f := k.fact(id)
		f.client = c.File.Client
		f.in(c.Metadata.CWD)
		if !slices.ContainsFunc(f.dirs, isDir) { // the folder has another name now
			f.in(c.Metadata.Moved)
		}
	}
	return errs
}

// find is the home of who works in a folder.
func (k *Known) find(dir string) home.Home {
	h, ok := k.homes[dir]
	if !ok {
		h = home.Elsewhere(k.getenv, dir)
		k.homes[dir] = h
	}
	return h
}

// homesOf are those that the session is known to have worked from.
func (k *Known) homesOf(f *fact) iter.Seq[home.Home] {
	return func(yield func(home.Home) bool) {
		if f.role != "" && isDir(f.role) && !yield(k.find(f.role)) {
			return
		}
		for _, dir := range f.dirs {
			if isDir(dir) && !yield(k.find(dir)) {
				return
			}
		}
	}
}

// Name notes that the person says that what an earlier version left in a folder is
// theirs: it has another name since, or nobody worked in it but by GT_HOME, or wrote
// no more than notes to it.
func (k *Known) Name(dir string) { k.named[place.Real(k.find(place.Real(dir)).Dir)] = true }

// in reports whether a session is known to have worked from a home. From one that
// the person has named it may have where its record is in none of those that the
// session is known to have worked from.
func (k *Known) in(id session.ID, h home.Home) bool {
	f := k.sessions[id]
	if f == nil {
		return false
	}
	elsewhere := false
	for other := range k.homesOf(f) {
		if place.Real(other.Dir) == place.Real(h.Dir) {
			return true
		}
		elsewhere = elsewhere || recorded(id, other)
	}
	return k.named[place.Real(h.Dir)] && !elsewhere
}

// recorded reports whether an earlier version may have left a session's record in a
// home.
func recorded(id session.ID, h home.Home) bool {
	old, err := place.OpenOld(h.Dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer old.Close()
	return old.Exists(place.OldSessions + "/" + string(id) + ".json")
}

// known is an id where the session is known to have worked from the home, else "".
func (k *Known) known(id session.ID, h home.Home) session.ID {
	if id != "" && k.in(id, h) {
		return id
	}
	return ""
}

// Homes are the homes that sessions are known to have worked from, sorted. With a
// root, only those in it. Where the person has named some, those are all.
func (k *Known) Homes(root string) []home.Home {
	all := map[string]home.Home{}
	for dir := range k.named {
		all[dir] = k.find(dir)
	}
	if len(all) > 0 {
		return sorted(all)
	}
	for _, f := range k.sessions {
		for h := range k.homesOf(f) {
			if root == "" || place.Inside(place.Real(h.Dir), root) {
				all[place.Real(h.Dir)] = h
			}
		}
	}
	return sorted(all)
}

func sorted(all map[string]home.Home) []home.Home {
	var homes []home.Home
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		homes = append(homes, all[dir])
	}
	return homes
}

// Gone are the folders in which sessions worked that none is found of any more, sorted:
// they were removed, or have another name. One whose sessions the state has is none.
func (k *Known) Gone() []string {
	found := map[string]bool{}
	for id, f := range k.sessions {
		at, _, _ := k.state.Fixed(string(id))
		if at == "" && len(f.dirs) > 0 && !slices.ContainsFunc(f.dirs, isDir) {
			found[f.dirs[0]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Towns are the folders that say they are towns, and that the person has not
// trusted, at or above the folders in which sessions worked. Sorted.
func (k *Known) Towns() []string {
	found := map[string]bool{}
	for _, f := range k.sessions {
		for _, dir := range f.dirs {
			if isDir(dir) {
				if t := town.Find(k.getenv, place.Real(dir)); t.Untrusted != "" {
					found[t.Untrusted] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
