package perform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gt/lib/reconcile/config"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/sys/flock"
)

// A person's request is carried out like a change of a tick: by this package, under the
// same locks and in the same order of operations.

// ErrState reports that a session's state does not allow a request.
var ErrState = errors.New("it is in another state")

var errNotManaged = fmt.Errorf("%w: it was made from no template", ErrState)

var ErrNoTemplate = errors.New("no such template")

// ErrHeld reports that a session may not start now.
var ErrHeld = errors.New("it may not be started now")

// New makes a session of a template and starts it. If its agent does not start, New returns
// the session and an error; later ticks try again and close it after the creation timeout.
func (w *World) New(ctx context.Context, name string, overlay map[string]string) (*instance.Instance, error) {
	p, err := w.planUnchecked(ctx)
	if err != nil {
		return nil, err
	}
	t := p.config.Find(name)
	if t == nil {
		return nil, fmt.Errorf("%w: '%.80s'", ErrNoTemplate, name)
	}
	if err := t.CheckOverlay(overlay); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOverlay, err)
	}
	if own := overlay["name"]; own != "" {
		if err := instance.CheckName(own); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOverlay, err)
		}
	}
	if why, ok := tick.CanStart(p.Facts, name); !ok {
		return nil, fmt.Errorf("%w: %s", ErrHeld, why)
	}
	now := w.roundedNow()
	first := w.createRecords(p.config, []tick.Action{{Change: lifecycle.Create, Why: "somebody asked for it", Session: lifecycle.Session{
		Template: name, State: lifecycle.Creating, Reason: lifecycle.UserRequest, CreatedAt: now, CreatingAt: now,
	}}}, overlay)[0]
	if first.err != nil {
		return nil, first.err
	}
	in := first.in
	if size := len(overlay["prompt"]); size > 0 {
		w.Log("session.overlay.prompt", map[string]any{"session": in.Name, "template": name, "bytes": size})
	}
	begin := tick.Action{Change: lifecycle.Begin, Before: in.Managed.Session, Session: in.Managed.Session, Why: "somebody asked for it"}
	if _, err := w.ChangeSession(ctx, p.config, begin); err != nil {
		return in, err
	}
	again, err := w.Store.Get(in.ID)
	if err != nil {
		return in, err
	}
	_, err = w.ChangeSession(ctx, p.config, tick.CompletedBy(again.Managed.Session, w.roundedNow()))
	return again, err
}

// planUnchecked plans a tick without running the pools' checks, so that nothing is scaled.
func (w *World) planUnchecked(ctx context.Context) (*Plan, error) {
	quiet := *w
	quiet.Check = noCheck
	return quiet.Plan(ctx)
}

var ErrOverlay = errors.New("invalid overlay")

// performRequest makes the change that change returns for a session's current record. While another
// command is at the session, it returns flock.ErrBusy.
func (w *World) performRequest(ctx context.Context, id instance.ID, change func(lifecycle.Session) (tick.Action, error)) error {
	in, err := w.Store.Get(id)
	if err != nil {
		return err
	}
	if in.Managed == nil {
		return errNotManaged
	}
	a, err := change(in.Managed.Session)
	if err != nil {
		return err
	}
	c, err := w.Config()
	if err != nil {
		if slices.Contains(a.Change.Order().Ops, lifecycle.Start) {
			return err
		}
		w.Warn(err) // ending it does not need its template
		c = &config.Config{}
	}
	if _, err = w.ChangeSession(ctx, c, a); errors.Is(err, errSkipped) {
		return fmt.Errorf("%w: %w", flock.ErrBusy, err)
	}
	return err
}

func checkState(s lifecycle.Session, states ...lifecycle.State) error {
	if slices.Contains(states, s.State) {
		return nil
	}
	return fmt.Errorf("%w: it is %s", ErrState, s.State)
}

// Suspend ends the agent of an active session, whose conversation is resumed later.
func (w *World) Suspend(ctx context.Context, id instance.ID) error {
	return w.performRequest(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		return tick.Requested(lifecycle.Suspend, s, lifecycle.UserRequest, w.roundedNow()), checkState(s, lifecycle.Active)
	})
}

