package launch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
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
	if err := CannotTell(m); err != nil && !m.Process.IsSet() {
		return false, err
	}
	if held.Desired != instance.Stopped {
		if held.ShutDownAt = s.Env.Now().UTC(); !s.Wanted {
			held.Desired, held.ShutDownAt = instance.Stopped, time.Time{}
		}
		if err := held.Put(s.Env.Now()); err != nil {
			return false, err
		}
	}
	if m.Pane.ID == "" && !m.Process.IsSet() {
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
		_ = tmux.Server(held.TmuxServer).NotOnDeath(m.Pane.ID) // if this fails, revive finds the agent stopped
	}
	if client := s.Table.Of(m.Agent); held.Adopted != nil || m.Pane.ID == "" {
		Leave(tmux.Server(held.TmuxServer), m.Pane, client, m.Process, limits)
	} else if err := Stop(tmux.Server(held.TmuxServer), m.Pane, client, limits); err != nil {
		return false, err
	}
	s.untrack(held.Instance, cmp.Or(m.Pane.Session, held.TmuxSession))
	s.nameRest(held.Instance)
	if m.Record != nil {
		err = s.close(m.Record.ID)
	}
	return true, err
}

// nameRest names what the agent started that goes on: processes with sessions of their own,
// such as a browser, which may be the person's.
func (s Stopper) nameRest(in *instance.Instance) {
	var words, pids []string
	for _, p := range fleet.StartedBy(s.Store, in.ID) {
		pids = append(pids, strconv.Itoa(p.PID))
		words = append(words, fmt.Sprintf("%d (%s)", p.PID, term.Clean(process.Name(p.PID))))
	}
	if len(pids) > 0 {
		s.Env.Hint("what %s started in sessions of its own goes on: %s; kill %s ends it", in.Name, strings.Join(words, ", "), strings.Join(pids, " "))
	}
}

func (s Stopper) warn(err error) { s.Env.Warn("%v", err) }

// close records the end of a session whose end hook did not run.
func (s Stopper) close(id session.ID) error {
	end := closing.End{ID: id, Outcome: session.Killed, Reason: StopReason, At: s.Env.Now()}
	return end.CloseIn(s.Env.Getenv, s.Store.State, hold, s.warn)
}

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
