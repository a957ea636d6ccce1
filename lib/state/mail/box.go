// Package mail keeps the notes that agents leave for each other and for
// themselves. A note is an RFC 5322 message in a Maildir, so any mail reader
// opens a box, and any program that can deliver mail can leave a note.
//
// The box of an agent is <town>/mail/<address>/ with the folders tmp, new and cur. The
// box of an agent without a role is in the place of its home in the state. As in every
// Maildir, the name of a note's file records its status:
//
//	new/1768611600.M123456R3f9a01c2.host        unread
//	cur/1768611600.M123456R3f9a01c2.host:2,F    hooked: it is the agent's work
//	cur/1768611600.M123456R3f9a01c2.host:2,S    seen
//	cur/1768611600.M123456R3f9a01c2.host:2,ST   done
//
// A change of flags is one rename, and a process whose file was renamed by another looks
// for it again. So this package needs no lock, and no change is lost.
package mail

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/sys/atomicfile"
)

// Box holds the notes of one agent.
type Box struct {
	home      home.Home
	folder    place.SharedFolder // in the town or in the home's state
	isPrivate bool               // in the state, where only the person can write
	to        string             // the agent among several of the folder that notes are delivered to
	// isOtherAgent reports whether a note for that agent is not for the reader; nil if all are.
	isOtherAgent func(agent string) bool
	err          error // set if there is no such box
}

// NewBox returns the box of an address. In a town each valid address with a role has one, which is
// created with the first note. Without a role, or outside a town (Personal), an agent has only the
// box of its own home, because two folders of the same name must not share one.
// If there is no box, every method of the result returns an error.
func NewBox(h home.Home, address string) Box {
	own := Box{home: h, folder: place.SharedIn(h.Runtime(), "mail"), isPrivate: true, err: h.Problem}
	id, err := identity.Parse(address)
	switch {
	case h.Town.Personal && address == h.Identity.Address():
		return own
	case err != nil:
		return Box{err: err}
	case !h.Town.Personal && id.Role != "":
		return Box{home: h, folder: h.Town.Mailbox(id.Address())}
	case id == h.Identity:
		return own
	}
	return Box{err: fmt.Errorf("'%s' has no mailbox here: it has no role in the town", address)}
}

// ForAgent returns the box as it is for one of several agents that share it: what Deliver puts
// into it is for that agent, by its name in the variable GT_INSTANCE.
func (b Box) ForAgent(agent string) Box {
	b.to = agent
	return b
}

// ReadBy returns the box as one of several agents that share it sees it: its lists leave out the
// notes for others, but Get still finds them by their IDs. others reports which agents are others.
func (b Box) ReadBy(others func(agent string) bool) Box {
	b.isOtherAgent = others
	return b
}

// IsForOther reports whether a note is for another agent than the reader.
func (b Box) IsForOther(n Note) bool {
	return n.For != "" && b.isOtherAgent != nil && b.isOtherAgent(n.For)
}

func (b Box) Dir() string { return b.folder.Path("") }

func (b Box) file(elem ...string) string { return b.folder.Path(filepath.Join(elem...)) }

// MaxBody bounds a note's text, in bytes.
const MaxBody = 1 << 20

// MaxSubject bounds a note's subject, in bytes, so that it fits a header line.
const MaxSubject = 900

// ErrTooLarge is returned for a text or subject over its maximum.
var ErrTooLarge = errors.New("too large")

// Deliver puts a note into the box, hooked or unread, and returns its ID. An empty Date
// becomes now. The note is on disk when Deliver returns; a process that is killed earlier
// leaves a complete note or none.
func (b Box) Deliver(n Note, hooked bool) (id string, err error) {
	now := time.Now()
	if n.Date.IsZero() {
		n.Date = now
	}
	unique := newUnique(now) + agentSuffix(b.to)
	n.ID = idOf(unique)
	text, err := n.Message(unique)
	if err != nil {
		return "", err
	}
	dir, err := b.prepare()
	if err != nil {
		return "", err
	}
	defer dir.Close()
	dir.sweep(now)
	to := filepath.Join("new", unique)
	if hooked {
		to = filepath.Join("cur", unique+withFlags("F"))
		if err := b.recordWork(n.ID, text); err != nil {
			return "", err
		}
	}
	return n.ID, atomicfile.DeliverIn(dir.Root, dir.file(), filepath.Join("tmp", unique), to, text)
}

