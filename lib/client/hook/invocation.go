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
	"gt/lib/client/registry"
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

// Flags are the flags of every command that can run as a hook.
type Flags struct {
	Hook  bool   `group:"Where an agent runs it, as gt-hooks installs it:" help:"Run as an agent's hook: read its JSON on standard input, exit 0 whatever happens."`
	Agent string `group:"Where an agent runs it, as gt-hooks installs it:" help:"The agent that runs the hook (claude, codex, gemini, copilot, ...)." placeholder:"NAME"`

	// What the table of agents says of the client, which no hook has the time
	// to read: gt-hooks writes it into the wiring.
	Dialect string `group:"Where an agent runs it, as gt-hooks installs it:" help:"The agent whose format the answer has (default: its own)." placeholder:"NAME"`
	Cap     int    `group:"Where an agent runs it, as gt-hooks installs it:" help:"The longest answer that the agent shows in full, in characters (default: by its dialect)." placeholder:"N"`

	// Fill and Notify are a person's settings, which no hook has the time to read either.
	Notify string `group:"Where an agent runs it, as gt-hooks installs it:" help:"The reasons for waiting that run your [notify] command (permission,done,...)." placeholder:"REASONS"`
	// So is Record.
	Record string `group:"Where an agent runs it, as gt-hooks installs it:" help:"Whether gt-record keeps the conversation (on)." placeholder:"WORD"`
	Fill   *int   `group:"Where an agent runs it, as gt-hooks installs it:" help:"How full its context window may be, in percent, before the agent is told (default 70; 0 never tells)." placeholder:"N"`
}

// Invocation is one run of a command, by a client as a hook or by hand: what was
// said, by whom, and where that is.
type Invocation struct {
	Input Input
	Hook  bool
	Agent string
	// Dialect is how the client takes an answer.
	Dialect contract.Dialect
	Dir     string // where the client is
	Home    home.Home
	ID      session.ID // empty where no session is known
	Store   session.Store

	env       *cli.Env
	server    process.Proc           // what runs us in a client's stead, see behind
	behind    *contract.SharedServer // and of what kind it is, nil where none can
	tolerated []error                // what was got over, each once
}

// NewInvocation reads the hook's input and finds out where it is and for which
// session. It never fails: what is wrong is warned of, and passed over.
//
// A hook's session is the one that its input names, and no variable counts: an
// inherited one belongs to a parent. Without an input, and for a command, see
// Store.Current.
func NewInvocation(env *cli.Env, f Flags) *Invocation {
	asStarted(env, f.Agent, f.Hook, tellsProject(f.Agent))
	c := &Invocation{Hook: f.Hook, Agent: Agent(f.Agent, env.Getenv), env: env}
	c.Dialect = f.dialect(c.Agent)
	c.behind = serverOf(env, &c.Dialect)
	c.server = behind(env, c.behind)
	if !f.Hook && f.Agent == "" && c.Agent == contract.Default { // a command's; a hook's parent may be another agent
		named, told := env.Getenv("GT_AGENT"), registry.Teller(env.Getenv)
		if told != "" && registry.SetsSessionVar(named) {
			named = told // else it is a variant, or one that tells nothing; a shell may keep that of an earlier agent
		}
		c.Agent = cmp.Or(named, told, c.Agent)
		c.Dialect = f.dialect(c.Agent)
	}
	if f.Hook {
		c.Input = Read(env.Stdin, Deadline)
		if c.Input.Problem != "" {
			env.Warn("%s", c.Input.Problem)
		}
	}
	if c.Input.SessionID != "" {
		id, err := session.ParseID(c.Input.SessionID)
		if err != nil {
			env.Warn("%v", err)
		}
		c.ID = id
	}
	c.Dir = env.Dir
	if filepath.IsAbs(c.Input.CWD) {
		// One that was removed under the session, and under us, stays where it is:
		// what we would leave in the folder above is told to whoever works there.
		info, err := os.Stat(c.Input.CWD)
		if err == nil && info.IsDir() || env.DirDeleted && errors.Is(err, fs.ErrNotExist) {
			c.Dir = c.Input.CWD
		}
	}
	state := place.StateOf(env.Getenv)
	if c.server.IsSet() && len(town.Above(state, slices.Values([]string{c.Dir}))) > 0 {
		without(env, ofTown) // the folder's own counts
	}
	var unread error
	c.Home, unread = c.find(state)
	if f.Hook && c.Home.Problem != nil {
		env.Warn("%v", c.Home.Problem)
		return c
	}
	c.Warn(unread)
	if c.Home.Ignored != "" {
		env.Warn("GT_ROLE '%s' is not an address and was ignored", c.Home.Ignored)
	}
	c.Warn(c.Home.Town.Unread)
	c.Store = session.Store{Home: c.Home, Warn: c.Warn}
	if c.ID == "" && c.Input.SessionID == "" {
		c.ID = c.Store.Current(env.Getenv, registry.SessionVars(), f.Hook)
	}
	return c
}

