package launch

import (
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

// Stopper stops the agents of a store.
type Stopper struct {
	Env   *cli.Env
	Store instance.Store
	Table *agent.Table

	Now    bool // do not let the client exit by itself
	Wanted bool // keep the desired state, for a restore
}

// Stop stops an instance's agent. It first writes that the agent is not wanted and that its
// session is being ended. Whoever then finds the process gone records it as killed, not as
// crashed.
func (s Stopper) Stop(id instance.ID) (stopped bool, err error) {
	held, err := s.Store.Hold(id, hold)
	if err != nil {
		return false, err
	}
	defer held.Release()
	return s.StopHeld(held)
}

// StopHeld is Stop for an instance that the caller has locked.
func (s Stopper) StopHeld(held *instance.Locked) (stopped bool, err error) {
	m := fleet.Members(s.Env.Getenv, s.Store, s.Table, []*instance.Instance{held.Instance}, s.Env.Now())[0]
	if err := CannotTell(m); err != nil {
		return false, err
	}
	if held.Desired != instance.Stopped && !s.Wanted {
		held.Desired = instance.Stopped
		if err := held.Put(s.Env.Now()); err != nil {
			return false, err
		}
	}
	if m.Pane.ID == "" {
		return false, nil
	}
	limits := OwnWay
	if s.Now {
		limits = Grace{}
	}
	if m.Record != nil && !m.Record.Ended() {
		stop := session.Stop{Reason: StopReason, Until: s.Env.Now().Add(limits.Sum() + 2*time.Second)}
		if err := closing.Expect(s.Store.State, m.Record.ID, stop, s.warn); err != nil {
			s.warn(err)
		}
	}
	if held.Respawn {
		// Otherwise outlive would keep the worktree in use for some seconds.
		_ = tmux.Server(held.TmuxServer).NotOnDeath(m.Pane.Session) // if this fails, revive finds the agent stopped
	}
	if client := s.Table.Of(m.Agent); held.Adopted != nil {
		Leave(tmux.Server(held.TmuxServer), m.Pane, client, m.Process, limits)
	} else if err := Stop(tmux.Server(held.TmuxServer), m.Pane, client, limits); err != nil {
		return false, err
	}
	s.untrack(held.Instance, m.Pane.Session)
	if m.Record != nil {
		err = s.close(m.Record.ID)
	}
	return true, err
}

func (s Stopper) warn(err error) { s.Env.Warn("%v", err) }

// close records the end of a session whose end hook did not run.
func (s Stopper) close(id session.ID) error {
	end := closing.End{ID: id, Outcome: session.Killed, Reason: StopReason, At: s.Env.Now()}
	return end.CloseIn(s.Env.Getenv, s.Store.State, hold, s.warn)
}

// untrack removes the PID file of a worker's agent.
func (s Stopper) untrack(in *instance.Instance, session string) {
	if in.Role == "" {
		return
	}
	dir := pidfile.Of(town.Find(s.Env.Getenv, in.Path))
	if f, err := dir.Get(session); err == nil {
		if err := dir.Remove(f); err != nil {
			s.warn(err)
		}
	}
}
