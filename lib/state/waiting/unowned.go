package waiting

import (
	"cmp"
	"errors"
	"slices"
	"sort"

	"gt/lib/place/home"
	"gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Unowned is a hand-over that no session's record has: a person's, of a session whose record is
// lost, or a claim, which another program or a killed gt-handoff left as a marker or note alone
// (findClaims). ID is the name of its file. A claim has none until Promise writes it.
type Unowned struct {
	*handover.Handover
	ID session.ID

	slot   handover.Slot
	shared bool // its marker belongs to an earlier note if this one is cancelled
}

// Reader is the session for which hand-overs are found.
type Reader struct {
	ID session.ID
	// Continues reports that the session's conversation goes on: of the claims, only what was
	// left before a compaction of it is for it.
	Continues bool
	// Busy reports that others change the home now, so that a marker or a note may be half
	// of a hand-over.
	Busy bool
	// Repairs reports that the reader holds the home's lock: FindUnowned sets damaged files aside,
	// and takes what an older gt took.
	Repairs bool
}

// FindUnowned returns the hand-overs of a home that no session's record has: files, and then
// claims, the oldest first. known are the sessions whose records could be read, hooked the notes of
// the mailbox that are hooked. It returns what it could read with an error.
func FindUnowned(store session.Store, known []session.Candidate, hooked []mail.Note, reader Reader) ([]*Unowned, error) {
	var files []*Unowned
	names, failed := handover.Waiting(store.Home)
	for _, name := range names {
		id, err := session.ParseID(name)
		if err != nil || session.Find(known, session.ID(name)) != nil || id != reader.ID && store.Exists(id) {
			continue // a record has it, or one that cannot be read may have it
		}
		o, slot, err := handover.Read(store.Home, name)
		switch {
		case errors.Is(err, handover.ErrDamaged) && reader.Repairs:
			err = cmp.Or(handover.SetAside(store.Home, name), err)
		case o == nil:
		case isTakenElsewhere(store.Home, o):
			if reader.Repairs {
				err = handover.TakeUnowned(store.Home, name, atomicfile.Unsynced)
			}
		default:
			files = append(files, &Unowned{Handover: o, ID: id, slot: slot})
		}
		failed = cmp.Or(failed, err)
	}
	sort.SliceStable(files, func(i, j int) bool { return files[i].At.Before(files[j].At) })
	claims, err := findClaims(store, known, files, hooked, reader)
	return append(files, claims...), cmp.Or(failed, err)
}

// isTakenElsewhere reports whether an older gt, which knows only the copies, told or cancelled a
// hand-over: its note was read or closed, and its marker is gone.
func isTakenElsewhere(h home.Home, o *handover.Handover) bool {
	if o.Claim || o.TakenBy != "" || o.Note == "" || marker.FromPath(o.Marker).Exists(h) {
		return false
	}
	note, err := mail.NewBox(h, h.Identity.Address()).Get(o.Note)
	return err == nil && (note.Seen || note.Done)
}

// findClaims makes hand-overs of the markers and notes that have no file: Gas Town's gt or an older gt
// left a marker, a note, or both, or a gt-handoff was killed before it wrote the file. Markers go
// to the latest unread notes; without such a note, the first marker is a hand-over of its own.
func findClaims(store session.Store, known []session.Candidate, files []*Unowned, hooked []mail.Note, reader Reader) ([]*Unowned, error) {
	kept := map[string]bool{} // the markers and notes of hand-overs that have a file
	for _, c := range known {
		if c.Handoff != nil {
			kept[c.Handoff.Marker] = true
		}
	}
	for _, u := range files {
		kept[u.Note], kept[u.Marker] = true, true
		for _, path := range u.Markers {
			kept[path] = true
		}
	}
	markers, err := marker.List(store.Home)
	markers = slices.DeleteFunc(markers, func(m marker.Marker) bool {
		return reader.Busy || kept[m.Path()] || reader.Continues && m.Reason != marker.Compaction
	})
	if reader.Continues && len(markers) == 0 {
		return nil, err
	}
	var all, free []*Unowned // free may get a marker; the latest is the first
	for _, n := range hooked {
		if n.Type != mail.Handoff || n.Seen || kept[n.ID] || !reader.mayGet(store, known, n) {
			continue
		}
		c := newClaim()
		c.Note, c.At = n.ID, n.Date
		all = append(all, c)
		from := func(m marker.Marker) bool { return m.From == n.Session }
		if reader.Continues || session.Find(known, session.ID(n.Session)) == nil || slices.ContainsFunc(markers, from) {
			free = append([]*Unowned{c}, free...)
		}
	}
	// The first marker is a hand-over even without a note. A further one gets the next free note.
	// Without that, one that gt wrote joins the hand-over of the marker before it.
	var c *Unowned
	for i, m := range markers {
		switch {
		case i > 0 && m.Reason == marker.Compaction:
			continue // for the next start
		case len(free) > 0:
			c, free = free[0], free[1:]
		case i == 0:
			c = newClaim()
			all = append(all, c)
		case m.Claimed:
			continue // also for the next start
		}
		if len(c.Markers) == 0 {
			c.From, c.Reason = m.From, m.Reason
		}
		c.Markers = append(c.Markers, m.Path())
	}
	for _, c := range all {
		c.shared = len(free) > 0
	}
	return slices.DeleteFunc(all, func(c *Unowned) bool { return c.isBeingTold(known, reader.ID) }), err
}

func newClaim() *Unowned {
	return &Unowned{Handover: &handover.Handover{Kind: session.KindHandoff, Claim: true}, ID: session.InventID()}
}

// mayGet reports whether a hand-over's note without a file can be for the reader. One that
// continues gets its own notes alone. Another one gets those of sessions that do not run and have
// no hand-over: a session that runs can still write that. A note of no session waits while others
// change the home.
func (by Reader) mayGet(s session.Store, known []session.Candidate, n mail.Note) bool {
	if by.Continues {
		return n.Session == string(by.ID)
	}
	id, err := session.ParseID(n.Session)
	if err != nil {
		return !by.Busy
	}
	if c := session.Find(known, session.ID(n.Session)); c != nil {
		return c.Handoff == nil && c.Liveness != session.Running
	}
	_, err = s.Get(id) // of a record that cannot be read nothing is known
	return err == nil
}

// isBeingTold reports whether another session that runs is getting the note.
func (u *Unowned) isBeingTold(known []session.Candidate, by session.ID) bool {
	return u.Note != "" && slices.ContainsFunc(known, func(o session.Candidate) bool {
		return o.ID != by && o.Liveness == session.Running && (o.Record.Note == u.Note || slices.Contains(o.DeliveredNotes, u.Note))
	})
}

// Marked reports whether a marker says that the hand-over is done. A note alone may be half of one.
func (u *Unowned) Marked() bool { return u.Marker != "" || len(u.Markers) > 0 }

// Promise writes that a session is about to take the hand-over, so that no other one does. It
// writes nothing for a hand-over without a note. If the note is another program's, a copy of it
// without secrets is kept in u.Text, and the program's own file is not read again. The caller
// holds the home's lock.
func Promise(u *Unowned, h home.Home, by session.ID, note *mail.Note, redact func(string) string) error {
	if u.Note == "" {
		return nil // the agent could not ask for it again if it was not delivered
	}
	u.TakenBy = string(by)
	u.From, u.Reason = redact(u.From), redact(u.Reason)
	if u.Text == nil && note != nil {
		u.Text = NewText(note.Clean(redact))
	}
	return u.slot.Put(h, string(u.ID), u.Handover, atomicfile.Unsynced)
}

// Take takes the hand-over after it was told: first its copies go, so that a start after a kill
// tells it again. The caller holds the home's lock.
func Take(u *Unowned, h home.Home) error {
	if err := DropCopies(h, u.Handover); err != nil {
		return err
	}
	return handover.TakeUnowned(h, string(u.ID), atomicfile.Unsynced)
}

// DropCopies marks the copy of a hand-over's note as read, and then removes its markers. The
// caller holds the home's lock.
func DropCopies(h home.Home, o *handover.Handover) error {
	if o.Note != "" {
		if err := mail.NewBox(h, h.Identity.Address()).MarkSeen(o.Note); err != nil && !errors.Is(err, mail.ErrNotFound) {
			return err
		}
	}
	for _, path := range append([]string{o.Marker}, o.Markers...) {
		if err := marker.FromPath(path).Remove(h); err != nil {
			return err
		}
	}
	return nil
}

// NewText returns what a hand-over keeps of its note.
func NewText(n mail.Note) *handover.Text {
	return &handover.Text{From: n.From, To: n.To, Session: n.Session, Subject: n.Subject, Date: n.Date.UTC(), Chain: n.Chain, Body: n.Body}
}

// FindNote returns a note from the hand-over that has it: somebody can have removed its copy in the
// mailbox. It is nil if none has.
func FindNote(h home.Home, id string) *mail.Note {
	if o := handover.Find(h, id); o != nil {
		return NoteOf(o)
	}
	return nil
}

// NoteOf returns the note of a hand-over with its text, nil if that is only in the mailbox.
func NoteOf(o *handover.Handover) *mail.Note {
	t := o.Text
	if t == nil || o.Note == "" {
		return nil
	}
	return &mail.Note{
		ID: o.Note, Type: mail.Handoff, From: t.From, To: t.To, Session: t.Session, Subject: t.Subject, Date: t.Date, Chain: t.Chain, Body: t.Body,
	}
}