// Idle reports whether this is a hook that has nothing to do, since nothing can be
// kept of its home. NewInvocation has said why.
func (c *Invocation) Idle() bool { return c.Hook && c.Home.Problem != nil }

// find finds the home: a session's is the one that its first hook had. Where that
// could not be read, it is the one that is found now, with the error.
func (c *Invocation) find(state place.State) (home.Home, error) {
	if !c.Hook || c.ID == "" {
		return home.FindIn(state, c.env.Getenv, c.Dir, string(c.ID)), nil
	}
	at, dir, err := state.Fixed(string(c.ID))
	if at == "" {
		return home.FindIn(state, c.env.Getenv, c.Dir, string(c.ID)), err
	}
	return home.Fixed(state, c.env.Getenv, at, dir, c.Dir, string(c.ID)), nil
}

// dialect is that of the agent, but for what the wiring says of the one that it
// is made for.
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

// Process is the client's process, unknown where there is none.
func (c *Invocation) Process() process.Proc {
	if c.server.IsSet() {
		return c.window()
	}
	p, err := process.Agent(os.Getpid())
	if err != nil {
		return process.Proc{}
	}
	return p
}

// StartParams are what this call knows of its session, but for its topic and its
// work. The tmux session's name is only known where the environment gives it:
// to ask tmux takes longer than all the rest of a start (see NameTmux).
func (c *Invocation) StartParams() session.StartParams {
	host, _ := os.Hostname() // a nameless machine is noted as such
	f := session.StartParams{
		ID: c.ID, Source: c.env.Redact(c.Input.Source), Agent: c.Agent, Process: c.Process(),
		Transcript: c.Input.Transcript, CWD: c.Dir, Branch: c.env.Redact(git.Branch(c.Home.Dir)),
		Host: host, HookKey: c.Input.Key, Server: c.server, ClearReason: c.Dialect.ClearReason,
	}
	if c.Input.AgentID != "" {
		f.Transcript = "" // Codex names the subagent's
	}
	around := c.env
	if c.server.IsSet() {
		environ, _ := f.Process.Environ() // of none nothing is known
		around = &cli.Env{Environ: environ}
	}
	f.TmuxServer, f.TmuxPane = tmux.FromEnv(around.Getenv)
	f.TmuxSession = around.Getenv("GT_SESSION")
	return f
}

// BindInstance notes the session as the one that an instance's agent has now, where the
// client is an instance's agent.
func (c *Invocation) BindInstance() error {
	variable, pid, parent := c.instance()
	if variable == "" {
		return nil
	}
	return instance.Bind(c.Home.Town.State, variable, pid, parent, instance.Now{SessionID: c.ID, Agent: c.Agent, At: c.env.Now()})
}

// Topic is what the session is about, where the client is an instance's agent that was
// started with a topic; "" otherwise.
func (c *Invocation) Topic() string {
	variable, pid, parent := c.instance()
	if variable == "" {
		return ""
	}
	return instance.TopicOf(c.Home.Town.State, variable, pid, parent)
}

// instance returns the variable that names an instance, and the client's process and what
// started that, for the client may be the child of a launcher of its own. The variable is
// "" where there is none.
func (c *Invocation) instance() (variable string, pid, parent int) {
	variable = c.env.Getenv(instance.Variable)
	if variable == "" || c.ID == "" || c.Input.AgentID != "" {
		return "", 0, 0
	}
	p := c.Process()
	if !p.IsSet() {
		return "", 0, 0
	}
	if up := process.Ancestors(p.PID); len(up) > 0 {
		parent = up[0]
	}
	return variable, p.PID, parent
}