// opened is a box whose folder is open, so that replacing the folder meanwhile has no effect.
type opened struct {
	*os.Root
	Box
}

// folders are the folders of a Maildir. cur is made last, so it implies the others.
var folders = []string{"tmp", "new", "cur"}

// prepare opens the box, and makes what it lacks.
func (b Box) prepare() (*opened, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.isPrivate {
		if err := b.home.Prepare(); err != nil {
			return nil, err
		}
	}
	root, err := b.folder.Open()
	if errors.Is(err, fs.ErrNotExist) {
		root, err = b.folder.Make()
	}
	if err != nil {
		return nil, err
	}
	o := &opened{root, b}
	if err = o.check(); err == nil {
		err = o.make()
	}
	if err == nil {
		err = o.check(folders...)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

func (o *opened) make() error {
	for _, folder := range folders {
		if _, err := o.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			continue // check reports what is wrong with it
		}
		if err := atomicfile.MkdirIn(o.Root, folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return atomicfile.Error("create", o.file(folder), err)
		}
	}
	return nil
}

// open opens the box. It returns fs.ErrNotExist if there is none yet.
func (b Box) open() (*opened, error) {
	if b.err != nil {
		return nil, b.err
	}
	root, err := b.folder.Open()
	if err != nil {
		return nil, err
	}
	o := &opened{root, b}
	if err := o.check(folders...); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// check refuses a box that belongs to somebody else or that other users can read. gt
// never makes one like that, but git does if a repository brings one along, and nobody
// here hooked the work in it. Missing folders are fine.
func (o *opened) check(folders ...string) error {
	for _, name := range append([]string{"."}, folders...) {
		info, err := o.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
		case !info.IsDir():
			err = atomicfile.ErrNotFolder
		case atomicfile.CheckFileOwner(info) != nil:
			err = atomicfile.CheckFileOwner(info)
		case info.Mode().Perm()&0o077 != 0:
			err = errors.New("other users can read it; if it is yours, chmod 700 makes it private")
		}
		if err != nil {
			return atomicfile.Error("use", o.file(name), err)
		}
	}
	return nil
}

// abandoned is the age from which Maildir regards a file in tmp as left over.
const abandoned = 36 * time.Hour

// sweep removes what killed deliveries left in tmp. What cannot be removed stays.
func (o *opened) sweep(now time.Time) {
	dir, err := o.Open("tmp" + atomicfile.Folder)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()).Abs() > abandoned {
			_ = o.Remove(filepath.Join("tmp", e.Name()))
		}
	}
}

type entry struct {
	folder  string // "new" or "cur"
	name    string
	unique  string
	flags   string
	arrived time.Time
}

func newEntry(folder, name string) entry {
	unique, flags := splitName(name)
	return entry{folder, name, unique, flags, arrival(unique)}
}

func (e entry) file() string { return filepath.Join(e.folder, e.name) }

func (e entry) hasFlag(flag byte) bool { return strings.IndexByte(e.flags, flag) >= 0 }

// isDelivered reports whether the note was given to the agent as work. In a town, anybody
// who can write there can set the flag, so gt's own record has to confirm it.
func (o *opened) isDelivered(e entry) bool {
	switch {
	case !e.hasFlag('F') || e.hasFlag('T'):
		return false
	case o.isPrivate:
		return true
	}
	return o.home.Town.VouchesFor(idOf(e.unique), func() ([]byte, error) { return o.readContent(e) })
}

// isUnread reports whether a note is neither seen, done nor work, and for the reader.
func (o *opened) isUnread(e entry) bool {
	return !e.hasFlag('S') && !e.hasFlag('T') && !o.isDelivered(e) && !o.isOthers(e)
}

func (o *opened) isOthers(e entry) bool {
	return o.isOtherAgent != nil && o.Box.IsForOther(Note{For: agentOf(e.unique)})
}