// Shutdown suspends a session while everything is down. Desired stays Running, so that IsShutDown
// can tell these sessions from those that were suspended on purpose.
func (w *World) Shutdown(ctx context.Context, id instance.ID) error {
	down := *w
	down.keepsDesired = true
	return down.Suspend(ctx, id)
}

// IsShutDown reports whether Shutdown ended a session that was not resumed since.
func IsShutDown(in *instance.Instance) bool {
	return in.Managed != nil && in.Managed.State == lifecycle.Suspended && in.Desired == instance.Running
}

// Resume starts the agent of a suspended or quarantined session.
func (w *World) Resume(ctx context.Context, id instance.ID) error {
	return w.performRequest(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		if err := checkState(s, lifecycle.Suspended, lifecycle.Quarantined); err != nil {
			return tick.Action{}, err
		}
		p, err := w.planUnchecked(ctx)
		if err != nil {
			return tick.Action{}, err
		}
		if why, ok := tick.CanStart(p.Facts, s.Template); !ok {
			return tick.Action{}, fmt.Errorf("%w: %s", ErrHeld, why)
		}
		if s.State == lifecycle.Quarantined {
			return tick.Requested(lifecycle.Clear, s, lifecycle.QuarantineCleared, w.roundedNow()), nil
		}
		return tick.Requested(lifecycle.Resume, s, lifecycle.Resumed, w.roundedNow()), nil
	})
}

// Drain lets an active pool session finish its work. A later tick archives it.
func (w *World) Drain(ctx context.Context, id instance.ID) error {
	return w.performRequest(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		if s.Pool == "" {
			return tick.Action{}, fmt.Errorf("%w: it is of no pool", ErrState)
		}
		return tick.Requested(lifecycle.Drain, s, lifecycle.Manual, w.roundedNow()), checkState(s, lifecycle.Active)
	})
}

// Accept takes the configuration that a session runs with for that of its template, until
// the template changes again.
func (w *World) Accept(ctx context.Context, id instance.ID) error {
	in, err := w.Store.Get(id)
	if err != nil {
		return err
	}
	if in.Managed == nil {
		return errNotManaged
	}
	wanted, err := w.Effective(in)
	if err != nil {
		return err
	}
	return w.changeRecord(ctx, id, func(s *lifecycle.Session) { s.Hash = wanted.Hash() })
}

// Pin keeps a session from being replaced when its template changes; off undoes that.
func (w *World) Pin(ctx context.Context, id instance.ID, off bool) error {
	return w.changeRecord(ctx, id, func(s *lifecycle.Session) { s.Pinned = !off })
}

// changeRecord changes what is recorded of a session and not its state.
func (w *World) changeRecord(ctx context.Context, id instance.ID, change func(*lifecycle.Session)) error {
	return w.performRequest(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		a := tick.Action{Change: lifecycle.Note, Before: s, Session: s, Why: "somebody asked for it"}
		change(&a.Session)
		return a, nil
	})
}

// Close ends a session for good; its record stays.
func (w *World) Close(ctx context.Context, id instance.ID, reason lifecycle.Reason) error {
	return w.performRequest(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		if s.State == lifecycle.Closed {
			return tick.Action{}, instance.ErrClosed
		}
		return tick.Requested(lifecycle.Close, s, reason, w.roundedNow()), nil
	})
}

// Effective returns the configuration that a start of a session would use now.
func (w *World) Effective(in *instance.Instance) (template.Effective, error) {
	c, err := w.Config()
	if err != nil {
		return template.Effective{}, err
	}
	t := c.Find(in.Managed.Template)
	if t == nil {
		return template.Effective{}, fmt.Errorf("%w: '%.80s'", ErrNoTemplate, in.Managed.Template)
	}
	allowed, _ := t.AllowedOverlay(in.Managed.Overlay)
	return c.Effective(*t, allowed), nil
}

// Inspect returns the fields of a session's configuration, without and with its overlay.
// They are nil if its template is gone.
func (w *World) Inspect(in *instance.Instance) (plain, effective map[string]string, err error) {
	c, err := w.Config()
	if err != nil {
		return nil, nil, err
	}
	t := c.Find(in.Managed.Template)
	if t == nil {
		return nil, nil, nil
	}
	allowed, _ := t.AllowedOverlay(in.Managed.Overlay)
	return c.Effective(*t, nil).Fields(), c.Effective(*t, allowed).Fields(), nil
}
