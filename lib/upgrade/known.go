// Package upgrade imports what an earlier version of gt left in projects: records, notes
// and checkpoints, which are now in the person's state.
//
// A file in a project is only a claim. A folder counts as a home only if the person's own
// event log, or a client's own store, says that a session worked in it. A record or
// checkpoint counts only if they know its session in that folder. What they say
// themselves, such as which session followed which, overrides the record. A note proves
// nothing, so it is imported only as a note.
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

// Known is what the person's own log and the clients' own stores say about sessions.
type Known struct {
	getenv   func(string) string
	state    place.State
	sessions map[session.ID]*fact
	homes    map[string]home.Home // by folder

	transcripts map[string]bool // the clients' own
	taken       map[session.ID]string
	named       map[string]bool // homes that the person named
}

// fact is what is known of one session.
type fact struct {
	logged catalog.Session // the zero value if only its client knows it
	client string
	dirs   []string // the folders that it worked in, in the order of time
	role   string   // the directory of its role in a town
}

// New returns an empty Known. From the environment it takes only where the person's own
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

// Log adds what a trusted event log and its archive say. root is the log's town, or ""
// for the person's own log.
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

// Stores adds what the clients' own stores say. clean takes the secrets out of an excerpt,
// for the cache. cache is the path of a cache, or "".
func (k *Known) Stores(getenv func(string) string, clean func(string) string, cache string, progress func(done, total int64)) []error {
	all, errs := scan.All(getenv, clean, cache, progress)
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

// find returns the home of an agent that works in a folder.
func (k *Known) find(dir string) home.Home {
	h, ok := k.homes[dir]
	if !ok {
		h = home.Elsewhere(k.getenv, dir)
		k.homes[dir] = h
	}
	return h
}

// homesOf returns the homes in which the session is known to have worked.
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

// Name adds a folder whose files the person claims as theirs. That is necessary if the
// folder was renamed, was used only through GT_HOME, or received only notes.
func (k *Known) Name(dir string) { k.named[place.Real(k.find(place.Real(dir)).Dir)] = true }

// in reports whether a session is known to have worked in a home. A home that the person
// has named counts too, unless the session's record is in one of its known homes.
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

// recorded reports whether a home may have a session's record of an earlier version.
func recorded(id session.ID, h home.Home) bool {
	old, err := place.OpenOld(h.Dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer old.Close()
	return old.Exists(place.OldSessions + "/" + string(id) + ".json")
}

// known returns id if the session is known to have worked in the home, else "".
func (k *Known) known(id session.ID, h home.Home) session.ID {
	if id != "" && k.in(id, h) {
		return id
	}
	return ""
}

// Homes returns the homes in which sessions are known to have worked, sorted by path.
// With a root, it returns only those inside it. If the person has named homes, it returns
// only those.
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

// Gone returns the folders of sessions all of whose folders are gone, because they were
// removed or renamed, sorted. It omits sessions that are in the state already.
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

// Towns returns the folders at or above those of sessions that claim to be towns but are
// not trusted, sorted.
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
