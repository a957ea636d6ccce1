package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/respawn"
	"gt/lib/launch/send"
	"gt/lib/live"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Starter starts the agents of a store.
type Starter struct {
	Env   *cli.Env
	Store instance.Store
	Table *agent.Table
	// Holder returns the process that has a conversation open, or nil.
	Holder func(session.ID) *live.Holder
	// Worktree makes an instance's worktree; it may be nil.
	Worktree func(in *instance.Instance, put func() error) error

	Prompt   string // the first prompt
	About    string // the session's topic
	HasWork  bool   // it has or gets work
	Trust    bool   // accept the client's dialogs at the start
	Replaces bool   // end what another program of the town runs in the role's tmux session first
	Resumes  bool   // its folder was made for a conversation, and is removed if there is none
	Revives  bool   // restart a crashed agent in its pane
	// HungUp is when an agent whose pane was closed has had its time to end; zero is HangUp
	// from the start.
	HungUp time.Time
	// Between is called once the agent that ran has ended, before the next one starts; it may
	// be nil.
	Between func() error
	// TakesBack starts an instance that has moved to another machine.
	TakesBack bool

	Template *Template // nil for an instance without a template
}

// Template holds what a template changes about a start.
type Template struct {
	Command []string    // instead of the client's own
	Vars    [][2]string // the template's own variables
	// Remote reports that the agent may run on another machine. Then gt looks for neither
	// its program nor its pane.
	Remote bool
	// PreStart is called before the start and SessionSetup after it, with the agent's
	// environment. Run starts the agent and returns once it runs; an agent that already
	// runs is no error.
	PreStart     func(environ []string) error
	SessionSetup func(environ []string)
	Run          func(r respawn.Run, shared [][2]string) error
}

const (
	lockWait   = 30 * time.Second // for another command that holds the instance
	startWait  = 10 * time.Second // for the pane to run the agent
	promptWait = 30 * time.Second // for the first prompt to be typed
	// minRun is how long an agent must have run before it is revived. One that cannot run would
	// crash for ever.
	minRun = time.Minute

	maxCell = 4096 // bounds a value in a step's description, in characters
	noTmux  = "install tmux, or put it on the PATH"
)

// ErrRuns reports that the instance's agent already runs, errOtherRuns that an agent of the same
// role does that another program has started.
var (
	ErrRuns      = errors.New("it is already running")
	errOtherRuns = errors.New("is already running")
)

// Start starts an instance's agent. again replaces an agent that runs, which is ErrRuns otherwise.
func (s Starter) Start(id instance.ID, again bool) (*Launch, error) {
	held, err := s.Store.Hold(id, lockWait)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	return s.StartHeld(held, again)
}

// StartHeld is Start for an instance that the caller has locked. It first ends an agent whose pane
// was closed. With s.Revives, it starts only an agent that crashed.
func (s Starter) StartHeld(held *instance.Locked, again bool) (*Launch, error) {
	l, err := s.launchHeld(held)
	if err != nil {
		return l, err
	}
	if err := s.checkNotMoved(held.Instance); err != nil {
		return l, err
	}
	if l.member.LostPane() && s.CheckStartable(held.Instance) == nil {
		// The end of its pane told it to end. One that goes on is told again before it is killed.
		live.AwaitGone([]process.Proc{l.member.Process}, time.Until(cmp.Or(s.HungUp, time.Now().Add(HangUp))))
		if _, err := (Stopper{Env: s.Env, Store: s.Store, Table: s.Table, KeepsDesired: true}).StopHeld(held); err != nil {
			return l, err
		}
		if l, err = s.launchHeld(held); err != nil {
			return l, err
		}
	}
	if l.alive && !again {
		if l.pane = l.member.Pane; !s.Revives && s.Template == nil && l.pane.ID != "" { // an earlier start may have been killed before this
			l.process = l.member.Process
			err = errors.Join(l.releasePane(), l.setRespawn())
		}
		return l, cmp.Or(err, ErrRuns)
	}
	if err := l.checkReachable(); err != nil {
		return l, err
	}
	if s.Revives {
		if is, err := l.canRevive(); !is {
			return l, err
		}
	}
	err = l.start()
	if (errors.Is(err, tmux.ErrDuplicate) || errors.Is(err, errOtherRuns)) && s.isOwnSession(held.Instance) {
		return s.StartHeld(held, again) // it finds the agent that runs there
	}
	return l, err
}

