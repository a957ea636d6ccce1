// Package work keeps notes that are work for any session of a template. Each note is a
// file, whose folder is its state:
//
//	work/<template>/new/<note>                               nobody has it
//	work/<template>/members/<session>/cur/<note>             the session has claimed it
//	work/<template>/members/<session>/leaving/<why>/<note>   the same, and is about to go
//	work/<template>/members/<session>/blocked/<why>/<note>   the session is gone
//	work/<template>/done/<note>
//	work/<template>/recalled/<note>                          another host took it back
//	work/<template>/late/<note>                              empty: taken back after a claim
//
// Each change is one rename, so that a kill neither loses nor doubles a note, and only one
// of two sessions can claim it.
package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/route"
	"gt/lib/sys/atomicfile"
)

type Work struct {
	store   instance.Store
	markers route.Markers
	// Release reports whether a template's gone sessions give their work back. If it is nil
	// or false, the work is blocked until a person decides. On error it stays set aside.
	Release func(template string) (bool, error)
}

func NewWork(s instance.Store) Work { return Work{store: s, markers: route.NewMarkers(s)} }

const (
	folder     = "work"
	fresh      = "new"
	done       = "done"
	members    = "members"
	cur        = "cur"
	leaving    = "leaving"
	blocked    = "blocked"
	recalled   = "recalled"
	lateFolder = "late"
)

func (w Work) path(elem ...string) string {
	return w.store.State.Path(append([]string{w.store.Root(), folder}, elem...)...)
}

var (
	ErrNone     = errors.New("there is no work")
	ErrNotFound = errors.New("no such work")
	// ErrBlocked reports work that the session had, and has to be given back first.
	ErrBlocked = errors.New("the work is blocked")
	// ErrUnrouted reports a session that may get no new work.
	ErrUnrouted = errors.New("the session gets no work now")
	// ErrLate reports that work was closed that its giver had taken back.
	ErrLate = errors.New("it is closed, but late: this host was not heard for too long, or the giver took it back, and another session may have done it as well")
)

// Give leaves a note for a template's sessions, synced to disk, and returns its ID.
func (w Work) Give(template string, n mail.Note, now time.Time) (id string, err error) {
	if err := instance.CheckName(template); err != nil {
		return "", err
	}
	n.To = template
	name, id := mail.NewName(now)
	text, err := n.Message(name)
	if err != nil {
		return "", err
	}
	return id, w.store.State.Write(w.path(template, fresh, name), text, atomicfile.Synced)
}

// HasSession reports whether a session of a template runs or starts.
func (w Work) HasSession(template string) bool {
	all, _ := w.store.ReadInstances()
	return slices.ContainsFunc(all, func(in *instance.Instance) bool {
		if in.Managed == nil || in.Managed.Template != template {
			return false
		}
		row, _ := in.Managed.State.Row()
		return row.Runs
	})
}

// Take leaves a note of another host under a name, synced to disk, unless the template has it
// already, in whatever state. still returns an error if a new one comes too late.
func (w Work) Take(template, name string, text []byte, still func() error) error {
	if err := instance.CheckName(template); err != nil {
		return err
	}
	if where, err := w.Held(template, name); err != nil || where.State != "" { // mutant never: TestTake
		return err
	}
	if err := still(); err != nil {
		return err
	}
	return w.store.State.Write(w.path(template, fresh, name), text, atomicfile.Synced)
}

// Held is where a note is.
type Held struct {
	State   string // new, cur, blocked, done or recalled; "" if the template does not have it
	Session string // that has or had claimed it
}

