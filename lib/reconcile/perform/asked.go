package perform

import (
	"context"
	"errors"
	"fmt"

	"gt/lib/reconcile/config"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/sys/flock"
)

// What a person asks for is made as a tick makes its changes: under the same locks, in the
// same orders, and by this package alone.

// ErrState says that a session is in no state from which that can be done.
var ErrState = errors.New("it is in another state")

// ErrNoTemplate says that there is no template of that name.
var ErrNoTemplate = errors.New("no such template")

// ErrHeld says that a session may not be started now.
var ErrHeld = errors.New("it may not be started now")

// New makes a session of a template and starts it. It returns the session also where its
// agent did not start: the next tick tries again, and closes it where that takes too long.
func (w *World) New(ctx context.Context, name string, overlay map[string]string) (*instance.Instance, error) {
	p, err := w.unchecked(ctx)
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
	if why, ok := tick.Startable(p.Facts, name); !ok {
		return nil, fmt.Errorf("%w: %s", ErrHeld, why)
	}
	now := w.now()
	first := w.create(p.config, []tick.Action{{Change: lifecycle.Create, Why: "somebody asked for it", Session: lifecycle.Session{
		Template: name, State: lifecycle.Creating, Reason: lifecycle.UserRequest, CreatedAt: now, CreatingAt: now,
	}}}, overlay)[0]
	if first.err != nil {
		return nil, first.err
	}
	in := first.in
	if size := len(overlay["prompt"]); size > 0 {
		w.log("session.overlay.prompt", map[string]any{"session": in.Name, "template": name, "bytes": size})
	}
	begin := tick.Action{Change: lifecycle.Begin, Before: in.Managed.Session, Session: in.Managed.Session, Why: "somebody asked for it"}
	if _, err := w.Do(ctx, p.config, begin); err != nil {
		return in, err
	}
	again, err := w.Store.Get(in.ID)
	if err != nil {
		return in, err
	}
	_, err = w.Do(ctx, p.config, tick.CompletedBy(again.Managed.Session, w.now()))
	return again, err
}

// unchecked is Plan without the checks: nothing is scaled.
func (w *World) unchecked(ctx context.Context) (*Plan, error) {
	quiet := *w
	quiet.Check = nil
	return quiet.Plan(ctx)
}

// ErrOverlay says that a session may not have otherwise what it was to have.
var ErrOverlay = errors.New("invalid overlay")

// asked makes a change that a person asked for. It goes by the session as it is.
func (w *World) asked(ctx context.Context, id instance.ID, change func(lifecycle.Session) (tick.Action, error)) error {
	in, err := w.Store.Get(id)
	if err != nil {
		return err
	}
	if in.Managed == nil {
		return fmt.Errorf("%w: it was made from no template", ErrState)
	}
	a, err := change(in.Managed.Session)
	if err != nil {
		return err
	}
	c, err := w.Config()
	if err != nil {
		for _, op := range a.Change.Order().Ops {
			if op == lifecycle.Start {
				return err
			}
		}
		w.warn(err) // to end it, nothing has to be known of its template
		c = &config.Config{}
	}
	if _, err = w.Do(ctx, c, a); errors.Is(err, errSkipped) {
		return fmt.Errorf("%w: %w", flock.ErrBusy, err)
	}
	return err
}

// from returns an error for a session that is in none of the states.
func from(s lifecycle.Session, states ...lifecycle.State) error {
	for _, state := range states {
		if s.State == state {
			return nil
		}
	}
	return fmt.Errorf("%w: it is %s", ErrState, s.State)
}

// Suspend ends the agent of an active session, which is resumed with its conversation.
func (w *World) Suspend(ctx context.Context, id instance.ID) error {
	return w.asked(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		return tick.Suspended(s, w.now()), from(s, lifecycle.Active)
	})
}

// Shutdown is Suspend for as long as everything is down: the session stays wanted, so that
// who brings back all that was running knows it from one that was suspended on purpose.
func (w *World) Shutdown(ctx context.Context, id instance.ID) error {
	down := *w
	down.stayWanted = true
	return down.Suspend(ctx, id)
}

// Down reports whether a session was ended by Shutdown, and not resumed since.
func Down(in *instance.Instance) bool {
	return in.Managed != nil && in.Managed.State == lifecycle.Suspended && in.Desired == instance.Running
}

// Resume starts the agent of a suspended or quarantined session.
func (w *World) Resume(ctx context.Context, id instance.ID) error {
	return w.asked(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		if err := from(s, lifecycle.Suspended, lifecycle.Quarantined); err != nil {
			return tick.Action{}, err
		}
		p, err := w.unchecked(ctx)
		if err != nil {
			return tick.Action{}, err
		}
		if why, ok := tick.Startable(p.Facts, s.Template); !ok {
			return tick.Action{}, fmt.Errorf("%w: %s", ErrHeld, why)
		}
		if s.State == lifecycle.Quarantined {
			return tick.ClearedBy(s, w.now()), nil
		}
		return tick.ResumedBy(s, w.now()), nil
	})
}

// Drain lets an active session of a pool finish what it has. The ticks archive it then.
func (w *World) Drain(ctx context.Context, id instance.ID) error {
	return w.asked(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		if s.Pool == "" {
			return tick.Action{}, fmt.Errorf("%w: it is of no pool", ErrState)
		}
		return tick.DrainedBy(s, w.now()), from(s, lifecycle.Active)
	})
}

// Close ends a session for good.
func (w *World) Close(ctx context.Context, id instance.ID, reason lifecycle.Reason) error {
	return w.asked(ctx, id, func(s lifecycle.Session) (tick.Action, error) {
		if s.State == lifecycle.Closed {
			return tick.Action{}, instance.ErrClosed
		}
		return tick.ClosedBy(s, reason, w.now()), nil
	})
}

// Effective returns how the agent of a session would be started now.
func (w *World) Effective(in *instance.Instance) (template.Effective, error) {
	c, err := w.Config()
	if err != nil {
		return template.Effective{}, err
	}
	t := c.Find(in.Managed.Template)
	if t == nil {
		return template.Effective{}, fmt.Errorf("%w: '%.80s'", ErrNoTemplate, in.Managed.Template)
	}
	allowed, _ := t.Allowed(in.Managed.Overlay)
	return c.Effective(*t, allowed), nil
}

// Inspect returns how a session's template has it started, without and with what it has
// otherwise.
func (w *World) Inspect(in *instance.Instance) (plain, effective map[string]string, err error) {
	c, err := w.Config()
	if err != nil {
		return nil, nil, err
	}
	t := c.Find(in.Managed.Template)
	if t == nil {
		return nil, nil, nil
	}
	allowed, _ := t.Allowed(in.Managed.Overlay)
	return c.Effective(*t, nil).Fields(), c.Effective(*t, allowed).Fields(), nil
}
