package hook

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/client/registry"
	"gt/lib/client/startenv"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

type Flags struct {
	Hook  bool   `group:"Where an agent runs it, as gt-hooks installs it:" help:"Run as an agent's hook: read its JSON on standard input, exit 0 whatever happens."`
	Agent string `group:"Where an agent runs it, as gt-hooks installs it:" help:"The agent that runs the hook (claude, codex, gemini, copilot, ...)." placeholder:"NAME"`

	// From the table of agents, which no hook has the time to read: gt-hooks writes it
	// into the wiring.
	Dialect string `group:"Where an agent runs it, as gt-hooks installs it:" help:"The agent whose format the answer has (default: its own)." placeholder:"NAME"`
	Cap     int    `group:"Where an agent runs it, as gt-hooks installs it:" help:"The longest answer that the agent shows in full, in characters (default: by its dialect)." placeholder:"N"`

	// From the person's settings, which no hook has the time to read either.
	Notify string `group:"Where an agent runs it, as gt-hooks installs it:" help:"The reasons for waiting that run your [notify] command (permission,done,...)." placeholder:"REASONS"`
	Record string `group:"Where an agent runs it, as gt-hooks installs it:" help:"Whether gt-record keeps the conversation (on)." placeholder:"WORD"`
	Fill   *int   `group:"Where an agent runs it, as gt-hooks installs it:" help:"How full its context window may be, in percent, before the agent is told (default 70; 0 never tells)." placeholder:"N"`
}

// Invocation is one run of a command, as a client's hook or by hand.
type Invocation struct {
	Input   Input
	Hook    bool
	Agent   string
	Dialect contract.Dialect
	Dir     string // where the client is
	Home    home.Home
	ID      session.ID // empty if no session is known
	Store   session.Store

	env        *cli.Env
	server     process.Proc           // what runs the hook in place of a client; unset if a client does
	serverKind *contract.SharedServer // the kind of server that the client can have, or nil
	isForeign  bool                   // a program other than the client runs the hook
	tolerated  []error                // tolerated errors, each once
}

// NewInvocation reads the hook's input and finds the home and the session. It never
// fails: it warns of errors and goes on.
//
// A hook's session is the one in its input. No variable counts, because an inherited one
// belongs to a parent. For a command, and for a hook without input, see Store.Current.
func NewInvocation(env *cli.Env, flags Flags) *Invocation {
	startenv.RestoreFor(env, flags.Agent, flags.Hook)
	inv := &Invocation{Hook: flags.Hook, Agent: RunningAgent(flags.Agent, env.Getenv), env: env}
	inv.Dialect = flags.dialect(inv.Agent)
	inv.serverKind = serverOf(env, &inv.Dialect)
	inv.server = findServer(env, inv.serverKind, inv.runningProcess)
	if !flags.Hook && flags.Agent == "" && inv.Agent == contract.Default { // a hook's parent may be another agent, so this is only for a command
		named, teller := env.Getenv("GT_AGENT"), names.SoleTeller(env.Getenv)
		// A named client that has a session variable would have set it, so the one that did runs this.
		// A variant, or a client without one, stays: a shell may keep an earlier agent's variable.
		if teller != "" && names.SetsSessionVar(named) {
			named = teller
		}
		inv.Agent = cmp.Or(named, teller, inv.Agent)
		inv.Dialect = flags.dialect(inv.Agent)
	}
	if flags.Hook {
		inv.Input = Read(env.Stdin, Deadline)
		if inv.Input.Problem != "" {
			env.Warn("%s", inv.Input.Problem)
		}
		if inv.Dialect.TypedPrompt != nil {
			inv.Input.Prompt = inv.Dialect.TypedPrompt(inv.Input.Prompt)
		}
	}
	if inv.Input.SessionID != "" {
		id, err := session.ParseID(inv.Input.SessionID)
		env.WarnError(err)
		inv.ID = id
	}
	inv.Dir = env.Dir
	state := place.StateOf(env.Getenv)
	if client := registry.FindClient(inv.Agent); flags.Hook && client != nil {
		inv.fillFromClient(client, state)
	}
	if filepath.IsAbs(inv.Input.CWD) {
		// If the folder was removed under the session, stay in it: files that a hook
		// leaves in the folder above would reach whoever works there.
		info, err := os.Stat(inv.Input.CWD)
		if err == nil && info.IsDir() || env.DirDeleted && errors.Is(err, fs.ErrNotExist) {
			inv.Dir = inv.Input.CWD
		} else if atomicfile.IsHidden(err) {
			env.WarnError(atomicfile.Error("read", inv.Input.CWD, err))
		}
	}
	if inv.server.IsSet() && len(town.FindContaining(state, slices.Values([]string{inv.Dir}))) > 0 {
		removeVars(env, townVars) // the folder's own town counts
	}
	var unread error
	inv.Home, unread = inv.findHome(state)
	if flags.Hook && inv.Home.Problem != nil {
		env.Warn("%v", inv.Home.Problem)
		return inv
	}
	inv.Warn(unread)
	if inv.Home.Ignored != "" {
		env.Warn("GT_ROLE '%s' is not an address and was ignored", inv.Home.Ignored)
	}
	inv.Warn(inv.Home.Town.TrustErr)
	inv.Store = session.Store{Home: inv.Home, Warn: inv.Warn}
	if inv.ID == "" && inv.Input.SessionID == "" {
		inv.ID = inv.Store.Current(env.Getenv, names.SessionVars(), flags.Hook)
	}
	return inv
}

