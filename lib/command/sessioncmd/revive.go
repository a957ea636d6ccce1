package sessioncmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/launch"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/sys/process"
	"gt/lib/view/roster"
)

// revive restarts an agent that crashed. A hook of its tmux session calls it.
type revive struct {
	Name string `arg:"" help:"The instance, as GT_INSTANCE has it."`
}

// crashDelay is how long a pane must stay dead before it counts as crashed. A hand-over also
// ends the agent, and then starts the next one in the same pane.
const crashDelay = 3 * time.Second

// Run starts the agent again, unless something else has started it within crashDelay.
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
		time.Sleep(crashDelay)
		at := roster.New(env, town.Find(env.Getenv, in.Path), "")
		at.Store = s
		revival := newStarter(at)
		revival.Revives = true
		_, err = revival.Start(in.ID, false)
		if errors.Is(err, launch.ErrRuns) {
			return nil
		}
		return err
	}
	return os.ErrNotExist
}

// outlive ends after another process. tmux runs it beside an agent that revive restarts,
// and notices the agent's end by the end of this process (tmux.Server.OnDeath).
type outlive struct {
	PID int `arg:"" help:"The process."`
}

// reaped is the longest time that tmux takes to close a terminal. Meanwhile it does not
// notice that a process ends.
const reaped = time.Second

func (c *outlive) Run(*cli.Env) error {
	if err := os.Chdir("/"); err != nil { // do not keep the agent's worktree in use
		return err
	}
	err := process.AwaitEnd(c.PID)
	time.Sleep(reaped)
	return err
}

// wake tells agents that wait for a prompt of a note, for gt-mail, and prints whom.
type wake struct {
	Agents []string `arg:"" help:"The agents, as GT_INSTANCE has them."`
}

// Run types the notice of a note into the box of each agent, and prints those that got it.
func (c *wake) Run(env *cli.Env) (err error) {
	for _, name := range c.Agents {
		s, in := instance.OfAgent(town.Personal(env.Getenv).State, name)
		if in == nil {
			continue // it was removed
		}
		known, werr := agent.Load(place.Config(env.Getenv), town.Find(env.Getenv, in.Path))
		env.WarnError(werr)
		told, werr := launch.Wake(env, s, known, in, conversation.NoteCame)
		if err = errors.Join(err, werr); told {
			fmt.Fprintln(env.Stdout, in.Name)
		}
	}
	return err
}
