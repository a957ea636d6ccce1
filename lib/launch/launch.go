// Package launch starts the agents of instances, with or without a template. A start
// consists of a plan, which is a function of what is found, and steps that carry it out.
// Starter.Explain prints the plan.
package launch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	"gt/lib/live"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// Launch is one start of an instance's agent.
type Launch struct {
	Starter
	*instance.Instance
	ClientAsks bool // the client asks something, so it is not ready for a prompt

	save      func() error // writes the instance
	member    fleet.Member // what was found of its agent
	alive     bool         // an agent of the instance runs, and ends first
	ranBefore bool         // the instance was started before
	now       time.Time    // of the start, and of what it writes
	self      string       // the program that calls respawn.Exec for --exec BUFFER
	server    tmux.Server  // that has its tmux session
	plan

	holderWait time.Duration // with a process that still has the conversation open

	pane          tmux.Pane
	buffer        tmux.Buffer // for the run, in a new tmux session
	process       process.Proc
	created       bool   // the pane is new; undo removes it
	resetInstance func() // resets the instance's fields
}

// plan is what a start does. The fields are found in this order.
type plan struct {
	client     agent.Client
	home       home.Home
	environ    []string   // of which the agent's is made
	program    string     // "" for a remote agent
	resumeID   session.ID // the conversation to resume; "" for a new one
	forks      bool       // resume a copy of it
	isServed   bool       // a server that windows share has the conversation open
	resumption string     // for describeCommand
	prompt     string     // the first prompt
	run        respawn.Run
	session    session.ID // "" if unknown before the start
}

type step struct {
	name string
	// find plans the step and changes only the instance in memory; may be nil.
	find func() error
	// describe returns what the step does, and what was found.
	describe func() (does, found string, err error)
	run      func() error // nil if another step includes it
}

// steps returns the steps of a start in order. After the folder come the thirteen with
// which Gas Town starts every agent.
//
// For a session from a template, the runtime does what follows the environment, between
// commands of the template.
func (l *Launch) steps() []step {
	steps := []step{
		{"folder", l.findFolder, l.describeFolder, nil}, // done before the plan
		{"agent", l.findAgent, l.describeAgent, nil},
		{"settings", nil, l.describeSettings, nil},
		{"prompt", l.findPrompt, l.describePrompt, nil},
		{"command", l.findCommand, l.describeCommand, nil},
		{"environment", nil, l.describeEnvironment, nil},
	}
	if l.Template != nil {
		return append(steps,
			step{"pre_start", nil, describeEither(l.Template.PreStart == nil,
				"run nothing before it", "its template has no pre_start",
				"run the commands of pre_start", "one that fails, fails the start"), l.runPreStart},
			step{"session", nil, l.describeRun, l.startInRuntime},
			step{"setup", nil, describeEither(l.Template.SessionSetup == nil,
				"run nothing after it", "its template has no session_setup",
				"run the commands of session_setup", "one that fails is told, and nothing more"), l.runSetup})
	}
	return append(steps, []step{
		{"session", nil, l.describeSession, l.makeSession},
		{"remain", nil, describeEither(l.paneStays(),
			"keep the pane when the agent ends", "done in step 6",
			"close the pane when the agent ends", "--remain keeps it"), nil},
		{"variables", nil, l.describeVariables, nil},
		{"theme", nil, describeEither(l.Theme == "",
			"leave the theme", "--theme gives it one",
			"give its status line the style "+l.Theme, "done in step 6"), nil},
		{"wait", nil, l.describeWait, l.awaitAgent},
		{"respawn", nil, describeEither(l.Respawn,
			"start it again when it crashes", "a hook of the tmux session does",
			"leave it when it crashes", "--respawn starts it again"), l.setRespawn},
		{"dialogs", nil, l.describeDialogs, l.answerDialogs},
		{"ready", nil, l.describeReady, l.awaitReady},
	}...)
}

// describeEither returns the describe of a step with two cases: first what it does and what was
// found if the condition is true, then the same if it is not.
func describeEither(holds bool, does, found, elseDoes, elseFound string) func() (string, string, error) {
	if !holds {
		does, found = elseDoes, elseFound
	}
	return func() (string, string, error) { return does, found, nil }
}

