// Package waiting finds the hand-overs of a home that no session has taken yet, and cancels
// them. Each is a file (lib/state/handover); what the markers and notes of others come to is
// one, too, as soon as a session is about to be told of it.
package waiting

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/home"
	"gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// Handover is a hand-over that the next session would get.
type Handover struct {
	*handover.Handover
	Subject string          // of its note
	Record  *session.Record // of the session that handed over; nil if no record has it
	// Asked reports that it is only a request from a sandbox, to be done at the end of the turn.
	Asked bool
	// PromisedTo is the running session that is being told it, "" for none.
	PromisedTo session.ID

	chain   session.ID
	unowned *Unowned // without a record
}

// ListHandovers returns the hand-overs that wait in a home. The caller holds the home's lock.
func ListHandovers(h home.Home, warn func(error)) ([]Handover, error) {
	records, err := session.Store{Home: h, Warn: warn}.ReadRecords()
	if err != nil {
		return nil, err
	}
	box := mail.NewBox(h, h.Identity.Address())
	hooked, err := box.Hooked()
	if err != nil {
		return nil, err
	}
	var found []Handover
	for _, r := range records {
		if subject, ok := request.AskedHandover(h, r.ID); ok && !r.Ended() {
			found = append(found, Handover{Handover: new(handover.Handover), Record: r, Asked: true, Subject: subject})
		}
		if p := r.Promised(); p != nil {
			found = append(found, Handover{Handover: p, Record: r, chain: r.Chain()})
		}
	}
	unowned, err := FindUnowned(session.Store{Home: h, Warn: warn}, session.Observe(time.Now(), records), hooked, Reader{Repairs: true})
	for _, u := range unowned {
		// The marker of another program (Claimed) without a note is for that program to take back.
		if u.Note != "" || len(u.Markers) == 0 || !marker.FromPath(u.Markers[0]).Claimed {
			found = append(found, Handover{Handover: u.Handover, unowned: u})
		}
	}
	warn(err)
	for i := range found {
		w := &found[i]
		w.describe(box, warn)
		if slices.ContainsFunc(records, func(by *session.Record) bool { return string(by.ID) == w.TakenBy && by.Live() }) {
			w.PromisedTo = session.ID(w.TakenBy)
		}
	}
	return found, nil
}

// describe adds what the hand-over's note says.
func (w *Handover) describe(box mail.Box, warn func(error)) {
	text := w.Text
	if text == nil && w.Note != "" {
		note, err := box.Get(w.Note)
		if err != nil && !errors.Is(err, mail.ErrNotFound) {
			warn(err)
		}
		text = NewText(note)
	}
	if text != nil {
		w.Subject, w.chain = text.Subject, cmp.Or(w.chain, session.ID(text.Chain))
	}
}

// Cancel cancels a hand-over and closes its note. The caller holds the home's lock. After a
// kill, the hand-over either still waits (see ListHandovers) or is cancelled.
func (w Handover) Cancel(h home.Home, now time.Time, warn func(error)) error {
	if w.Asked {
		return request.Withdraw(h, w.Record.ID)
	}
	if err := w.dropMarkers(h); err != nil {
		return err
	}
	if err := w.takeBack(h, warn); err != nil {
		return err
	}
	w.log(h, now, warn)
	if err := w.closeNote(h); err != nil {
		return err
	}
	if w.unowned != nil {
		return handover.TakeUnowned(h, string(w.unowned.ID), atomicfile.Synced)
	}
	store := session.Store{Home: h, Warn: warn}
	r, err := store.Get(w.Record.ID)
	if p := r.Promised(); err != nil || p == nil || p.Note != w.Note { // it is another one now
		return err
	}
	if r.Handoff.Earlier != nil {
		r.Handoff.Earlier = nil // the session's note to itself stays
	} else {
		r.Handoff = nil
	}
	return store.Put(r, atomicfile.Synced)
}

// dropMarkers removes the markers of a hand-over that is cancelled. It leaves those that another
// program wrote (Claimed), and one that an earlier note then gets (shared).
func (w Handover) dropMarkers(h home.Home) error {
	for _, path := range append([]string{w.Marker}, w.Markers...) {
		m := marker.FromPath(path)
		if m.Claimed || w.unowned != nil && w.unowned.shared {
			continue
		}
		if err := m.Remove(h); err != nil {
			return err
		}
	}
	return nil
}

func (w Handover) closeNote(h home.Home) error {
	if w.Note == "" {
		return nil
	}
	err := mail.NewBox(h, h.Identity.Address()).DoneWith(w.Note)
	if errors.Is(err, mail.ErrNotFound) {
		return nil
	}
	return err
}

// takeBack removes the message from its chain's thread.
func (w Handover) takeBack(h home.Home, warn func(error)) error {
	if w.Note == "" || w.chain == "" {
		return nil
	}
	_, err := thread.Update(h.Town.State, w.chain, atomicfile.Synced, warn, func(t *thread.Thread) { t.TakeBack(w.Note) })
	return err
}

// log logs the cancellation, unless an earlier Cancel did before it was killed.
func (w Handover) log(h home.Home, now time.Time, warn func(error)) {
	payload := struct {
		SessionID session.ID `json:"session_id,omitempty"`
		Note      string     `json:"note,omitempty"`
		Subject   string     `json:"subject,omitempty"`
	}{Note: w.Note, Subject: w.Subject}
	if w.Record != nil {
		payload.SessionID = w.Record.ID
	}
	log, spare := eventlog.Log(h.Town.Events()), eventlog.Log(h.Town.SpareEvents())
	last := log.LastEvent(spare, string(payload.SessionID), eventlog.Handoff, eventlog.HandoffCancelled)
	if last.Type == eventlog.HandoffCancelled && (w.Record != nil || w.Note != "" && bytes.Contains(last.Payload, []byte(`"note":"`+w.Note+`"`))) {
		return
	}
	warn(log.AppendOr(spare, warn, now, eventlog.HandoffCancelled, h.Identity.Address(), payload))
}