// checkNotMoved returns an error if the instance has moved to another machine, or is about to,
// because a session runs in one place. With s.TakesBack, it clears in.Moved instead.
func (s Starter) checkNotMoved(in *instance.Instance) error {
	hosts := peer.NewHosts(s.Store.State)
	claims, err := hosts.Claims()
	s.Env.WarnError(err)
	peer.MarkMoved(in, claims)
	if s.TakesBack {
		in.Moved, in.Generation = nil, max(in.Generation, claims[in.ID].Moves)
	}
	if in.Moved == nil { // mutant always: . TestScripts/session_pack$
		return nil
	}
	if !in.Moved.Complete {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: it is moving", in.Name),
			cmp.Or(hosts.WayOn(in), fmt.Sprintf("gt-session pack %s packs it, gt-session pack --cancel %[1]s takes it back", in.Name)))
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: it has %s", in.Name, in.Moved),
		cmp.Or(hosts.WayOn(in), "packed there, gt-session unpack brings it back")+"; --force starts it here as it was")
}

// isOwnSession reports whether the tmux session whose name was taken turns out to be the
// instance's own: tmux can make it after the gt-session that asked for it was killed.
func (s Starter) isOwnSession(in *instance.Instance) bool {
	for range 10 { // tmux may take a moment
		if l, err := s.prepareLaunch(in); err == nil && l.alive {
			return true
		}
		time.Sleep(30 * time.Millisecond)
	}
	return false
}

// launchHeld is prepareLaunch for an instance that the caller has locked.
func (s Starter) launchHeld(held *instance.Locked) (*Launch, error) {
	l, err := s.prepareLaunch(held.Instance)
	l.save = func() error { return held.Put(l.now) }
	return l, err
}

// prepareLaunch returns a launch of an instance, with what is known of its agent. It starts
// nothing.
func (s Starter) prepareLaunch(in *instance.Instance) (*Launch, error) {
	self, err := os.Executable()
	if in.StartedAt.IsZero() && in.Managed == nil && in.Adopted == nil { // it is bound to no tmux server yet
		in.TmuxServer = string(tmux.CurrentServer())
	}
	l := &Launch{Starter: s, Instance: in, now: s.Env.Now(), server: tmux.Server(in.TmuxServer), self: self, ranBefore: !in.StartedAt.IsZero()}
	for end := time.Now().Add(goneAfter); ; time.Sleep(goneAfter / 4) {
		l.member = fleet.Members(s.Env.Getenv, s.Store, s.Table, []*instance.Instance{in}, l.now)[0]
		// A process can look gone during its exec, and what looks gone is replaced.
		if l.alive = l.member.Process.IsSet(); l.alive || l.member.Pane.ID == "" || l.member.Pane.Dead || l.member.Unanswered != nil || time.Now().After(end) {
			return l, err
		}
	}
}

// CheckStartable returns why an instance's agent could not be started: its folder, program or
// launcher. It is for callers that end another one first.
func (s Starter) CheckStartable(in *instance.Instance) error {
	l := &Launch{Starter: s, Instance: in, now: s.Env.Now()}
	if err := cmp.Or(l.findFolder(), l.findAgent()); err != nil {
		return err
	}
	l.findRun()
	return l.checkLauncher()
}

// Explain prints the steps that a start would take.
func (s Starter) Explain(in *instance.Instance) error {
	l, err := s.prepareLaunch(in)
	if err != nil {
		return err
	}
	if l.alive && !s.Replaces {
		_, err := fmt.Fprintln(s.Env.Stdout, in.Name, "is already running")
		return err
	}
	if err := s.checkNotMoved(in); err != nil {
		return err
	}
	if err := l.checkReachable(); err != nil {
		return err
	}
	return l.printSteps()
}

// checkReachable returns an error if nothing shows whether the agent runs, or if its tmux server
// would start it in another container.
func (l *Launch) checkReachable() error {
	if l.isRemote() {
		return nil
	}
	if err := CheckReachable(l.member); err != nil {
		return err
	}
	if pid, err := l.server.PID(); err == nil && pid == 0 {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: the tmux server at %s runs in another container, and would start it there", l.Name, l.Env.DisplayPath(l.TmuxServer)),
			"a server of its own: export TMUX_TMPDIR=DIR; unset TMUX; gt-session start "+l.Name)
	}
	return nil
}