// scan lists the files in the folders for which want returns true, or all if want is nil.
// The order is undefined.
func (o *opened) scan(want func(entry) bool, folders ...string) ([]entry, error) {
	var found []entry
	for _, folder := range folders {
		dir, err := o.Open(folder + atomicfile.Folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, atomicfile.Error("read", o.file(folder), err)
		}
		names, err := dir.Readdirnames(-1)
		dir.Close()
		if err != nil {
			return nil, atomicfile.Error("read", o.file(folder), err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, ".") {
				continue
			}
			if e := newEntry(folder, name); want == nil || want(e) {
				found = append(found, e)
			}
		}
	}
	return found, nil
}

// listNotes lists the box, the newest note first. It reads new before cur, so that it does not miss
// a note on its way from one to the other. A note that it sees twice is listed in cur.
func (o *opened) listNotes() ([]entry, error) {
	found, err := o.scan(nil, "new", "cur")
	if err != nil {
		return nil, err
	}
	sort.Slice(found, func(i, j int) bool {
		a, c := &found[i], &found[j]
		return cmp.Or(
			c.arrived.Compare(a.arrived),
			strings.Compare(c.unique, a.unique),
			strings.Compare(a.folder, c.folder), // cur, then new
		) < 0
	})
	return slices.CompactFunc(found, func(a, c entry) bool { return a.unique == c.unique }), nil
}

// List returns all notes, newest first, without bodies. A file that is not a message has a Problem.
func (b Box) List() ([]Note, error) {
	return b.notes(func(o *opened, e entry) bool { return !o.isOthers(e) })
}

// maxOpened bounds the notes that a hook opens, because a town can contain any number.
const maxOpened = 100

// Unread returns the newest notes that are neither seen nor hooked, newest first, without
// bodies. more counts the others.
func (b Box) Unread() (notes []Note, more int, err error) {
	notes, err = b.notes(func(o *opened, e entry) bool {
		if !o.isUnread(e) {
			return false
		}
		more++ // counts all unread notes until the end
		return more <= maxOpened
	})
	return notes, max(more-maxOpened, 0), err
}

// CountUnread counts the notes that are neither seen nor hooked, without opening them.
func (b Box) CountUnread() (n int, err error) {
	err = b.withOpen(func(o *opened) error {
		found, err := o.listNotes()
		for _, e := range found {
			if o.isUnread(e) {
				n++
			}
		}
		return err
	})
	return n, err
}

// CountArrived counts the unread notes that came after a time, by their names. Notes of other
// programs whose names have no time do not count.
func (b Box) CountArrived(after time.Time) (n int, err error) {
	err = b.withOpen(func(o *opened) error {
		found, err := o.scan(o.isUnread, "new")
		for _, e := range found {
			if e.arrived.After(after) {
				n++
			}
		}
		return err
	})
	return n, err
}

// notes returns the notes that want selects, newest first and without bodies.
func (b Box) notes(want func(*opened, entry) bool) (notes []Note, err error) {
	err = b.withOpen(func(o *opened) error {
		found, err := o.listNotes()
		if err == nil {
			notes = o.readHeaders(slices.DeleteFunc(found, func(e entry) bool { return !want(o, e) }))
		}
		return err
	})
	return notes, err
}

// withOpen calls do with the box, unless the box does not exist.
func (b Box) withOpen(do func(*opened) error) error {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer o.Close()
	return do(o)
}

func (o *opened) readHeaders(found []entry) []Note {
	var notes []Note
	for _, e := range found {
		n, err := o.readNote(e, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process renamed or removed it
		}
		notes = append(notes, n)
	}
	return notes
}

// Hooked returns the agent's work, oldest first, without bodies. If there are very many notes, it
// returns the oldest and the newest: the newest include what a session left for itself.
func (b Box) Hooked() (notes []Note, err error) {
	err = b.withOpen(func(o *opened) error {
		found, err := o.scan(func(e entry) bool { return o.isDelivered(e) && !o.isOthers(e) }, "cur")
		sort.Slice(found, func(i, j int) bool {
			a, c := &found[i], &found[j]
			return cmp.Or(a.arrived.Compare(c.arrived), strings.Compare(a.unique, c.unique)) < 0
		})
		if len(found) > 2*maxOpened {
			found = slices.Delete(found, maxOpened, len(found)-maxOpened)
		}
		notes = o.readHeaders(found)
		return err
	})
	return notes, err
}

