package sessioncmd

import (
	"fmt"
	"time"

	"gt/lib/cli"
	"gt/lib/state/instance"
)

type archive struct {
	agentSelection
	outliveFlag
	hidden
	cut
}

// Run stops agents as stop does, and puts them away.
func (c *archive) Run(env *cli.Env, at scope) error {
	if detached, err := c.detach(at, c.agentSelection, c.Now, "archived"); detached || err != nil {
		return err
	}
	return c.forEachSelected(at, func(in *instance.Instance) (string, error) {
		switch {
		case in.Managed != nil && len(c.Names) == 0:
			return in.Name + " was made from a template, and is not archived", nil
		case in.Managed != nil:
			return "", cli.Fail(cli.AnswerNo, fmt.Errorf("%s was made from a template", in.Name), fmt.Sprintf("gt-session drain %s archives it once it is done", in.Name))
		}
		held, err := at.Store.Hold(in.ID, readyWait)
		if err != nil {
			return "", err
		}
		defer held.Release()
		if err := c.assumeGoneHeld(at, held); err != nil {
			return "", err
		}
		switch stopped, err := stopper(at, c.Now, false).StopHeld(held); {
		case err != nil:
			return "", err
		case !stopped && held.IsArchived():
			return in.Name + " is archived already", nil
		}
		held.Archive(env.Now())
		return fmt.Sprintf("archived %s; gt-session unarchive %[1]s undoes it", in.Name), held.Put(env.Now())
	})
}

type unarchive struct{ agentSelection }

func (c *unarchive) Run(env *cli.Env, at scope) error {
	c.archived = true
	return c.forEachSelected(at, func(in *instance.Instance) (string, error) {
		held, err := at.Store.Hold(in.ID, readyWait)
		if err != nil {
			return "", err
		}
		defer held.Release()
		if !held.IsArchived() {
			return in.Name + " is not archived", nil
		}
		held.ArchivedAt = time.Time{}
		return fmt.Sprintf("unarchived %s; gt-session start %[1]s starts it", in.Name), held.Put(env.Now())
	})
}
