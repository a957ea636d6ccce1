// Package birth starts the agent of an instance: of one that a person made, and of a
// session that was made from a template. It goes through the steps of a start in their
// order, and each step looks before it acts, so that the same steps tell what a start
// would do.
package birth

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/launch/beacon"
	"gt/lib/launch/launcher"
	"gt/lib/launch/respawn"
	launch "gt/lib/launch/start"
	"gt/lib/live"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// Birth is one start of an instance's agent. One that only looks is what --explain prints.
type Birth struct {
	Starter
	*instance.Instance
	Asks bool // its client asks the person something

	put func() error // writes the instance; nil where nothing is done

	m     fleet.Member
	alive bool // an agent of the instance runs, and is ended first
	now   time.Time

	client     agent.Client
	start      launch.Start
	resumption string // which conversation does, in words
	run        respawn.Run
	session    session.ID
	self       string
	at         tmux.Server

	pane    tmux.Pane
	buffer  tmux.Buffer // that its run travels in, to a session of its own
	process process.Proc
	created bool   // the pane is ours, and goes where a later step fails
	before  func() // takes back what the instance says of the start
}

// step is a step of a start.
type step struct {
	name string
	// look finds out what the step does, and returns it with what was found.
	look func() (does, found string, err error)
	do   func() error // nil for a step that is done with another one, or only looks
}

// steps are the steps of a start in their order. The first looks after the folder; the
// thirteen behind it are those that every agent of a town is started with.
//
// A session that was made from a template runs where its town wants it: what follows the
// environment is its runtime's, and commands of the template stand around it.
func (b *Birth) steps() []step {
	steps := []step{
		{"folder", b.lookFolder, b.makeFolder},
		{"agent", b.lookAgent, nil},
		{"settings", b.lookSettings, nil},
		{"prompt", b.lookPrompt, nil},
		{"command", b.lookCommand, nil},
		{"environment", b.lookEnvironment, nil},
	}
	if b.Template != nil {
		return append(steps, step{"pre_start", b.lookPreStart, b.preStart}, step{"session", b.lookRun, b.startThere}, step{"setup", b.lookSetup, b.setup})
	}
	return append(steps, []step{
		{"session", b.lookSession, b.makeSession},
		{"remain", b.lookRemain, nil},
		{"variables", b.lookVariables, nil},
		{"theme", b.lookTheme, nil},
		{"wait", b.lookWait, b.wait},
		{"respawn", b.lookRespawn, b.setRespawn},
		{"dialogs", b.lookDialogs, b.answerDialogs},
		{"ready", b.lookReady, b.ready},
	}...)
}

// take goes through the steps. Where one fails, nothing half-started is left.
func (b *Birth) take() error {
	for _, s := range b.steps() {
		_, _, err := s.look()
		if err == nil && s.do != nil {
			err = s.do()
		}
		if err == nil {
			continue
		}
		if b.created {
			if b.buffer != "" {
				_ = b.at.Drop(b.buffer) // it was taken, as a rule
			}
			if kerr := b.at.Kill(b.pane.Session); kerr != nil {
				err = errors.Join(err, kerr)
			}
		}
		if b.before != nil { // it is starting no more
			b.before()
			err = errors.Join(err, b.put())
		}
		return err
	}
	return nil
}

// explain prints what each step would do, and what it found. It changes nothing.
func (b *Birth) explain() error {
	for i, s := range b.steps() {
		does, found, err := s.look()
		if err != nil {
			return err
		}
		number := "  "
		if i > 0 {
			number = fmt.Sprintf("%2d", i)
		}
		if found != "" {
			found = " (" + found + ")"
		}
		if _, err := fmt.Fprintf(b.Env.Stdout, "%s %-11s  %s%s\n", number, s.name, does, found); err != nil {
			return err
		}
	}
	return nil
}

func (b *Birth) lookFolder() (does, found string, err error) {
	if err := cmp.Or(notParked(b.Env, b.Instance), b.admitted()); err != nil {
		return "", "", err
	}
	if w := b.Instance.Worktree; w != nil && !w.Ready {
		does = fmt.Sprintf("make the worktree %s, with the branch %s", b.Env.DisplayPath(w.Path), b.Env.Line(w.Branch, maxCell))
		return does, "git makes it where it is missing", nil
	}
	if w := b.Instance.Worktree; w != nil && b.put != nil {
		return "", "", nil // a removal may have been cut off; see makeFolder
	}
	return "work in " + b.Env.DisplayPath(b.Path), "it is there", b.findFolder()
}