// CheckReachable returns an error if nothing shows whether an instance's agent runs, or if it
// runs where tmux cannot reach it.
func CheckReachable(m fleet.Member) error {
	var lost *fleet.UnreachableError
	var hidden *fleet.HiddenError
	switch err := m.Unanswered; {
	case err == nil:
		return nil
	case errors.As(err, &hidden):
		return cli.Fail(cli.Busy, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, err), GoneHint(m.Name))
	case errors.As(err, &lost) && lost.Socket == "":
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot reach %s: %w", m.Name, err), fmt.Sprintf("gt-session stop %s ends it", m.Name))
	case errors.As(err, &lost):
		return cli.Fail(cli.Busy, fmt.Errorf("cannot reach %s: %w", m.Name, err), lost.Remedy()+" makes it again")
	case errors.Is(err, fleet.ErrUnseen):
		return cli.Fail(cli.Busy, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, err), "ask where that server runs")
	case !tmux.IsInstalled():
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, tmux.ErrNoTmux), noTmux)
	case errors.Is(err, tmux.ErrNoAnswer):
		return cli.Fail(cli.Busy, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, tmux.ErrNoAnswer), "try again")
	default:
		return cli.Fail(cli.Busy, fmt.Errorf("cannot tell whether %s runs: %w", m.Name, err))
	}
}

// GoneHint returns the hint for an agent that cannot be seen from here.
func GoneHint(name string) string {
	return fmt.Sprintf("if that container or machine will not come back: gt-session start --gone %s (stop, rm, restore and new --replace take --gone, too)", name)
}

// RecordGone records, on a person's word, that an agent that cannot be seen from here has
// ended with the container or machine that it ran in. It does nothing for any other.
func RecordGone(env *cli.Env, store instance.Store, table *agent.Table, held *instance.Locked) error {
	m := fleet.Members(env.Getenv, store, table, []*instance.Instance{held.Instance}, env.Now())[0]
	if m.Record != nil && m.Unanswered == nil && !m.Process.IsSet() && m.Record.Presence(env.Now()) == process.Unseen {
		m.Unanswered = &fleet.HiddenError{PID: m.Record.PID} // its conversation was opened there without gt
	}
	var hidden *fleet.HiddenError
	if !errors.As(m.Unanswered, &hidden) {
		return nil
	}
	if m.Record != nil {
		end := closing.End{ID: m.Record.ID, Outcome: session.Crash, Reason: "its container or machine is gone", At: env.Now()}
		if err := end.CloseIn(store.State, lockWait, env.WarnError); err != nil {
			return err
		}
	}
	held.StartedIn = nil
	return held.Put(env.Now())
}

// sessionName returns the name of the tmux session for an instance.
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

// roleName returns the session name that Gas Town uses for a worker, by which the town's other
// programs find it.
func (s Starter) roleName(in *instance.Instance) string {
	if id, err := identity.Parse(in.Role); err == nil {
		if prefixes, err := rig.Prefixes(town.Find(s.Env.Getenv, in.Path)); err == nil {
			if name, err := id.SessionName(prefixes); err == nil {
				return name
			}
		}
	}
	return "gt-" + in.Name // the town no longer names its prefix
}

// wakeLimits are short: an agent that is not woken now learns of it with its next prompt.
var wakeLimits = send.Limits{Arrive: 5 * time.Second, Again: time.Second, Submit: 5 * time.Second, Hook: 2 * time.Second}

// Wake types a line of gt's own into the empty box of an agent that waits for a prompt, and
// reports whether it did. It does not for one that is busy or asks something, whose box holds
// a draft, whose pane somebody looks at, or whose box gt does not know.
func Wake(env *cli.Env, store instance.Store, table *agent.Table, in *instance.Instance, line string) (woken bool, err error) {
	held, err := store.Hold(in.ID, time.Second)
	if errors.Is(err, flock.ErrBusy) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer held.Release()
	m := fleet.Members(env.Getenv, store, table, []*instance.Instance{held.Instance}, env.Now())[0]
	client := table.FindClient(m.Agent)
	if m.Pane.ID == "" || m.QuietSince.IsZero() || m.Pane.Attached || !client.KnowsInput() {
		return false, nil
	}
	to := send.Target{Server: tmux.Server(m.TmuxServer), Pane: m.Pane.ID, Client: client}
	if client.Dialect != "" {
		to.LastPrompt, to.RefusedSince = fleet.LastPrompt(store, m.Instance), m.RefusedSince()
	}
	_, err = to.Send(line, wakeLimits)
	if send.IsUntyped(err) {
		return false, nil
	}
	return err == nil, err
}