// Held returns where a note is, by its name. It looks twice among the notes that nobody has, first
// and last, because a note can be given back meanwhile.
func (w Work) Held(template, name string) (h Held, err error) {
	if err := instance.CheckName(template); err != nil {
		return h, err
	}
	in := func(state string) error {
		found, err := atomicfile.Files(w.path(template, state))
		if slices.Contains(found, name) {
			h = Held{State: state}
		}
		return err
	}
	err = in(fresh)
	all, herr := w.findHeld(template)
	for _, p := range all {
		if filepath.Base(p.path) == name {
			h = Held{cur, p.session}
			if p.blocked != "" {
				h.State = blocked
			}
		}
	}
	err = errors.Join(err, herr)
	err = errors.Join(err, in(done), in(recalled))
	if h.State == "" {
		err = errors.Join(err, in(fresh))
	}
	return h, err
}

// Recall is Held for a note whose giver takes it back. It recalls a note that nobody has claimed.
// If a session has claimed it and tell is set, the session learns that when it closes the note.
func (w Work) Recall(template, name string, tell bool) (Held, error) {
	h, err := w.Held(template, name)
	if err != nil {
		return h, err
	}
	if h.State == fresh {
		if err = w.move(w.path(template, fresh, name), template, recalled); err == nil {
			return Held{State: recalled}, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return h, err
		}
		if h, err = w.Held(template, name); err != nil { // a session was faster
			return h, err
		}
	}
	if tell && (h.State == cur || h.State == blocked) && !atomicfile.Exists(w.path(template, lateFolder, name)) {
		err = w.store.State.Write(w.path(template, lateFolder, name), nil, atomicfile.Unsynced)
	}
	return h, err
}

// move renames a note into a folder, which it creates if necessary. If the note is gone, it
// returns fs.ErrNotExist.
func (w Work) move(from string, to ...string) error {
	dir := w.path(to...)
	if err := w.store.State.Prepare(dir); err != nil {
		return err
	}
	return atomicfile.Rename(from, filepath.Join(dir, filepath.Base(from)), atomicfile.Synced)
}

// Claim claims the oldest free note of a template for a session with a marker. A session
// that is about to end loses its marker before its work is accounted for. So Claim checks
// the marker again afterwards and gives the note back if it is gone.
func (w Work) Claim(template, session string) (mail.Note, error) {
	if err := errors.Join(instance.CheckName(template), instance.CheckName(session)); err != nil {
		return mail.Note{}, err
	}
	routed := func() error {
		all, err := w.markers.ReadMarkers()
		if err != nil {
			return err
		}
		for _, has := range all {
			if slices.Contains(has, session) {
				return nil
			}
		}
		return ErrUnrouted
	}
	if err := routed(); err != nil {
		return mail.Note{}, err
	}
	all, err := atomicfile.Files(w.path(template, fresh))
	if err != nil {
		return mail.Note{}, err
	}
	for _, name := range all {
		err := w.move(w.path(template, fresh, name), template, members, session, cur)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another session was faster
		} else if err != nil {
			return mail.Note{}, err
		}
		claimed := w.path(template, members, session, cur, name)
		if err := routed(); err != nil {
			return mail.Note{}, errors.Join(err, w.move(claimed, template, fresh))
		}
		return read(claimed, true), nil
	}
	return mail.Note{}, ErrNone
}

// read reads a note. An unreadable one has a Problem.
func read(path string, body bool) mail.Note {
	var n mail.Note
	data, err := atomicfile.Read(path, mail.MaxMessage)
	if err == nil {
		n, err = mail.Parse(bytes.NewReader(data))
	}
	if err != nil {
		n.Problem = err.Error()
	}
	if !body {
		n.Body = ""
	}
	n.ID, n.Path = mail.IDOf(filepath.Base(path)), path
	return n
}

// Item is a note and its state.
type Item struct {
	mail.Note
	Template string `json:"template"`
	Holder   string `json:"holder,omitempty"`  // the session that has or had claimed it
	Blocked  string `json:"blocked,omitempty"` // reason; "" if it is not blocked
	Late     bool   `json:"late,omitempty"`    // its giver took it back
}

