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
	// SettleTime is how long an agent has to run until it counts as started if no hook of its
	// reports; zero means 400 ms. A client that cannot run ends sooner.
	SettleTime time.Duration
}

// startWait bounds how long the pane's process may take to become the agent.
const startWait = 15 * time.Second

// Start implements Runtime.
func (t Tmux) Start(_ context.Context, a Agent) error {
	if err := a.Check(); err != nil {
		return err
	}
	server := tmux.Server(a.Server)
	found, err := findAgent(server, a.Ref)
	switch {
	case err != nil:
		return err
	case found.runsAgent:
		return nil
	case found.isTaken:
		return fmt.Errorf("%w: the tmux session '%s'", ErrTaken, a.Name)
	case found.onlyDead: // it ended, and its pane remained
		if err := server.KillPane(found.pane.ID); err != nil {
			return err
		}
	}
	newSession := tmux.NewSession{Name: a.Name, Environ: a.Environ, Vars: a.Shared, Mark: a.ID, Buffer: tmux.NewBuffer()}
	pane, err := launch.Begin(server, t.Self, newSession, a.Run)
	if errors.Is(err, tmux.ErrDuplicate) { // another process was faster
		switch found, err := findAgent(server, a.Ref); {
		case err != nil:
			return err
		case found.runsAgent:
			return nil
		}
		return fmt.Errorf("%w: the tmux session '%s'", ErrTaken, a.Name)
	} else if err != nil {
		return markUnknown(err)
	}
	hookReported := a.HookReported
	if hookReported == nil {
		hookReported = func() bool { return false }
	}
	// The pane remains when the agent ends, to show its last words.
	if err := launch.AwaitSurvival(server, pane, startWait, cmp.Or(t.SettleTime, 400*time.Millisecond), hookReported); err != nil {
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
	found, err := findAgent(server, r)
	switch {
	case err != nil:
		return err
	case !found.runsAgent && !found.onlyDead:
		return nil // there is none, or it is another program's
	case found.runsAgent:
		if err := endAgent(found.pane); err != nil {
			return err
		}
	}
	return markUnknown(server.KillPane(found.pane.ID))
}

// endAgent ends a pane's agent with all that runs below it. It kills what is left after Grace.
func endAgent(pane tmux.Pane) error {
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

// foundPane is what a session's name belongs to on its server.
type foundPane struct {
	pane      tmux.Pane // of the session's agent, or the dead one
	runsAgent bool      // the session's agent runs
	onlyDead  bool      // only a dead pane is there
	isTaken   bool      // something else runs
}

// findAgent looks for a session's agent. It fails if that cannot be found out.
func findAgent(server tmux.Server, r Ref) (foundPane, error) {
	panes, err := server.Panes()
	if errors.Is(err, tmux.ErrNoServer) {
		return foundPane{}, nil
	} else if err != nil {
		return foundPane{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var f foundPane
	for _, pane := range panes {
		if pane.Session != r.Name && pane.Mark != r.ID { // somebody may have renamed the session
			continue
		}
		switch alive, err := paneLiveness(pane, r.ID); {
		case err != nil:
			return foundPane{}, err
		case alive == tick.Alive:
			f.pane, f.runsAgent = pane, true
		case pane.Dead:
			f.onlyDead = true
			if !f.runsAgent {
				f.pane = pane
			}
		default:
			f.isTaken = true
		}
	}
	f.onlyDead = f.onlyDead && !f.isTaken && !f.runsAgent
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
