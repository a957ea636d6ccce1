package start

import (
	"syscall"
	"time"

	"gt/lib/live"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Grace is how long an agent has for each way out.
type Grace struct {
	Interrupt time.Duration // after Ctrl-C, twice, as clients ask for it
	Terminate time.Duration // after SIGTERM to all that runs in the pane
}

// Stop ends what runs in a session of tmux, and the session: Ctrl-C twice, then SIGTERM to
// all processes of the pane, then SIGKILL, each where the one before did not do within its
// time; at once without grace. That there is no such session is no error.
func Stop(server tmux.Server, pane tmux.Pane, grace Grace) error {
	root, err := process.Find(pane.PID)
	if err != nil { // it is gone
		return server.Kill(pane.Session)
	}
	end(server, pane, root, grace)
	return server.Kill(pane.Session)
}

// Leave ends an agent that runs in a pane which is not gt's, as Stop does, and leaves the
// pane to the person.
func Leave(server tmux.Server, pane tmux.Pane, agent process.Proc, grace Grace) {
	end(server, pane, agent, grace)
}

// end ends a process and all that run below it.
func end(server tmux.Server, pane tmux.Pane, root process.Proc, grace Grace) {
	tree := live.Tree(root)
	if grace != (Grace{}) {
		for range 2 {
			if err := server.Keys(pane.ID, "C-c"); err != nil || live.Gone([]process.Proc{root}, grace.Interrupt/2) {
				break
			}
		}
		tree = append(tree, live.Tree(root)...)
		live.Signal(tree, syscall.SIGTERM)
		live.Gone(tree, grace.Terminate)
	}
	live.Kill(append(tree, live.Tree(root)...))
}
