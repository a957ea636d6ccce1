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
	return server.Kill(pane.Session)
}
