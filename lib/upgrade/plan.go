package upgrade

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Kind is the kind of a file.
type Kind string

// The kinds of files in a home or town.
const (
	Record     Kind = "record"
	Note       Kind = "note"
	Checkpoint Kind = "checkpoint"
	Latest     Kind = "session_id"
	Handover   Kind = "handoff"
	Role       Kind = "role"
	Folder     Kind = "folder"
	Exclude    Kind = "exclude" // a line in git's exclude file
	Log        Kind = "log"     // of a town
	Rest       Kind = "rest"    // files that gt needed only while it ran
)

// Fate is what happens to a file.
type Fate string

// The fates of files.
const (
	Taken   Fate = "taken" // it was imported, or will be
	InState Fate = "known" // the state has it already
	Left    Fate = "left"  // it is not imported
)

// Item is a file that was found, and what happens to it.
type Item struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path"`
	Fate Fate   `json:"fate"`
	Why  string `json:"why,omitempty"`  // why it is left
	What string `json:"what,omitempty"` // what is special about it: given, unread, live

	name string // in the old folder
	take func(old *place.Old) error
	ours bool // gt wrote it and it is not needed any more: --clean removes it
}

// Plan is the plan to import the files of one home or town.
type Plan struct {
	Home  home.Home
	Items []Item
	// Failed has the errors that may pass, so that the import can be tried again, or
	// nil. Problems of the files themselves are in the items.
	Failed error

	open func() (*place.Old, error)
	lock bool // the import needs the home's lock
}

// wait bounds the time for git, which can be slow in a huge worktree.
const wait = 10 * time.Second

// Plan examines what an earlier version left in a home. ok is false if there is nothing.
func (k *Known) Plan(h home.Home) (p Plan, ok bool) {
	p = Plan{Home: h, lock: true, open: func() (*place.Old, error) { return place.OpenOld(h.Dir) }}
	old, err := p.open()
	if errors.Is(err, fs.ErrNotExist) {
		return p, false
	}
	if err != nil {
		p.left(Folder, place.OldPath(h.Dir), p.why(place.OldPath(h.Dir), err))
		return p, true
	}
	defer old.Close()
	if err := h.Problem; err != nil {
		p.left(Folder, place.OldPath(h.Dir), reason(err))
		if Passing(err) {
			p.Failed = err
		}
		return p, true
	}
	kept, err := git.Kept(h.Dir, wait, place.Runtime, place.Checkpoint)
	if err != nil {
		p.left(Folder, place.OldPath(h.Dir), reason(err))
		p.Failed = fmt.Errorf("cannot ask git about '%s': %w", place.OldPath(h.Dir), err)
		return p, true
	}
	k.records(&p, old)
	k.notes(&p, old)
	k.checkpoints(&p, old)
	k.rest(&p, old)
	p.distrust(kept)
	return p, true
}

func (p *Plan) left(kind Kind, path, why string) {
	p.Items = append(p.Items, Item{Kind: kind, Path: path, Fate: Left, Why: why})
}

// distrust excludes files that git tracks, because they may have come with the repository.
func (p *Plan) distrust(kept []string) {
	for i := range p.Items {
		item := &p.Items[i]
		for _, name := range kept {
			if strings.EqualFold(name, place.OldName(item.name)) {
				item.Fate, item.Why, item.take, item.ours = Left, "git tracks it, so it may have come with the repository", nil, false
			}
		}
	}
}

// why is reason. It also records in p.Failed an error that may pass.
func (p *Plan) why(path string, err error) string {
	why := reason(err)
	if Passing(err) {
		p.Failed = errors.Join(p.Failed, fmt.Errorf("cannot read '%s': %s", path, why))
	}
	return why
}

// Passing reports whether an error comes from the system and not from the file, so that
// reading may succeed another time.
func Passing(err error) bool {
	if errors.Is(err, git.ErrTimeout) {
		return true
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return false
	}
	switch no {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.ENXIO:
		return false
	}
	return true
}

