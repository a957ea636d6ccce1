// Package work keeps notes that are work for any session of a template. Each note is a
// file, whose folder is its state:
//
//	work/<template>/new/<note>                               nobody has it
//	work/<template>/members/<session>/cur/<note>             the session has claimed it
//	work/<template>/members/<session>/leaving/<why>/<note>   the same, and is about to go
//	work/<template>/members/<session>/blocked/<why>/<note>   the session is gone
//	work/<template>/done/<note>
//	work/<template>/recalled/<note>                          another host took it back
//	work/<template>/late/<note>                              empty: it did, of claimed work
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

func Of(s instance.Store) Work { return Work{store: s, markers: route.Of(s)} }

const (
	folder   = "work"
	fresh    = "new"
	done     = "done"
	members  = "members"
	cur      = "cur"
	leaving  = "leaving"
	blocked  = "blocked"
	recalled = "recalled"
	late     = "late"
)

func (w Work) path(elem ...string) string {
	return w.store.State.Path(append([]string{w.store.Root(), folder}, elem...)...)
}

var (
	ErrNone     = errors.New("there is no work")
	ErrNotFound = mail.ErrNotFound
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
	dir := w.path(template, fresh)
	if err := w.store.State.Prepare(dir); err != nil {
		return "", err
	}
	return id, atomicfile.Write(filepath.Join(dir, name), text, atomicfile.Synced)
}

// Take leaves a note of another host under a name, unless the template has it already, in
// whatever state. It is synced to disk. A note that the template does not have is taken only if
// still returns nil.
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
	dir := w.path(template, fresh)
	if err := w.store.State.Prepare(dir); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, name), text, atomicfile.Synced)
}

// Held is where a note is.
type Held struct {
	State   string // new, cur, blocked, done or recalled; "" if the template does not have it
	Session string // that has or had claimed it
}

// Held returns where a note is, by its name. It looks at what nobody has again at the end: a
// note can be given back meanwhile.
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
	err = errors.Join(err, w.withLock(template, func(session, why, path string) error {
		if filepath.Base(path) == name {
			h = Held{cur, session}
			if why != "" {
				h.State = blocked
			}
		}
		return nil
	}))
	err = errors.Join(err, in(done), in(recalled))
	if h.State == "" {
		err = errors.Join(err, in(fresh))
	}
	return h, err
}

// Recall is Held for a note whose giver takes it back: one that nobody has claimed is
// recalled, and of a claimed one its session is told, if tell is set, once it closes it.
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
	if tell && (h.State == cur || h.State == blocked) && !atomicfile.Exists(w.path(template, late, name)) {
		if err := w.store.State.Prepare(w.path(template, late)); err != nil {
			return h, err
		}
		err = atomicfile.Write(w.path(template, late, name), nil, atomicfile.Unsynced)
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
		all, err := w.markers.All()
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
func (w Work) List() ([]Item, error) {
	templates, err := atomicfile.Folders(w.path())
	if err != nil {
		return nil, err
	}
	var all, open []Item
	for _, t := range templates {
		err := w.withLock(t, func(session, why, path string) error {
			all = append(all, Item{read(path, false), t, session, why, atomicfile.Exists(w.path(t, late, filepath.Base(path)))})
			return nil
		})
		if err != nil {
			return nil, err
		}
		found, err := atomicfile.Files(w.path(t, fresh))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			open = append(open, Item{Note: read(w.path(t, fresh, name), false), Template: t})
		}
	}
	return append(all, open...), nil
}

// Open returns the IDs of the notes that no session has, the oldest first, by template.
func (w Work) Open() (map[string][]string, error) {
	templates, err := atomicfile.Folders(w.path())
	if err != nil {
		return nil, err
	}
	open := map[string][]string{}
	for _, t := range templates {
		found, err := atomicfile.Files(w.path(t, fresh))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			open[t] = append(open[t], mail.IDOf(name))
		}
	}
	return open, nil
}