// ReadBody returns a listed note with its body, without listing the box again.
func (b Box) ReadBody(n Note) (Note, error) {
	o, err := b.lookUp(n.ID)
	if err != nil {
		return Note{}, err
	}
	defer o.Close()
	e := newEntry(filepath.Base(filepath.Dir(n.Path)), filepath.Base(n.Path))
	whole, err := o.readNote(e, true)
	if errors.Is(err, fs.ErrNotExist) {
		return b.Get(n.ID) // its flags changed meanwhile
	}
	return whole, err
}

// ErrNotFound is returned if no note in the box has the ID.
var ErrNotFound = errors.New("no such note")

// Ambiguous is the error for the beginning of several IDs.
type Ambiguous struct {
	ID    string
	Notes []Note // without their bodies
}

func (a *Ambiguous) Error() string {
	return fmt.Sprintf("'%s' means %d notes", a.ID, len(a.Notes))
}

// Get returns a note with its body, by its ID or a unique beginning of it.
func (b Box) Get(id string) (Note, error) {
	o, err := b.lookUp(id)
	if err != nil {
		return Note{}, err
	}
	defer o.Close()
	for {
		e, err := o.findEntry(id)
		if err != nil {
			return Note{}, err
		}
		n, err := o.readNote(e, true)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its flags changed meanwhile
		}
		return n, err
	}
}

// lookUp opens the box to find a note. Without a box it returns ErrNotFound.
func (b Box) lookUp(id string) (*opened, error) {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		err = notFound(id)
	}
	return o, err
}

func notFound(id string) error { return fmt.Errorf("%w: '%s'", ErrNotFound, id) }

// maxRescans is how often a search for a note lists the box: a listing can miss a file that is
// renamed meanwhile.
const maxRescans = 3

// findEntry returns the note with that ID, or the only one whose ID begins so.
func (o *opened) findEntry(id string) (entry, error) {
	id = strings.ToLower(id)
	for range maxRescans {
		found, err := o.listNotes()
		if err != nil {
			return entry{}, err
		}
		var fit []entry
		for _, e := range found {
			switch has := idOf(e.unique); {
			case has == id:
				return e, nil
			// A whole ID does not also mean ID@HOST, a note of another host.
			case id != "" && len(id) != idLength && strings.HasPrefix(has, id):
				fit = append(fit, e)
			}
		}
		switch {
		case len(fit) == 1:
			return fit[0], nil
		case len(fit) > 1:
			return entry{}, &Ambiguous{ID: id, Notes: o.readHeaders(fit)}
		}
	}
	return entry{}, notFound(id)
}

// readNote reads a note's file. If it is not a message, it returns a note with a Problem,
// and an error only with body. If the file is gone, it returns an error.
func (o *opened) readNote(e entry, body bool) (Note, error) {
	n, err := readFile(o.Root, e.file(), body)
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, err
	}
	path := o.file(e.file())
	if err != nil {
		err = atomicfile.Error("read", path, err)
		n.Problem = err.Error()
		if why := errors.Unwrap(err); why != nil {
			n.Problem = why.Error() // Path has the path
		}
		if !body {
			err = nil
		}
	}
	n.ID, n.Path, n.For = idOf(e.unique), path, agentOf(e.unique)
	n.Hooked, n.Seen, n.Done = o.isDelivered(e), e.hasFlag('S'), e.hasFlag('T')
	if n.Date.IsZero() {
		n.Date = e.arrived
	}
	return n, err
}

// Hook makes a note the agent's work, even if it was done before.
func (b Box) Hook(id string) error {
	return b.withNote(id, func(o *opened, e entry) error {
		if !b.isPrivate {
			text, err := o.readContent(e)
			if err == nil {
				err = b.recordWork(idOf(e.unique), text)
			}
			if err != nil {
				return err
			}
		}
		return o.setFlags(e, "F", "T")
	})
}