// List returns all notes that are not done. Free ones come last.
func (w Work) List() (all []Item, err error) {
	had, err := w.findInTemplates(w.findHeld)
	free, ferr := w.findInTemplates(w.findOpen)
	if err := errors.Join(err, ferr); err != nil {
		return nil, err
	}
	for _, p := range append(had, free...) {
		isLate := p.session != "" && atomicfile.Exists(w.path(p.template, lateFolder, filepath.Base(p.path)))
		all = append(all, Item{read(p.path, false), p.template, p.session, p.blocked, isLate})
	}
	return all, nil
}

// Open returns the IDs of the notes that no session has, the oldest first, by template.
func (w Work) Open() (map[string][]string, error) {
	all, err := w.findInTemplates(w.findOpen)
	if err != nil {
		return nil, err
	}
	open := map[string][]string{}
	for _, p := range all {
		open[p.template] = append(open[p.template], mail.IDOf(filepath.Base(p.path)))
	}
	return open, nil
}

// location is where a note is.
type location struct {
	template, path string
	session        string // that has or had claimed it
	aside          string // why its session has set it aside, or ""
	blocked        string // why it is blocked, or ""
}

// findInTemplates returns what find returns for all templates.
func (w Work) findInTemplates(find func(template string) ([]location, error)) (all []location, err error) {
	templates, err := atomicfile.Folders(w.path())
	for _, t := range templates {
		found, ferr := find(t)
		all, err = append(all, found...), errors.Join(err, ferr)
	}
	return all, err
}

// listFolder returns the notes of a folder, each at p.
func (w Work) listFolder(p location, elem ...string) (all []location, err error) {
	found, err := atomicfile.Files(w.path(elem...))
	for _, name := range found {
		p.path = w.path(append(elem, name)...)
		all = append(all, p)
	}
	return all, err
}

func (w Work) findOpen(template string) ([]location, error) {
	return w.listFolder(location{template: template}, template, fresh)
}

// findHeld returns the notes of a template that sessions have or had.
func (w Work) findHeld(template string) (all []location, err error) {
	sessions, err := atomicfile.Folders(w.path(template, members))
	for _, s := range sessions {
		found, ferr := w.findClaimed(template, s)
		all, err = append(all, found...), errors.Join(err, ferr)
		reasons, rerr := atomicfile.Folders(w.path(template, members, s, blocked))
		err = errors.Join(err, rerr)
		for _, why := range reasons {
			found, ferr := w.listFolder(location{template: template, session: s, blocked: why}, template, members, s, blocked, why)
			all, err = append(all, found...), errors.Join(err, ferr)
		}
	}
	return all, err
}

// findClaimed returns the notes that a session has claimed, and those set aside because it leaves.
func (w Work) findClaimed(template, session string) (all []location, err error) {
	reasons, err := atomicfile.Folders(w.path(template, members, session, leaving))
	p := location{template: template, session: session}
	all, cerr := w.listFolder(p, template, members, session, cur)
	err = errors.Join(err, cerr)
	for _, p.aside = range reasons {
		found, ferr := w.listFolder(p, template, members, session, leaving, p.aside)
		all, err = append(all, found...), errors.Join(err, ferr)
	}
	return all, err
}

// Claims counts the claimed notes by session name.
func (w Work) Claims(context.Context) (map[string]int, error) {
	all, err := w.findInTemplates(w.findHeld)
	if err != nil {
		return nil, err
	}
	claims := map[string]int{}
	for _, p := range all {
		if p.blocked == "" {
			claims[p.session]++
		}
	}
	return claims, nil
}

// Leave sets aside a session's claimed notes before the session goes. They still count as
// claimed. Leave, Keep and Free may be repeated.
func (w Work) Leave(_ context.Context, session, reason string) error {
	return w.moveNotes(session, reason, func(t, aside string) ([]string, error) {
		return []string{t, members, session, leaving, cmp.Or(aside, reason)}, nil
	})
}