// fillFromClient sets what a client does not tell its hooks: isForeign for another program's
// conversation, ID for a subagent's hook (its own id goes to Input.AgentID), and Dir for a client
// that RunsElsewhere. The hook of such a client is foreign, too, if the session has no home.
func (c *Invocation) fillFromClient(client *contract.Client, state place.State) {
	c.isForeign = client.OwnsTranscript != nil && !client.OwnsTranscript(c.Input.Transcript)
	if client.ParentSession != nil && c.ID != "" {
		if at, err := state.FixedPlace(string(c.ID)); at == "" && err == nil { // no session that gt knows
			if id, err := session.ParseID(client.ParentSession(c.Input.Transcript)); err == nil {
				c.ID, c.Input.AgentID = id, string(c.ID)
			}
		}
	}
	if client.RunsElsewhere && c.Input.CWD == "" {
		_, dir, _ := state.FixedHome(string(c.ID)) // "" if that cannot be read
		c.isForeign = c.isForeign || dir == ""
		c.Dir = cmp.Or(dir, c.Dir)
	}
}

// IsIdle reports whether this is a hook that has nothing to do, because it is another
// program's, or gt can keep nothing of its home (NewInvocation has warned of that).
func (c *Invocation) IsIdle() bool { return c.Hook && (c.Home.Problem != nil || c.isForeign) }

// findHome returns the session's home, which is the one of its first hook. If that cannot be
// read, it returns the current one and the error.
func (c *Invocation) findHome(state place.State) (home.Home, error) {
	scope := place.ScopeIn(state, c.env.Getenv)
	if !c.Hook || c.ID == "" {
		return home.FindIn(scope, c.Dir, string(c.ID)), nil
	}
	at, dir, err := state.FixedHome(string(c.ID))
	if at == "" {
		return home.FindIn(scope, c.Dir, string(c.ID)), err
	}
	return home.FixedHome(scope, at, dir, c.Dir, string(c.ID)), nil
}

// dialect returns the dialect of the agent. The wiring's flags change it only for the
// agent that they are for.
func (f Flags) dialect(agent string) contract.Dialect {
	if agent != f.Agent {
		return DialectOf(agent)
	}
	d := DialectOf(cmp.Or(f.Dialect, agent))
	if f.Cap > 0 {
		d.MaxContext = f.Cap
	}
	return d
}

// Process returns the client's process; it is not set if there is none.
func (c *Invocation) Process() process.Proc {
	if c.server.IsSet() {
		return c.findWindow()
	}
	p, err := c.runningProcess()
	if err != nil {
		return process.Proc{}
	}
	return p
}

// runningProcess returns the process that runs this program: a client, or the server behind it.
func (c *Invocation) runningProcess() (process.Proc, error) {
	p, err := process.AgentOf(os.Getpid())
	if err == nil && c.Hook && c.Dialect.HooksInHelper {
		return process.AgentOf(p.PID)
	}
	return p, err
}

// StartParams returns what this invocation knows of its session, without its topic and
// its work. It has the name of the tmux session only if the environment does: asking tmux
// takes longer than the rest of a start (see NameTmux).
func (c *Invocation) StartParams() session.StartParams {
	host, _ := os.Hostname() // "" if the machine has no name
	f := session.StartParams{
		ID: c.ID, Source: c.env.Redact(c.Input.Source), Agent: c.Agent, Process: c.Process(),
		Transcript: c.Input.Transcript, CWD: c.Dir, Branch: c.env.Redact(git.Branch(c.Home.Dir)),
		Host: host, HookKey: c.Input.Key, Server: c.server, ClearReason: c.Dialect.ClearReason,
		Headless: c.Headless(),
	}
	if c.Input.AgentID != "" {
		f.Transcript = "" // Codex gives the subagent's
	}
	getenv := c.windowEnv(f.Process)
	f.TmuxServer, f.TmuxPane = tmux.FromEnv(getenv)
	f.TmuxSession = getenv("GT_SESSION")
	return f
}

