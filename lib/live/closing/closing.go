// Package closing closes a session that has ended: its record and the logged event, its
// keepalive file and state, and what was kept for a successor if there will be none.
package closing

import (
	"errors"
	"os"
	"slices"
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/checkpoint"
	"gt/lib/state/handover"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// End is how a session ended.
type End struct {
	ID      session.ID
	Outcome session.Outcome
	Reason  string
	At      time.Time
	// ByClient reports whether the session's client reported the end. That does not end
	// a session whose conversation goes on in another process.
	ByClient bool
	Headless process.Proc // the client, if no person sees its run
	Args     []string     // the client's
}

// IntendStop records that a session's process is about to be ended on purpose.
func IntendStop(s session.Store, id session.ID, stop session.Stop) error {
	lock, err := s.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return s.Stop(id, stop)
}

// ExpectStop is IntendStop for a session of any home. It does nothing without a record.
func ExpectStop(state place.State, id session.ID, stop session.Stop, warn func(error)) error {
	h, ok, err := home.OfSession(state, string(id))
	if err != nil || !ok {
		return err
	}
	return IntendStop(session.Store{Home: h, Warn: warn}, id, stop)
}

// CloseIn is Close for a session of any home. It does nothing without a record or if the
// session has ended. The end is logged in the town of the home.
func (e End) CloseIn(state place.State, wait time.Duration, warn func(error)) error {
	h, ok, err := home.OfSession(state, string(e.ID))
	if err != nil || !ok {
		return err
	}
	h = h.InTown()
	err = e.Close(session.Store{Home: h, Warn: warn}, wait)
	if errors.Is(err, session.ErrEnded) || errors.Is(err, session.ErrUnknown) {
		return nil
	}
	return err
}

// Close records the end of a session in the store's home. It waits up to wait for the
// home's lock. If the session has ended already, Close returns session.ErrEnded after
// cleaning up again, because an earlier call may have been killed before it did.
func (e End) Close(s session.Store, wait time.Duration) error {
	lock, err := s.Home.LockWithin(wait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := s.Get(e.ID)
	if err == nil && r != nil {
		err = r.Unread
	}
	if err != nil {
		return err
	}
	if e.ByClient && r != nil && r.Handoff != nil && r.Handoff.Kind == session.KindCycle {
		return nil // the conversation goes on in a new process
	}
	if e.Headless.IsSet() && r != nil && !r.Ended() && r.WaitsForPerson(e.At, e.Headless) {
		return nil // a headless run of another process leaves the person's session as it is
	}
	r, ended := s.End(e.At, e.ID, e.Outcome, e.Reason, e.Args...)
	if ended != nil && !errors.Is(ended, session.ErrEnded) {
		return ended
	}
	if err := e.cleanUp(s, r); err != nil {
		return err
	}
	return ended
}

// cleanUp marks a session as ended in its keepalive file and its state. If it has no successor, its
// checkpoint is removed, and the notes that it was told are closed. If it had no prompt, the notes
// and the hand-over that it took wait for the next session instead. After a /clear the checkpoint
// stays, and with a prompt the notes, because the next conversation can be asked about this one.
func (e End) cleanUp(s session.Store, r *session.Record) (err error) {
	if h := keepalive.Read(s.Home); h != nil && h.SessionID == r.ID && h.State != keepalive.Ended {
		h.State, h.Timestamp, h.Awake = keepalive.Ended, e.At.UTC(), 0
		err = keepalive.Touch(s.Home, *h)
	}
	if now := activity.Read(s.Home, r.ID); now.Status != "" && now.Status != activity.Ended {
		err = errors.Join(err, activity.Change(s.Home, r.ID, func(a *activity.State) bool {
			reason := activity.Reason("")
			switch {
			case a.Status == activity.Limited:
				reason = activity.Spent // the account stays at its limit
			case a.CutOff() && r.Outcome == session.Killed:
				reason = activity.Interrupted
			}
			a.Status, a.Since, a.Reason, a.Source, a.Call, a.Background = activity.Ended, e.At.UTC(), reason, "SessionEnd", "", false
			a.Awake = 0
			return true
		}))
	}
	if r.Outcome != session.Done {
		return err // the successor may need the checkpoint and the notes
	}
	used := wasUsed(s.Home, r)
	if !used && r.ParentID != "" {
		err = errors.Join(err, handover.GiveBack(s.Home, string(r.ParentID), string(r.ID)))
	}
	if r.Reason == "clear" && used {
		return err
	}
	if r.Reason != "clear" {
		err = errors.Join(err, checkpoint.Clear(s.Home, r.ID, s.Warn))
	}
	box := mail.NewBox(s.Home, s.Home.Identity.Address())
	for _, id := range append(slices.Clone(r.DeliveredNotes), r.Note) {
		if id == "" {
			continue
		}
		note, nerr := box.Get(id)
		switch {
		case nerr != nil || !note.Seen: // an unseen one was not delivered, so it waits
		case used:
			nerr = box.Unhook(id)
		default:
			nerr = box.MarkUnseen(id)
		}
		if !errors.Is(nerr, mail.ErrNotFound) {
			err = errors.Join(err, nerr)
		}
	}
	return err
}

// wasUsed reports whether the session had a prompt: its hook noted one, its conversation was
// read, or the client has written it.
func wasUsed(h home.Home, r *session.Record) bool {
	if !activity.Read(h, r.ID).Prompted.IsZero() {
		return true
	}
	if read, err := atomicfile.IsPresent(h.Path("sessions", string(r.ID)+".tail")); read || err != nil { // of lib/conversation/tail
		return true
	}
	info, err := os.Stat(r.Transcript)
	return err == nil && info.Size() > 0
}
