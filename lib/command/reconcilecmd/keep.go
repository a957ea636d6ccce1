package reconcilecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gt/lib/cli"
	"gt/lib/reconcile/perform"
	"gt/lib/state/instance"
	"gt/lib/sys/flock"
)

type selection struct {
	profileFlag
	Names []string `arg:"" name:"name" help:"Sessions, such as worker-a3f2b7 or worker~2, or a template for all of its sessions."`
}

// forEachNamed calls do for each selected session, up to the first error. It calls none if a name
// means no session. done is what it prints before the session's name.
func (c selection) forEachNamed(env *cli.Env, done string, do func(*perform.World, instance.ID) error) error {
	w, err := c.openWorld(env)
	if err != nil {
		return err
	}
	all, err := w.Store.ReadInstances()
	if err != nil {
		return err
	}
	var found []*instance.Instance
	for _, name := range c.Names {
		meant := findNamed(w.Store, all, name)
		if len(meant) == 0 {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("no session of a template is named '%.80s'", name), "gt-session list shows them")
		}
		for _, in := range meant {
			if !slices.Contains(found, in) {
				found = append(found, in)
			}
		}
	}
	for _, in := range found {
		if err := do(w, in.ID); err != nil {
			err = fmt.Errorf("%s: %w", in.Name, err)
			if errors.Is(err, flock.ErrBusy) {
				return cli.Fail(cli.Busy, err, "try again")
			}
			return cli.Fail(cli.AnswerNo, err)
		}
		if err := printWrapped(env, "%s %s", done, in.Name); err != nil {
			return err
		}
	}
	return nil
}

// findNamed returns the sessions that a name means: all of a template, or those that a list shows under it.
func findNamed(store instance.Store, all []*instance.Instance, name string) []*instance.Instance {
	all = slices.DeleteFunc(slices.Clone(all), func(in *instance.Instance) bool { return in.Managed == nil })
	of := func(in *instance.Instance) bool { return in.Managed.Template == name }
	return instance.FindFirst(all, append([]func(*instance.Instance) bool{of}, instance.Matchers(name, name, store.Session)...))
}

type accept struct{ selection }

func (c *accept) Run(env *cli.Env) error {
	return c.forEachNamed(env, "accepted", func(w *perform.World, id instance.ID) error { return w.Accept(context.Background(), id) })
}

type pin struct {
	selection
	Off bool `help:"Allow replacing them again."`
}

func (c *pin) Run(env *cli.Env) error {
	done := "pinned"
	if c.Off {
		done = "unpinned"
	}
	return c.forEachNamed(env, done, func(w *perform.World, id instance.ID) error { return w.Pin(context.Background(), id, c.Off) })
}
