// Package mail keeps the notes that agents leave for each other and for
// themselves. A note is an RFC 5322 message in a Maildir, so any mail reader
// opens a box, and any program that can deliver mail can leave a note.
//
// The box of an agent is <town>/mail/<address>/ with the folders tmp, new and
// cur; of an agent without a role it lies with what the state keeps of its home.
// What became of a note stands in the name of its file, as Maildir has it:
//
//	new/1768611600.M123456R3f9a01c2.host        nobody has looked at it
//	cur/1768611600.M123456R3f9a01c2.host:2,F    hooked: it is the agent's work
//	cur/1768611600.M123456R3f9a01c2.host:2,S    seen
//	cur/1768611600.M123456R3f9a01c2.host:2,ST   done with
//
// A change of flags is one rename, and a process that finds its file renamed
// by another looks again; so nothing here takes a lock, and no change is lost.
package mail

import (
	"bytes"
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
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
)

// Box is the notes of one agent.
type Box struct {
	home home.Home
	at   place.Shared // in what exists without us: the town, or what is kept of the home
	own  bool         // it lies in the state, where nobody else can put anything
	err  error        // why there is no such box
}

// Of is the box of an address: in a town the box of that role, which exists by
// the address's form alone, and is made when the first note is delivered. An
// agent without a role has no box but its home's, for two folders of one name
// must not share one. Where there is no box, every method says so.
func Of(h home.Home, address string) Box {
	own := Box{home: h, at: place.SharedIn(h.Runtime(), "mail"), own: true, err: h.Problem}
	id, err := identity.Parse(address)
	switch {
	case h.Town.Personal && address == h.Identity.Address():
		return own
	case err != nil:
		return Box{err: err}
	case !h.Town.Personal && id.Role != "":
		return Box{home: h, at: h.Town.Mail(id.Address())}
	case id == h.Identity:
		return own
	}
	return Box{err: fmt.Errorf("'%s' has no mailbox here: it has no role in the town", address)}
}

// Dir is where the box stands; for people to read.
func (b Box) Dir() string { return b.at.Path("") }

// file is where something of the box stands; for people to read.
func (b Box) file(elem ...string) string { return b.at.Path(filepath.Join(elem...)) }

// MaxBody bounds a note's text: 1 MiB.
const MaxBody = 1 << 20

// MaxSubject bounds a note's subject, so that it fits a header line.
const MaxSubject = 900

// ErrTooLarge is what a text or subject over its bound gives.
var ErrTooLarge = errors.New("too large")

// Deliver puts a note into the box, hooked or unread, and returns its ID. The
// note is on disk when Deliver returns; killed earlier, it leaves the note
// whole or not at all. Date is now where the note has none.
func (b Box) Deliver(n Note, hooked bool) (id string, err error) {
	if len(n.Body) > MaxBody {
		return "", fmt.Errorf("the message is %w (%d bytes, over %d)", ErrTooLarge, len(n.Body), MaxBody)
	}
	if s := oneLine(n.Subject); len(s) > MaxSubject {
		return "", fmt.Errorf("the subject is %w (%d bytes, over %d)", ErrTooLarge, len(s), MaxSubject)
	}
	dir, err := b.prepare()
	if err != nil {
		return "", err
	}
	defer dir.Close()
	now := time.Now()
	dir.sweep(now)
	if n.Date.IsZero() {
		n.Date = now
	}
	unique := newUnique(now)
	n.ID = idOf(unique)
	n.messageID = unique
	var text bytes.Buffer
	if _, err := n.WriteTo(&text); err != nil {
		return "", err
	}
	to := filepath.Join("new", unique)
	if hooked {
		to = filepath.Join("cur", unique+withFlags("F"))
		if err := b.vouch(n.ID, text.Bytes()); err != nil {
			return "", err
		}
	}
	return n.ID, dir.deliver(filepath.Join("tmp", unique), to, text.Bytes())
}

