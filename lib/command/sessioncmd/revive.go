package sessioncmd

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"gt/lib/cli"
	"gt/lib/launch"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/sys/process"
)

// revive starts an agent again that crashed. A hook of its tmux session calls it.
type revive struct {
	Name string `arg:"" help:"The instance, as GT_INSTANCE has it."`
}

// breath is how long a pane has to stay dead: a hand-over ends an agent, too, and puts
// the next one into its pane.
const breath = 3 * time.Second

// Run starts the agent where it crashed, in the same pane.
func (c *revive) Run(env *cli.Env) error {
	dir, id := filepath.Split(c.Name)
	stores, err := instance.Stores(town.Personal(env.Getenv).State)
	if err != nil {
		return err
	}
	for _, s := range stores {
		if s.Dir != filepath.Clean(dir) {
			continue
		}
		in, err := s.Get(instance.ID(id))
		if err != nil {
			return err
		}
		time.Sleep(breath)
		at := newScope(env, town.Find(env.Getenv, in.Path), "")
		at.store = s
		again := starter(at)
		again.Revives = true
		_, err = again.Start(in.ID, false)
		if errors.Is(err, launch.ErrRuns) {
			return nil
		}
		return err
	}
	return os.ErrNotExist
}

// outlive ends after another process. tmux runs it beside an agent that revive is for, to
// notice the agent's end when this one ends (tmux.Server.OnDeath).
type outlive struct {
	PID int `arg:"" help:"The process."`
}

// reaped is how long tmux needs at most to take down a terminal, in which it does not
// notice that a process has ended.
const reaped = time.Second

// Run returns some time after the process has ended.
func (c *outlive) Run(*cli.Env) error {
	if err := os.Chdir("/"); err != nil { // or the agent's worktree would be in use
		return err
	}
	err := process.AwaitEnd(c.PID)
	time.Sleep(reaped)
	return err
}
