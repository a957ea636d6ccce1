package waiting

import (
	"errors"
	"slices"

	"gt/lib/place/home"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
)

// Claim is a hand-over that no session's record has: Gas Town's gt, a person or an older gt
// left a marker, a note, or both; or a gt-handoff was killed before it recorded its own.
type Claim struct {
	// Marked reports whether a marker says that the hand-over is done, From and Reason what
	// that says.
	Marked       bool
	From, Reason string
	Note         *mail.Note // without body; nil for a marker alone

	markers []marker.Marker
	shared  bool // its marker belongs to an earlier note if this one is closed
}

// Reader is the session for which claims are found.
type Reader struct {
	ID session.ID
	// Continues reports that the session's conversation goes on: only what was left before
	// a compaction of it is for it.
	Continues bool
	// Busy reports that others change the home now, so that a marker or a note may be half
	// of a hand-over.
	Busy bool
}

// Claims returns the claims of a home, oldest first. known are the sessions whose records
// could be read, hooked the notes of the mailbox that are hooked. Markers without an owner
// belong to the latest unread notes. Claims returns what it could read with an error.
func Claims(s session.Store, known []session.Candidate, hooked []mail.Note, by Reader) ([]*Claim, error) {
	markers, err := marker.List(s.Home)
	markers = slices.DeleteFunc(markers, func(m marker.Marker) bool {
		owned := slices.ContainsFunc(known, func(c session.Candidate) bool { return c.Handoff != nil && c.Handoff.Marker == m.Name })
		return by.Busy || owned && !m.Claimed || by.Continues && m.Reason != marker.Compaction
	})
	if by.Continues && len(markers) == 0 {
		return nil, err
	}
	var all, free []*Claim // free may get a marker; the latest is the first
	for _, n := range hooked {
		if n.Type != mail.Handoff || n.Seen || !by.mayGet(s, known, n) {
			continue
		}
		c := &Claim{Note: &n}
		all = append(all, c)
		from := func(m marker.Marker) bool { return m.From == n.Session }
		if by.Continues || find(known, n.Session) == nil || slices.ContainsFunc(markers, from) {
			free = append([]*Claim{c}, free...)
		}
	}
	var c *Claim
	for i, m := range markers {
		switch {
		case i > 0 && m.Reason == marker.Compaction:
			continue // for the next start
		case len(free) > 0:
			c, free = free[0], free[1:]
		case i == 0:
			c = &Claim{}
			all = append(all, c)
		case m.Claimed:
			continue // also for the next start
		}
		if !c.Marked {
			c.Marked, c.From, c.Reason = true, m.From, m.Reason
		}
		c.markers = append(c.markers, m)
	}
	for _, c := range all {
		c.shared = len(free) > 0
	}
	return slices.DeleteFunc(all, func(c *Claim) bool { return c.isBeingTold(known, by.ID) }), err
}

// mayGet reports whether an unread note can be for the reader. A session that runs can
// still leave its marker.
func (by Reader) mayGet(s session.Store, known []session.Candidate, n mail.Note) bool {
	if by.Continues {
		return n.Session == string(by.ID)
	}
	id, err := session.ParseID(n.Session)
	if err != nil {
		return !by.Busy
	}
	if c := find(known, n.Session); c != nil {
		return c.Handoff == nil && c.Liveness != session.Running
	}
	_, err = s.Get(id) // of a record that cannot be read nothing is known
	return err == nil
}

// isBeingTold reports whether another session that runs is getting the note.
func (c *Claim) isBeingTold(known []session.Candidate, by session.ID) bool {
	return slices.ContainsFunc(known, func(o session.Candidate) bool {
		return o.ID != by && o.Liveness == session.Running && (c.HoldsNote(o.Record.Note) || slices.ContainsFunc(o.DeliveredNotes, c.HoldsNote))
	})
}

func find(known []session.Candidate, id string) *session.Candidate {
	if i := slices.IndexFunc(known, func(c session.Candidate) bool { return string(c.ID) == id }); i >= 0 {
		return &known[i]
	}
	return nil
}

// Take acknowledges a claim that was told: its note is read, and then its marker goes, so
// that a start after a kill tells it again. The caller holds the home's lock.
func (c *Claim) Take(h home.Home, box mail.Box) error {
	if c.Note != nil {
		if err := box.MarkSeen(c.Note.ID); err != nil && !errors.Is(err, mail.ErrNotFound) {
			return err
		}
	}
	for _, m := range c.markers {
		if err := m.Remove(h); err != nil {
			return err
		}
	}
	return nil
}

// dropMarkers removes the markers of a claim that is cancelled. Another program takes back
// its own.
func (c *Claim) dropMarkers(h home.Home) error {
	for _, m := range c.markers {
		if c.shared || m.Claimed {
			continue
		}
		if err := m.Remove(h); err != nil {
			return err
		}
	}
	return nil
}

// Owned returns the copies of a session's hand-over: its marker, and its note unless that is
// nil.
func Owned(r *session.Record, note *mail.Note) *Claim {
	return &Claim{Note: note, markers: []marker.Marker{{Name: r.Handoff.Marker}}}
}

// HoldsNote reports whether a note is the claim's. A nil claim has none.
func (c *Claim) HoldsNote(note string) bool { return c != nil && c.Note != nil && c.Note.ID == note }

// SameOrigin reports whether two claims have the same origin.
func (c *Claim) SameOrigin(d *Claim) bool {
	return slices.Equal(c.markers, d.markers) && (c.Note == nil && d.Note == nil || d.Note != nil && c.HoldsNote(d.Note.ID))
}
