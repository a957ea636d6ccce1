package request

import (
	"cmp"
	"errors"
	"time"

	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Session is a session whose request is served.
type Session struct {
	Home   home.Home
	Record *session.Record
	Now    time.Time
	Redact func(string) string
	Warn   func(error)
}

// PerformItem does what the item's command does outside a sandbox. A hand-over is only a note.
func (s Session) PerformItem(item Item) error {
	if item.Kind == Checkpoint {
		return s.checkpoint(item)
	}
	return s.leaveNote(item)
}

// leaveNote leaves a note for the session. A hand-over's note replaces the earlier ones of its
// chain, also in the session's hand-over that waits, if there is one.
func (s Session) leaveNote(item Item) error {
	address := s.Home.Identity.Address()
	n := mail.Note{
		Type: mail.Plain, From: address, To: address, Date: s.Now,
		Subject: s.Redact(item.Subject), Body: s.Redact(item.Message),
		Session: string(s.Record.ID), Chain: string(s.Record.ChainID),
	}
	box := mail.NewBox(s.Home, address)
	if item.Kind != Handoff {
		_, err := box.Deliver(n, item.Given)
		return err
	}
	n.Type = mail.Handoff
	n.Subject = cmp.Or(n.Subject, "a hand-over that was not finished")
	id, err := box.Deliver(n, true)
	if err != nil {
		return err
	}
	s.Warn(box.Supersede(n.Chain, id)) // a failure only repeats a message
	p := cmp.Or(s.Record.Promised(), s.Record.Handoff)
	if p == nil {
		return nil
	}
	p.Note, p.Text = id, nil // whoever takes up the earlier one gets this
	return session.Store{Home: s.Home, Warn: s.Warn}.Put(s.Record, atomicfile.Unsynced)
}

// checkpoint saves what the item reports, and the state of git, in the session's checkpoint.
func (s Session) checkpoint(item Item) error {
	if !s.Home.Identity.Role.HasOwnWork() {
		return nil
	}
	state, err := git.Status(s.Home.Dir, gitWait)
	if err != nil && !errors.Is(err, git.ErrNotRepository) {
		s.Warn(err)
	}
	lock, err := s.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return s.checkpointLocked(item, state)
}

// checkpointLocked writes a checkpoint under the home's lock. What item and state lack stays.
func (s Session) checkpointLocked(item Item, state git.State) error {
	c, err := checkpoint.Open(s.Home, s.Record.ID, s.Now)
	s.Warn(err)
	c.Timestamp, c.TakenBy = s.Now.UTC(), ""
	if state.Branch != "" {
		c.Branch, c.LastCommit = state.Branch, state.Head
		c.SetFiles(state.Changes)
	}
	for to, given := range map[*string]*string{
		&c.Notes: item.Notes, &c.MoleculeID: item.Molecule, &c.CurrentStep: item.Step, &c.StepTitle: item.StepTitle,
	} {
		if given != nil {
			*to = *given
		}
	}
	c.Clean(s.Redact)
	return c.Write(s.Home)
}

// Leftover turns the request of a session whose process is gone into notes. The caller
// holds the home's lock.
func (s Session) Leftover() error {
	if !HasStored(s.Home, s.Record.ID) ||
		s.Record.Live() { // mutant never: . TestScripts/handoff_sandbox
		return nil
	}
	items, _, err := Serve(s.Home, s.Record.ID)
	for _, item := range items {
		switch {
		case item.OfWork(): // gt-reconcile accounts for a gone session's work
		case item.Kind == Checkpoint:
			err = errors.Join(err, s.checkpointLocked(item, git.State{}))
		default:
			err = errors.Join(err, s.leaveNote(item))
		}
	}
	return err
}
