// Package respawn replaces the agent in a tmux pane: by a fresh agent after a hand-over, or
// by the same conversation in a new process.
//
// The new process gets everything in a buffer of tmux's server, which only the person can
// read, and deletes it. The environment holds keys, everybody can read a command line, and
// an agent's sandbox can read files.
package respawn

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/names"
	"gt/lib/launch/ask"
	"gt/lib/launch/launcher"
	"gt/lib/launch/send"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/beads"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Run describes how an agent starts in a pane.
type Run struct {
	Dir string `json:"dir"`
	// Folder identifies Dir; the agent starts in no other folder.
	Folder place.Folder       `json:"folder,omitzero"`
	Args   []string           `json:"args"`
	Env    []string           `json:"env"`
	Pane   string             `json:"pane"`
	Remain tmux.RemainSetting `json:"remain_on_exit"`
	// Shell is the shell from which the agent was started in this pane and which returns
	// when the agent ends; "" if the pane is the agent's.
	Shell string `json:"shell,omitempty"`
	// The launcher's words (see launcher.WrapCommand), the earlier agent in it, which may outlive
	// its terminal, and its limits where they differ from the tmux server's.
	Launcher     []string        `json:"in,omitempty"`
	EarlierAgent process.Proc    `json:"ends,omitzero"`
	Limits       *process.Limits `json:"limits,omitempty"`
	// Capture first gets a session from the agent; may be nil.
	Capture *Capture `json:"capture,omitempty"`
	// FirstPrompt is the first prompt if it is typed; may be nil.
	FirstPrompt *FirstPrompt `json:"first,omitempty"`
}

// shellVar tells a successor that runs as a child which shell its pane had, for the next
// hand-over. capturedMark stands for the id of a session that is not known yet.
const (
	shellVar     = "GT_PANE_SHELL"
	capturedMark = "\x00captured\x00"
)

const (
	// stopGrace is how long the agent of another pane has to end. Most need a fraction of a
	// second; one that is killed may not have written its whole conversation.
	stopGrace = 10 * time.Second
	restGrace = 2 * time.Second // for what the agent left running to end
	endGrace  = 3 * time.Second // for the earlier agent to end with its terminal, and again after SIGTERM
	envWait   = 5 * time.Second // for the setting of the variables, whose failure is only a warning
	// captureWait bounds the answer to a one-character prompt, unless the agent's block sets
	// another limit. A person waits for it.
	captureWait = 30 * time.Second
)

// Previous is the run that a successor follows.
type Previous struct {
	Client   string
	Args     []string
	Environ  []string
	Dir      string
	Process  process.Proc
	Pane     tmux.Pane // empty if it has none
	Launcher launcher.Launcher
}

// Successor is the agent that follows in a pane.
type Successor struct {
	Client agent.Client
	Home   home.Home
	// ID is the id of an agent without hooks; see NewSuccessor.
	ID string
}

// NewSuccessor returns the successor in a home, with its id.
//
// An agent without hooks starts with an id, because it could not report one. The gt
// programs that its first prompt asks it to run find the id in the environment and record
// the session. The id is the agent's own if it accepts one, and otherwise invented. resumed
// is the conversation to resume, or "".
func NewSuccessor(c agent.Client, h home.Home, resumed session.ID) Successor {
	s := Successor{Client: c, Home: h}
	switch {
	case c.Dialect != "": // its hooks report it
	case resumed != "":
		s.ID = string(resumed)
	case len(c.SessionIDFlag) > 0:
		s.ID = string(session.NewID())
	default:
		s.ID = string(session.InventID())
	}
	return s
}

// idVars returns the variables for the id of a successor without hooks: gt's, and the
// client's own for an id that the client knows.
func (s Successor) idVars(id session.ID) []string {
	if s.Client.SessionIDEnv == "" || id.Invented() {
		return []string{"GT_SESSION_UUID"}
	}
	return []string{"GT_SESSION_UUID", s.Client.SessionIDEnv}
}

