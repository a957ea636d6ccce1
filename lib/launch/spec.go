package launch

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/launch/launcher"
	"gt/lib/launch/respawn"
	"gt/lib/launch/send"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Spec is how an instance's agent is started.
//
// The agent is what the session's pane runs: nothing is typed into a shell. Its arguments
// and environment travel in a buffer of the tmux server's, as a hand-over's do (package
// respawn): they hold keys and prompts of any length.
type Spec struct {
	Instance *instance.Instance
	Store    instance.Store
	Client   agent.Client
	Table    *agent.Table
	Home     home.Home
	Environ  []string

	Resume session.ID // the conversation that goes on; "" for a new one
	Fork   bool       // with a copy of it
	Prompt string     // what is said first
	Remote bool       // it runs where nobody can type for it
	Remain bool       // the pane stays when the agent ends

	id session.ID // of an agent without hooks, once Run has found it
}

// Program returns the agent's program.
func (s Spec) Program() (string, error) {
	command := s.Client.Restart(nil, agent.Next{})
	if len(command) == 0 {
		return "", errors.New("its client has no command")
	}
	return process.LookPath(command[0], s.Instance.Path, s.Environ)
}

func (s Spec) successor() respawn.Successor {
	return respawn.Successor{Client: s.Client, Home: s.Home, ID: string(s.id)}
}

// BringsLauncher is respawn.Successor's.
func (s Spec) BringsLauncher(r respawn.Run) bool { return s.successor().BringsLauncher(r) }

// Vars are the variables that tell the agent who it is, and Shared those that the session
// of tmux has as well; none of these is secret.
func (s Spec) Vars() [][2]string { return s.successor().Vars() }

// Shared is documented at Vars.
func (s Spec) Shared() [][2]string { return s.successor().Shared() }

// Run returns what the pane runs, and the id of the agent's session where that is known
// before it starts.
func (s *Spec) Run() (respawn.Run, session.ID, error) {
	c, in := s.Client, s.Instance
	successor := respawn.NewSuccessor(c, s.Home, s.resumed())
	next := agent.Next{Resume: string(s.Resume), Fork: s.Fork, Prompt: s.Prompt}
	if s.Types() {
		next.Prompt = ""
	}
	given := c.SessionIDFlag
	if s.Fork {
		given = c.ForkIDFlag
	}
	switch {
	case s.resumed() != "":
	case len(given) > 0:
		successor.ID = string(session.NewID())
	case s.Fork && c.Dialect == "":
		successor.ID = string(session.InventID())
	}
	environ := slices.DeleteFunc(s.Table.StripRunVars(s.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == instance.Variable || name == "GT_PANE_SHELL" || name == "GT_HOME" || name == "GT_ROLE"
	})
	if in.Account != "" {
		environ = append(environ, c.StoreEnv+"="+in.Account)
	}
	r := successor.Run(respawn.Previous{
		Client: c.Name, Args: append(slices.Clone(c.Command), in.Args...), Environ: environ, Dir: in.Path,
		In: launcher.Launcher{Words: in.Launcher, Limits: in.Limits},
	}, next, s.Table)
	if text := send.First(s.Prompt); s.Types() && text != "" {
		r.First = &respawn.First{Text: text, Client: c}
	}
	if in.Folder != nil {
		r.Folder = *in.Folder
	}
	r.Env = append(r.Env, instance.Variable+"="+s.Store.Name(in.ID))
	id := session.ID(successor.ID)
	if id == "" {
		id = s.resumed()
	}
	if r.Capture != nil {
		id = "" // the id of ours is not the agent's
	}
	if c.Dialect == "" { // no hook tells it later
		s.id = id
	}
	return r, id, nil
}

// Types reports whether what is said first is typed, and not an argument: where it is known
// how the client's input box looks.
func (s *Spec) Types() bool { return s.Client.KnowsInput() && !s.Remote }

// resumed is the session that goes on under its own id.
func (s Spec) resumed() session.ID {
	if s.Fork {
		return ""
	}
	return s.Resume
}

// Place is where an agent is started that has no pane: in a session of tmux of its own.
type Place struct {
	Server  tmux.Server
	Name    string      // of the session
	Self    string      // the program that takes --exec BUFFER and calls respawn.Exec
	Theme   string      // the style of its status line, "" for the usual one
	Environ []string    // of a server that has to be started
	Shared  [][2]string // variables that what else is started in the session has as well
}

// Begin starts an agent there and returns its pane. The run travels in the buffer. The pane
// stays when the agent ends, so that who starts it sees its last words, until ReleasePane.
func (p Place) Begin(buffer tmux.Buffer, r respawn.Run) (tmux.Pane, error) {
	r.Pane, r.Remain = "", stays
	data, err := json.Marshal(r)
	if err != nil {
		return tmux.Pane{}, err
	}
	return p.Server.New(tmux.NewSession{
		Name: p.Name, Dir: r.Dir, Environ: p.Environ, Vars: p.Shared,
		Remain: true, Theme: p.Theme, Buffer: buffer, Data: data, Command: []string{p.Self, "--exec", string(buffer)},
	})
}

// In starts the agent in a session of tmux of its own, as Begin does.
func (s Spec) In(server tmux.Server, name, self, theme string, buffer tmux.Buffer, r respawn.Run) (tmux.Pane, error) {
	p := Place{Server: server, Name: name, Self: self, Theme: theme, Environ: s.Table.StripRunVars(s.Environ), Shared: s.Shared()}
	return p.Begin(buffer, r)
}

// Again starts the agent in the pane that it had, in the place of the one that runs there,
// which is ended first: there is never a moment at which both run. stopped is called
// between the two. As with Begin, the pane stays until ReleasePane.
func (s Spec) Again(server tmux.Server, pane tmux.Pane, before process.Proc, self string, now time.Time, stopped func() error, warn func(error), r respawn.Run) error {
	r.Pane = pane.ID
	before = launcher.Inside(s.Table, s.Client, before)
	at := respawn.Place{Server: server, Pane: pane, Remain: stays, Stop: before, Stopped: stopped, Self: self, Now: now, Warn: warn}
	return s.successor().Replace(at, r)
}

// stays is the setting of a pane that stays when its agent ends.
var stays = tmux.Remain{Set: true, Value: "on"}

// ReleasePane lets the pane of an agent that has started close when the agent ends.
func ReleasePane(server tmux.Server, pane tmux.Pane) error {
	return server.RestoreRemainOnExit(pane.ID, tmux.Remain{Set: true, Value: "off"})
}