// windowEnv returns the environment of the client's process. That of a server is another
// window's; it is empty if the window is unknown.
func (c *Invocation) windowEnv(p process.Proc) func(string) string {
	if !c.server.IsSet() {
		return c.env.Getenv
	}
	environ, _ := p.Environ() // empty if there is no such process
	return (&cli.Env{Environ: environ}).Getenv
}

// BindInstance records the session as the instance's current one, if the client is an
// instance's agent.
func (c *Invocation) BindInstance() error {
	variable, pid, parent := c.findInstance()
	if variable == "" {
		return nil
	}
	return instance.Bind(c.Home.Town.State, variable, pid, parent, instance.CurrentSession{SessionID: c.ID, Agent: c.Agent, At: c.env.Now()})
}

// Topic returns the topic with which the instance was started, if the client is an
// instance's agent; else "".
func (c *Invocation) Topic() string {
	variable, pid, parent := c.findInstance()
	if variable == "" {
		return ""
	}
	return instance.TopicOf(c.Home.Town.State, variable, pid, parent)
}

// findInstance returns the variable that names an instance, the client's process and its
// parent's, because the client may be the child of a launcher. variable is "" if there is
// no instance.
func (c *Invocation) findInstance() (variable string, pid, parent int) {
	if c.ID == "" || c.Input.AgentID != "" || !c.server.IsSet() && c.env.Getenv(instance.Variable) == "" {
		return "", 0, 0
	}
	p := c.Process()
	if variable = c.windowEnv(p)(instance.Variable); variable == "" || !p.IsSet() {
		return "", 0, 0
	}
	if up := process.Ancestors(p.PID); len(up) > 0 && !c.isOtherClient(process.Name(up[0])) {
		parent = up[0]
	}
	return variable, p.PID, parent
}

// isOtherClient reports whether a process of that name is another client, which has started this
// one for itself: Claude Code starts Codex as an MCP server, as its child.
func (c *Invocation) isOtherClient(name string) bool {
	own := registry.FindClient(c.Agent)
	return own != nil && names.HasProcess(name) && !process.IsInterpreter(name) && !slices.Contains(own.Processes, name)
}

// busyWait is how long a hook that has the time waits for tmux, and for the home's lock, on a busy
// machine. Usually both take a few milliseconds.
const busyWait = 2 * time.Second

// NameTmux adds the name of the tmux session to the session's record if it is missing. A
// hook that has the time calls it, so it asks once a session.
func (c *Invocation) NameTmux() error {
	r, err := c.Store.Get(c.ID)
	if err != nil || r == nil || r.TmuxPane == "" || r.TmuxSession != "" {
		return err
	}
	pane, err := tmux.Server(r.TmuxServer).Pane(r.TmuxPane, busyWait)
	if err != nil {
		return err
	}
	return c.changeRecord(func(r *session.Record) { r.TmuxSession = pane.Session })
}

// NameTranscript adds the conversation to the session's record if it is missing: some clients
// name it only once something was said.
func (c *Invocation) NameTranscript() error {
	r, err := c.Store.Get(c.ID)
	if err != nil || r == nil || r.Transcript != "" || c.Input.Transcript == "" || c.Input.AgentID != "" {
		return err
	}
	return c.changeRecord(func(r *session.Record) { r.Transcript = c.Input.Transcript })
}

// changeRecord changes the session's record, unless somebody else does just now.
func (c *Invocation) changeRecord(change func(*session.Record)) error {
	lock, err := c.Home.LockWithin(busyWait)
	if errors.Is(err, flock.ErrBusy) {
		return nil // a later hook does it
	} else if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := c.Store.Get(c.ID)
	if err != nil || r == nil {
		return err
	}
	change(r)
	return c.Store.Put(r, atomicfile.Unsynced)
}

// EnsureRecord makes sure that the session has a record. A session that began before gt
// was installed has none until its next hook, nor has a fork whose start did not give its
// id. If the record exists, this costs one stat. A subagent is not a session, whatever
// its id.
func (c *Invocation) EnsureRecord() error {
	if c.ID == "" || c.Input.AgentID != "" || c.Store.Exists(c.ID) {
		return nil
	}
	if c.Dialect.DroppedSources != nil && c.Input.Kind() == "UserPromptSubmit" {
		return nil // gt-prime gets the same prompt and does more with it
	}
	if c.Dialect.Overlaps && c.Input.Kind() == "UserPromptSubmit" {
		return nil // the start may be running, and knows more
	}
	lock, err := c.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	f := c.StartParams()
	f.HookKey = "" // another hook acts on this input
	f.Adopted = true
	all, err := c.Store.Repair()
	if err != nil {
		return err
	}
	_, err = c.Store.Start(c.env.Now(), all, f)
	return errors.Join(err, c.BindInstance())
}