// start makes the worktree, plans, and runs the steps. If a step fails, it undoes the start.
// It checks max_running before the worktree and again, with a place reserved, before the steps.
func (l *Launch) start() error {
	if err := l.checkAdmitted(); err != nil {
		return err
	}
	release, err := l.reserveSlot(l.Env.WarnError)
	if release(); err != nil {
		return err
	}
	if l.Starter.Worktree != nil {
		if err := l.Starter.Worktree(l.Instance, l.save); err != nil {
			return err
		}
	}
	l.holderWait = 2 * startWait
	steps := l.steps()
	for _, s := range steps {
		if s.find == nil {
			continue
		}
		if err := s.find(); err != nil {
			return err
		}
	}
	release, err = l.reserveSlot(func(error) {}) // it has warned
	defer release()
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.run == nil {
			continue
		}
		if err := s.run(); err != nil {
			return l.undo(err)
		}
		release() // the agent's process counts now; further calls do nothing
	}
	return nil
}

// undo ends the pane that a failed start made, and writes the instance as it was before.
func (l *Launch) undo(err error) error {
	if l.created {
		if l.buffer != "" {
			_ = l.server.DropBuffer(l.buffer) // usually it was taken
		}
		err = errors.Join(err, l.server.KillPane(l.pane.ID))
	}
	if l.resetInstance != nil {
		l.resetInstance()
		err = errors.Join(err, l.save())
	}
	return err
}

// printSteps prints each step and what was found, up to the first that would fail. It changes
// nothing.
func (l *Launch) printSteps() error {
	if err := l.checkAdmitted(); err != nil {
		return err
	}
	for i, s := range l.steps() {
		if s.find != nil {
			if err := s.find(); err != nil {
				return err
			}
		}
		does, found, err := s.describe()
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
		if _, err := fmt.Fprintf(l.Env.Stdout, "%s %-11s  %s%s\n", number, s.name, does, found); err != nil {
			return err
		}
	}
	return nil
}

func (l *Launch) needsWorktree() bool {
	w := l.Instance.Worktree
	return l.Starter.Worktree != nil && (w != nil && !w.Ready || w == nil && l.LacksWorktree())
}

// describeFolder describes the step "folder": where the agent works (see step.describe).
func (l *Launch) describeFolder() (does, found string, err error) {
	if l.needsWorktree() {
		w := l.Instance.Worktree
		// Explain makes nothing, so it does not know the place that a start would choose.
		if w == nil {
			return "make a worktree of its own of " + l.Env.DisplayPath(l.Path), "the start finds its place", nil
		}
		does = fmt.Sprintf("make the worktree %s, with the branch %s", l.Env.DisplayPath(w.Path), l.Env.Line(w.Branch, maxCell))
		return does, "git makes it where it is missing", nil
	}
	return "work in " + l.Env.DisplayPath(l.Path), "it is there", nil
}

// findFolder checks that the instance's folder is there, and is the one of the last start, and
// notes it. Only Explain comes here without the worktree, which a start has made before.
func (l *Launch) findFolder() error {
	if l.needsWorktree() {
		return nil
	}
	dir, err := EnterFolder(l.Store, l.Instance)
	if err != nil {
		return err
	}
	l.Folder = &dir.Folder
	dir.Close()
	return nil
}

// EnterFolder opens the folder of an instance. A worktree that the person made again, as noFolder
// advises, is another folder: it counts if it is of the same repository and on the same branch.
// Then in.Folder is cleared.
func EnterFolder(store instance.Store, in *instance.Instance) (*place.Opened, error) {
	dir, err := store.Enter(in)
	var exchanged *place.ExchangedError
	if w := in.Worktree; w != nil && in.Managed == nil && errors.As(err, &exchanged) && exchanged.Link == "" &&
		git.Branch(w.Path) == w.Branch {
		if is, _ := git.IsWorktreeOf(w.Path, w.Repository); is {
			in.Folder = nil
			dir, err = store.Enter(in)
		}
	}
	if err != nil {
		return nil, noFolder(in, err)
	}
	return dir, nil
}

// noFolder explains why EnterFolder failed: another folder is at the path (exchanged), or none.
func noFolder(in *instance.Instance, err error) error {
	var exchanged *place.ExchangedError
	switch {
	case errors.As(err, &exchanged) && in.Managed != nil:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", in.Name, err),
			fmt.Sprintf("if that is meant: name the folder without links as work_dir, and close the session: gt-session rm %s", in.Name))
	case errors.As(err, &exchanged):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", in.Name, err),
			fmt.Sprintf("if %s is to work there: gt-session new --replace -n %s %s", in.Name, in.Name, term.Typed(in.Path)))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		err := cli.Failf(cli.AnswerNo, "the folder '%s' of %s is gone", in.Path, in.Name)
		if w := in.Worktree; w != nil {
			what := term.Typed(w.Path) + " " + term.Typed(w.Branch)
			// The branch is gone, too. It is made again where the worktree began.
			if at, err := git.BranchAt(w.Repository, w.Branch); err == nil && at == "" {
				what = strings.TrimSpace("-b " + term.Typed(w.Branch) + " " + term.Typed(w.Path) + " " + w.Start)
			}
			err = cli.WithHint(err, "git -C %s worktree add -f %s makes it again", term.Typed(w.Repository), what)
		}
		return cli.WithHint(err, "gt-session rm %s removes it from the list", in.Name)
	}
	return fmt.Errorf("cannot start %s: %w", in.Name, atomicfile.Error("use", in.Path, err))
}