// reason returns the text of an error without the path, which is shown separately.
func reason(err error) string {
	if why := errors.Unwrap(err); why != nil {
		err = why
	}
	return err.Error()
}

const (
	private = 0o077 // the permissions that others must not have on a private file
	written = 0o022 // the permissions that others must not have on any file

	maxRecord = 1 << 20
)

// generations returns the names of a file and of its previous versions, the newest first.
func generations(name string) []string {
	base := name
	if name == place.Checkpoint { // its previous versions are in the other folder
		base = "./" + name
	}
	return []string{name, base + ".bak", base + ".bak.1", base + ".bak.2"}
}

// newest parses a file, or its newest usable previous version if the file is damaged. A
// missing file has no previous versions.
func newest(old *place.Old, name string, limit int64, parse func([]byte) error) error {
	var first error
	for _, n := range generations(name) {
		data, err := old.Read(n, limit, private)
		if err == nil {
			err = parse(data)
		}
		if err == nil || Passing(err) || first == nil && errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// records plans the import of the records of sessions.
func (k *Known) records(p *Plan, old *place.Old) {
	names, err := old.Names(place.OldSessions, written)
	if err != nil {
		p.left(Record, old.Path(place.OldSessions), p.why(old.Path(place.OldSessions), err))
		return
	}
	store := session.Store{Home: p.Home}
	for _, name := range names {
		base, ok := strings.CutSuffix(name, ".json")
		id, err := session.ParseID(base)
		if !ok || err != nil {
			continue
		}
		item := Item{Kind: Record, name: place.OldSessions + "/" + name, Fate: Left, ours: true}
		item.Path = old.Path(item.name)
		record := new(session.Record)
		err = newest(old, item.name, maxRecord, func(data []byte) error { return record.UnmarshalJSON(data) })
		switch at := k.taken[id]; {
		case err != nil:
			item.Why, item.ours = p.why(item.Path, err), false
		case record.ID != id:
			item.Why, item.ours = "it is the record of another session", false
		case !k.in(id, p.Home):
			item.Why, item.ours = "neither your event log nor any of your agents knows the session here", false
		case at != "" && at != p.Home.Dir:
			item.Why, item.ours = fmt.Sprintf("the session's record was in '%s'", at), false
		default:
			k.taken[id] = p.Home.Dir
			r := k.believed(record, p.Home)
			if r.PID != 0 && r.BootID != "" {
				item.What = "live"
			}
			item.Fate = Taken
			item.take = func(*place.Old) error { return take(store, r) }
			if now, err := store.Get(id); err == nil && now != nil && !merge(now, r) {
				item.Fate, item.take = InState, nil
			}
		}
		p.Items = append(p.Items, item)
	}
}

// take puts a record into the state. The caller must hold the home's lock.
func take(store session.Store, r *session.Record) error {
	now, err := store.Get(r.ID)
	if err != nil {
		return err
	}
	if now != nil {
		if !merge(now, r) {
			return nil
		}
		r = now
	}
	if err := store.Home.Town.State.Fix(string(r.ID), store.Home.Runtime()); err != nil {
		return err
	}
	return store.Put(r, atomicfile.Synced)
}

// merge adds what an older record knows to the record of a session that has continued
// since. It reports whether that changed anything.
func merge(now, before *session.Record) bool {
	changed := false
	if (now.ChainID == now.ID || now.ChainID == "") && now.ParentID == "" && before.ChainID != now.ChainID {
		now.ChainID, now.ParentID, changed = before.ChainID, before.ParentID, true
	}
	if before.StartedAt.Before(now.StartedAt) && !before.StartedAt.IsZero() {
		now.StartedAt, changed = before.StartedAt, true
	}
	for _, f := range []struct {
		now    *string
		before string
	}{
		{(*string)(&now.ChildID), string(before.ChildID)},
		{&now.Note, before.Note}, {&now.Transcript, before.Transcript}, {&now.WorkUnit, before.WorkUnit},
		{&now.MoleculeID, before.MoleculeID}, {&now.StepRef, before.StepRef}, {&now.Branch, before.Branch},
	} {
		if *f.now == "" && f.before != "" {
			*f.now, changed = f.before, true
		}
	}
	if now.Ended() && len(now.Commits) == 0 && len(before.Commits) > 0 {
		now.Commits, changed = before.Commits, true
	}
	return changed
}

// notes plans the import of the notes in the home's own box.
func (k *Known) notes(p *Plan, old *place.Old) {
	box := mail.Of(p.Home, p.Home.Identity.Address())
	boxed(p, old, box, place.OldMail)
}

// boxed plans the import of the notes in an old folder into a box.
func boxed(p *Plan, old *place.Old, box mail.Box, at string) {
	known, err := box.Known()
	if err != nil {
		p.left(Note, old.Path(at), p.why(box.Dir(), err))
		return
	}
	for _, folder := range []string{"new", "cur"} {
		names, err := old.Names(at+"/"+folder, private)
		if err != nil {
			p.left(Note, old.Path(at+"/"+folder), p.why(old.Path(at+"/"+folder), err))
			continue
		}
		for _, name := range names {
			if strings.HasPrefix(name, ".") {
				continue
			}
			a := mail.Arriving{Name: name, Fresh: folder == "new"}
			item := Item{Kind: Note, name: at + "/" + folder + "/" + name, Fate: Taken, ours: true}
			item.Path = old.Path(item.name)
			switch err := old.Check(item.name, mail.MaxMessage, written); {
			case known(a):
				item.Fate = InState
			case err != nil:
				item.Fate, item.Why, item.ours = Left, p.why(item.Path, err), false
			default:
				if a.Given() {
					item.What = "given"
				} else if a.Unread() {
					item.What = "unread"
				}
				item.take = func(old *place.Old) error {
					text, err := old.Read(item.name, mail.MaxMessage, written)
					if err != nil {
						return err
					}
					if now, err := box.Known(); err != nil || now(a) {
						return err
					}
					return box.Take(a, text)
				}
			}
			p.Items = append(p.Items, item)
		}
	}
}

// checkpoints plans the import of the home's checkpoints.
func (k *Known) checkpoints(p *Plan, old *place.Old) {
	names := []string{}
	if old.Exists(place.Checkpoint) {
		names = append(names, place.Checkpoint)
	}
	all, err := old.Names("", written)
	if err != nil {
		p.left(Checkpoint, old.Path(""), p.why(old.Path(""), err))
	}
	for _, name := range all {
		if strings.HasPrefix(name, "checkpoint-") && strings.HasSuffix(name, ".json") {
			names = append(names, name)
		}
	}
	for _, name := range names {
		item := Item{Kind: Checkpoint, name: name, Path: old.Path(name), Fate: Left, ours: true}
		var c *checkpoint.Checkpoint
		err := newest(old, name, checkpoint.MaxSize, func(data []byte) (err error) {
			c, err = checkpoint.Parse(data)
			return err
		})
		switch {
		case err != nil:
			item.Why, item.ours = p.why(item.Path, err), false
		case c.SessionID == "":
			item.Why, item.ours = "it does not name its session", false
		case !k.in(c.SessionID, p.Home):
			item.Why, item.ours = "neither your event log nor any of your agents knows its session here", false
		case !c.Newer(p.Home):
			item.Fate = InState
		default:
			c.TakenBy = k.known(c.TakenBy, p.Home)
			item.Fate = Taken
			item.take = func(*place.Old) error { return c.Bring(p.Home, time.Now()) }
		}
		p.Items = append(p.Items, item)
	}
}

// rest plans the import of all other files.
func (k *Known) rest(p *Plan, old *place.Old) {
	names, err := old.Names("", written)
	if err != nil {
		p.why(old.Path(""), err) // checkpoints has listed it
		return
	}
	for _, name := range names {
		item := Item{Kind: Rest, name: name, Path: old.Path(name), Fate: Left, ours: true}
		switch {
		case name == place.OldLatest:
			k.latest(p, old, item)
			continue
		case name == place.OldRole:
			item.Kind, item.ours = Role, false
			item.Why = "gt does not tell agents what a project says as if it came from you"
		case name == place.OldMarker || strings.HasPrefix(name, place.OldMarker+"."):
			item.Kind, item.Why = Handover, "a waiting hand-over is not taken over; its note is"
		case !place.OldRest(name):
			continue
		}
		p.Items = append(p.Items, item)
	}
	if old.Excludes() {
		p.Items = append(p.Items, Item{Kind: Exclude, Path: place.OldExclude(p.Home.Dir), Fate: Left, ours: true})
	}
}

// latest plans the import of the record of which session worked here last.
func (k *Known) latest(p *Plan, old *place.Old, item Item) {
	item.Kind = Latest
	data, err := old.Read(item.name, maxRecord, private)
	first, second, _ := strings.Cut(string(data), "\n")
	id, perr := session.ParseID(strings.TrimSpace(first))
	store := session.Store{Home: p.Home}
	switch {
	case err != nil || perr != nil:
		item.Why = p.why(item.Path, cmp.Or(err, perr))
	case !k.in(id, p.Home):
		item.Why, item.ours = "neither your event log nor any of your agents knows the session here", false
	case store.Persisted() != "":
		item.Fate = InState
	default:
		at, err := time.Parse(time.RFC3339, strings.TrimSpace(second))
		if err != nil {
			at = time.Unix(0, 0)
		}
		item.Fate = Taken
		item.take = func(*place.Old) error {
			if store.Persisted() != "" {
				return nil
			}
			return store.Persist(id, at)
		}
	}
	p.Items = append(p.Items, item)
}

// Takes reports whether there is anything to import.
func (p Plan) Takes() bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.take != nil })
}