// opened is a box whose folder is open: what is read and written is in it, whatever
// somebody puts in its place meanwhile.
type opened struct {
	*os.Root
	Box
}

// folders are those of a Maildir; cur last: it says that all are there.
var folders = []string{"tmp", "new", "cur"}

// prepare opens the box and makes what is missing of it.
func (b Box) prepare() (*opened, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.own {
		if err := b.home.Prepare(); err != nil {
			return nil, err
		}
	}
	root, err := b.at.Open()
	if errors.Is(err, fs.ErrNotExist) {
		root, err = b.at.Make()
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

// make makes the folders that are missing.
func (o *opened) make() error {
	for _, folder := range folders {
		if _, err := o.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			continue // check says what is wrong with it
		}
		if err := atomicfile.MkdirIn(o.Root, folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return atomicfile.Error("create", o.file(folder), err)
		}
	}
	return nil
}

// open opens the box: fs.ErrNotExist where there is none yet.
func (b Box) open() (*opened, error) {
	if b.err != nil {
		return nil, b.err
	}
	root, err := b.at.Open()
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

// check refuses a box that somebody else owns, or that others may look into: gt
// makes none so, but git does where a repository brings one along, and what lies in
// it is not work that anybody here hooked. A folder that is not there is none.
func (o *opened) check(folders ...string) error {
	for _, name := range append([]string{"."}, folders...) {
		info, err := o.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
		case !info.IsDir():
			err = atomicfile.ErrNotFolder
		case atomicfile.Ours(info) != nil:
			err = atomicfile.Ours(info)
		case info.Mode().Perm()&0o077 != 0:
			err = errors.New("other users can read it; if it is yours, chmod 700 makes it private")
		}
		if err != nil {
			return atomicfile.Error("use", o.file(name), err)
		}
	}
	return nil
}

func (o *opened) deliver(tmp, to string, text []byte) error {
	return atomicfile.DeliverIn(o.Root, o.file(), tmp, to, text)
}

// abandoned is the age at which a file in tmp is nobody's, as Maildir says.
const abandoned = 36 * time.Hour

// sweep removes what killed deliveries left in tmp.
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

// entry is a note's file in the box.
type entry struct {
	folder  string // "new" or "cur"
	name    string
	unique  string
	flags   string
	arrived time.Time
}

// file is where the note stands in its box.
func (e entry) file() string { return filepath.Join(e.folder, e.name) }

func (e entry) has(flag byte) bool { return strings.IndexByte(e.flags, flag) >= 0 }

// given reports whether the note was given to the agent as work. In a town anybody
// who can write to it can set the flag: there only what gt has noted counts.
func (o *opened) given(e entry) bool {
	switch {
	case !e.has('F') || e.has('T'):
		return false
	case o.own:
		return true
	}
	return o.home.Town.Vouches(idOf(e.unique), func() ([]byte, error) { return o.whole(e) })
}

// unread reports whether nobody has looked at the note and it is not given work.
func (o *opened) unread(e entry) bool { return !e.has('S') && !e.has('T') && !o.given(e) }

// scan lists the files in the folders that are wanted (nil: all), in no order.
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
			e := entry{folder: folder, name: name}
			e.unique, e.flags = splitName(name)
			if want == nil || want(e) {
				e.arrived = arrival(e.unique)
				found = append(found, e)
			}
		}
	}
	return found, nil
}

// all lists the box. new is read before cur, so that a note on its way from
// one to the other is not missed; one that is met twice counts where it
// arrived.
func (o *opened) all() ([]entry, error) {
	found, err := o.scan(nil, "new", "cur")
	if err != nil {
		return nil, err
	}
	// By sort and not by slices, of which every type has a copy of its own, in the
	// hooks as well.
	sort.Slice(found, func(i, j int) bool {
		a, c := found[i], found[j]
		return cmp.Or(
			c.arrived.Compare(a.arrived),
			strings.Compare(c.unique, a.unique),
			strings.Compare(a.folder, c.folder), // cur, then new
		) < 0
	})
	return slices.CompactFunc(found, func(a, c entry) bool { return a.unique == c.unique }), nil
}