// findAgent plans the client, which the instance names, its program and home, the launcher and the
// environment.
func (l *Launch) findAgent() error {
	l.client = l.Table.FindClient(l.Agent)
	environ := process.Inherited(l.Env.ChildEnviron())
	if l.Adopted != nil && l.alive { // the running agent shows its launcher
		around := launcher.FindLauncher(l.Table, l.client, l.member.Process, l.member.Pane)
		if around.Why != "" {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: it would not run in what it was started in: %s", l.Name, around.Why),
				"end it in its pane, and start it there again")
		}
		l.Launcher, l.Limits = around.Words, around.Limits
	}
	if len(l.Launcher) == 0 {
		l.Launcher = l.client.Wrapper
	}
	if t := l.Template; t != nil {
		environ = slices.Clone(environ)
		for _, kv := range t.Vars {
			environ = append(environ, kv[0]+"="+kv[1])
		}
		if len(t.Command) > 0 {
			l.client.Command = t.Command
		}
	}
	l.environ, l.home = environ, home.FindOtherHome(place.ScopeOf(l.Env.Getenv), l.Path)
	if l.isRemote() {
		return nil
	}
	err := errors.New("its client has no command")
	if command := l.client.Restart(nil, agent.NextRun{}); len(command) > 0 {
		l.program, err = process.LookPath(command[0], l.Path, environ)
	}
	if err != nil {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", l.Name, err))
	}
	return nil
}

func (l *Launch) isRemote() bool { return l.Template != nil && l.Template.Remote }

func (l *Launch) describeAgent() (does, found string, err error) {
	if l.isRemote() {
		return l.Agent, "its program is looked for where it runs", nil
	}
	return l.Agent, l.Env.DisplayPath(l.program), nil
}

// describeSettings reports whether the agent's settings have gt's hooks. A start does not
// change settings.
func (l *Launch) describeSettings() (does, found string, err error) {
	const none = "take the settings as they are"
	_, a, known, err := l.hookSources()
	switch {
	case err != nil:
		return none, err.Error(), nil
	case !known:
		return none, l.Agent + " has no hooks of gt's; its screen tells what it does", nil
	}
	for _, s := range a.Sources {
		if len(s.OwnHandlers()) > 0 {
			return none, "gt's hooks are in " + l.Env.DisplayPath(s.File), nil
		}
	}
	return none, fmt.Sprintf("gt's hooks are not in %s; gt-hooks install %s puts them there", l.Env.DisplayPath(a.Sources[0].File), l.Agent), nil
}

// ReadsHooks reports whether the client reads hooks of gt's: from the person's settings, the
// project's or a plugin.
func (l *Launch) ReadsHooks() bool {
	_, a, _, err := l.hookSources()
	return err == nil && a.HasHooks()
}

// RunsHooks reports whether the client runs gt's hooks, as far as its files show.
func (l *Launch) RunsHooks() bool {
	how, a, _, err := l.hookSources()
	return err == nil && a.HasHooks() && len(wirings.Blockers(how, l.client.Dialect, a)) == 0
}

// hookSources returns what the client reads hooks from where it starts. known is false for one that
// gt cannot be wired into.
func (l *Launch) hookSources() (how wiring.Client, a wiring.Agent, known bool, err error) {
	getenv := func(key string) string {
		if key == l.client.StoreEnv && l.Account != "" {
			return l.Account // as the agent will see it
		}
		return l.Env.Getenv(key)
	}
	return wirings.AgentSources(l.client, getenv, git.Top(l.Path))
}

// findConversation chooses what to resume: the instance's own conversation, else a copy of ForkOf,
// else none. It clears ForkOf of a fork that has run, which has a conversation of its own.
func (l *Launch) findConversation() {
	m := l.member
	l.resumption = "a new conversation"
	switch {
	case l.client.CanResume() && m.CurrentID != "" && !m.CurrentID.Invented() && m.IsResumable():
		l.resumeID, l.isServed = m.CurrentID, m.Record.Served()
		l.ForkOf = ""
		l.resumption = "goes on with the conversation " + string(l.resumeID)
	case l.ForkOf != "":
		l.resumeID, l.forks = l.ForkOf, true
		l.resumption = "goes on with a copy of the conversation " + string(l.resumeID)
	case m.Record != nil && l.client.CanResume():
		l.Env.Warn("%s begins a new conversation: %s has none of session %s", l.Name, l.client.Name, m.CurrentID)
	}
}