// findFolder finds the folder, and notes which one it is.
func (b *Birth) findFolder() error {
	dir, err := b.Store.Enter(b.Instance)
	if err != nil {
		return NoFolder(b.Instance, err)
	}
	b.Folder = &dir.Folder
	return dir.Close()
}

// NoFolder is the error for an instance whose folder cannot be entered.
func NoFolder(in *instance.Instance, err error) error {
	var exchanged *place.ExchangedError
	switch {
	case errors.As(err, &exchanged) && in.Managed != nil:
		return cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", in.Name, err),
			fmt.Sprintf("if that is meant: name the folder without links as work_dir, and close the session: gt-session rm %s", in.Name))
	case errors.As(err, &exchanged):
		return cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", in.Name, err),
			fmt.Sprintf("if %s is to work there: gt-session new --replace -n %s %s", in.Name, in.Name, term.Typed(in.Path)))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return cli.Fail(cli.No, fmt.Errorf("the folder '%s' of %s is gone", in.Path, in.Name))
	}
	return cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", in.Name, atomicfile.Error("use", in.Path, err)))
}

func (b *Birth) makeFolder() error {
	if b.Starter.Worktree != nil {
		if err := b.Starter.Worktree(b.Instance, b.put); err != nil {
			return err
		}
	}
	return b.findFolder()
}

// lookAgent: the agent is the instance's, which its maker chose by the town, the role and
// the flags.
func (b *Birth) lookAgent() (does, found string, err error) {
	b.client = b.Table.Of(b.Agent)
	environ := b.Env.ChildEnviron()
	var limits *process.Limits
	if b.Adopted != nil && b.alive { // what it was started in is what runs now
		l := launcher.Of(b.Table, b.client, b.m.Process, b.m.Pane)
		if l.Why != "" {
			return "", "", cli.Fail(cli.No, fmt.Errorf("cannot start %s: it would not run in what it was started in: %s", b.Name, l.Why),
				"end it in its pane, and start it there again")
		}
		b.Launcher, limits = l.Words, l.Limits
	}
	if len(b.Launcher) == 0 {
		b.Launcher = b.client.Wrapper
	}
	if t := b.Template; t != nil {
		environ = slices.Clone(environ)
		for _, kv := range t.Vars {
			environ = append(environ, kv[0]+"="+kv[1])
		}
		if len(t.Command) > 0 {
			b.client.Command = t.Command
		}
	}
	b.start = launch.Start{
		Instance: b.Instance, Store: b.Store, Client: b.client, Table: b.Table,
		Home: home.Elsewhere(b.Env.Getenv, b.Path), Environ: environ, Remain: b.stays(), Limits: limits,
		Remote: b.Template != nil && b.Template.Remote,
	}
	if b.Template != nil && b.Template.Remote {
		return b.Agent, "its program is looked for where it runs", nil
	}
	program, err := b.start.Program()
	if err != nil {
		err = cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", b.Name, err))
	}
	return b.Agent, b.Env.DisplayPath(program), err
}

// lookSettings: what the agent's hooks need stands in its own settings, which gt-hooks
// writes. A start changes nobody's settings.
func (b *Birth) lookSettings() (does, found string, err error) {
	if b.put != nil {
		return "", "", nil
	}
	const none = "take the settings as they are"
	how, path, err := b.wiring()
	switch {
	case err != nil:
		return none, err.Error(), nil
	case path == "":
		return none, b.Agent + " has no hooks of gt's; its screen tells what it does", nil
	}
	if len(how.Read(wiring.User, path).Ours()) == 0 {
		return none, fmt.Sprintf("gt's hooks are not in %s; gt-hooks install %s puts them there", b.Env.DisplayPath(path), b.Agent), nil
	}
	return none, "gt's hooks are in " + b.Env.DisplayPath(path), nil
}

// wiring returns how gt's hooks are wired into the agent and the file of its own settings
// that has them, "" of one that takes none.
func (b *Birth) wiring() (how wiring.Client, file string, err error) {
	hooks := b.client.Hooks
	how, known := wirings.Of(cmp.Or(hooks.Format, b.client.Dialect))
	if !known || hooks.User == "" {
		return how, "", nil
	}
	getenv := func(key string) string {
		if key == b.client.StoreEnv && b.Account != "" {
			return b.Account
		}
		return b.Env.Getenv(key)
	}
	file, err = hooks.UserFile(getenv, b.Env.Dir)
	return how, file, err
}