// List returns all notes, the newest first, without their bodies. A file that
// is no message is listed with its Problem.
func (b Box) List() ([]Note, error) {
	return b.notes(func(*opened, entry) bool { return true })
}

// most is how many notes a hook looks into: whoever can write to a town can put any
// number of them there.
const most = 100

// Unread returns the notes that nobody has looked at and that are not hooked,
// the newest first, without their bodies, and how many older ones there are besides.
func (b Box) Unread() (notes []Note, more int, err error) {
	notes, err = b.notes(func(o *opened, e entry) bool {
		if !o.unread(e) {
			return false
		}
		more++
		return more <= most
	})
	return notes, max(more-most, 0), err
}

// CountUnread is how many notes Unread would return. It looks into none.
func (b Box) CountUnread() (int, error) {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	defer o.Close()
	found, err := o.all()
	n := 0
	for _, e := range found {
		if o.unread(e) {
			n++
		}
	}
	return n, err
}

func (b Box) notes(want func(*opened, entry) bool) ([]Note, error) {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer o.Close()
	found, err := o.all()
	if err != nil {
		return nil, err
	}
	return o.read(slices.DeleteFunc(found, func(e entry) bool { return !want(o, e) })), nil
}

// read reads notes without their bodies, in their order.
func (o *opened) read(found []entry) []Note {
	var notes []Note
	for _, e := range found {
		n, err := o.note(e, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue // renamed or removed under us; who did it knows
		}
		notes = append(notes, n)
	}
	return notes
}

// Hooked returns the notes that are the agent's work, the oldest first,
// without their bodies. It looks into no file that is not hooked. Of very many it
// returns the oldest, and the newest, among which is what a session left for itself.
func (b Box) Hooked() ([]Note, error) {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer o.Close()
	found, err := o.scan(o.given, "cur")
	if err != nil {
		return nil, err
	}
	sort.Slice(found, func(i, j int) bool {
		a, c := found[i], found[j]
		return cmp.Or(a.arrived.Compare(c.arrived), strings.Compare(a.unique, c.unique)) < 0
	})
	if len(found) > 2*most {
		found = slices.Delete(found, most, len(found)-most)
	}
	return o.read(found), nil
}

// Whole returns a note that was listed with its body. It does not list the box again.
func (b Box) Whole(n Note) (Note, error) {
	o, err := b.lookUp(n.ID)
	if err != nil {
		return Note{}, err
	}
	defer o.Close()
	e := entry{folder: filepath.Base(filepath.Dir(n.Path)), name: filepath.Base(n.Path)}
	e.unique, e.flags = splitName(e.name)
	e.arrived = arrival(e.unique)
	whole, err := o.note(e, true)
	if errors.Is(err, fs.ErrNotExist) {
		return b.Get(n.ID) // its flags changed meanwhile
	}
	return whole, err
}

// ErrNotFound is what an ID gives that no note in the box has.
var ErrNotFound = errors.New("no such note")

// Ambiguous is the error of the beginning of an ID that several notes share.
type Ambiguous struct {
	ID    string
	Notes []Note // without their bodies
}

func (a *Ambiguous) Error() string {
	return fmt.Sprintf("'%s' means %d notes", a.ID, len(a.Notes))
}

// Get returns a note with its body, by its ID or the beginning of one that no
// other note shares.
func (b Box) Get(id string) (Note, error) {
	o, err := b.lookUp(id)
	if err != nil {
		return Note{}, err
	}
	defer o.Close()
	for {
		e, err := o.find(id)
		if err != nil {
			return Note{}, err
		}
		n, err := o.note(e, true)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its flags changed meanwhile
		}
		return n, err
	}
}

// lookUp opens the box to find a note in it. One that is not there has none.
func (b Box) lookUp(id string) (*opened, error) {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		err = notFound(id)
	}
	return o, err
}

