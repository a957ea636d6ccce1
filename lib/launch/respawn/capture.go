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

// captureWait bounds the answer to a one-character prompt, unless the agent's block sets
// another limit. A person waits for it.
const captureWait = 30 * time.Second

const captured = "\x00captured\x00"

// capture returns the Capture of a successor, or nil if it needs or supports none.
func (s Successor) capture(next agent.NextRun) *Capture {
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

// captureSession gets the session id and puts it into r. On failure it leaves r unchanged, which
// starts a new conversation.
//
// No hook reports the session later. So captureSession records it in the tmux session, for observers,
// and for the instance.
func (c *Capture) captureSession(env *cli.Env, server tmux.Server, pane string, r *Run) {
	fmt.Fprintf(env.Stderr, "%s: asking %s for a session, for %v at most...\n", env.Name, c.Agent, c.Wait)
	id, err := ask.NewSession(c.Wait, r.Dir, launcher.WrapCommand(r.In, c.Args), r.Env, c.Path, env.Stderr)
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
	env.WarnError(server.SetEnvironment(pane, vars, nil, envWait))
	getenv := func(name string) string { return process.Variable(r.Env, name) }
	of := fmt.Sprintf("%s:%d", getenv(instance.Variable), os.Getpid()) // this process becomes the agent
	env.WarnError(instance.Bind(place.StateOf(getenv), of, os.Getpid(), 0, instance.CurrentSession{SessionID: id, Agent: c.Agent, At: env.Now()}))
}