// withNote calls do with the note that has the ID.
func (b Box) withNote(id string, do func(*opened, entry) error) error {
	o, err := b.lookUp(id)
	if err != nil {
		return err
	}
	defer o.Close()
	e, err := o.findEntry(id)
	if err != nil {
		return err
	}
	return do(o, e)
}

// readContent returns the content of a note's file, even if its flags change meanwhile.
func (o *opened) readContent(e entry) ([]byte, error) {
	for {
		f, err := atomicfile.OpenIn(o.Root, e.file())
		if err == nil {
			defer f.Close()
			text, err := atomicfile.ReadFrom(f, MaxMessage)
			return text, atomicfile.Error("read", o.file(e.file()), err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, atomicfile.Error("open", o.file(e.file()), err)
		}
		if e, err = o.findEntry(idOf(e.unique)); err != nil {
			return nil, err
		}
	}
}

// recordWork records that gt gave the note as work, with exactly this text. A box in the state
// needs no record.
func (b Box) recordWork(id string, text []byte) error {
	if b.isPrivate {
		return nil
	}
	return b.home.Town.State.Write(b.home.Town.GivenPath(id), []byte(place.Digest(text)+"\n"), atomicfile.Synced)
}

// Unhook takes a note off the agent's work and marks it as seen.
func (b Box) Unhook(id string) error { return b.mark(id, "S", "F") }

// MarkSeen marks a note as read.
func (b Box) MarkSeen(id string) error { return b.mark(id, "S", "") }

// MarkUnseen takes back MarkSeen.
func (b Box) MarkUnseen(id string) error {
	return b.withNote(id, func(o *opened, e entry) error { return o.setFlags(e, "", "S") })
}

// DoneWith closes a note.
func (b Box) DoneWith(id string) error { return b.mark(id, "ST", "F") }

func (b Box) mark(id, add, take string) error {
	return b.withNote(id, func(o *opened, e entry) error { return o.mark(e, add, take) })
}

// mark changes flags. If it removes some, it also removes the record that gt gave the note as work,
// so that setting a flag by hand cannot give it again.
func (o *opened) mark(e entry, add, take string) error {
	if err := o.setFlags(e, add, take); err != nil || take == "" || o.isPrivate {
		return err
	}
	return atomicfile.Remove(o.home.Town.GivenPath(idOf(e.unique)))
}

// Supersede unhooks the hand-over notes of a chain and marks them as seen, except those with the ids
// keep: the one that replaces the others, and one that a successor is still promised. It ignores
// an empty chain.
func (b Box) Supersede(chain string, keep ...string) error {
	if chain == "" {
		return nil
	}
	return b.withOpen(func(o *opened) error {
		found, err := o.listNotes()
		looked := 0
		for _, e := range found {
			if slices.Contains(keep, idOf(e.unique)) || e.hasFlag('T') || !e.hasFlag('F') && e.hasFlag('S') {
				continue // kept, done, or seen and nobody's work: nothing to change
			}
			if looked++; looked > 10*maxOpened {
				break // the newest first; older ones stay listed as unread
			}
			n, failed := o.readNote(e, false)
			if failed == nil && n.Type == Handoff && n.Chain == chain {
				err = errors.Join(err, o.mark(e, "S", "F"))
			}
		}
		return err
	})
}

// setFlags adds and removes flags, unless they are right already.
func (o *opened) setFlags(e entry, add, take string) error {
	for {
		to := filepath.Join("cur", e.unique+withFlags(changeFlags(e.flags, add, take)))
		if e.file() == to {
			return nil
		}
		// If another process changed the note, it has another name now, and this change
		// applies on top. There is no sync: losing a flag only repeats a message.
		err := atomicfile.RenameIn(o.Root, e.file(), to)
		if !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Error("rename", o.file(e.file()), err)
		}
		if e, err = o.findEntry(idOf(e.unique)); err != nil {
			return err
		}
	}
}

// Arriving is a note that comes from another box.
type Arriving struct {
	Name  string // file name there
	Fresh bool   // the file was in new
}

