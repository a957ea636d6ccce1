package sessioncmd

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"gt/lib/cli"
	"gt/lib/client/sandbox"
	"gt/lib/launch"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/reconcile/perform"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/peer"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

type stop struct {
	agentSelection
	outliveFlag
	hidden
	Now bool `help:"End them at once, even if they are busy, and do not let them exit by themselves first."`
}

func (c *stop) Run(env *cli.Env, at scope) error {
	if done, err := c.askOtherHosts(env, peer.Ask{Command: "stop", Now: c.Now}); done || err != nil {
		return err
	}
	if detached, err := c.detach(at, c.agentSelection, c.Now, "stopped"); detached || err != nil {
		return err
	}
	return c.forEachSelected(at, func(in *instance.Instance) (string, error) {
		if err := c.assumeGone(at, in.ID); err != nil {
			return "", err
		}
		if in.Managed != nil {
			return managed(at, in, "suspended", (*perform.World).Suspend)
		}
		switch stopped, err := stopper(at, c.Now, c.All).Stop(in.ID); {
		case err != nil:
			return "", err
		case !stopped:
			return in.Name + " is not running", nil
		}
		return "stopped " + in.Name, nil
	})
}

// stopper stops agents: with now it does not let the client exit by itself, and with wanted it
// keeps the desired state, for a restore.
func stopper(at scope, now, wanted bool) launch.Stopper {
	return launch.Stopper{Env: at.Env, Store: at.Store, Table: at.Table(), Now: now, Wanted: wanted}
}

type downCmd struct {
	profile
	Now  bool `help:"End them at once, even if they are busy, and do not let them exit by themselves first."`
	Town bool `group:"In a town:" help:"End the agents of the town: the mayor first, then boot, the deacon and the witnesses, so that nobody starts again what has ended."`
}

// Run ends all agents without changing their desired state, so that restore starts them again.
func (c *downCmd) Run(env *cli.Env, at scope) error {
	switch {
	case c.Town && at.Town.Personal:
		return cli.Fail(cli.Usage, errors.New("--town: this folder is in no town that you trust"), "gt-session shutdown ends your own agents")
	case !c.Town && !at.Town.Personal:
		return cli.Fail(cli.Usage, errors.New("this folder is in a town"), "gt-session shutdown --town ends the agents of the town")
	}
	all, unread := at.Store.ReadInstances()
	if len(all) == 0 && unread == nil {
		noneYet(at)
	}
	// A machine that goes down asks nobody.
	if term.IsTerminal(env.Stdin) || runsBelowAgent(at, all) {
		if err := (cut{c.Now}).allows(at, "ended", all); err != nil {
			return err
		}
	}
	var ended atomic.Bool
	var errs error
	for _, some := range c.order(env, all) {
		errs = errors.Join(errs, forEachInstance(env, some, func(in *instance.Instance) (string, error) {
			if in.Managed != nil && in.Managed.State == lifecycle.Active {
				ended.Store(true)
				return managed(at, in, "ended", (*perform.World).Shutdown)
			}
			switch stopped, err := stopper(at, c.Now, true).Stop(in.ID); {
			case err != nil:
				return "", err
			case !stopped:
				return "", nil
			}
			ended.Store(true)
			return "ended " + in.Name, nil
		}))
	}
	if errs = errors.Join(errs, unread); errs == nil && len(all) > 0 && !ended.Load() {
		env.Hint("no agent is running")
	}
	return errs
}

// runsBelowAgent reports whether an agent runs this command. Some clients have neither a name of
// their own nor a variable, but gt-session started them, or knows their process.
func runsBelowAgent(at scope, all []*instance.Instance) bool {
	if at.Env.Getenv(instance.Variable) != "" || sandbox.RefuseBelowAgent(at.Env, "") != nil {
		return true
	}
	return slices.ContainsFunc(at.Members(all), runsIn)
}

// order returns the agents in the order in which they are ended, in groups that end
// together. A watcher comes before those that it watches.
func (c *downCmd) order(env *cli.Env, all []*instance.Instance) [][]*instance.Instance {
	if !c.Town {
		return [][]*instance.Instance{all}
	}
	first := []identity.Role{identity.Mayor, identity.Boot, identity.Deacon, identity.Witness}
	order := make([][]*instance.Instance, len(first)+1)
	for _, in := range all {
		turn := slices.Index(first, home.FindOtherHome(place.ScopeOf(env.Getenv), in.Path).Identity.Role)
		if turn < 0 {
			turn = len(first)
		}
		order[turn] = append(order[turn], in)
	}
	return order
}

// hidden is the flag of commands that refuse an agent which cannot be seen from here.
type hidden struct {
	Gone bool `help:"Assume that the container or machine that it was started in, which cannot be seen from here, will not come back."`
}

// assumeGone records that an agent is gone, if the person says so.
func (h hidden) assumeGone(at scope, id instance.ID) error {
	if !h.Gone {
		return nil
	}
	held, err := at.Store.Hold(id, readyWait)
	if err != nil {
		return err
	}
	defer held.Release()
	return h.assumeGoneHeld(at, held)
}

func (h hidden) assumeGoneHeld(at scope, held *instance.Locked) error {
	if !h.Gone {
		return nil
	}
	return launch.BelieveGone(at.Env, at.Store, at.Table(), held)
}

// cut is the flag of commands that end agents which may be busy.
type cut struct {
	Now bool `help:"Do it even if an agent is busy: in a turn, or with commands in the background."`
}

// allows asks at the terminal before agents are ended that are busy, and refuses elsewhere,
// unless a flag of the command has allowed it. An agent may always end itself.
func (c cut) allows(at scope, verb string, all []*instance.Instance) error {
	if c.Now {
		return nil
	}
	var busy []string
	for _, m := range at.Members(all) {
		what := m.Busy()
		if what == "" && asksOnScreen(at, m) {
			what = "its screen asks something"
		}
		if what != "" && !runsIn(m) {
			busy = append(busy, fmt.Sprintf("%s is busy: %s", m.Name, what))
		}
	}
	if busy == nil {
		return nil
	}
	return at.Env.ConfirmBusy(busy, "nothing was "+verb)
}

// asksOnScreen reports whether an agent that waits asks something on its screen.
func asksOnScreen(at scope, m fleet.Member) bool {
	if m.Pane.ID == "" || m.Status != status.Waiting && m.Status != status.Idle {
		return false
	}
	styled, err := tmux.Server(m.TmuxServer).CaptureStyled(m.Pane.ID)
	return err == nil && live.ShowsQuestion(at.Table().FindClient(m.Agent), styled, status.Observation{Status: m.Status, Reason: m.Reason})
}
