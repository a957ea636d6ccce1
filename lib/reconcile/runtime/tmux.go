package runtime

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"gt/lib/launch"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/reconcile/tick"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Tmux runs agents in tmux as gt-session does: each is what the pane of a session of its
// own begins with.
type Tmux struct {
	Self string // the program that takes --exec BUFFER and calls respawn.Exec
}

// starting bounds how long an agent may take to become what its pane runs.
const starting = 15 * time.Second

// Start starts an agent in a session of tmux of its own.
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
	case found.left: // it ended, and its pane stayed
		if err := server.Kill(a.Name); err != nil {
			return err
		}
	}
	at := launch.Place{Server: server, Name: a.Name, Self: t.Self, Environ: a.Environ, Shared: a.Shared}
	pane, err := at.Begin(tmux.NewBuffer(), a.Run)
	if errors.Is(err, tmux.ErrDuplicate) { // somebody else was faster
		switch found, err := find(server, a.Ref); {
		case err != nil:
			return err
		case found.own:
			return nil
		}
		return fmt.Errorf("%w: the tmux session '%s'", ErrTaken, a.Name)
	} else if err != nil {
		return unanswered(err)
	}
	told := a.HookReported
	if told == nil {
		told = func() bool { return false }
	}
	// Its pane stays when it ends, so that who looks next sees its last words.
	if _, err := launch.Survived(server, pane, starting, told); err != nil {
		var ended *launch.EndedError
		if errors.As(err, &ended) {
			ended.LastWords = launch.Ended(server, pane)
		}
		return errors.Join(err, unanswered(server.Kill(a.Name)))
	}
	return nil
}

// unanswered marks an error that leaves open what was done.
func unanswered(err error) error {
	if errors.Is(err, tmux.ErrNoAnswer) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// Stop ends the agent of a session, then its session of tmux.
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
		return nil // there is none, or it is somebody else's
	case found.own:
		if err := end(found.pane); err != nil {
			return err
		}
	}
	return unanswered(server.Kill(r.Name))
}

// end asks what runs in a pane to end, and kills what has not after Grace.
func end(pane tmux.Pane) error {
	p, running := fleet.Run(pane)
	if running == status.NoAnswer {
		return fmt.Errorf("%w whether the process %d runs", ErrUnknown, pane.PID)
	}
	tree := live.Tree(p)
	live.Signal(tree, syscall.SIGTERM)
	if !live.Gone(tree, Grace) {
		live.Kill(append(tree, live.Tree(p)...))
	}
	return nil
}

// found is what has the name of a session on its server.
type found struct {
	pane   tmux.Pane // of the session's agent
	own    bool      // the session's agent runs in it
	left   bool      // nothing runs, and a pane is there
	others bool      // something else runs
}

// find looks for a session's agent. What cannot be told is an error.
func find(server tmux.Server, r Ref) (found, error) {
	panes, err := server.Panes()
	if errors.Is(err, tmux.ErrNoServer) {
		return found{}, nil
	} else if err != nil {
		return found{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var f found
	for _, pane := range panes {
		if pane.Session != r.Name {
			continue
		}
		switch alive, err := runs(pane, r.ID); {
		case err != nil:
			return found{}, err
		case alive == tick.Yes:
			f.pane, f.own = pane, true
		case pane.Dead:
			f.left = true
		default:
			f.others = true
		}
	}
	f.left = f.left && !f.others && !f.own
	return f, nil
}

// runs reports whether a pane runs a session's agent.
func runs(pane tmux.Pane, id string) (tick.Liveness, error) {
	p, running := fleet.Run(pane)
	switch {
	case running == status.NoAnswer, process.Name(pane.PID) == "tmux: server": // it becomes what it is to run
		return tick.Unknown, fmt.Errorf("%w whether the process %d runs", ErrUnknown, pane.PID)
	case running == status.Dead || !fleet.Runs(p, pane, id):
		return tick.No, nil
	}
	return tick.Yes, nil
}