// Headless reports whether no person sees the run of the session's client, by the hook's
// input or by the client's process.
func (c *Invocation) Headless() bool {
	p := c.Process()
	if c.Input.Headless || c.Dialect.Headless == nil || !p.IsSet() {
		return c.Input.Headless
	}
	args, _ := p.Args() // without them its environment and its screen tell
	return c.Dialect.Headless(contract.Run{Args: args, Getenv: c.env.Getenv, OnScreen: p.OnScreen})
}

// Killed reports whether the session was ended from outside, according to the client's
// reason. busy reports whether the agent was in the middle of a turn. If the terminal of
// an instance's agent is gone, the answer is true whatever the client says.
func (c *Invocation) Killed(busy func() bool) bool {
	hungUp := func() bool { return c.Process().HungUp() }
	if variable, _, _ := c.findInstance(); variable != "" && hungUp() {
		return true
	}
	killed := c.Dialect.Killed
	if killed == nil {
		killed = contract.Killed
	}
	return killed(contract.SessionEnd{Reason: c.Input.Reason, Getenv: c.env.Getenv, Busy: busy, HungUp: hungUp})
}

// Warn prints a tolerated error once. Nobody reads a hook's standard error, so End also
// writes it to the log.
func (c *Invocation) Warn(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			c.Warn(err)
		}
		return
	}
	if err == nil || slices.ContainsFunc(c.tolerated, func(old error) bool { return old.Error() == err.Error() }) {
		return
	}
	c.tolerated = append(c.tolerated, err)
	c.env.WarnError(err)
}

// maxError limits the error text of an event, in characters. A home may have any number
// of unusable files, and readers search the end of the log for a session's last event.
const maxError = 4000

// End ends a hook: it writes err and all warnings to the log as one event. It returns
// err, which is all that it does for a command.
func (c *Invocation) End(err error) error {
	if all := errors.Join(err, errors.Join(c.tolerated...)); all != nil && c.Hook {
		// If the log cannot be written either, only standard error has the errors.
		t := c.Home.Town
		_ = eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.SpareEvents()), func(error) {}, c.env.Now(), eventlog.HookError, c.Home.Identity.Address(), map[string]any{
			"session_id": c.ID, "agent": c.Agent, "program": c.env.Name, "event": c.Input.Event, "error": term.Cut(c.env.Redact(all.Error()), maxError),
		})
	}
	return err
}

// DefaultArgs returns a function that sets the program's arguments to wired if there are none
// and a client other than Claude Code runs it as a hook: such a client drops the "args" of
// Claude Code's wiring. Without wired, the program would do what it does for a person.
func DefaultArgs(wired ...string) func(*cli.Env) {
	return func(env *cli.Env) {
		if len(env.Args) == 0 && foreignClient(env.Getenv, true) != nil && piped(env) {
			env.Args = wired
		}
	}
}

// foreignClient returns the client that runs this program as its hook although it is wired for
// another; nil if none does. named reports that the wiring names its client.
func foreignClient(getenv func(string) string, named bool) *contract.Client {
	for _, c := range registry.Clients() {
		if c.RunsForeignHooks != nil && c.RunsForeignHooks(getenv, named) {
			return c
		}
	}
	return nil
}

// piped reports whether standard input is not a terminal.
func piped(env *cli.Env) bool {
	f, ok := env.Stdin.(*os.File)
	if !ok {
		return env.Stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func HasDialect(name string) bool {
	c := registry.FindClient(name)
	return c != nil && c.Dialect.MaxContext > 0
}

var plainDialect = contract.Dialect{MaxContext: 10_000, Shape: contract.Plain}

// DialectOf returns the dialect of a client, which for an unknown one is plain text.
func DialectOf(agent string) contract.Dialect {
	if HasDialect(agent) {
		return registry.FindClient(agent).Dialect
	}
	return plainDialect
}

// RunningAgent returns the client that runs the hook. It is the one that the wiring names,
// except that some clients also run the hooks of the default client, with dialects of
// their own.
func RunningAgent(named string, getenv func(string) string) string {
	if named != "" && named != contract.Default {
		return named
	}
	if c := foreignClient(getenv, named != ""); c != nil {
		return c.Name
	}
	return contract.Default
}