// lookPrompt finds what is said first, for which it has to know whether a conversation
// goes on. In a town the first prompt is a beacon.
func (b *Birth) lookPrompt() (does, found string, err error) {
	b.conversation()
	s, topic := &b.start, b.About
	if b.Template != nil && s.Resume != "" {
		return "say nothing first", "its conversation goes on", nil // its template's was said
	}
	to := s.Home.Identity
	if topic == "" && to.Role != "" && b.Prompt == "" && (s.Resume == "" || s.Fork || b.Gives) {
		topic = beacon.ColdStart
		if work, _ := mail.Of(s.Home, to.Address()).Hooked(); b.Gives || len(work) > 0 { // what cannot be read is told by gt-prime
			topic = beacon.Assigned
		}
	}
	switch s.Prompt = b.Prompt; {
	case topic == "":
	case to.Role != "":
		s.Prompt = beacon.Prompt(to, sender(b.Env, to), b.Env.Now(), topic, "")
		if b.Prompt != "" {
			s.Prompt += "\n\n" + b.Prompt
		}
	case b.Prompt != "":
		s.Prompt = topic + "\n\n" + b.Prompt
	}
	if s.Prompt == "" {
		return "say nothing first", "", nil
	}
	if !s.Types() && !s.Remote {
		if hidden := b.Env.Redact(s.Prompt); hidden != s.Prompt {
			s.Prompt = hidden
			b.Env.Warn("%s takes what it is told first on its command line only: what looks like a secret is left out", b.Agent)
		}
	}
	found = fmt.Sprintf("%d characters", utf8.RuneCountInString(s.Prompt))
	if s.Types() {
		found += ", typed"
	}
	if b.Template != nil { // what a session has besides of its own is shown as a size only
		return "say first what its template has", found, nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(s.Prompt), "\n")
	return "say first: " + b.Env.Line(first, maxCell), found, nil
}

// conversation finds the conversation that goes on.
func (b *Birth) conversation() {
	m, client, s := b.m, b.client, &b.start
	b.resumption = "a new conversation"
	switch {
	case client.CanResume() && m.Now != "" && !m.Now.Invented() && m.Resumable(b.Env.Getenv):
		s.Resume = m.Now
		b.ForkOf = ""
		b.resumption = "goes on with the conversation " + string(s.Resume)
	case b.ForkOf != "":
		s.Resume, s.Fork = b.ForkOf, true
		b.resumption = "goes on with a copy of the conversation " + string(s.Resume)
	case m.Record != nil && client.CanResume():
		b.Env.Warn("%s begins a new conversation: %s has none of session %s", b.Name, client.Name, m.Now)
	}
}

// lookCommand finds the command line.
func (b *Birth) lookCommand() (does, found string, err error) {
	m, s := b.m, &b.start
	if s.Resume != "" && !s.Fork {
		holder := func() *live.Holder { return b.Holder(s.Resume) }
		by := holder()
		// Its own agent may still be ending: the server of tmux went away under it.
		own := func() bool {
			return b.Template != nil || by.TmuxPane == b.TmuxPane && (by.TmuxSession == "" || by.TmuxSession == b.TmuxSession)
		}
		for end := time.Now().Add(2 * starting); b.put != nil && by != nil && m.Pane.ID == "" && own() && time.Now().Before(end); by = holder() {
			time.Sleep(50 * time.Millisecond)
		}
		if by != nil && !runsBelow(m, by.PID) {
			return "", "", openElsewhere(b.Name, s.Resume, by)
		}
	}
	if b.run, b.session, err = s.Run(); err != nil {
		return "", "", err
	}
	if err := b.checkLauncher(); err != nil {
		return "", "", err
	}
	if b.put != nil {
		return "", "", nil
	}
	var words []string
	for _, arg := range b.run.Args {
		switch {
		case arg == b.start.Prompt && arg != "":
			arg = "PROMPT"
		case arg == string(b.session) && session.ID(arg) != s.Resume:
			arg = "ID" // another one each time
		default:
			arg = term.Quote(b.Env.Line(arg, 200))
		}
		words = append(words, arg)
	}
	var in []string
	for _, word := range b.run.In {
		in = append(in, term.Quote(b.Env.Line(word, 200)))
	}
	return "run " + strings.Join(append(in, words...), " "), b.resumption, nil
}

