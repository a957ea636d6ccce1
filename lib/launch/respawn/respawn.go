// Package respawn puts an agent into a pane of tmux in the place of the one that
// runs there: a fresh agent after a hand-over, or the same conversation in a new
// process.
//
// Everything that the new process needs travels in a buffer of the tmux server's,
// which only the person can reach and which its reader deletes: the environment
// holds keys, everybody can read a command line, and what runs in an agent's
// sandbox can read a file.
package respawn

import (
	"encoding/json"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/client/agent"
	"gt/lib/client/registry"
	"gt/lib/launch/launcher"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/beads"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Run is the run of an agent that takes over a pane.
type Run struct {
	Dir string `json:"dir"`
	// Folder is the folder that Dir is; the agent starts in no other.
	Folder place.Folder `json:"folder,omitzero"`
	Args   []string     `json:"args"`
	Env    []string     `json:"env"`
	Pane   string       `json:"pane"`
	Remain tmux.Remain  `json:"remain_on_exit"`
	// Shell is the shell that the agent was started from in this pane, which
	// comes back when the agent ends; empty where the pane is the agent's.
	Shell string `json:"shell,omitempty"`
	// In are the words of what it is started in (launcher.Around), Ends the agent before it
	// there, which may outlive its terminal, and Limits those that it has besides.
	In     []string        `json:"in,omitempty"`
	Ends   process.Proc    `json:"ends,omitzero"`
	Limits *process.Limits `json:"limits,omitempty"`
	// Capture gets the agent a session first; nil where there is none to get.
	Capture *Capture `json:"capture,omitempty"`
	// First is what it is told first; nil where it is told nothing, or by its arguments.
	First *First `json:"first,omitempty"`
}

// shellVar tells a successor that runs as our child which shell its pane had, for
// the next hand-over.
const shellVar = "GT_PANE_SHELL"

// Previous is the run that another follows.
type Previous struct {
	Client  string // its name
	Args    []string
	Environ []string
	Dir     string
	Process process.Proc
	Pane    tmux.Pane         // empty where it has none
	In      launcher.Launcher // what it was started in
}

// Successor is the agent that follows.
type Successor struct {
	Client agent.Client
	Home   home.Home
	// ID is the id that an agent without hooks begins with; see NewSuccessor.
	ID string
}

// Run returns how the successor starts: with the program, flags, folder and
// environment of the run before it, without what belonged to that run alone. Of
// another client's run, only the folder and the environment mean something to it.
func (s Successor) Run(prev Previous, next agent.Next, known *agent.Table) Run {
	var args []string
	if s.Client.Name == prev.Client {
		args = process.Typed(prev.Args, prev.Dir)
	}
	in, ends := prev.In, process.Proc{}
	if len(in.Words) == 0 {
		in.Words = s.Client.Wrapper
	}
	if len(in.Words) > 0 {
		ends = prev.Process
		if in.Outer.IsSet() {
			prev.Environ, prev.Dir = in.Environ, in.Dir
		}
	}
	next.ID = s.ID
	r := Run{
		Dir:     prev.Dir,
		Args:    s.Client.Restart(args, next),
		Env:     s.environ(known.StripRunVars(prev.Environ)),
		Pane:    prev.Pane.ID,
		Shell:   prev.shell(),
		Capture: s.capture(next),
		In:      in.Words, Ends: ends, Limits: in.Limits,
	}
	if prompt := s.Client.PromptVar(next); prompt != "" {
		r.Env = append(r.Env, prompt)
	}
	if r.Shell != "" {
		r.Env = append(r.Env, shellVar+"="+r.Shell)
	}
	return r
}

// shell returns the shell that the pane's agent was started from, if it was: the
// program that the pane began with, or the one that began before an earlier
// hand-over.
func (prev Previous) shell() string {
	for _, kv := range prev.Environ {
		if shell, ok := strings.CutPrefix(kv, shellVar+"="); ok {
			return shell
		}
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
		return "" // a shell that was to run the agent and end with it
	}
	program, err := p.Executable()
	if err != nil {
		return ""
	}
	return program
}

// Vars are the variables that say who the successor is, with those that its block
// in the table of agents adds.
func (s Successor) Vars() [][2]string {
	vars := s.names()
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

// shared are the variables of Vars that the tmux session has as well, for what else is
// started in it and for who watches it; and unset are those that told of the run
// before. What the table of agents adds may be secret and is not among them. The id of
// a successor with hooks is known when it starts: gt-prime shares it then.
func (s Successor) shared() (vars [][2]string, unset []string) {
	ids := append(registry.SessionVars(), "GT_SESSION_UUID")
	for _, kv := range s.Vars() {
		if _, own := s.Client.Env[kv[0]]; !own {
			vars = append(vars, kv)
			ids = slices.DeleteFunc(ids, func(name string) bool { return name == kv[0] })
		}
	}
	return vars, ids
}

// Shared are the variables of Vars that the tmux session has as well.
func (s Successor) Shared() [][2]string {
	vars, _ := s.shared()
	return vars
}

// names are the variables that say which agent it is, which Gas Town reads from
// the tmux session.
func (s Successor) names() [][2]string {
	return [][2]string{
		{"GT_AGENT", s.Client.Name},
		{"GT_PROCESS_NAMES", strings.Join(s.Client.Processes, ",")},
	}
}

// environ returns an environment with who the successor is, and without what told
// one run of a client from another.
func (s Successor) environ(environ []string) []string {
	set := s.Vars()
	env := slices.DeleteFunc(environ, func(kv string) bool {
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

// stopGrace is how long another pane's agent has to end by itself. Most take a fraction of
// a second; one that is killed before may not have written all of its conversation.
const stopGrace = 10 * time.Second

// Place is the pane that a run is put into.
type Place struct {
	Server tmux.Server
	Pane   tmux.Pane
	// Remain is the pane's setting once the agent runs in it; the one that it has where
	// this is not set.
	Remain tmux.Remain
	// Stop is the agent of a pane that is not our own, which is asked to end
	// first, so that its own end hook can run, and killed where it does not. It is
	// not set for the agent that runs us.
	Stop process.Proc
	// Stopped is called when that agent has ended, and before the next one starts. It may
	// be nil; an error keeps the next one from starting.
	Stopped func() error

	Self string // the program that takes --exec BUFFER, and calls Exec
	Now  time.Time
	Warn func(error) // of what the hand-over does without
}

// envWait bounds a call that a hand-over can do without.
const envWait = 2 * time.Second

// Replace gives the pane to the successor's run. Where that fails, the pane is as
// it was.
func (s Successor) Replace(at Place, r Run) (err error) {
	before, err := at.Server.RemainOnExit(at.Pane.ID)
	if err != nil {
		return err
	}
	if r.Remain = at.Remain; !r.Remain.Set {
		r.Remain = before
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	warn := func(err error) {
		if err != nil {
			at.Warn(err)
		}
	}
	warn(at.Server.SweepBuffers(at.Now))
	vars, unset := s.shared()
	warn(at.Server.SetEnvironment(at.Pane.ID, vars, unset, envWait))
	if at.Stop.IsSet() {
		if err := at.Server.Keep(at.Pane.ID); err != nil { // the pane must outlive its agent
			return err
		}
		inits := process.Inits(at.Pane.PID)
		if tree := live.Tree(at.Stop); !live.Stop(at.Stop, stopGrace) {
			live.Kill(append(tree, live.Tree(at.Stop)...)) // or two agents would run
		}
		live.Kill(inits) // what it has left in its sandbox, such as Codex's server, would serve the next one there
	}
	if at.Stopped != nil {
		if err := at.Stopped(); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGHUP) // the respawn sends it to all in the pane, and our caller has more to say
	buffer := tmux.NewBuffer()
	if err := at.Server.Respawn(at.Pane.ID, !s.Home.Town.Personal, buffer, data, at.Self, "--exec", string(buffer)); err != nil {
		_ = at.Server.Drop(buffer) // it may not have been loaded
		warn(at.Server.RestoreRemainOnExit(at.Pane.ID, before))
		return err
	}
	return nil
}
