package launch

import (
	"syscall"
	"time"

	"gt/lib/client/agent"
	"gt/lib/launch/send"
	"gt/lib/live"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Grace is how long an agent gets for each way to end.
type Grace struct {
	Quit      time.Duration // after the client's own command
	Interrupt time.Duration // after Ctrl-C twice, which clients require
	Terminate time.Duration // after SIGTERM to the pane's processes
}

// OwnWay leaves a client time to run its end hook. Clients take a second Ctrl-C as
// confirmation if it comes within a second or two.
var OwnWay = Grace{Quit: 6 * time.Second, Interrupt: 4 * time.Second, Terminate: 10 * time.Second}

// Sum returns the longest time that all ways take together.
func (g Grace) Sum() time.Duration { return g.Quit + g.Interrupt + g.Terminate }

// Stop ends the processes of a pane, and the pane. It tries the client's own quit command,
// Ctrl-C twice, SIGTERM to the pane's processes and SIGKILL, each after the grace of the one
// before. Without grace it kills at once. A pane that does not exist is no error.
func Stop(server tmux.Server, pane tmux.Pane, client agent.Client, grace Grace) error {
	root, err := process.Find(pane.PID)
	if err == nil { // otherwise it is gone
		Leave(server, pane, client, root, grace)
	}
	return server.KillPane(pane.ID)
}

// Leave ends an agent and its descendants like Stop, but keeps the pane, which belongs to the
// person.
func Leave(server tmux.Server, pane tmux.Pane, client agent.Client, root process.Proc, grace Grace) {
	of := live.Tree
	if root.PID == pane.PID { // otherwise the terminal is the person's
		of = live.OfPane
	}
	tree := of(root)
	if grace != (Grace{}) {
		if !quits(server, pane, client, root, grace.Quit) {
			for range 2 {
				if err := server.Keys(pane.ID, "C-c"); err != nil || live.Gone([]process.Proc{root}, grace.Interrupt/2) {
					break
				}
			}
		}
		tree = append(tree, of(root)...)
		live.Signal(tree, syscall.SIGTERM)
		live.Gone(tree, grace.Terminate)
	}
	live.Kill(append(tree, of(root)...))
}

// quits gives a client its quit command and reports whether it ended. It does not try while
// the client works, because the command would wait for the end of the turn, nor while it
// asks something, has a draft in its box, or shows no known box.
func quits(server tmux.Server, pane tmux.Pane, client agent.Client, root process.Proc, within time.Duration) bool {
	if client.QuitCommand == "" || !client.KnowsInput() || within <= 0 {
		return false
	}
	screen, err := server.CapturePane(pane.ID)
	if err != nil || client.ScreenState(screen) == agent.Busy {
		return false
	}
	begin := time.Now()
	to := send.Target{Server: server, Pane: pane.ID, Client: client}
	limits := send.Limits{Arrive: within / 2, Again: within / 4, Submit: within / 2}
	// The pane can be gone before Send sees that the client took the command.
	if _, err := to.Send(client.QuitCommand, limits); send.Untyped(err) {
		return false
	}
	return live.Gone([]process.Proc{root}, within-time.Since(begin))
}