// checkLauncher returns an error if what the agent is started in cannot be run or lies where
// an agent that it keeps in could change it.
func (b *Birth) checkLauncher() error {
	if len(b.run.In) == 0 || b.Template != nil && b.Template.Remote {
		return nil
	}
	if _, err := process.LookPath(b.run.In[0], b.run.Dir, b.run.Env); err != nil {
		return cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", b.Name, err))
	}
	if b.start.BringsLauncher(b.run) {
		return cli.Fail(cli.No, fmt.Errorf("cannot start %s: a program or file of what it is started in lies in the project, where an agent can change it", b.Name),
			"put it outside of "+b.Env.DisplayPath(b.Path))
	}
	return nil
}

// lookEnvironment names the variables that are gt's or the table's, and of the others
// their number: a value may be a key.
func (b *Birth) lookEnvironment() (does, found string, err error) {
	names := []string{instance.Variable}
	if b.Account != "" {
		names = append(names, b.client.StoreEnv)
	}
	vars := b.start.Vars()
	if b.Template != nil {
		vars = slices.Concat(vars, b.Template.Vars)
	}
	for _, kv := range vars {
		names = append(names, kv[0])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return "set " + strings.Join(names, " "), fmt.Sprintf("besides %d variables from here", len(b.run.Env)-len(names)), nil
}

func (b *Birth) lookSession() (does, found string, err error) {
	if b.self, err = os.Executable(); err != nil {
		return "", "", err
	}
	if b.put != nil {
		return "", "", nil
	}
	name := b.sessionName(b.Instance)
	switch {
	case b.m.Pane.ID != "":
		found = "the one that it had is ended first"
	case b.at.Has(name) && (b.Replaces || b.Role != ""):
		if err := b.foreign(name, false); err != nil {
			return "", "", err
		}
		found = "another program's of that name is there: it is ended first"
	case b.at.Has(name):
		return "", "", duplicate(b.Name, name, fmt.Errorf("%w: %s", tmux.ErrDuplicate, name))
	default:
		found = "there is none"
	}
	return fmt.Sprintf("make the tmux session %s on %s", name, b.Env.DisplayPath(b.TmuxServer)), found, nil
}

// duplicate is the error for the name of a session of tmux that is taken.
func duplicate(name, session string, err error) error {
	return cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", name, err), fmt.Sprintf("another program made it; tmux kill-session -t =%s ends it", session))
}

// markStarted notes when the agent begins, and its session where that is known.
func (b *Birth) markStarted(at time.Time) {
	b.now = at
	b.MarkStarted(at, b.session, b.start.Resume != "" && !b.start.Fork)
}

// makeSession puts the agent into a session of tmux, or into the pane of the one that
// runs. The instance's file says what runs at every moment: that it is wanted is written
// first, where it runs afterwards.
func (b *Birth) makeSession() error {
	b.Desired = instance.Running
	started, id, at := b.StartedAt, b.SessionID, b.SessionAt
	b.before = func() { b.StartedAt, b.SessionID, b.SessionAt = started, id, at }
	b.markStarted(b.Env.Now())
	b.LoadedMCPNames = instance.Servers(b.Path)
	if b.Adopted != nil {
		// Its pane is the person's: it goes on in a session of its own.
		if b.alive {
			b.noteStop(launch.OwnWay.Sum() + 2*time.Second)
			launch.Leave(b.at, b.m.Pane, b.client, b.m.Process, launch.OwnWay)
			b.markStarted(b.Env.Now())
		}
		b.Adopted, b.alive, b.m.Pane = nil, false, tmux.Pane{}
	}
	if !b.alive && !b.Revives {
		b.TmuxSession, b.TmuxPane = b.sessionName(b.Instance), ""
		if b.m.Pane.ID != "" { // its pane stayed, or its agent is a zombie
			if err := b.at.Kill(b.m.Pane.Session); err != nil {
				return err
			}
		}
	}
	b.Topic = b.About
	if err := b.put(); err != nil {
		return err
	}
	var err error
	if b.pane = b.m.Pane; b.alive || b.Revives {
		b.noteStop(20 * time.Second)
		// What the old agent's hooks tell of its end, they tell before this: it is no word of
		// the new one's.
		stopped := func() error {
			b.markStarted(b.Env.Now())
			return b.put()
		}
		err = b.start.Again(b.at, b.pane, b.m.Process, b.self, b.now, stopped, func(err error) { b.Env.Warn("%v", err) }, b.run)
		if err == nil {
			b.pane, err = b.at.Pane(b.pane.ID, 5*time.Second)
		}
	} else if err = b.foreign(b.TmuxSession, true); err == nil {
		b.buffer = tmux.NewBuffer()
		b.pane, err = b.start.In(b.at, b.TmuxSession, b.self, b.Theme, b.buffer, b.run)
	}
	switch {
	case errors.Is(err, errForeign):
		return err
	case errors.Is(err, tmux.ErrDuplicate):
		return duplicate(b.Name, b.TmuxSession, err)
	case errors.Is(err, tmux.ErrNoTmux):
		return cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", b.Name, err), noTmux)
	case err != nil:
		return fmt.Errorf("cannot start %s: %w", b.Name, err)
	}
	b.created = true
	b.TmuxPane, b.TmuxSession = b.pane.ID, b.pane.Session
	return b.put()
}

// errForeign says that an agent runs under the name that another program started.
var errForeign = errors.New("is already running")

// foreign sees to a session of the name that another program made: of a worker it is taken
// for the worker's, and ended if no agent runs in it; where that is asked for, it is ended
// whatever runs in it.
func (b *Birth) foreign(name string, end bool) error {
	if !b.Replaces && b.Role == "" || b.m.Pane.ID != "" || !b.at.Has(name) {
		return nil
	}
	all, err := b.at.Panes()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p tmux.Pane) bool { return p.Session != name })
	if !b.Replaces {
		if agents := live.InPanes(b.Table, b.at, all); len(agents) > 0 {
			return cli.Fail(cli.No, fmt.Errorf("%s %w: process %d, which another program started", b.Name, errForeign, agents[0].PID), "--replace ends it first")
		}
	}
	for _, pane := range all {
		if !end {
			break
		}
		if err := launch.Stop(b.at, pane, agent.Client{}, launch.OwnWay); err != nil {
			return err
		}
	}
	return nil
}