// PlanRun returns how the successor starts: with the program, flags, folder and environment of
// the run before, without what belonged to that run only. From another client's run it
// takes only folder and environment.
func (s Successor) PlanRun(prev Previous, next agent.NextRun, known *agent.Table) Run {
	var args []string
	if s.Client.Name == prev.Client {
		args = process.TypedCommand(prev.Args, prev.Dir)
		if prev.Process.IsSet() && !isRunnable(args, prev.Dir, prev.Environ) { // an update removed the version that still runs
			args = append(slices.Clone(s.Client.Command), s.Client.ChosenArgs(args)...)
		}
	}
	around, earlier := prev.Launcher, process.Proc{}
	if len(around.Words) == 0 {
		around.Words = s.Client.Wrapper
	}
	if len(around.Words) > 0 {
		earlier = prev.Process
		if around.Outer.IsSet() {
			prev.Environ, prev.Dir = around.Environ, around.Dir // those of the launcher itself
		}
	}
	next.ID = s.ID
	var first *FirstPrompt
	if s.Client.TypesPrompt && next.Prompt != "" {
		first = &FirstPrompt{Text: send.FormatFirstPrompt(next.Prompt), Client: s.Client, Resumed: session.ID(next.Resume)}
		next.Prompt = ""
	}
	r := Run{
		FirstPrompt: first,
		Dir:         prev.Dir,
		Args:        s.Client.Restart(args, next),
		Env:         s.environ(known.StripRunVars(prev.Environ)),
		Pane:        prev.Pane.ID,
		Shell:       prev.findShell(),
		Capture:     s.capture(next),
		Launcher:    around.Words, EarlierAgent: earlier, Limits: around.Limits,
	}
	if prompt := s.Client.PromptVar(next); prompt != "" {
		r.Env = append(r.Env, prompt)
	}
	if r.Shell != "" {
		r.Env = append(r.Env, shellVar+"="+r.Shell)
	}
	return r
}

// isRunnable reports whether the program of a command line can be run, and its script, if it
// is an interpreter.
func isRunnable(args []string, dir string, environ []string) bool {
	if len(args) == 0 {
		return true // Restart then takes the client's own command
	}
	_, err := process.LookPath(args[0], dir, environ)
	if err == nil && process.IsInterpreter(filepath.Base(args[0])) {
		if i := slices.IndexFunc(args, filepath.IsAbs); i > 0 {
			_, err = os.Stat(args[i])
		}
	}
	return err == nil
}

// MissingProgram returns why the run's program cannot be started, nil if it can.
func (r Run) MissingProgram() error {
	for _, args := range [][]string{r.Launcher, r.Args} {
		if len(args) == 0 {
			continue
		}
		if _, err := process.LookPath(args[0], r.Dir, r.Env); err != nil {
			return err
		}
	}
	return nil
}

// findShell returns the shell from which the pane's agent was started, or "": the pane's first
// program, or the shell from before an earlier hand-over.
func (prev Previous) findShell() string {
	if shell := process.Variable(prev.Environ, shellVar); shell != "" {
		return shell
	}
	pid := prev.Pane.PID
	if pid == prev.Process.PID || !process.IsShell(process.Name(pid)) {
		return ""
	}
	p, err := process.Find(pid)
	if err != nil {
		return ""
	}
	args, err := p.Args()
	if err != nil || len(args) == 0 || slices.Contains(args, "-c") {
		return "" // a shell that only ran the agent
	}
	program, err := p.Executable()
	if err != nil {
		return ""
	}
	return program
}