func notFound(id string) error { return fmt.Errorf("%w: '%s'", ErrNotFound, id) }

// looks is how often find lists the box before it says that a note is not
// there: a listing that runs while a file is renamed may miss it.
const looks = 3

func (o *opened) find(id string) (entry, error) {
	id = strings.ToLower(id)
	for range looks {
		found, err := o.all()
		if err != nil {
			return entry{}, err
		}
		var fit []entry
		for _, e := range found {
			switch has := idOf(e.unique); {
			case has == id:
				return e, nil
			case id != "" && strings.HasPrefix(has, id):
				fit = append(fit, e)
			}
		}
		switch {
		case len(fit) == 1:
			return fit[0], nil
		case len(fit) > 1:
			return entry{}, &Ambiguous{ID: id, Notes: o.read(fit)}
		}
	}
	return entry{}, notFound(id)
}

// note reads a note's file, its body only where it is wanted. A file that is
// no message gives a note with a Problem, and an error only where a body was
// wanted or the file is gone.
func (o *opened) note(e entry, body bool) (Note, error) {
	n, err := readFile(o.Root, e.file(), body)
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, err
	}
	path := o.file(e.file())
	if err != nil {
		err = atomicfile.Error("read", path, err)
		n.Problem = err.Error()
		if why := errors.Unwrap(err); why != nil {
			n.Problem = why.Error() // the path is told apart
		}
		if !body {
			err = nil
		}
	}
	n.ID, n.Path = idOf(e.unique), path
	n.Hooked, n.Seen, n.Done = o.given(e), e.has('S'), e.has('T')
	if n.Date.IsZero() {
		n.Date = e.arrived
	}
	return n, err
}

// Hook makes a note the agent's work, also one that was done with.
func (b Box) Hook(id string) error {
	o, err := b.lookUp(id)
	if err != nil {
		return err
	}
	defer o.Close()
	e, err := o.find(id)
	if err != nil {
		return err
	}
	if !b.own {
		text, err := o.whole(e)
		if err == nil {
			err = b.vouch(idOf(e.unique), text)
		}
		if err != nil {
			return err
		}
	}
	return o.change(id, "F", "T")
}

// whole is a note as it stands in its file, also where its flags change meanwhile.
func (o *opened) whole(e entry) ([]byte, error) {
	for {
		f, err := atomicfile.OpenIn(o.Root, e.file())
		if err == nil {
			defer f.Close()
			text, err := atomicfile.ReadFrom(f, maxMessage)
			return text, atomicfile.Error("read", o.file(e.file()), err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, atomicfile.Error("open", o.file(e.file()), err)
		}
		if e, err = o.find(idOf(e.unique)); err != nil {
			return nil, err
		}
	}
}

// vouch notes in the state that gt gives the note, as it is, as work, where the box
// itself proves nothing.
func (b Box) vouch(id string, text []byte) error {
	if b.own {
		return nil
	}
	path := b.home.Town.Given(id)
	if err := b.home.Town.State.Prepare(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(town.Digest(text)+"\n"), atomicfile.Synced)
}

// unvouch takes that back, so that nobody else can give the note again.
func (o *opened) unvouch(id string) error {
	e, err := o.find(id)
	if err != nil || o.own {
		return err
	}
	return atomicfile.Remove(o.home.Town.Given(idOf(e.unique)))
}

// Unhook takes a note off the agent; it stays in the box, and was seen.
func (b Box) Unhook(id string) error { return b.mark(id, "S", "F") }

// Seen marks a note as read. Whether it is hooked does not change.
func (b Box) Seen(id string) error { return b.mark(id, "S", "") }

// DoneWith closes a note: it is no longer hooked, and only listed on request.
func (b Box) DoneWith(id string) error { return b.mark(id, "ST", "F") }

// mark adds flags to a note and takes others; one that is no longer hooked can be
// given by nobody else either.
func (b Box) mark(id, add, take string) error {
	o, err := b.lookUp(id)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.change(id, add, take); err != nil || take == "" {
		return err
	}
	return o.unvouch(id)
}

// Supersede takes the earlier hand-over notes of a chain off the agent: the
// note by, which was delivered before this is called, says it all. Without a
// chain nothing happens.
func (b Box) Supersede(chain, by string) error {
	if chain == "" {
		return nil
	}
	looked := 0
	notes, err := b.notes(func(_ *opened, e entry) bool {
		if idOf(e.unique) == by || e.has('T') || !e.has('F') && e.has('S') {
			return false
		}
		looked++
		return looked <= 10*most // the newest first; earlier ones are told as unread
	})
	for _, n := range notes {
		if n.Type == Handoff && n.Chain == chain {
			err = errors.Join(err, b.Unhook(n.ID))
		}
	}
	return err
}

// change adds and takes flags. Nothing happens where the note has the one and
// not the other already.
func (o *opened) change(id, add, take string) error {
	for {
		e, err := o.find(id)
		if err != nil {
			return err
		}
		to := filepath.Join("cur", e.unique+withFlags(changeFlags(e.flags, add, take)))
		if e.file() == to {
			return nil
		}
		// Somebody else may change the same note: then its name is another
		// now, and our change is due on top of theirs. Nobody waits for the disk: a
		// flag that is lost repeats a message.
		err = atomicfile.RenameIn(o.Root, e.file(), to)
		if !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Error("rename", o.file(e.file()), err)
		}
	}
}