// flags returns the note's flags in its new box. Work becomes an unread note, because flags
// of another box prove nothing here.
func (a Arriving) flags() string {
	if a.Fresh {
		return ""
	}
	_, flags := splitName(a.Name)
	flags = strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, flags)
	take := "F"
	if strings.Contains(flags, "F") && !strings.Contains(flags, "T") {
		take = "FS"
	}
	return changeFlags(flags, "", take)
}

// Letter is a note's file, for another box.
type Letter struct {
	Arriving
	Text []byte
}

// Outgoing returns the files of the notes that are unread or hooked, and of those with the
// given ids, oldest first.
func (b Box) Outgoing(ids []string) (all []Letter, err error) {
	err = b.withOpen(func(o *opened) error {
		found, err := o.listNotes()
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(found) {
			if !o.isUnread(e) && !o.isDelivered(e) && !slices.Contains(ids, idOf(e.unique)) {
				continue
			}
			text, err := o.readContent(e)
			if errors.Is(err, ErrNotFound) {
				continue // removed meanwhile
			} else if err != nil {
				return err
			}
			all = append(all, Letter{Arriving{Name: filepath.Base(e.name), Fresh: e.folder == "new"}, text})
		}
		return nil
	})
	return all, err
}

// Known returns a function that reports whether the box has a note already, by the part of
// its name that never changes.
func (b Box) Known() (func(Arriving) bool, error) {
	known := map[string]bool{}
	err := b.withOpen(func(o *opened) error {
		found, err := o.listNotes()
		for _, e := range found {
			known[e.unique] = true
		}
		return err
	})
	return func(a Arriving) bool {
		unique, _ := splitName(a.Name)
		return known[unique]
	}, err
}

// Take puts a note from another box into this one under the same name. The caller checks
// Known first. The note is on disk when Take returns, and never visible in part.
func (b Box) Take(a Arriving, text []byte) error {
	unique, _ := splitName(a.Name)
	if unique == "" || strings.HasPrefix(unique, ".") || strings.ContainsRune(unique, '/') {
		return fmt.Errorf("'%s' is not a valid name of a note", a.Name)
	}
	o, err := b.prepare()
	if err != nil {
		return err
	}
	defer o.Close()
	to := filepath.Join("new", unique)
	if flags := a.flags(); flags != "" {
		to = filepath.Join("cur", unique+withFlags(flags))
	}
	tmp := filepath.Join("tmp", unique)
	if err := o.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a Take that was killed
		return atomicfile.Error("remove", o.file(tmp), err)
	}
	return atomicfile.DeliverIn(o.Root, o.file(), tmp, to, text)
}

// maxExpired bounds the notes that Expire opens: a hook has a few milliseconds.
const maxExpired = 8

// Expire removes hand-over notes that are seen or done, nobody's work, and older than age. It calls
// age only if a note is older than minAge. It keeps notes for which keep returns true.
//
// Each call examines a few notes, starting at another place each time. It can be killed or run
// twice at once: each note is one file, and a note that becomes work meanwhile gets another name.
func (b Box) Expire(now time.Time, minAge time.Duration, age func() time.Duration, keep func(Note) bool) error {
	return b.withOpen(func(o *opened) error {
		older := func(than time.Duration) func(entry) bool {
			return func(e entry) bool {
				return !e.hasFlag('F') && // mutant always: . TestScripts/handoff_retention
					(e.hasFlag('S') || e.hasFlag('T')) && !e.arrived.IsZero() && now.Sub(e.arrived) > than
			}
		}
		found, err := o.scan(older(minAge), "cur")
		if err != nil || len(found) == 0 {
			return err
		}
		old, n := older(max(age(), minAge)), 0
		for i := range found {
			e := found[(int(now.UnixMicro())+i)%len(found)]
			if !old(e) {
				continue
			}
			if n++; n > maxExpired {
				break
			}
			note, failed := o.readNote(e, false)
			if failed != nil || note.Problem != "" || note.Type != Handoff || keep(note) {
				continue
			}
			if failed = o.Remove(e.file()); failed == nil && !o.isPrivate {
				failed = atomicfile.Remove(o.home.Town.GivenPath(note.ID))
			}
			if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, atomicfile.Error("remove", o.file(e.file()), failed))
			}
		}
		return err
	})
}