// findPrompt chooses the conversation and the first prompt: Prompt, in a town behind a beacon that
// says why the agent starts, and elsewhere behind About. A resumed session of a template gets none,
// because it had the template's prompt.
func (l *Launch) findPrompt() error {
	l.findConversation()
	topic := l.About
	if l.Template != nil && l.resumeID != "" {
		return nil
	}
	to := l.home.Identity
	if topic == "" && to.Role != "" && l.Prompt == "" && (l.resumeID == "" || l.forks || l.HasWork) {
		topic = beacon.ColdStart
		if work, _ := mail.NewBox(l.home, to.Address()).Hooked(); l.HasWork || len(work) > 0 { // gt-prime reports errors
			topic = beacon.Assigned
		}
	}
	switch l.prompt = l.Prompt; {
	case topic == "":
	case to.Role != "":
		l.prompt = beacon.Prompt(to, sender(l.Env, to), l.Env.Now(), topic, "")
		if l.Prompt != "" {
			l.prompt += "\n\n" + l.Prompt
		}
	case l.Prompt != "":
		l.prompt = topic + "\n\n" + l.Prompt
	}
	if l.typesPrompt() || l.isRemote() {
		return nil
	}
	if hidden := l.Env.Redact(l.prompt); hidden != l.prompt {
		l.prompt = hidden
		l.Env.Warn("%s takes its first prompt only on its command line; what looks like a secret is left out", l.Agent)
	}
	return nil
}

// describePrompt describes the step "prompt": what the agent is told first (see step.describe).
func (l *Launch) describePrompt() (does, found string, err error) {
	switch {
	case l.Template != nil && l.resumeID != "":
		return "say nothing first", "its conversation goes on", nil
	case l.prompt == "":
		return "say nothing first", "", nil
	}
	found = fmt.Sprintf("%d characters", utf8.RuneCountInString(l.prompt))
	if l.typesPrompt() {
		found += ", typed"
	}
	if l.Template != nil { // what it has besides its template is private
		return "say first what its template has", found, nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(l.prompt), "\n")
	return "say first: " + l.Env.Line(first, maxCell), found, nil
}

// awaitConversation waits until no other process has the conversation open, and fails if
// one still has. The instance's own agent may still be ending after its tmux server did, or after the
// process of its pane did.
func (l *Launch) awaitConversation() error {
	id := l.resumeID
	if id == "" || l.forks {
		return nil
	}
	isOwnHolder := func(holder *live.Holder) bool {
		return l.Template != nil || holder.TmuxPane == l.TmuxPane && (holder.TmuxSession == "" || holder.TmuxSession == l.TmuxSession)
	}
	holder := l.Holder(id)
	for end := time.Now().Add(l.holderWait); holder != nil && (l.member.Pane.ID == "" || l.member.Pane.Dead) && isOwnHolder(holder) && time.Now().Before(end); holder = l.Holder(id) {
		time.Sleep(50 * time.Millisecond)
	}
	runsIt := func(p process.Proc) bool { return p.PID == holder.PID }
	if holder == nil || slices.ContainsFunc(live.ProcessTree(l.member.Process), runsIt) {
		return nil
	}
	err := cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: its conversation %s is open already, %s", l.Name, id, holder),
		fmt.Sprintf("gt-session fork %s goes on with a copy of it", l.Name))
	if holder.Elsewhere {
		err = cli.WithHint(err, "%s", GoneHint(l.Name))
	}
	return err
}

// findCommand plans the run. The process that types the first prompt learns from it whether the
// client asks for trust first, and whether gt's hooks run.
func (l *Launch) findCommand() error {
	if err := l.awaitConversation(); err != nil {
		return err
	}
	l.findRun()
	if l.run.FirstPrompt != nil {
		l.run.FirstPrompt.AsksTrust = l.asksTrust()
		l.run.FirstPrompt.Unreported = !l.RunsHooks()
	}
	return l.checkLauncher()
}

// asksTrust reports whether the client will ask whether to trust the folder, by its files.
func (l *Launch) asksTrust() bool {
	how, a, known, err := l.hookSources()
	return err == nil && known && how.AsksTrust != nil && how.AsksTrust(a.Folder, l.Path, l.run.Args, l.run.Env)
}