// StopReason is what a session's record has that was ended by gt-session.
const StopReason = "gt-session stop"

// noteStop notes that the agent that runs is ended on purpose.
func (b *Birth) noteStop(within time.Duration) {
	if r := b.m.Record; r != nil && !r.Ended() {
		stop := session.Stop{Reason: StopReason, Until: b.now.Add(within)}
		if err := closing.Expect(b.Store.State, r.ID, stop, func(err error) { b.Env.Warn("%v", err) }); err != nil {
			b.Env.Warn("%v", err)
		}
	}
}

func (b *Birth) lookRemain() (does, found string, err error) {
	if b.start.Remain {
		return "keep the pane when the agent ends", "with step 6", nil
	}
	return "close the pane when the agent ends", "--remain keeps it", nil
}

func (b *Birth) lookVariables() (does, found string, err error) {
	var names []string
	for _, kv := range b.start.Shared() {
		names = append(names, kv[0])
	}
	return "set in the tmux session " + strings.Join(names, " "), "with step 6", nil
}

func (b *Birth) lookTheme() (does, found string, err error) {
	if b.Theme == "" {
		return "leave the theme", "--theme gives it one", nil
	}
	return "give its status line the style " + b.Theme, "with step 6", nil
}

func (b *Birth) lookWait() (does, found string, err error) {
	return fmt.Sprintf("wait until the pane runs %s", b.Agent), fmt.Sprintf("at most %v; else the session is ended", b.readyWait()), nil
}

// readyWait is how long the pane may take to become the agent.
func (b *Birth) readyWait() time.Duration {
	if c := b.run.Capture; c != nil { // it is asked for a session first
		return c.Wait + starting
	}
	return starting
}

func (b *Birth) wait() (err error) {
	b.process, err = launch.Began(b.at, b.pane, b.readyWait())
	return b.failed(err)
}

func (b *Birth) lookRespawn() (does, found string, err error) {
	if b.Respawn {
		return "start it again when it crashes", "a hook of the tmux session does", nil
	}
	return "leave it when it crashes", "--respawn starts it again", nil
}

func (b *Birth) lookDialogs() (does, found string, err error) {
	switch {
	case !b.Trust:
		return "leave its client's dialogs to you", "--trust accepts them", nil
	case len(b.client.AcceptDialogs) == 0:
		return "leave its client's dialogs to you", "none of " + b.Agent + "'s is known", nil
	}
	return "accept its client's dialogs about trust and permissions", "--trust", nil
}

func (b *Birth) lookReady() (does, found string, err error) {
	return "wait until it is ready", fmt.Sprintf("until a hook or its screen tells, or it has run for %v", launch.Patience(b.client)), nil
}

