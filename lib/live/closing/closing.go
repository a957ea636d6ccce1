// Package closing closes a session that is over: its record, with the event that
// tells of it, its sign of life, and what was kept for a successor that it will not
// have.
package closing

import (
	"errors"
	"slices"
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/checkpoint"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/session"
)

// End is how a session ended.
type End struct {
	ID      session.ID
	Outcome session.Outcome
	Reason  string
	At      time.Time
	// ByClient says that the session's client tells of the end. A session whose
	// conversation goes on in another process is not over by that.
	ByClient bool
	Args     []string // of the client
}

// Intend notes that a session's process is about to be ended on purpose.
func Intend(s session.Store, id session.ID, stop session.Stop) error {
	lock, err := s.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return s.Stop(id, stop)
}

// Expect is Intend of a session of any home, and does nothing where it has no record.
func Expect(state place.State, id session.ID, stop session.Stop, warn func(error)) error {
	h, ok, err := home.OfSession(state, string(id))
	if err != nil || !ok {
		return err
	}
	return Intend(session.Store{Home: h, Warn: warn}, id, stop)
}

// CloseIn is Close of a session of any home, and does nothing where it has no record or
// has ended. The log of the town that the home is in tells of it.
func (e End) CloseIn(getenv func(string) string, state place.State, wait time.Duration, warn func(error)) error {
	h, ok, err := home.OfSession(state, string(e.ID))
	if err != nil || !ok {
		return err
	}
	h = h.InTown(getenv)
	err = e.Close(session.Store{Home: h, Warn: warn}, wait)
	if errors.Is(err, session.ErrEnded) || errors.Is(err, session.ErrUnknown) {
		return nil
	}
	return err
}

// Close notes the end of a session of the store's home, and waits that long for
// others that work there. A session that had ended already gives session.ErrEnded,
// once what is left of it is put away: an end that was killed may not have come to
// that.
func (e End) Close(s session.Store, wait time.Duration) error {
	lock, err := s.Home.LockWithin(wait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := s.Get(e.ID)
	if err != nil {
		return err
	}
	if e.ByClient && r != nil && r.Handoff != nil && r.Handoff.Kind == session.KindCycle {
		return nil
	}
	r, ended := s.End(e.At, e.ID, e.Outcome, e.Reason, e.Args...)
	if ended != nil && !errors.Is(ended, session.ErrEnded) {
		return ended
	}
	if err := e.putAway(s, r); err != nil {
		return err
	}
	return ended
}

// putAway removes what a session that has ended leaves.
func (e End) putAway(s session.Store, r *session.Record) (err error) {
	if h := keepalive.Read(s.Home); h != nil && h.SessionID == r.ID && h.State != keepalive.Ended {
		h.State, h.Timestamp = keepalive.Ended, e.At.UTC()
		err = keepalive.Touch(s.Home, *h)
	}
	if now := activity.Read(s.Home, r.ID); now.Status != "" && now.Status != activity.Ended {
		err = errors.Join(err, activity.Change(s.Home, r.ID, func(a *activity.State) bool {
			reason := activity.Reason("")
			if a.Status == activity.Limited {
				reason = activity.Spent // its account is at a limit, whoever uses it next
			}
			a.Status, a.Since, a.Reason, a.Source, a.Call, a.Background = activity.Ended, e.At.UTC(), reason, "SessionEnd", "", false
			return true
		}))
	}
	if r.Outcome != session.Done || r.Reason == "clear" {
		return err // who follows it may need what it kept
	}
	err = errors.Join(err, checkpoint.Clear(s.Home, r.ID, s.Warn))
	for _, note := range append(slices.Clone(r.DeliveredNotes), r.Note) {
		if note == "" {
			continue
		}
		if uerr := mail.Of(s.Home, s.Home.Identity.Address()).Unhook(note); !errors.Is(uerr, mail.ErrNotFound) {
			err = errors.Join(err, uerr)
		}
	}
	return err
}
