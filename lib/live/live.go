// Package live finds running agents by their session's record, tmux pane or process, and
// stops processes.
package live

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"gt/lib/client/agent"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// SessionIn returns the live session in a pane, by the records of its home, and nil without one.
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

// FindUnhooked returns the agent without hooks, and therefore without a record, that runs this
// program in a pane. The client has no name if there is none.
func FindUnhooked(known *agent.Table, pane tmux.Pane) (p process.Proc, c agent.Client) {
	for _, pid := range process.Ancestors(os.Getpid()) {
		if c := known.OfProcess(pid); c.Name != "" {
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

// OwnsPane reports whether a pane runs the process of an agent directly or through shells,
// without another client in between.
func OwnsPane(known *agent.Table, p process.Proc, pane tmux.Pane) bool {
	if p.PID == pane.PID {
		return true
	}
	for _, pid := range process.Ancestors(p.PID) {
		switch { // by the name of a process alone: the script of npm that starts a client is no other client
		case known.ByProcess(process.Name(pid)).Name != "":
			return false
		case pid == pane.PID:
			return true
		}
	}
	return false
}

// StartArgs returns the arguments with which an agent was started. pi overwrites its arguments
// with its title and passes them to its commands in GT_AGENT_ARGS, whose value is agentArgs. For
// other clients it is ignored, because a project's settings can set it.
func StartArgs(p process.Proc, c agent.Client, agentArgs string) ([]string, error) {
	args, err := p.Args()
	if err != nil || !slices.Contains(c.RunVars, "GT_AGENT_ARGS") {
		return args, err
	}
	var told struct {
		PID  int
		Args []string
	}
	if json.Unmarshal([]byte(agentArgs), &told) == nil && told.PID == p.PID && len(told.Args) > 0 {
		return told.Args, nil
	}
	return args, nil
}

// Holder is the process that has a session's conversation open.
type Holder struct {
	PID         int
	Elsewhere   bool // it seems to run in another PID namespace or on another machine
	TmuxPane    string
	TmuxSession string
}

// String returns a phrase that names the process and its pane.
func (h *Holder) String() string {
	where := fmt.Sprintf("as process %d", h.PID)
	if h.Elsewhere {
		return where + " of another container or machine, for all that can be seen from here"
	}
	if h.TmuxPane != "" {
		where += " in tmux pane " + h.TmuxPane
		if h.TmuxSession != "" {
			where += " of " + h.TmuxSession
		}
	}
	return where
}

// Terminate sends SIGTERM, so that an agent's own end hook can run, and waits up to grace. It
// reports whether the agent is gone.
func Terminate(p process.Proc, grace time.Duration) bool {
	if !p.IsSet() || p.Signal(syscall.SIGTERM) != nil {
		return !p.IsAlive()
	}
	return AwaitGone([]process.Proc{p}, grace)
}

// ProcessTree returns a process and all that run below it, and nil if it is gone.
func ProcessTree(root process.Proc) []process.Proc {
	if !root.IsAlive() {
		return nil
	}
	var all []process.Proc
	for _, pid := range process.Snapshot().Descendants(root.PID) {
		if p, err := process.Find(pid); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// PaneTree returns the process of a pane and all that run below it or have its terminal: also
// those that it started with nohup or in the background, whose parents have ended.
func PaneTree(root process.Proc) []process.Proc {
	if !root.IsAlive() {
		return nil
	}
	return append(ProcessTree(root), process.SharingTerminal(root.PID)...)
}

// SignalAll sends a signal to those of the processes that run, but never to this one.
func SignalAll(all []process.Proc, sig syscall.Signal) {
	for _, p := range all {
		if p.PID != os.Getpid() && p.IsAlive() {
			_ = p.Signal(sig) // it may have ended meanwhile
		}
	}
}

// KillAll kills processes, and waits up to a second until they are gone.
func KillAll(all []process.Proc) {
	SignalAll(all, syscall.SIGKILL)
	AwaitGone(all, time.Second)
}

// AwaitGone waits until none of the processes runs, but not longer than within, and reports whether
// none does. It does not wait for this process itself.
func AwaitGone(all []process.Proc, within time.Duration) bool {
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		alive := slices.ContainsFunc(all, func(p process.Proc) bool { return p.PID != os.Getpid() && p.IsAlive() })
		if !alive || time.Now().After(deadline) {
			return !alive
		}
	}
}
