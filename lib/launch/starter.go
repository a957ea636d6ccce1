package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/respawn"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Starter starts agents of a store.
type Starter struct {
	Env   *cli.Env
	Store instance.Store
	Table *agent.Table
	// Holder returns who has a conversation open, nil where nothing shows that anybody has.
	Holder func(session.ID) *live.Holder
	// Worktree makes the worktree of an instance that has one; nil makes none.
	Worktree func(in *instance.Instance, put func() error) error

	Prompt   string // what is said first
	About    string // the session's topic
	Gives    bool   // work was given to it, or is going to be
	Trust    bool   // its client's dialogs at the start are accepted
	Replaces bool   // another program's session of the same name is ended first
	Resumes  bool   // its place was made for a conversation, and goes where there is none
	Revives  bool   // an agent that crashed, in its pane

	Template *Template // of a session that was made from one; nil of others
}

// Template is what the start of a session has otherwise that was made from a template.
type Template struct {
	Command []string    // instead of the client's own
	Vars    [][2]string // the agent's own, besides those that tell it who it is
	// Remote reports that its agent runs on another machine, for all that is known: neither
	// its program nor its pane is looked for on this one.
	Remote bool
	// PreStart is done before it starts and SessionSetup afterwards, with the agent's
	// environment. Run starts it, and returns when it was seen to run; that it runs already
	// is no error.
	PreStart     func(environ []string) error
	SessionSetup func(environ []string)
	Run          func(r respawn.Run, shared [][2]string) error
}

// hold is how long a start waits for another command that is at the same agent.
const hold = 30 * time.Second

// ErrRuns says that an agent runs already.
var ErrRuns = errors.New("it is already running")

// Start starts the agent of an instance; again in the place of one that runs, where that
// is asked for.
func (s Starter) Start(id instance.ID, again bool) (*Launch, error) {
	held, err := s.Store.Hold(id, hold)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	return s.StartHeld(held, again)
}

// StartHeld is Start of an instance that the caller holds.
func (s Starter) StartHeld(held *instance.Locked, again bool) (*Launch, error) {
	l, err := s.launch(held.Instance)
	if err != nil {
		return l, err
	}
	l.put = func() error { return held.Put(l.now) }
	if l.alive && !again {
		if l.pane = l.m.Pane; !s.Revives && s.Template == nil { // the start before may have been cut off
			l.spec.Remain, l.process = l.stays(), l.m.Process
			err = errors.Join(l.releasePane(), l.setRespawn())
		}
		return l, cmp.Or(err, ErrRuns)
	}
	if err := l.cannotTell(); err != nil {
		return l, err
	}
	if s.Revives {
		if is, err := l.revivable(); !is {
			return l, err
		}
	}
	return l, l.start()
}

// launch is the start of an instance's agent, of which nothing is done yet.
func (s Starter) launch(in *instance.Instance) (*Launch, error) {
	self, err := os.Executable()
	l := &Launch{Starter: s, Instance: in, now: s.Env.Now(), at: tmux.Server(in.TmuxServer), self: self}
	l.m = fleet.Members(s.Env.Getenv, s.Store, s.Table, []*instance.Instance{in}, l.now)[0]
	l.alive = l.m.Process.IsSet()
	return l, err
}

// Explain prints the plan of a start, step by step.
func (s Starter) Explain(in *instance.Instance) error {
	l, err := s.launch(in)
	if err != nil {
		return err
	}
	if l.alive && !s.Replaces {
		_, err := fmt.Fprintln(s.Env.Stdout, in.Name, "is already running")
		return err
	}
	if err := l.cannotTell(); err != nil {
		return err
	}
	return l.explain()
}

func (l *Launch) cannotTell() error {
	if l.remote() {
		return nil
	}
	return CannotTell(l.m)
}

// noTmux is the hint where there is none.
const noTmux = "install tmux, or put it on the PATH"

// CannotTell is the error for an instance of which nobody can tell whether its agent runs.
func CannotTell(m fleet.Member) error {
	if !m.Unanswered {
		return nil
	}
	if !tmux.Installed() {
		return cli.Fail(cli.No, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, tmux.ErrNoTmux), noTmux)
	}
	return cli.Fail(cli.Busy, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, tmux.ErrNoAnswer), "try again")
}

// runsBelow reports whether a process is an instance's agent, or was started by it.
func runsBelow(m fleet.Member, pid int) bool {
	return slices.ContainsFunc(live.Tree(m.Process), func(p process.Proc) bool { return p.PID == pid })
}

// openElsewhere is the error for a conversation that a second agent would open.
func openElsewhere(name string, id session.ID, by *live.Holder) error {
	return cli.Fail(cli.No, fmt.Errorf("cannot start %s: its conversation %s is open already, %s", name, id, by),
		fmt.Sprintf("gt-session fork %s goes on with a copy of it", name))
}

// starting is how long an agent's program may take to begin.
const starting = 10 * time.Second

// sessionName is what the session of tmux is called that an instance's agent runs in.
func (s Starter) sessionName(in *instance.Instance) string {
	name := in.Name
	if in.Role != "" {
		return s.roleName(in)
	}
	if profile, ok := strings.CutPrefix(s.Store.Dir, "profiles/"); ok {
		profile, _, _ = strings.Cut(profile, "/")
		return "gt-" + profile + "-" + name
	}
	return "gt-" + name
}

// roleName is what the tmux session of a worker is called: S1's name, by which other
// programs of the town find it.
func (s Starter) roleName(in *instance.Instance) string {
	if id, err := identity.Parse(in.Role); err == nil {
		if prefixes, err := rig.Prefixes(town.Find(s.Env.Getenv, in.Path)); err == nil {
			if name, err := id.SessionName(prefixes); err == nil {
				return name
			}
		}
	}
	return "gt-" + in.Name // the town does not say its prefix any more
}
