package launch

import (
	"encoding/json"
	"slices"

	"gt/lib/client/agent"
	"gt/lib/launch/launcher"
	"gt/lib/launch/respawn"
	"gt/lib/launch/send"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

func (l *Launch) successor() respawn.Successor {
	s := respawn.Successor{Client: l.client, Home: l.home}
	if l.client.Dialect == "" { // no hook reports it later
		s.ID = string(l.session)
	}
	return s
}

// findRun sets l.run to what the pane runs, and l.session, which is "" if only the start shows it.
//
// The agent is the command of tmux's pane; nothing is typed into a shell. Its arguments and
// environment hold keys and long prompts, so they travel in a buffer of tmux's server
// (package respawn).
func (l *Launch) findRun() {
	c, in := l.client, l.Instance
	successor := respawn.NewSuccessor(c, l.home, l.resumedID())
	next := agent.NextRun{Resume: string(l.resumeID), Fork: l.forks, Prompt: l.prompt, Alone: !l.isServed}
	if l.typesPrompt() {
		next.Prompt = ""
	}
	given := c.SessionIDFlag // by which the client takes the id of its session
	if l.forks {
		given = c.ForkIDFlag
	}
	switch {
	case l.resumedID() != "":
	case len(given) > 0:
		successor.ID = string(session.NewID())
	case l.forks && c.Dialect == "": // no hook will tell the id of the copy
		successor.ID = string(session.InventID())
	}
	environ := l.Table.StripRunVars(l.environ)
	if in.Account != "" {
		environ = append(environ, c.StoreEnv+"="+in.Account)
	}
	r := successor.PlanRun(respawn.Previous{
		Client: c.Name, Args: append(slices.Clone(c.Command), in.Args...), Environ: environ, Dir: in.Path,
		Launcher: launcher.Launcher{Words: in.Launcher, Limits: in.Limits},
	}, next, l.Table)
	if text := send.FormatFirstPrompt(l.prompt); l.typesPrompt() && text != "" {
		r.FirstPrompt = &respawn.FirstPrompt{Text: text, Client: c, Resumed: l.resumedID()}
	}
	if in.Folder != nil {
		r.Folder = *in.Folder
	}
	r.Env = append(r.Env, instance.Variable+"="+l.Store.Name(in.ID))
	id := session.ID(successor.ID)
	if id == "" {
		id = l.resumedID()
	}
	if r.Capture != nil {
		id = "" // the agent chooses its own id, which Capture finds
	}
	l.run, l.session = r, id
}

// typesPrompt reports whether the first prompt is typed instead of passed as an argument. That
// needs a client whose input box is known, where gt can type.
func (l *Launch) typesPrompt() bool { return l.client.KnowsInput() && !l.isRemote() }

// resumedID returns the conversation that goes on as it is, or "".
func (l *Launch) resumedID() session.ID {
	if l.forks {
		return ""
	}
	return l.resumeID
}

// Begin starts an agent in a tmux session of its own, of which s has all but what the run decides,
// such as the folder, and returns its pane. self is the program that calls respawn.Exec for --exec
// BUFFER; the run travels in that buffer. The pane remains when the agent ends, so that its
// last words can be read.
func Begin(server tmux.Server, self string, s tmux.NewSession, r respawn.Run) (pane tmux.Pane, err error) {
	r.Pane, r.Remain = "", remainOn
	if s.Data, err = json.Marshal(r); err != nil {
		return pane, err
	}
	s.Dir, s.Remain, s.Command = r.Dir, true, []string{self, "--exec", string(s.Buffer)}
	return server.New(s)
}

var remainOn = tmux.RemainSetting{Set: true, Value: "on"}