// Vars returns the variables that identify the successor, and those of its block in the
// table of agents.
func (s Successor) Vars() [][2]string {
	vars := [][2]string{{"GT_AGENT", s.Client.Name}, {"GT_PROCESS_NAMES", strings.Join(s.Client.Processes, ",")}}
	for _, name := range slices.Sorted(maps.Keys(s.Client.Env)) {
		vars = append(vars, [2]string{name, s.Client.Env[name]})
	}
	if s.ID != "" {
		for _, name := range s.idVars(session.ID(s.ID)) {
			vars = append(vars, [2]string{name, s.ID})
		}
	}
	if id := s.Home.Identity; id.Role != "" {
		vars = append(vars, [2]string{"GT_ROLE", id.Address()}, [2]string{"BD_ACTOR", id.Address()})
		if id.Rig != "" {
			vars = append(vars, [2]string{"GT_RIG", id.Rig})
		}
	}
	if !s.Home.Town.Personal {
		vars = append(vars, [2]string{"GT_ROOT", s.Home.Town.Root})
	}
	if dir := beads.Dir(s.Home); dir != "" {
		vars = append(vars, [2]string{"BEADS_DIR", dir})
	}
	return vars
}

// SharedVars returns the Vars that the tmux session has too, for Gas Town and other observers, and
// the names of variables of the earlier run, which it loses. It leaves out variables of the table
// of agents, which may be secret. gt-prime later shares the id of a successor with hooks.
func (s Successor) SharedVars() (vars [][2]string, unset []string) {
	ids := append(names.SessionVars(), "GT_SESSION_UUID")
	for _, kv := range s.Vars() {
		if _, own := s.Client.Env[kv[0]]; !own {
			vars = append(vars, kv)
			ids = slices.DeleteFunc(ids, func(name string) bool { return name == kv[0] })
		}
	}
	return vars, ids
}

// environ returns an environment with the successor's Vars, without what identified the
// earlier run.
func (s Successor) environ(environ []string) []string {
	set := s.Vars()
	env := slices.DeleteFunc(process.WithoutRepository(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		switch key {
		case "TMUX", "TMUX_PANE", "GT_SESSION_UUID", "GT_SESSION_ID", shellVar:
			return true
		}
		return slices.ContainsFunc(set, func(kv [2]string) bool { return kv[0] == key })
	})
	for _, kv := range set {
		env = append(env, kv[0]+"="+kv[1])
	}
	return env
}

// RunPane is the pane of a run.
type RunPane struct {
	Server tmux.Server
	Pane   tmux.Pane
	// Remain is the pane's setting once the agent runs; if unset, the current one.
	Remain tmux.RemainSetting
	// OldAgent is the agent of another pane, which is asked to end, so that its end hook can
	// run, and then killed. It is unset for this program's own agent.
	OldAgent process.Proc
	// AgentOnly reports that the pane has nothing but the agent, so that all on its terminal ends
	// with it.
	AgentOnly bool
	// AfterStop is called between the old agent and the new one; may be nil. An error
	// prevents the start.
	AfterStop func() error

	Self string // the program that calls Exec for --exec BUFFER
	Now  time.Time
	Warn func(error) // about failures that do not prevent the hand-over
}

