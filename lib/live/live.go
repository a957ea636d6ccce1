// Package live finds the agents that run now, by their session's record, their
// pane of tmux or their process, and ends one.
package live

import (
	"encoding/json"
	"os"
	"slices"

	"gt/lib/client/agent"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// SessionIn returns the session that runs in a pane, by the records of its home;
// nil where none does.
func SessionIn(store session.Store, server tmux.Server, pane string) (*session.Record, error) {
	all, err := store.All()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.TmuxPane == pane && tmux.Server(r.TmuxServer).Is(server) && r.Live() {
			return r, nil
		}
	}
	return nil, nil
}

// Unhooked finds the agent that runs this program in a pane and that has no hooks,
// so that no record tells of it. The client has no name where there is none.
func Unhooked(known *agent.Table, pane tmux.Pane) (p process.Proc, c agent.Client) {
	for _, pid := range process.Ancestors(os.Getpid()) {
		if c := known.ByProcess(process.Name(pid)); c.Name != "" {
			p, err := process.Find(pid)
			if err != nil || c.Dialect != "" {
				break // an agent with hooks has a session, in another home
			}
			return p, c
		}
		if pid == pane.PID {
			break
		}
	}
	return process.Proc{}, agent.Client{}
}

// OwnsPane reports whether a pane began with the agent or with a shell that the
// agent was started from, and no other client stands in between.
func OwnsPane(known *agent.Table, p process.Proc, pane tmux.Pane) bool {
	if p.PID == pane.PID {
		return true
	}
	for _, pid := range process.Ancestors(p.PID) {
		switch {
		case known.IsClient(process.Name(pid)):
			return false
		case pid == pane.PID:
			return true
		}
	}
	return false
}

// Args returns the arguments that an agent was started with. A client that puts its
// title in their place (pi) tells them to its own commands, whose environment
// getenv reads. Of any other client the kernel knows better than a variable, which
// a project's settings can set.
func Args(p process.Proc, c agent.Client, getenv func(string) string) ([]string, error) {
	args, err := p.Args()
	if err != nil || !slices.Contains(c.RunVars, "GT_AGENT_ARGS") {
		return args, err
	}
	var told struct {
		PID  int
		Args []string
	}
	if json.Unmarshal([]byte(getenv("GT_AGENT_ARGS")), &told) == nil && told.PID == p.PID && len(told.Args) > 0 {
		return told.Args, nil
	}
	return args, nil
}