// describeCommand writes PROMPT for the first prompt, and ID for the id of a new session.
func (l *Launch) describeCommand() (does, found string, err error) {
	var words []string
	for _, word := range l.run.Launcher {
		words = append(words, term.Quote(l.Env.Line(word, 200)))
	}
	for _, arg := range l.run.Args {
		switch {
		case arg == l.prompt && arg != "":
			arg = "PROMPT"
		case arg == string(l.session) && session.ID(arg) != l.resumeID:
			arg = "ID" // differs each time
		default:
			arg = term.Quote(l.Env.Line(arg, 200))
		}
		words = append(words, arg)
	}
	return "run " + strings.Join(words, " "), l.resumption, nil
}

// checkLauncher returns an error if the launcher cannot run, or is where an agent inside it
// could change it.
func (l *Launch) checkLauncher() error {
	if len(l.run.Launcher) == 0 || l.isRemote() {
		return nil
	}
	if _, err := process.LookPath(l.run.Launcher[0], l.run.Dir, l.run.Env); err != nil {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", l.Name, err))
	}
	if l.successor().BringsLauncher(l.run) { // mutant never: . TestScripts/session_box$
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: a program or file of what it is started in lies in the project, where an agent can change it", l.Name),
			"put it outside of "+l.Env.DisplayPath(l.Path))
	}
	return nil
}

