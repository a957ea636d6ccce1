package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/text/term"
)

// setRespawn has tmux call revive when the agent's process ends.
func (b *birth) setRespawn() error {
	if !b.Respawn {
		return nil
	}
	// tmux runs it in the environment that its server was started in.
	words := []string{term.Quote(b.self), "revive", term.Quote(b.store.Name(b.ID)), ">/dev/null", "2>&1"}
	if state := b.env.Getenv("XDG_STATE_HOME"); state != "" {
		words = append([]string{"XDG_STATE_HOME=" + term.Quote(state)}, words...)
	}
	if err := b.at.OnDeath(b.pane.Session, strings.Join(words, " ")); err != nil {
		return fmt.Errorf("cannot start %s: %w", b.Name, err)
	}
	return nil
}

// revive starts an agent again that crashed. A hook of its tmux session calls it.
type revive struct {
	Name string `arg:"" help:"The instance, as GT_INSTANCE has it."`
}

const (
	// breath is how long a pane has to stay dead: a hand-over ends an agent, too, and puts
	// the next one into its pane.
	breath = 3 * time.Second
	// soon is how long an agent has to have run: one that cannot run would crash for ever.
	soon = time.Minute
)

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
		known, err := agent.Load(env.Getenv, town.Find(env.Getenv, in.Path))
		if err != nil {
			env.Warn("%v", err)
		}
		_, err = runner{env: env, store: s, table: known, revives: true}.start(in.ID, false)
		if errors.Is(err, errRuns) {
			return nil
		}
		return err
	}
	return os.ErrNotExist
}

// revivable reports whether the agent crashed and is started again. The pane of one that
// was left is closed.
func (b *birth) revivable() (bool, error) {
	switch {
	case !b.m.Pane.Dead || !b.Respawn:
		return false, nil
	case b.m.Wanted():
		return b.now.Sub(b.StartedAt) >= soon, nil
	case b.Remain:
		return false, nil
	}
	return false, b.at.Kill(b.m.Pane.Session)
}
