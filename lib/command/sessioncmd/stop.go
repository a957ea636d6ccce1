package sessioncmd

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"gt/lib/cli"
	"gt/lib/launch"
	"gt/lib/live/closing"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/reconcile/perform"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

type stop struct {
	several
	within
	Now bool `help:"End them at once, and do not let them exit by themselves first."`
}

func (c *stop) Run(env *cli.Env) error {
	if done, err := c.elsewheres(env, peer.Ask{Command: "stop", Now: c.Now}); done || err != nil {
		return err
	}
	if outlived, err := c.outlive(env, c.several, "stopped"); outlived || err != nil {
		return err
	}
	return c.each(env, func(at scope, in *instance.Instance) (string, error) {
		if in.Managed != nil {
			return c.managed(env, in, "suspended", suspends)
		}
		switch stopped, err := (stopping{now: c.Now}).one(at, in.ID); {
		case err != nil:
			return "", err
		case !stopped:
			return in.Name + " is not running", nil
		}
		return "stopped " + in.Name, nil
	})
}

type stopping struct {
	now    bool // do not let the client exit by itself
	wanted bool // keep the desired state, for a restore
}

// one stops an agent. It first writes that the agent is not wanted and that its session is
// being ended. Whoever then finds the process gone records it as killed, not as crashed.
func (s stopping) one(at scope, id instance.ID) (stopped bool, err error) {
	held, err := at.store.Hold(id, readyWait)
	if err != nil {
		return false, err
	}
	defer held.Release()
	m := at.member(held.Instance)
	if err := launch.CannotTell(m); err != nil {
		return false, err
	}
	if held.Desired != instance.Stopped && !s.wanted {
		held.Desired = instance.Stopped
		if err := held.Put(at.env.Now()); err != nil {
			return false, err
		}
	}
	if m.Pane.ID == "" {
		return false, nil
	}
	limits := launch.OwnWay
	if s.now {
		limits = launch.Grace{}
	}
	if m.Record != nil && !m.Record.Ended() {
		if err := noteStop(at, m.Record.ID, at.env.Now().Add(limits.Sum()+2*time.Second)); err != nil {
			at.env.Warn("%v", err)
		}
	}
	if held.Respawn {
		// Otherwise outlive would keep the worktree in use for some seconds.
		_ = tmux.Server(held.TmuxServer).NotOnDeath(m.Pane.Session) // if this fails, revive finds the agent stopped
	}
	if client := at.table().Of(m.Agent); held.Adopted != nil {
		launch.Leave(tmux.Server(held.TmuxServer), m.Pane, client, m.Process, limits)
	} else if err := launch.Stop(tmux.Server(held.TmuxServer), m.Pane, client, limits); err != nil {
		return false, err
	}
	untrack(at.env, held.Instance, m.Pane.Session)
	if m.Record != nil {
		err = closeSession(at, m.Record.ID)
	}
	return true, err
}

type down struct {
	profile
	Now  bool `help:"End them at once, and do not let them exit by themselves first."`
	Town bool `group:"In a town:" help:"End the agents of the town: the mayor first, then boot, the deacon and the witnesses, so that nobody starts again what has ended."`
}

// Run ends all agents without changing their desired state, so that restore starts them
// again.
func (c *down) Run(env *cli.Env) error {
	at, err := c.scope(env)
	if err != nil {
		return err
	}
	switch {
	case c.Town && at.town.Personal:
		return cli.Fail(cli.Usage, errors.New("--town: this folder is in no town that you trust"), "gt-session shutdown ends your own agents")
	case !c.Town && !at.town.Personal:
		return cli.Fail(cli.Usage, errors.New("this folder is in a town"), "gt-session shutdown --town ends the agents of the town")
	}
	all, unread := at.store.All()
	if len(all) == 0 && unread == nil {
		noneYet(at)
	}
	var ended atomic.Bool
	var errs error
	for _, some := range c.order(env, all) {
		errs = errors.Join(errs, each(env, some, func(in *instance.Instance) (string, error) {
			if in.Managed != nil && in.Managed.State == lifecycle.Active {
				ended.Store(true)
				return c.managed(env, in, "ended", func(ctx context.Context, w *perform.World, id instance.ID) error { return w.Shutdown(ctx, id) })
			}
			switch stopped, err := (stopping{now: c.Now, wanted: true}).one(at, in.ID); {
			case err != nil:
				return "", err
			case !stopped:
				return "", nil
			}
			ended.Store(true)
			return "ended " + in.Name, nil
		}))
	}
	if errs = errors.Join(errs, unread); errs == nil && len(all) > 0 && !ended.Load() {
		env.Hint("no agent is running")
	}
	return errs
}

// order returns the agents in the order in which they are ended, in groups that end
// together. A watcher comes before those that it watches.
func (c *down) order(env *cli.Env, all []*instance.Instance) [][]*instance.Instance {
	if !c.Town {
		return [][]*instance.Instance{all}
	}
	first := []identity.Role{identity.Mayor, identity.Boot, identity.Deacon, identity.Witness}
	order := make([][]*instance.Instance, len(first)+1)
	for _, in := range all {
		turn := slices.Index(first, home.Elsewhere(env.Getenv, in.Path).Identity.Role)
		if turn < 0 {
			turn = len(first)
		}
		order[turn] = append(order[turn], in)
	}
	return order
}

func warns(env *cli.Env) func(error) { return func(err error) { env.Warn("%v", err) } }

func noteStop(at scope, id session.ID, until time.Time) error {
	return closing.Expect(at.store.State, id, session.Stop{Reason: launch.StopReason, Until: until}, warns(at.env))
}

// closeSession records the end of a session whose end hook did not run.
func closeSession(at scope, id session.ID) error {
	end := closing.End{ID: id, Outcome: session.Killed, Reason: launch.StopReason, At: at.env.Now()}
	return end.CloseIn(at.env.Getenv, at.store.State, readyWait, warns(at.env))
}