// Apply imports the planned files. If one fails, it imports the others and returns the
// error. The error includes Failed. Apply can be repeated: if it was killed at any point,
// doing it again gives the same result.
func (p Plan) Apply() error {
	failed := p.Failed
	if !p.Takes() {
		return failed
	}
	old, err := p.open()
	if err != nil {
		return errors.Join(failed, err)
	}
	defer old.Close()
	if p.lock {
		lock, err := p.Home.LockWithin(lockWait)
		if err != nil {
			return errors.Join(failed, err)
		}
		defer lock.Unlock()
	}
	for i := range p.Items {
		item := &p.Items[i]
		if item.take == nil {
			continue
		}
		if err := item.take(old); err != nil {
			failed = errors.Join(failed, err)
			item.Fate, item.Why, item.ours = Left, reason(err), false
		}
		item.take = nil
	}
	return failed
}

// lockWait is how long an upgrade waits for sessions that work in the home.
const lockWait = 15 * time.Second

// Cleans returns how many files Clean would remove.
func (p Plan) Cleans() int {
	n := 0
	for _, i := range p.Items {
		if i.ours {
			n++
		}
	}
	return n
}

// Clean removes gt's files that the state has too, and those that are not needed any more.
// It leaves files that were not imported and files that are not gt's.
func (p Plan) Clean() error {
	old, err := p.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer old.Close()
	var failed error
	for _, i := range p.Items {
		switch {
		case !i.ours:
		case i.Kind == Exclude:
			failed = errors.Join(failed, old.Unexclude())
		case i.Kind == Record || i.Kind == Checkpoint:
			for _, name := range slices.Backward(generations(i.name)) {
				failed = errors.Join(failed, old.Remove(name))
			}
		default:
			failed = errors.Join(failed, old.Remove(i.name))
		}
	}
	for _, folder := range []string{"mail/tmp", "mail/new", "mail/cur", "mail", "sessions"} {
		_ = old.Remove(folder) // it fails if there are other files in it
	}
	_ = old.RemoveTop()
	return failed
}

// host returns this machine's name, as in records.
func host() string {
	name, _ := os.Hostname()
	return name
}
