// Package live finds running agents by their session's record, tmux pane or process, and
// stops processes.
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

// SessionIn returns the live session in a pane, by the records of its home, and nil without
// one.
func SessionIn(store session.Store, server tmux.Server, pane string) (*session.Record, error) {
	all, err := store.ReadRecords()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.TmuxPane == pane && tmux.Server(r.TmuxServer).SameServer(server) && r.Live() {
			return r, nil
		}
	}
	return nil, nil
}

// Unhooked returns the agent without hooks, and therefore without a record, that runs this
// program in a pane. The client has no name if there is none.
func Unhooked(known *agent.Table, pane tmux.Pane) (p process.Proc, c agent.Client) {
	for _, pid := range process.Ancestors(os.Getpid()) {
		if c := known.ByProcess(process.Name(pid)); c.Name != "" {
			p, err := process.Find(pid)
			if err != nil || c.Dialect != "" {
				break // an agent with hooks has a record, in another home
			}
			return p, c
		}
		if pid == pane.PID {
			break
		}
	}
	return process.Proc{}, agent.Client{}
}

// OwnsPane reports whether a pane runs the agent directly or through shells, without
// another client in between.
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

// Args returns the arguments with which an agent was started. pi overwrites its arguments
// with its title and passes them to its commands in GT_AGENT_ARGS, which getenv reads. For
// other clients the variable is ignored, because a project's settings can set it.
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