// answerDialogs accepts what the client asks at its start about trust and permissions,
// where that is wanted. What else it asks is the person's to answer.
func (b *Birth) answerDialogs() error {
	if !b.Trust || len(b.client.AcceptDialogs) == 0 {
		return nil
	}
	accepted, err := launch.AcceptDialogs(b.at, b.pane, b.client, b.process)
	for _, text := range accepted {
		b.Env.Hint("%s: accepted '%s'", b.Name, b.Env.Line(text, maxCell))
	}
	return b.failed(err)
}

func (b *Birth) ready() (err error) {
	b.Asks, err = launch.Ready(b.at, b.pane, b.client, b.process, func() bool { return b.Store.HookReported(b.Instance) })
	if err != nil {
		return b.failed(err)
	}
	b.waitPrompted()
	b.track()
	return b.releasePane()
}

// releasePane lets the pane close when the agent ends, as one does from now on.
func (b *Birth) releasePane() error {
	if b.start.Remain {
		return nil
	}
	if err := launch.ReleasePane(b.at, b.pane); b.process.Alive() {
		if err != nil {
			err = fmt.Errorf("cannot start %s: %w", b.Name, err)
		}
		return err
	}
	return b.at.Kill(b.pane.Session) // it has ended since, and its pane stayed
}

// waitPrompted waits until the agent was told what it is told first, or its client asks something
// before that.
func (b *Birth) waitPrompted() {
	if b.run.First == nil {
		return
	}
	peek := fmt.Sprintf("gt-session peek %s shows its screen", b.Name)
	for end := time.Now().Add(promptWait); !b.Asks && b.process.Alive(); time.Sleep(50 * time.Millisecond) {
		pending, asked, failure := respawn.FirstPromptState(b.at, b.pane.ID)
		switch {
		case failure != "":
			b.Env.Warn("%s was not told what it is told first: %s", b.Name, failure)
			b.Env.Hint("%s", peek)
			return
		case asked:
			b.Asks = true
		case !pending:
			return
		case time.Now().After(end):
			b.Env.Warn("%s is told what it is told first once its input box is on the screen", b.Name)
			b.Env.Hint("%s", peek)
			return
		}
	}
}

// promptWait is how long a start waits for that.
const promptWait = 30 * time.Second

func (b *Birth) failed(err error) error {
	if err == nil {
		return nil
	}
	var ended *launch.EndedError
	resumed := errors.As(err, &ended) && b.start.Resume != "" && !b.start.Fork
	err = cli.Fail(cli.No, fmt.Errorf("cannot start %s: %w", b.Name, err))
	if resumed && !b.Resumes { // else its place goes
		err = cli.WithHint(err, "where %s no longer has its conversation %s: gt-session rm %s, then gt-session new", b.Agent, b.start.Resume, b.Name)
	}
	return err
}

func (b *Birth) lookPreStart() (does, found string, err error) {
	if b.Template.PreStart == nil {
		return "run nothing before it", "its template has no pre_start", nil
	}
	return "run the commands of pre_start", "one that fails, fails the start", nil
}

func (b *Birth) preStart() error {
	if b.Template.PreStart == nil {
		return nil
	}
	return b.Template.PreStart(b.run.Env)
}

func (b *Birth) lookRun() (does, found string, err error) {
	if b.Template.Remote {
		return "start it with " + b.Managed.Runtime, "which says when it runs", nil
	}
	return fmt.Sprintf("make the tmux session %s on %s, and wait until it runs %s", b.TmuxSession, b.Env.DisplayPath(b.TmuxServer), b.Agent), "", nil
}

// startThere starts the agent in its runtime. Its record says what is about to run before
// it does.
func (b *Birth) startThere() error {
	b.markStarted(b.Env.Now())
	b.TmuxPane = ""
	b.LoadedMCPNames = instance.Servers(b.Path)
	if err := b.put(); err != nil {
		return err
	}
	return b.failed(b.Template.Run(b.run, b.start.Shared()))
}

func (b *Birth) lookSetup() (does, found string, err error) {
	if b.Template.SessionSetup == nil {
		return "run nothing after it", "its template has no session_setup", nil
	}
	return "run the commands of session_setup", "one that fails is told, and nothing more", nil
}

func (b *Birth) setup() error {
	if b.Template.SessionSetup != nil {
		b.Template.SessionSetup(b.run.Env)
	}
	return nil
}

// maxCell bounds what a step prints of one thing, in characters.
const maxCell = 4096