// Arriving is a note that comes from another box: its file's name there, with the
// folder that it lay in.
type Arriving struct {
	Name  string
	Fresh bool // it lay in new
}

// flags are those that it has in its new box. Given work becomes an unread note:
// what another box says of that is nobody's word here.
func (a Arriving) flags() (flags string, given bool) {
	_, flags = splitName(a.Name)
	flags = strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, flags)
	if a.Fresh {
		flags = ""
	}
	take := "F"
	if given = strings.Contains(flags, "F") && !strings.Contains(flags, "T"); given {
		take = "FS"
	}
	return changeFlags(flags, "", take), given
}

// Given reports whether the note was given to its agent as work.
func (a Arriving) Given() bool {
	_, given := a.flags()
	return given
}

// Unread reports whether nobody has dealt with the note yet.
func (a Arriving) Unread() bool {
	flags, _ := a.flags()
	return !strings.ContainsAny(flags, "ST")
}

// Known returns the notes that lie in the box, by what never changes of their names.
func (b Box) Known() (func(Arriving) bool, error) {
	known := map[string]bool{}
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err == nil {
		defer o.Close()
		var found []entry
		found, err = o.all()
		for _, e := range found {
			known[e.unique] = true
		}
	}
	return func(a Arriving) bool {
		unique, _ := splitName(a.Name)
		return known[unique]
	}, err
}

// MaxMessage bounds a note's file.
const MaxMessage = maxMessage

// Take puts a note from another box into this one, under the name that it has, so
// that taking it twice leaves one: whoever takes it looks whether it is Known
// first. It is on disk when Take returns, and whole whenever it is seen.
func (b Box) Take(a Arriving, text []byte) error {
	unique, _ := splitName(a.Name)
	if unique == "" || strings.HasPrefix(unique, ".") || strings.ContainsRune(unique, '/') {
		return fmt.Errorf("'%s' is not the name of a note", a.Name)
	}
	o, err := b.prepare()
	if err != nil {
		return err
	}
	defer o.Close()
	to := filepath.Join("new", unique)
	if flags, _ := a.flags(); flags != "" {
		to = filepath.Join("cur", unique+withFlags(flags))
	}
	tmp := filepath.Join("tmp", unique)
	if err := o.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a Take that was killed
		return atomicfile.Error("remove", o.file(tmp), err)
	}
	return o.deliver(tmp, to, text)
}