// tmuxWait bounds the question for a name.
const tmuxWait = 250 * time.Millisecond

// NameTmux notes the name of the session's tmux session in its record, where it
// is not there yet. A hook calls it that has the time, and so once a session.
func (c *Invocation) NameTmux() error {
	r, err := c.Store.Get(c.ID)
	if err != nil || r == nil || r.TmuxPane == "" || r.TmuxSession != "" {
		return err
	}
	pane, err := tmux.Server(r.TmuxServer).Pane(r.TmuxPane, tmuxWait)
	if err != nil {
		return err
	}
	lock, err := c.Home.LockWithin(tmuxWait)
	if errors.Is(err, flock.ErrBusy) {
		return nil // the next hook has the time
	} else if err != nil {
		return err
	}
	defer lock.Unlock()
	if r, err = c.Store.Get(c.ID); err != nil || r == nil {
		return err
	}
	r.TmuxSession = pane.Session
	return c.Store.Put(r, atomicfile.Unsynced)
}

// EnsureRecord makes sure that the session has a record. One that began before gt was
// installed, or as a fork whose id its start did not tell, has none until its
// next hook. It costs a look at one file where the record is there. A subagent is
// no session, whatever id it is told under.
func (c *Invocation) EnsureRecord() error {
	if c.ID == "" || c.Input.AgentID != "" || c.Store.Exists(c.ID) {
		return nil
	}
	if c.Dialect.DroppedSources != nil && c.Input.Kind() == "UserPromptSubmit" {
		return nil // gt-prime has the same prompt, and tells with it what was not told at the start
	}
	if c.Dialect.Overlaps && c.Input.Kind() == "UserPromptSubmit" {
		return nil // its start may be under way, and knows more
	}
	lock, err := c.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	f := c.StartParams()
	f.HookKey = "" // this input is another hook's to act on
	f.Adopted = true
	all, err := c.Store.Repair()
	if err != nil {
		return err
	}
	_, err = c.Store.Start(c.env.Now(), all, f)
	return errors.Join(err, c.BindInstance())
}

// Headless reports whether the session's client runs without a person, and will not
// say when it ends.
func (c *Invocation) Headless() bool {
	if c.Dialect.Headless == nil {
		return false
	}
	args, err := c.Process().Args()
	return err == nil && c.Dialect.Headless(args)
}

// Killed reports whether the session was ended from outside, by the reason that the
// client gives for its end; busy tells whether the agent was in the middle of a turn. An
// instance's agent whose terminal is gone was, whatever its client says: nobody left it.
func (c *Invocation) Killed(busy func() bool) bool {
	hungUp := func() bool { return c.Process().HungUp() }
	if variable, _, _ := c.instance(); variable != "" && hungUp() {
		return true
	}
	killed := c.Dialect.Killed
	if killed == nil {
		killed = contract.Killed
	}
	return killed(contract.End{Reason: c.Input.Reason, Getenv: c.env.Getenv, Busy: busy, HungUp: hungUp})
}

// Warn says what was got over, once. Nobody reads a hook's standard error, so
// End tells it to the log as well.
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
	c.env.Warn("%v", err)
}

// maxError bounds what an event says of what went wrong, in characters. A home
// may hold any number of files that are no use, and who looks for a session's
// last event reads the end of the log.
const maxError = 4000

// End is how a hook ends: what was warned of and err, if there is one, become
// an event as well. A command's error is only returned.
func (c *Invocation) End(err error) error {
	if all := errors.Join(err, errors.Join(c.tolerated...)); all != nil && c.Hook {
		// That the log cannot be written either is on standard error only.
		t := c.Home.Town
		_ = eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.Spare()), func(error) {}, c.env.Now(), eventlog.HookError, c.Home.Identity.Address(), map[string]any{
			"session_id": c.ID, "agent": c.Agent, "program": c.env.Name, "event": c.Input.Event, "error": term.Cut(c.env.Redact(all.Error()), maxError),
		})
	}
	return err
}
