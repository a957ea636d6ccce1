package handoff

import (
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/ask"
	"gt/lib/state/session"
)

// capture is how a successor without hooks gets a session whose id is known,
// where it takes none from us: it is asked for one, in the pane that it then
// works in, which takes as long as an answer does.
type capture struct {
	Args    []string `json:"args"`    // asks for a session
	Agent   string   `json:"agent"`   // in whose words it answers
	Path    string   `json:"path"`    // where in the answer the id is
	Resumed []string `json:"resumed"` // goes on with it, captured standing for the id
	Vars    []string `json:"vars"`    // which hold it
}

// captured stands for an id that is not known yet.
const captured = "\x00captured\x00"

// ownID is the id that a successor without hooks begins with, for nothing else
// could tell it: what it runs of gt itself, which its first prompt asks for, finds
// the id in the environment and notes the session under it. It is the agent's own
// where that takes one, else one of ours. "" for an agent with hooks.
func (h *handover) ownID() string {
	switch {
	case h.heir.Dialect != "":
		return ""
	case h.kind == session.KindCycle:
		return string(h.call.ID)
	case h.id == "":
		h.id = string(session.NewID())
	}
	return h.id
}

// idVars are the variables that tell a successor without hooks its id.
func (h *handover) idVars() []string {
	if h.heir.SessionIDEnv == "" {
		return []string{"GT_SESSION_UUID"}
	}
	return []string{"GT_SESSION_UUID", h.heir.SessionIDEnv}
}

// capture is how the successor gets a session of its own, nil where it needs
// none or cannot.
func (h *handover) capture(next agent.Next) *capture {
	args := h.heir.Capture()
	if next.ID == "" || next.Resume != "" || len(h.heir.SessionIDFlag) > 0 || args == nil {
		return nil
	}
	next.Resume = captured
	return &capture{Args: args, Agent: h.heir.Name, Path: h.heir.SessionIDJSONPath, Resumed: h.heir.Restart(nil, next), Vars: h.idVars()}
}

// ask gets the session, and makes r its next run. Where that fails it stays as
// it is: an agent that starts afresh.
func (c *capture) ask(env *cli.Env, r *restart) {
	fmt.Fprintf(env.Stderr, "%s: asking %s for a session...\n", env.Name, c.Agent)
	id, err := ask.NewSession(r.Dir, c.Args, r.Env, c.Path, env.Stderr)
	if err != nil {
		env.Warn("%s starts afresh: %v", c.Agent, err)
		return
	}
	r.Args = c.Resumed
	for i, w := range r.Args {
		r.Args[i] = strings.ReplaceAll(w, captured, string(id))
	}
	for i, kv := range r.Env {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(c.Vars, name) {
			r.Env[i] = name + "=" + string(id)
		}
	}
}