// describeEnvironment names the variables of gt and the table, and counts the others, whose
// values may be keys.
func (l *Launch) describeEnvironment() (does, found string, err error) {
	names := []string{instance.Variable}
	if l.Account != "" {
		names = append(names, l.client.StoreEnv)
	}
	vars := l.successor().Vars()
	if l.Template != nil {
		vars = slices.Concat(vars, l.Template.Vars)
	}
	for _, kv := range vars {
		names = append(names, kv[0])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return "set " + strings.Join(names, " "), fmt.Sprintf("besides %d variables from here", len(l.run.Env)-len(names)), nil
}

// describeSession describes the step "session": the tmux session to make (see step.describe).
func (l *Launch) describeSession() (does, found string, err error) {
	name := l.sessionName(l.Instance)
	switch {
	case l.member.Pane.ID != "":
		found = "the one that it had is ended first"
	case l.server.HasSession(name):
		// A start would fail here, too.
		if err := l.clearForeignSession(name, false); err != nil {
			return "", "", err
		}
		found = "what another program left of it is ended first"
	default:
		found = "there is none"
	}
	return fmt.Sprintf("make the tmux session %s on %s", name, l.Env.DisplayPath(l.TmuxServer)), found, nil
}

func (l *Launch) markStarted(at time.Time) {
	l.now = at
	l.MarkStarted(at, l.session, l.resumedID() != "")
	if l.StartedIn = nil; !l.isRemote() {
		l.StartedIn = instance.CurrentLocation(l.Store.State)
	}
}

// makeSession starts the agent in a new tmux session, or in the pane of the one that runs or has
// crashed. It writes the instance before each change, so that its file is always true.
func (l *Launch) makeSession() error {
	l.Desired, l.ArchivedAt = instance.Running, time.Time{}
	started, id, at := l.StartedAt, l.SessionID, l.SessionAt
	l.resetInstance = func() { l.StartedAt, l.SessionID, l.SessionAt = started, id, at }
	l.markStarted(l.Env.Now())
	l.LoadedMCPNames = instance.Servers(l.Path)
	if l.Adopted != nil {
		// Its pane is the person's, so it continues in a session of its own.
		if l.alive {
			recordStop(l.Env, l.Store.State, l.member, l.now.Add(toEnd+2*time.Second))
			EndAgent(l.server, l.member.Pane, l.client, l.member.Process, false)
			l.markStarted(l.Env.Now())
		}
		l.Adopted, l.alive, l.member.Pane = nil, false, tmux.Pane{}
	}
	if !l.alive && !l.Revives {
		l.TmuxSession, l.TmuxPane = l.sessionName(l.Instance), ""
		if l.member.Pane.ID != "" { // its pane remained, or its agent is a zombie
			if err := l.server.KillPane(l.member.Pane.ID); err != nil {
				return err
			}
		}
	}
	l.Topic = l.About
	if err := l.save(); err != nil {
		return err
	}
	var err error
	inPane := l.alive || l.Revives // it replaces the old agent in that one's pane
	if l.pane = l.member.Pane; inPane {
		if l.alive { // one that crashed is logged as a crash by who follows it
			recordStop(l.Env, l.Store.State, l.member, l.now.Add(20*time.Second))
		}
		// The old agent's hooks report its end before this. It must not count as the new
		// one's.
		stopped := func() error {
			l.markStarted(l.Env.Now())
			return errors.Join(l.save(), l.runBetween())
		}
		// The old agent is ended first, so that the two never run at once.
		oldAgent := launcher.FindClientProcess(l.Table, l.client, l.member.Process)
		l.run.Pane = l.pane.ID
		err = l.successor().Replace(respawn.RunPane{
			Server: l.server, Pane: l.pane, Remain: remainOn, OldAgent: oldAgent, AgentOnly: true, AfterStop: stopped,
			Self: l.self, Now: l.now, Warn: l.Env.WarnError,
		}, l.run)
		if err == nil {
			session := l.pane.Session // of several that show it, the one where it was found
			l.pane, err = l.server.Pane(l.pane.ID, 5*time.Second)
			l.pane.Session = session
		} else if _, gone := l.server.Pane(l.pane.ID, 5*time.Second); l.alive && gone != nil && !errors.Is(gone, tmux.ErrNoAnswer) {
			// A hook of the person's has closed it when the old agent ended.
			inPane, l.member.Pane, l.TmuxSession, l.TmuxPane = false, tmux.Pane{}, l.sessionName(l.Instance), ""
			err = l.save()
		}
	} else if err = l.runBetween(); err != nil {
		return err
	}
	if err == nil && !inPane {
		err = l.clearForeignSession(l.TmuxSession, true)
	}
	if err == nil && !inPane {
		l.buffer = tmux.NewBuffer()
		vars, _ := l.successor().SharedVars()
		l.pane, err = Begin(l.server, l.self, tmux.NewSession{
			Name: l.TmuxSession, Environ: l.Table.StripRunVars(l.environ), Vars: vars,
			Theme: l.Theme, Mark: l.Store.Name(l.ID), Buffer: l.buffer,
		}, l.run)
		if errors.Is(err, tmux.ErrDuplicate) { // it was made meanwhile
			err = cmp.Or(l.clearForeignSession(l.TmuxSession, false), err)
		}
	}
	switch {
	case errors.Is(err, errOtherRuns), errors.Is(err, tmux.ErrDuplicate):
		return err
	case errors.Is(err, tmux.ErrNoTmux):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", l.Name, err), noTmux)
	case err != nil:
		return fmt.Errorf("cannot start %s: %w", l.Name, err)
	}
	l.created = true
	l.TmuxPane, l.TmuxSession = l.pane.ID, l.pane.Session
	return l.save()
}

func (l *Launch) runBetween() error {
	if l.Between == nil {
		return nil
	}
	return l.Between()
}

// clearForeignSession looks at a tmux session of the name that this start did not make. It returns
// nil if the name can be used. That is so for a session of the same role that another program of
// the town left with only shells, or with Replaces any of that role: end says to end it. It is also
// so for one that the agent can share (canShareSession), which end makes ready (tmux.Server.Lend).
// It returns an error for any other session, and leaves it alone.
func (l *Launch) clearForeignSession(name string, end bool) error {
	if l.member.Pane.ID != "" || !l.server.HasSession(name) || l.server.IsLeftover(name, l.Store.Name(l.ID)) {
		return nil
	}
	all, err := l.server.Panes()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p tmux.Pane) bool { return p.Session != name })
	if len(all) == 0 {
		return nil
	}
	switch {
	case l.isOfRole(all[0]):
	case !l.canShareSession(name, all):
		return l.nameTakenError(name, all[0])
	case end:
		return l.server.Lend(name, l.Store.Name(l.ID), all)
	default:
		return nil
	}
	for _, pane := range all {
		if !l.Replaces && !live.OnlyShell(pane) {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("%s %w: process %d, which another program started", l.Name, errOtherRuns, pane.PID), "--replace ends it first")
		}
	}
	for _, pane := range all {
		if !end {
			break
		}
		if err := StopPane(l.server, pane, agent.Client{}, false); err != nil {
			return err
		}
	}
	return nil
}

// canShareSession reports whether an agent that was started before gets a window beside the panes of
// the session of its name: a program that restores tmux has made the session anew, with
// shells in the agent's folder; or gt made it, and a person has begun another program in the
// agent's pane.
func (l *Launch) canShareSession(name string, panes []tmux.Pane) bool {
	mark := l.Store.Name(l.ID)
	made := l.server.MadeFor(name, mark)
	return l.ranBefore && l.Role == "" && !slices.ContainsFunc(panes, func(p tmux.Pane) bool {
		program := process.Name(p.PID)
		switch {
		case p.Mark == mark: // the agent's own pane, which forbids it while it is being started
			return program == "" || strings.HasPrefix(program, "gt-") || strings.HasPrefix(program, "tmux")
		case p.Mark != "":
			return true
		}
		return !made && (!live.OnlyShell(p) || place.Real(p.Path) != place.Real(l.Path))
	})
}