// Keep undoes Leave.
func (w Work) Keep(_ context.Context, session string) error {
	return w.moveNotes(session, leaving, func(t, _ string) ([]string, error) { return []string{t, members, session, cur}, nil })
}

// Free frees a session's claimed notes: they are given back if Release says so, or blocked,
// with the reason of Leave if there was one.
func (w Work) Free(_ context.Context, session, reason string) error {
	return w.moveNotes(session, reason, func(t, aside string) ([]string, error) {
		release, err := w.Release != nil, error(nil)
		if release {
			release, err = w.Release(t)
		}
		if release {
			return []string{t, fresh}, err
		}
		return []string{t, members, session, blocked, cmp.Or(aside, reason)}, err
	})
}

// moveNotes moves each note that a session has claimed to the folder that to returns, as a path
// below the folder of all work. aside is why the note was set aside, or "". reason is only checked,
// because to may name a folder by it.
func (w Work) moveNotes(session, reason string, to func(template, aside string) ([]string, error)) error {
	if err := errors.Join(instance.CheckName(session), instance.CheckName(reason)); err != nil {
		return err
	}
	all, err := w.findInTemplates(func(template string) ([]location, error) { return w.findClaimed(template, session) })
	if err != nil {
		return err
	}
	for _, p := range all {
		there, err := to(p.template, p.aside)
		if err != nil {
			return err
		}
		if filepath.Dir(p.path) == w.path(there...) {
			continue
		}
		if there[len(there)-1] == fresh {
			there = []string{p.template, w.stateOfReturned(p.template, p.path)}
		}
		if err := w.move(p.path, there...); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// stateOfReturned returns the state of a note that its session gives back: no other session is to
// have one that its giver took back.
func (w Work) stateOfReturned(template, path string) string {
	if atomicfile.Exists(w.path(template, lateFolder, filepath.Base(path))) { // mutant never: TestRecall
		return recalled
	}
	return fresh
}

// MarkDone closes a note that a session has claimed. It returns ErrBlocked for one that the
// session had.
func (w Work) MarkDone(session, id string) error {
	wasBlocked := false
	err := w.moveNote(id, func(_, holder, why string) bool {
		wasBlocked = wasBlocked || holder == session && why != ""
		return holder == session && why == ""
	}, done)
	if errors.Is(err, ErrNotFound) && wasBlocked {
		return fmt.Errorf("%w: '%s'", ErrBlocked, id)
	}
	return err
}

// GiveBack gives back a note that any session has or had.
func (w Work) GiveBack(id string) error {
	return w.moveNote(id, func(string, string, string) bool { return true }, fresh)
}

// BackOf gives back a note that this session has or had.
func (w Work) BackOf(session, id string) error {
	return w.moveNote(id, func(_, holder, _ string) bool { return holder == session }, fresh)
}

// moveNote moves the note with that id, or a beginning of it, to a folder of its template, if fits
// accepts exactly one. It returns ErrLate for one that is done now, but that its giver took back.
func (w Work) moveNote(id string, fits func(template, holder, why string) bool, to string) error {
	found, err := w.findInTemplates(w.findHeld)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(p location) bool {
		return id == "" || !strings.HasPrefix(mail.IDOf(filepath.Base(p.path)), strings.ToLower(id)) || !fits(p.template, p.session, p.blocked)
	})
	switch len(found) {
	case 0:
		return fmt.Errorf("%w: '%s'", ErrNotFound, id)
	case 1:
		t, path := found[0].template, found[0].path
		mark := w.path(t, lateFolder, filepath.Base(path))
		if to == fresh {
			to = w.stateOfReturned(t, path)
		}
		err := w.move(path, t, to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: '%s'", ErrNotFound, id)
		case err == nil && to == done && atomicfile.Exists(mark):
			return errors.Join(ErrLate, atomicfile.Remove(mark))
		}
		return err
	}
	return fmt.Errorf("'%s' means %d notes", id, len(found))
}
