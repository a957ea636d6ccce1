package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"gt/lib/launch"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/reconcile/tick"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Tmux runs each agent as the command of a tmux session of its own, as gt-session does.
type Tmux struct {
	Self string // the program that calls respawn.Exec for --exec BUFFER
	// Settled is how long an agent has to run until it counts as started if no hook of its
	// reports; zero means 400 ms. A client that cannot run ends sooner.
	Settled time.Duration
}

// starting bounds how long the pane's process may take to become the agent.
const starting = 15 * time.Second

// Start implements Runtime.
func (t Tmux) Start(_ context.Context, a Agent) error {
	if err := a.Check(); err != nil {
		return err
	}
	server := tmux.Server(a.Server)
	found, err := find(server, a.Ref)
	switch {
	case err != nil:
		return err
	case found.own:
		return nil
	case found.others:
		return fmt.Errorf("%w: the tmux session '%s'", ErrTaken, a.Name)
	case found.left: // it ended, and its pane remained
		if err := server.KillPane(found.pane.ID); err != nil {
			return err
		}
	}
	made := tmux.NewSession{Name: a.Name, Environ: a.Environ, Vars: a.Shared, Mark: a.ID, Buffer: tmux.NewBuffer()}
	pane, err := launch.Begin(server, t.Self, made, a.Run)
	if errors.Is(err, tmux.ErrDuplicate) { // another process was faster
		switch found, err := find(server, a.Ref); {
		case err != nil:
			return err
		case found.own:
			return nil
		}
		return fmt.Errorf("%w: the tmux session '%s'", ErrTaken, a.Name)
	} else if err != nil {
		return markUnknown(err)
	}
	told := a.HookReported
	if told == nil {
		told = func() bool { return false }
	}
	// The pane remains when the agent ends, to show its last words.
	if err := launch.AwaitSurvival(server, pane, starting, cmp.Or(t.Settled, 400*time.Millisecond), told); err != nil {
		if ended, ok := errors.AsType[*launch.EndedError](err); ok {
			ended.LastWords = launch.DescribeEnd(server, pane)
		}
		return errors.Join(err, markUnknown(server.KillPane(pane.ID)))
	}
	return nil
}

// markUnknown adds ErrUnknown to an error that leaves open what was done.
func markUnknown(err error) error {
	if errors.Is(err, tmux.ErrNoAnswer) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// Stop implements Runtime.
func (t Tmux) Stop(_ context.Context, r Ref) error {
	if err := r.Check(); err != nil {
		return err
	}
	server := tmux.Server(r.Server)
	found, err := find(server, r)
	switch {
	case err != nil:
		return err
	case !found.own && !found.left:
		return nil // there is none, or it is another program's
	case found.own:
		if err := end(found.pane); err != nil {
			return err
		}
	}
	return markUnknown(server.KillPane(found.pane.ID))
}

// end ends a pane's agent with all that runs below it. It kills what is left after Grace.
func end(pane tmux.Pane) error {
	p, running := fleet.PaneProcess(pane)
	if running == process.Unseen {
		return fmt.Errorf("%w whether the process %d runs", ErrUnknown, pane.PID)
	}
	tree := live.ProcessTree(p)
	live.SignalAll(tree, syscall.SIGTERM)
	if !live.AwaitGone(tree, Grace) {
		// Processes that began meanwhile are not in the first tree.
		live.KillAll(append(tree, live.ProcessTree(p)...))
	}
	return nil
}

// found is what a session's name belongs to on its server.
type found struct {
	pane   tmux.Pane // of the session's agent, or the dead one
	own    bool      // the session's agent runs
	left   bool      // only a dead pane is there
	others bool      // something else runs
}

// find looks for a session's agent. It fails if that cannot be found out.
func find(server tmux.Server, r Ref) (found, error) {
	panes, err := server.Panes()
	if errors.Is(err, tmux.ErrNoServer) {
		return found{}, nil
	} else if err != nil {
		return found{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var f found
	for _, pane := range panes {
		if pane.Session != r.Name && pane.Mark != r.ID { // somebody may have renamed the session
			continue
		}
		switch alive, err := paneLiveness(pane, r.ID); {
		case err != nil:
			return found{}, err
		case alive == tick.Alive:
			f.pane, f.own = pane, true
		case pane.Dead:
			f.left = true
			if !f.own {
				f.pane = pane
			}
		default:
			f.others = true
		}
	}
	f.left = f.left && !f.others && !f.own
	return f, nil
}

// paneLiveness reports whether the agent with this id runs in a pane. Unknown comes with an error.
func paneLiveness(pane tmux.Pane, id string) (tick.Liveness, error) {
	p, running := fleet.PaneProcess(pane)
	switch {
	case running == process.Unseen, process.Name(pane.PID) == "tmux: server": // the server's copy of itself before its exec
		return tick.Unknown, fmt.Errorf("%w whether the process %d runs", ErrUnknown, pane.PID)
	case running == process.Dead || !fleet.RunsAgent(p, pane, id):
		return tick.Dead, nil
	}
	return tick.Alive, nil
}
