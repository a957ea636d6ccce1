package launch

import (
	"encoding/json"
	"errors"
	"slices"
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

// Spec describes how an instance's agent is started.
//
// The agent is the command of tmux's pane; nothing is typed into a shell. Its arguments and
// environment hold keys and long prompts, so they travel in a buffer of tmux's server
// (package respawn).
type Spec struct {
	Instance *instance.Instance
	Store    instance.Store
	Client   agent.Client
	Table    *agent.Table
	Home     home.Home
	Environ  []string

	Resume session.ID // the conversation to resume; "" for a new one
	Fork   bool       // resume a copy of it
	Shared bool       // a server that windows share has the conversation open
	Prompt string     // the first prompt
	Remote bool       // it runs where no prompt can be typed
	Remain bool       // the pane stays when the agent ends

	id session.ID // of an agent without hooks; set by Run
}

// Program returns the agent's program.
func (s Spec) Program() (string, error) {
	command := s.Client.Restart(nil, agent.NextRun{})
	if len(command) == 0 {
		return "", errors.New("its client has no command")
	}
	return process.LookPath(command[0], s.Instance.Path, s.Environ)
}

func (s Spec) successor() respawn.Successor {
	return respawn.Successor{Client: s.Client, Home: s.Home, ID: string(s.id)}
}

// Run returns what the pane runs, and the session id if it is known before the start.
func (s *Spec) Run() (respawn.Run, session.ID) {
	c, in := s.Client, s.Instance
	successor := respawn.NewSuccessor(c, s.Home, s.resumed())
	next := agent.NextRun{Resume: string(s.Resume), Fork: s.Fork, Prompt: s.Prompt, Alone: !s.Shared}
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
	environ := s.Table.StripRunVars(s.Environ)
	if in.Account != "" {
		environ = append(environ, c.StoreEnv+"="+in.Account)
	}
	r := successor.Run(respawn.Previous{
		Client: c.Name, Args: append(slices.Clone(c.Command), in.Args...), Environ: environ, Dir: in.Path,
		In: launcher.Launcher{Words: in.Launcher, Limits: in.Limits},
	}, next, s.Table)
	if text := send.FormatFirstPrompt(s.Prompt); s.Types() && text != "" {
		r.First = &respawn.FirstPrompt{Text: text, Client: c, Resumed: s.resumed()}
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
		id = "" // the agent chooses its own id, which Capture finds
	}
	if c.Dialect == "" { // no hook reports it later
		s.id = id
	}
	return r, id
}

// Types reports whether the first prompt is typed instead of passed as an argument. That
// needs a client whose input box is known.
func (s *Spec) Types() bool { return s.Client.KnowsInput() && !s.Remote }

func (s Spec) resumed() session.ID {
	if s.Fork {
		return ""
	}
	return s.Resume
}

// Place is where a new agent starts: a tmux session of its own.
type Place struct {
	Server  tmux.Server
	Name    string      // of the tmux session
	Self    string      // the program that calls respawn.Exec for --exec BUFFER
	Theme   string      // the style of the status line; "" for tmux's own
	Mark    string      // the store's Name of the instance
	Environ []string    // for a server that has to be started
	Shared  [][2]string // variables of the whole tmux session
}

// Begin starts an agent and returns its pane. The run travels in the buffer. The pane
// remains when the agent ends, so that its last words can be read, until ReleasePane.
func (p Place) Begin(buffer tmux.Buffer, r respawn.Run) (tmux.Pane, error) {
	r.Pane, r.Remain = "", stays
	data, err := json.Marshal(r)
	if err != nil {
		return tmux.Pane{}, err
	}
	return p.Server.New(tmux.NewSession{
		Name: p.Name, Dir: r.Dir, Environ: p.Environ, Vars: p.Shared,
		Remain: true, Theme: p.Theme, Mark: p.Mark, Buffer: buffer, Data: data, Command: []string{p.Self, "--exec", string(buffer)},
	})
}

// StartInSession starts the agent in a tmux session of its own, like Begin.
func (s Spec) StartInSession(server tmux.Server, name, self, theme string, buffer tmux.Buffer, r respawn.Run) (tmux.Pane, error) {
	p := Place{Server: server, Name: name, Self: self, Theme: theme, Mark: s.Store.Name(s.Instance.ID), Environ: s.Table.StripRunVars(s.Environ), Shared: s.successor().Shared()}
	return p.Begin(buffer, r)
}

// Respawn replaces the agent in its pane. The old one is ended first, so that the two never
// run at once; stopped is called in between. As with Begin, the pane remains until
// ReleasePane.
func (s Spec) Respawn(server tmux.Server, pane tmux.Pane, before process.Proc, self string, now time.Time, stopped func() error, warn func(error), r respawn.Run) error {
	r.Pane = pane.ID
	before = launcher.FindClientProcess(s.Table, s.Client, before)
	at := respawn.Place{Server: server, Pane: pane, Remain: stays, Stop: before, Whole: true, Stopped: stopped, Self: self, Now: now, Warn: warn}
	return s.successor().Replace(at, r)
}

var stays = tmux.Remain{Set: true, Value: "on"}

// ReleasePane switches remain-on-exit off, once the agent has started.
func ReleasePane(server tmux.Server, pane tmux.Pane) error {
	return server.RestoreRemainOnExit(pane.ID, tmux.Remain{Set: true, Value: "off"})
}
