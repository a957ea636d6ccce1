package respawn

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/ask"
	"gt/lib/launch/launcher"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// NewSuccessor returns the successor that works in a home, and with what id.
//
// An agent without hooks begins with an id, for nothing else could tell it: what it
// runs of gt itself, which its first prompt asks for, finds the id in the
// environment and notes the session under it. The id is the agent's own where the
// agent takes one, else one that we invent. resumed is the conversation that goes on,
// "" for a fresh one.
func NewSuccessor(c agent.Client, h home.Home, resumed session.ID) Successor {
	s := Successor{Client: c, Home: h}
	switch {
	case c.Dialect != "": // its hooks tell it
	case resumed != "":
		s.ID = string(resumed)
	case len(c.SessionIDFlag) > 0:
		s.ID = string(session.NewID())
	default:
		s.ID = string(session.InventID())
	}
	return s
}

// idVars are the variables that tell a successor without hooks its id: ours, and the
// agent's own if it knows the id.
func (s Successor) idVars(id session.ID) []string {
	if s.Client.SessionIDEnv == "" || id.Invented() {
		return []string{"GT_SESSION_UUID"}
	}
	return []string{"GT_SESSION_UUID", s.Client.SessionIDEnv}
}

// Capture is how an agent that has no hooks and takes no id from us gets a session
// whose id is known: it is asked for one, in the pane that it then works in, which
// takes as long as an answer does.
type Capture struct {
	Args    []string `json:"args"`    // asks for a session
	Agent   string   `json:"agent"`   // in whose words it answers
	Path    string   `json:"path"`    // where in the answer the id is
	Resumed []string `json:"resumed"` // goes on with it, captured standing for the id
	Vars    []string `json:"vars"`    // which hold it

	Wait time.Duration `json:"wait"` // for the answer
}

// captureWait bounds the answer to a prompt of one character, unless the agent's block
// says how long it takes: a person waits in front of the pane.
const captureWait = 30 * time.Second

// captured stands for an id that is not known yet.
const captured = "\x00captured\x00"

// capture returns how the successor gets a session of its own, nil where it needs
// none or cannot have one.
func (s Successor) capture(next agent.Next) *Capture {
	args := s.Client.SessionIDProbe()
	if next.ID == "" || next.Resume != "" || len(s.Client.SessionIDFlag) > 0 || args == nil {
		return nil
	}
	next.Resume = captured
	wait := captureWait
	if n := s.Client.SessionIDTimeout; n > 0 {
		wait = time.Duration(n) * time.Second
	}
	return &Capture{Wait: wait, Args: args, Agent: s.Client.Name, Path: s.Client.SessionIDJSONPath, Resumed: s.Client.Restart(nil, next), Vars: s.idVars("")}
}

// ask gets the session and makes r its next run. Where that fails, r stays as it
// is: an agent that starts afresh.
//
// No hook tells of the session later, so it is noted here for those who watch the agent
// and for its next start: in the tmux session of its pane, and as that of its instance.
func (c *Capture) ask(env *cli.Env, server tmux.Server, pane string, r *Run) {
	fmt.Fprintf(env.Stderr, "%s: asking %s for a session, for %v at most...\n", env.Name, c.Agent, c.Wait)
	id, err := ask.NewSession(c.Wait, r.Dir, launcher.Around(r.In, c.Args), r.Env, c.Path, env.Stderr)
	if err != nil {
		env.Warn("%s starts afresh: %v", c.Agent, err)
		return
	}
	r.Args = c.Resumed
	for i, w := range r.Args {
		r.Args[i] = strings.ReplaceAll(w, captured, string(id))
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
	if err := server.SetEnvironment(pane, vars, nil, envWait); err != nil {
		env.Warn("%v", err)
	}
	getenv := func(name string) string { return process.Variable(r.Env, name) }
	of := fmt.Sprintf("%s:%d", getenv(instance.Variable), os.Getpid()) // it becomes the agent
	if err := instance.Bind(place.StateOf(getenv), of, os.Getpid(), 0, instance.Now{SessionID: id, Agent: c.Agent, At: env.Now()}); err != nil {
		env.Warn("%v", err)
	}
}