// Replace gives the pane to the successor's run, after it has ended OldAgent and what that left. If
// it fails, the pane has its settings back, but an agent that was ended stays so.
func (s Successor) Replace(runPane RunPane, r Run) (err error) {
	oldRemain, err := runPane.Server.RemainOnExit(runPane.Pane.ID)
	if err != nil {
		return err
	}
	if r.Remain = runPane.Remain; !r.Remain.Set {
		r.Remain = oldRemain
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	warn := func(err error) {
		if err != nil {
			runPane.Warn(err)
		}
	}
	warn(runPane.Server.SweepBuffers(runPane.Now))
	vars, unset := s.SharedVars()
	warn(runPane.Server.SetEnvironment(runPane.Pane.ID, vars, unset, envWait))
	if runPane.OldAgent.IsSet() {
		if err := runPane.Server.KeepPane(runPane.Pane.ID); err != nil { // the pane must outlive its agent
			return err
		}
		inits := process.Inits(runPane.Pane.PID)
		var leftovers []process.Proc
		if runPane.AgentOnly {
			leftovers = process.SharingTerminal(runPane.Pane.PID)
		}
		if tree := live.ProcessTree(runPane.OldAgent); !live.Terminate(runPane.OldAgent, stopGrace) {
			live.KillAll(append(tree, live.ProcessTree(runPane.OldAgent)...)) // otherwise two agents would run
		}
		leftovers = slices.DeleteFunc(leftovers, func(p process.Proc) bool { return p.PID == runPane.Pane.PID || slices.Contains(inits, p) })
		live.SignalAll(leftovers, syscall.SIGTERM)
		if !live.AwaitGone(leftovers, restGrace) {
			live.KillAll(leftovers)
		}
		live.KillAll(inits) // processes left in a sandbox, such as Codex's server, would serve the next agent
	}
	if runPane.AfterStop != nil {
		if err := runPane.AfterStop(); err != nil {
			warn(runPane.Server.RestoreRemainOnExit(runPane.Pane.ID, oldRemain))
			return err
		}
	}
	signal.Ignore(syscall.SIGHUP) // respawning sends it to the whole pane, but the caller continues
	buffer := tmux.NewBuffer()
	if err := runPane.Server.Respawn(runPane.Pane.ID, !s.Home.Town.Personal, buffer, data, runPane.Self, "--exec", string(buffer)); err != nil {
		_ = runPane.Server.DropBuffer(buffer) // it may not have been loaded
		warn(runPane.Server.RestoreRemainOnExit(runPane.Pane.ID, oldRemain))
		return err
	}
	return nil
}

// Capture gets a session id from an agent that has no hooks and accepts no id: the agent is
// asked to create a session, in its later pane, which takes as long as an answer.
type Capture struct {
	Args    []string `json:"args"`    // create a session
	Agent   string   `json:"agent"`   // the client's name
	Path    string   `json:"path"`    // of the id in the JSON output
	Resumed []string `json:"resumed"` // resume the session captured
	Vars    []string `json:"vars"`    // variables for the id

	Wait time.Duration `json:"wait"`
}

// capture returns the Capture of a successor, or nil if it needs or supports none.
func (s Successor) capture(next agent.NextRun) *Capture {
	args := s.Client.SessionIDProbe()
	if next.ID == "" || next.Resume != "" || len(s.Client.SessionIDFlag) > 0 || args == nil {
		return nil
	}
	next.Resume = capturedMark
	wait := captureWait
	if n := s.Client.SessionIDTimeout; n > 0 {
		wait = time.Duration(n) * time.Second
	}
	return &Capture{Wait: wait, Args: args, Agent: s.Client.Name, Path: s.Client.SessionIDJSONPath, Resumed: s.Client.Restart(nil, next), Vars: s.idVars("")}
}

// captureSession gets the session id and puts it into r. On failure it leaves r unchanged, which
// starts a new conversation.
//
// No hook reports the session later. So captureSession records it in the tmux session, for observers,
// and for the instance.
func (c *Capture) captureSession(env *cli.Env, server tmux.Server, pane string, r *Run) {
	fmt.Fprintf(env.Stderr, "%s: asking %s for a session, for %v at most...\n", env.Name, c.Agent, c.Wait)
	id, err := ask.NewSession(c.Wait, r.Dir, launcher.WrapCommand(r.Launcher, c.Args), r.Env, c.Path, env.Stderr)
	if err != nil {
		env.Warn("%s starts afresh: %v", c.Agent, err)
		return
	}
	r.Args = c.Resumed
	for i, w := range r.Args {
		r.Args[i] = strings.ReplaceAll(w, capturedMark, string(id))
	}
	r.Env = slices.DeleteFunc(r.Env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(c.Vars, name)
	})
	var vars [][2]string
	for _, name := range c.Vars {
		r.Env = append(r.Env, name+"="+string(id))
		vars = append(vars, [2]string{name, string(id)})
	}
	env.WarnError(server.SetEnvironment(pane, vars, nil, envWait))
	getenv := func(name string) string { return process.Variable(r.Env, name) }
	of := fmt.Sprintf("%s:%d", getenv(instance.Variable), os.Getpid()) // this process becomes the agent
	env.WarnError(instance.Bind(place.StateOf(getenv), of, os.Getpid(), 0, instance.CurrentSession{SessionID: id, Agent: c.Agent, At: env.Now()}))
}
