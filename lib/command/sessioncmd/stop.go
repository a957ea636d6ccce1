package sessioncmd

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

type stop struct {
	agentSelection
	outliveFlag
	hidden
	Now bool `help:"End them at once, even if they are busy, and do not let them exit by themselves first."`
}

// Run stops agents, and suspends sessions of templates. restore starts again what --all stopped.
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
			return actOnManaged(at, in, "suspended", (*perform.World).Suspend)
		}
		switch stopped, err := newStopper(at, c.Now, c.All).Stop(in.ID); {
		case err != nil:
			return "", err
		case !stopped:
			return in.Name + " is not running", nil
		}
		return "stopped " + in.Name, nil
	})
}

// newStopper returns what stops agents: with now it does not let the client exit by itself, and
// with wanted it keeps the desired state, for a restore.
func newStopper(at scope, now, wanted bool) launch.Stopper {
	return launch.Stopper{Env: at.Env, Store: at.Store, Table: at.Table(), Now: now, KeepsDesired: wanted}
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
		hintNoneYet(at)
	}
	// A machine that goes down asks nobody.
	if term.IsTerminal(env.Stdin) || runsBelowAgent(at, all) {
		if err := (cut{c.Now}).confirmBusy(at, "ended", all); err != nil {
			return err
		}
	}
	var ended atomic.Bool
	var errs error
	for _, some := range c.endOrder(env, all) {
		errs = errors.Join(errs, forEachInstance(env, some, func(in *instance.Instance) (string, error) {
			if in.Managed != nil && in.Managed.State == lifecycle.Active {
				ended.Store(true)
				return actOnManaged(at, in, "ended", (*perform.World).Shutdown)
			}
			switch stopped, err := newStopper(at, c.Now, true).Stop(in.ID); {
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
	return slices.ContainsFunc(at.Members(all), runsInAgent)
}

// endOrder returns the agents in the order in which they are ended, in groups that end
// together. A watcher comes before those that it watches.
func (c *downCmd) endOrder(env *cli.Env, all []*instance.Instance) [][]*instance.Instance {
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
	return launch.RecordGone(at.Env, at.Store, at.Table(), held)
}

// cut is the flag of commands that end agents which may be busy.
type cut struct {
	Now bool `help:"Do it even if an agent is busy: in a turn, or with commands in the background."`
}

// confirmBusy asks at the terminal before agents are ended that are busy, and refuses elsewhere,
// unless a flag of the command has allowed it. An agent may always end itself.
func (c cut) confirmBusy(at scope, verb string, all []*instance.Instance) error {
	if c.Now {
		return nil
	}
	var busy []string
	for _, m := range at.Members(all) {
		what := m.WhyBusy()
		if what == "" && asksOnScreen(at, m) {
			what = "its screen asks something"
		}
		if what != "" && !runsInAgent(m) {
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
		switch stopped, err := newStopper(at, c.Now, false).StopHeld(held); {
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

// Run puts archived agents into the list again, and starts none.
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

// outliveFlag lets an agent run a command that ends the agent itself.
type outliveFlag struct {
	Outlive int `hidden:"" help:"The process that this command outlives."`
}

var ancestors = sync.OnceValue(func() []int { return process.Ancestors(os.Getpid()) })

// runsInAgent reports whether this command runs in an agent.
func runsInAgent(m fleet.Member) bool {
	return m.Process.IsSet() && slices.Contains(ancestors(), m.Process.PID)
}

const readTime = 2 * time.Second // how long the caller has to read the output before its agent ends

// detach starts a detached copy of the command if the command runs below an agent that it
// ends, and reports whether it did. Ending the agent would otherwise end the command first. Before
// that, cut asks about agents that are busy; now is its flag. done is what becomes of the agents in
// a word, such as stopped.
func (w outliveFlag) detach(at scope, s agentSelection, now bool, done string) (bool, error) {
	env := at.Env
	if w.Outlive > 0 { // this is the copy
		signal.Ignore(syscall.SIGHUP)
		if p, err := process.Find(w.Outlive); err == nil {
			live.AwaitGone([]process.Proc{p}, readTime)
		}
		return false, nil
	}
	all, _, err := s.selectInstances(at)
	if err != nil {
		return false, err
	}
	if err := (cut{now}).confirmBusy(at, done, all); err != nil {
		return false, err
	}
	for _, m := range at.Members(all) {
		if !runsInAgent(m) {
			continue
		}
		pid, err := process.RestartDetached(env.Dir, env.ChildEnviron(), append(slices.Clone(env.Args), fmt.Sprint("--outlive=", os.Getpid())))
		if err != nil {
			return false, fmt.Errorf("cannot go on without %s: %w", m.Name, err)
		}
		err = env.Printf("%s is %s in a moment, by process %d: this command runs in it\n", m.Name, done, pid)
		return true, err
	}
	return false, nil
}