// isOfRole reports whether a pane's session is of the instance's role in its town, as the
// town's programs note it in the session's environment.
func (l *Launch) isOfRole(pane tmux.Pane) bool {
	environ := l.server.Environments([]string{pane.ID})[pane.ID]
	getenv := func(key string) string { return process.Variable(environ, key) }
	of := place.ScopeOf(getenv).Agent
	return l.Role != "" && of.Named && of.Identity.Address() == l.Role &&
		place.Real(getenv("GT_ROOT")) == town.Find(l.Env.Getenv, l.Path).Root
}

// nameTakenError returns the error for a name that somebody else's tmux session has, with who it is.
func (l *Launch) nameTakenError(name string, pane tmux.Pane) error {
	who, hint := fmt.Sprintf("process %d (%s) in %s", pane.PID, process.Name(pane.PID), l.Env.DisplayPath(pane.Path)),
		fmt.Sprintf("tmux rename-session -t =%s OTHER frees the name and ends nothing", name)
	if agents := live.FindInPanes(l.Table, l.server, []tmux.Pane{pane}); len(agents) > 0 {
		who = agents[0].Client.Name + ", " + who
	}
	if holder := l.findHolder(name); holder != "" {
		who = fmt.Sprintf("the agent %s, %s", holder, who)
		hint = fmt.Sprintf("a tmux server of its own has the name free: export TMUX_TMPDIR=DIR; unset TMUX; gt-session start %s", l.Name)
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w: %s is %s", l.Name, tmux.ErrDuplicate, name, who), hint)
}

// findHolder returns the name of the instance of any store whose agent has the tmux session, with
// its town if it is of one, or "".
func (l *Launch) findHolder(name string) string {
	stores, err := instance.Stores(l.Store.State)
	l.Env.WarnError(err)
	for _, s := range stores {
		all, _ := s.ReadInstances() // what is unreadable is reported elsewhere
		for _, in := range all {
			own := s.Dir == l.Store.Dir && in.ID == l.ID
			switch {
			case own, in.TmuxSession != name, !tmux.Server(in.TmuxServer).SameServer(l.server):
			case in.Role != "":
				return in.Name + " of the town " + l.Env.DisplayPath(town.Find(l.Env.Getenv, in.Path).Root)
			default:
				return in.Name
			}
		}
	}
	return ""
}

// StopReason is the end reason in the records of sessions that gt-session ended.
const StopReason = "gt-session stop"

// recordStop records that an agent is ended on purpose. If it lives after until, it was spared.
func recordStop(env *cli.Env, state place.State, m fleet.Member, until time.Time) {
	if r := m.Record; r != nil && !r.Ended() {
		env.WarnError(closing.ExpectStop(state, r.ID, session.Stop{Reason: StopReason, Until: until}, env.WarnError))
	}
}

// describeVariables names the variables that other programs of the tmux session see.
func (l *Launch) describeVariables() (does, found string, err error) {
	var names []string
	vars, _ := l.successor().SharedVars()
	for _, kv := range vars {
		names = append(names, kv[0])
	}
	return "set in the tmux session " + strings.Join(names, " "), "done in step 6", nil
}

func (l *Launch) describeWait() (does, found string, err error) {
	return fmt.Sprintf("wait until the pane runs %s", l.Agent), fmt.Sprintf("at most %v; else the session is ended", l.readyWait()), nil
}

// readyWait returns how long the pane's process may take to become the agent.
func (l *Launch) readyWait() time.Duration {
	if c := l.run.Capture; c != nil { // it is asked for a session first
		return c.Wait + startWait
	}
	return startWait
}

func (l *Launch) awaitAgent() (err error) {
	l.process, err = AwaitBegin(l.server, l.pane, l.readyWait())
	return l.explainFailure(err)
}

// describeDialogs returns what the step "dialogs" of a start does and why; see step.describe.
func (l *Launch) describeDialogs() (does, found string, err error) {
	switch {
	case !l.Trust:
		return "leave its client's dialogs to you", "--trust accepts them", nil
	case len(l.client.AcceptDialogs) == 0:
		return "leave its client's dialogs to you", "none of " + l.Agent + "'s is known", nil
	}
	return "accept its client's dialogs about trust and permissions", "--trust", nil
}

func (l *Launch) describeReady() (does, found string, err error) {
	return "wait until it is ready", fmt.Sprintf("until a hook or its screen shows it, or it has run for %v", ReadyPatience(l.client)), nil
}

// answerDialogs accepts the client's dialogs about trust and permissions, with --trust.
// Other questions are the person's.
func (l *Launch) answerDialogs() error {
	if !l.Trust || len(l.client.AcceptDialogs) == 0 {
		return nil
	}
	accepted, err := AcceptDialogs(l.server, l.pane, l.client, l.process, l.asksTrust())
	for _, text := range accepted {
		l.Env.Hint("%s: accepted '%s'", l.Name, l.Env.Line(text, maxCell))
	}
	return l.explainFailure(err)
}

// awaitReady waits until the client has its first prompt, or asks the person something. It then
// writes the PID file of a town's agent, and lets the pane close with the agent.
func (l *Launch) awaitReady() (err error) {
	reported := func() bool { return l.Store.HookReported(l.Instance) }
	l.ClientAsks, err = AwaitReady(l.server, l.pane, l.client, l.process, reported, ReadyPatience(l.client))
	if err != nil {
		return l.explainFailure(err)
	}
	l.waitPrompted()
	// Other programs of a town find and end agents by these files.
	if l.Role != "" {
		l.Env.WarnError(pidfile.NewDir(l.home.Town).Track(l.pane.Session, l.process))
	}
	return l.releasePane()
}

// releasePane makes the pane, which has remained so far, close with its agent, unless paneStays.
func (l *Launch) releasePane() error {
	if l.paneStays() {
		return nil
	}
	if err := l.server.RestoreRemainOnExit(l.pane.ID, tmux.RemainSetting{Set: true, Value: "off"}); l.process.IsAlive() {
		if err != nil {
			err = fmt.Errorf("cannot start %s: %w", l.Name, err)
		}
		return err
	}
	return l.server.KillPane(l.pane.ID) // it has ended meanwhile, and its pane remained
}

// waitPrompted waits until the first prompt was typed, or the client asks something first.
func (l *Launch) waitPrompted() {
	if l.run.FirstPrompt == nil {
		return
	}
	for end := time.Now().Add(promptWait); !l.ClientAsks && l.process.IsAlive(); time.Sleep(50 * time.Millisecond) {
		pending, asked, failure := respawn.FirstPromptState(l.server, l.pane.ID)
		switch {
		case failure != "":
			l.Env.Warn("%s did not get its first prompt: %s", l.Name, failure)
		case asked:
			l.ClientAsks = true
			return
		case !pending:
			return
		case time.Now().After(end):
			l.Env.Warn("%s gets its first prompt once its input box is on the screen", l.Name)
		default:
			continue
		}
		l.Env.Hint("gt-session peek %s shows its screen", l.Name)
		return
	}
}

// explainFailure explains why an agent that was started did not get ready.
func (l *Launch) explainFailure(err error) error {
	if err == nil {
		return nil
	}
	if errors.As(err, new(*EndedError)) {
		// If the whole tmux server has ended, its reason explains more than the agent's last words.
		if _, gone := l.server.Panes(); errors.Is(gone, tmux.ErrNoServer) {
			err = cmp.Or(l.server.WhyEnds(), err)
		}
	}
	ended := errors.As(err, new(*EndedError))
	err = cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", l.Name, err))
	if ended && l.resumedID() != "" && !l.Resumes { // with Resumes, the caller removes the instance
		err = cli.WithHint(err, "where %s no longer has its conversation %s: gt-session rm %s, then gt-session new", l.Agent, l.resumeID, l.Name)
	}
	return err
}

func (l *Launch) runPreStart() error {
	if l.Template.PreStart == nil {
		return nil
	}
	return l.Template.PreStart(l.run.Env)
}

func (l *Launch) describeRun() (does, found string, err error) {
	if l.Template.Remote {
		return "start it with " + l.Managed.Runtime, "which says when it runs", nil
	}
	return fmt.Sprintf("make the tmux session %s on %s, and wait until it runs %s", l.TmuxSession, l.Env.DisplayPath(l.TmuxServer), l.Agent), "", nil
}

// startInRuntime starts the agent in its runtime, after recording the start.
func (l *Launch) startInRuntime() error {
	l.markStarted(l.Env.Now())
	l.TmuxPane = ""
	l.LoadedMCPNames = instance.Servers(l.Path)
	if err := l.save(); err != nil {
		return err
	}
	vars, _ := l.successor().SharedVars()
	return l.explainFailure(l.Template.Run(l.run, vars))
}

func (l *Launch) runSetup() error {
	if l.Template.SessionSetup != nil {
		l.Template.SessionSetup(l.run.Env)
	}
	return nil
}
