// Package waiting finds the hand-overs of a home that no session has taken yet, and cancels
// them: those in the files of their sessions (lib/state/handover), and claims, which is what
// the markers and notes of others come to.
package waiting

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/home"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// Handover is a hand-over that the next session would get.
type Handover struct {
	Note   mail.Note       // without body; without ID if there is no note
	Record *session.Record // of the session that handed over; nil if unknown
	// Asked reports that it is only a request from a sandbox, to be done at the end of the
	// turn.
	Asked bool

	claim *Claim // without a record
}

// ListHandovers returns the hand-overs that wait in a home. To cancel one, hold the home's lock.
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
		if subject, ok := request.Asked(h, r.ID); ok && !r.Ended() {
			found = append(found, Handover{Record: r, Asked: true, Note: mail.Note{Subject: subject}})
		}
		p := r.Promised()
		if p == nil {
			continue
		}
		if slices.ContainsFunc(records, func(by *session.Record) bool { return string(by.ID) == p.TakenBy && by.Live() }) {
			continue // that session is getting it
		}
		note, err := box.Get(p.Note)
		if err != nil && !errors.Is(err, mail.ErrNotFound) {
			warn(err)
		}
		note.Body = ""
		found = append(found, Handover{Note: note, Record: r})
	}
	claims, err := Claims(session.Store{Home: h, Warn: warn}, session.Observe(time.Now(), records), hooked, Reader{})
	for _, c := range claims {
		switch {
		case c.Note != nil:
			found = append(found, Handover{Note: *c.Note, claim: c})
		case !c.markers[0].Claimed: // another program takes its own back
			found = append(found, Handover{claim: c})
		}
	}
	return found, err
}

// Cancel cancels a hand-over and closes its note. The caller holds the home's lock. After a
// kill, the hand-over either still waits (see ListHandovers) or is cancelled.
func (w Handover) Cancel(h home.Home, now time.Time, warn func(error)) error {
	store := session.Store{Home: h, Warn: warn}
	if w.Asked {
		return request.Withdraw(h, w.Record.ID)
	}
	if w.claim != nil { // it waits until its note is closed
		if err := w.claim.dropMarkers(h); err != nil {
			return err
		}
		if err := w.takeBack(h, session.ID(w.Note.Chain), warn); err != nil {
			return err
		}
		w.log(h, now, warn)
		return w.closeNote(h)
	}
	if err := w.closeNote(h); err != nil {
		return err
	}
	if err := w.takeBack(h, w.Record.Chain(), warn); err != nil {
		return err
	}
	w.log(h, now, warn)
	promised := w.Record.Promised()
	if err := (marker.Marker{Name: promised.Marker}).Remove(h); err != nil {
		return err
	}
	r, err := store.Get(w.Record.ID)
	if p := r.Promised(); err != nil || p == nil || p.Note != promised.Note {
		return err
	}
	if r.Handoff.Earlier != nil {
		r.Handoff.Earlier = nil // the session's note to itself stays
	} else {
		r.Handoff = nil
	}
	return store.Put(r, atomicfile.Synced)
}

func (w Handover) closeNote(h home.Home) error {
	if w.Note.ID == "" {
		return nil
	}
	err := mail.NewBox(h, h.Identity.Address()).DoneWith(w.Note.ID)
	if errors.Is(err, mail.ErrNotFound) {
		return nil
	}
	return err
}

// takeBack removes the message from its chain's thread.
func (w Handover) takeBack(h home.Home, chain session.ID, warn func(error)) error {
	if w.Note.ID == "" || chain == "" {
		return nil
	}
	_, err := thread.Update(h.Town.State, chain, atomicfile.Synced, warn, func(t *thread.Thread) { t.TakeBack(w.Note.ID) })
	return err
}

// log logs the cancellation once, even if an earlier Cancel was killed after it.
func (w Handover) log(h home.Home, now time.Time, warn func(error)) {
	payload := struct {
		SessionID session.ID `json:"session_id,omitempty"`
		Note      string     `json:"note,omitempty"`
		Subject   string     `json:"subject,omitempty"`
	}{Note: w.Note.ID, Subject: w.Note.Subject}
	if w.Record != nil {
		payload.SessionID = w.Record.ID
	}
	log, spare := eventlog.Log(h.Town.Events()), eventlog.Log(h.Town.Spare())
	last := log.LastEvent(spare, string(payload.SessionID), eventlog.Handoff, eventlog.HandoffCancelled)
	if last.Type == eventlog.HandoffCancelled && (w.Record != nil || w.Note.ID != "" && bytes.Contains(last.Payload, []byte(`"note":"`+w.Note.ID+`"`))) {
		return
	}
	warn(log.AppendOr(spare, warn, now, eventlog.HandoffCancelled, h.Identity.Address(), payload))
}