// withLock calls do with each note of a template that a session has or had. why is ""
// unless it is blocked.
func (w Work) withLock(template string, do func(session, why, path string) error) error {
	sessions, err := atomicfile.Folders(w.path(template, members))
	if err != nil {
		return err
	}
	for _, s := range sessions {
		claimed, err := w.claimed(template, s)
		if err != nil {
			return err
		}
		for _, c := range claimed {
			if err := do(s, "", c.path); err != nil {
				return err
			}
		}
		reasons, err := atomicfile.Folders(w.path(template, members, s, blocked))
		if err != nil {
			return err
		}
		for _, why := range reasons {
			found, err := atomicfile.Files(w.path(template, members, s, blocked, why))
			if err != nil {
				return err
			}
			for _, name := range found {
				if err := do(s, why, w.path(template, members, s, blocked, why, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

type claim struct {
	path  string
	aside string // reason for which it was set aside, or ""
}

func (w Work) claimed(template, session string) (all []claim, err error) {
	reasons, err := atomicfile.Folders(w.path(template, members, session, leaving))
	if err != nil {
		return nil, err
	}
	for _, why := range append([]string{""}, reasons...) {
		dir := w.path(template, members, session, cur)
		if why != "" {
			dir = w.path(template, members, session, leaving, why)
		}
		found, err := atomicfile.Files(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			all = append(all, claim{filepath.Join(dir, name), why})
		}
	}
	return all, nil
}

// Claims counts the claimed notes by session name.
func (w Work) Claims(context.Context) (map[string]int, error) {
	claims := map[string]int{}
	templates, err := atomicfile.Folders(w.path())
	if err != nil {
		return nil, err
	}
	for _, t := range templates {
		sessions, err := atomicfile.Folders(w.path(t, members))
		if err != nil {
			return nil, err
		}
		for _, s := range sessions {
			found, err := w.claimed(t, s)
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				claims[s] += len(found)
			}
		}
	}
	return claims, nil
}

// Leave sets aside a session's claimed notes before the session goes. They still count as
// claimed. Leave, Keep and Free may be repeated.
func (w Work) Leave(_ context.Context, session, reason string) error {
	return w.each(session, reason, func(t, aside string) ([]string, error) {
		return []string{t, members, session, leaving, cmp.Or(aside, reason)}, nil
	})
}

// Keep undoes Leave.
func (w Work) Keep(_ context.Context, session string) error {
	return w.each(session, leaving, func(t, _ string) ([]string, error) { return []string{t, members, session, cur}, nil })
}

// Free frees a session's claimed notes: they are given back if Release says so, or blocked,
// with the reason of Leave if there was one.
func (w Work) Free(_ context.Context, session, reason string) error {
	return w.each(session, reason, func(t, aside string) ([]string, error) {
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

func (w Work) each(session, reason string, to func(template, aside string) ([]string, error)) error {
	if err := errors.Join(instance.CheckName(session), instance.CheckName(reason)); err != nil {
		return err
	}
	templates, err := atomicfile.Folders(w.path())
	if err != nil {
		return err
	}
	for _, t := range templates {
		found, err := w.claimed(t, session)
		if err != nil {
			return err
		}
		for _, c := range found {
			there, err := to(t, c.aside)
			if err != nil {
				return err
			}
			if filepath.Dir(c.path) == w.path(there...) {
				continue
			}
			if there[len(there)-1] == fresh {
				there = []string{t, w.free(t, c.path)}
			}
			if err := w.move(c.path, there...); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// free returns the state of a note that its session gives back: no other session is to have
// one that its giver took back.
func (w Work) free(template, path string) string {
	if atomicfile.Exists(w.path(template, late, filepath.Base(path))) { // mutant never: TestRecall
		return recalled
	}
	return fresh
}

func (w Work) Done(session, id string) error {
	return w.one(id, func(t, holder, why string) bool { return holder == session && why == "" }, done)
}

// Back gives back a note that any session has or had.
func (w Work) Back(id string) error {
	return w.one(id, func(string, string, string) bool { return true }, fresh)
}

// BackOf gives back a note that this session has or had.
func (w Work) BackOf(session, id string) error {
	return w.one(id, func(_, holder, _ string) bool { return holder == session }, fresh)
}

// one moves the note with that id to a folder of its template, if fits accepts exactly one.
func (w Work) one(id string, fits func(template, holder, why string) bool, to string) error {
	templates, err := atomicfile.Folders(w.path())
	if err != nil {
		return err
	}
	var found []string
	at := map[string]string{}
	for _, t := range templates {
		err := w.withLock(t, func(session, why, path string) error {
			if has := mail.IDOf(filepath.Base(path)); id != "" && strings.HasPrefix(has, strings.ToLower(id)) && fits(t, session, why) {
				found = append(found, path)
				at[path] = t
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("%w: '%s'", ErrNotFound, id)
	case 1:
		t, mark := at[found[0]], w.path(at[found[0]], late, filepath.Base(found[0]))
		if to == fresh {
			to = w.free(t, found[0])
		}
		err := w.move(found[0], t, to)
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
