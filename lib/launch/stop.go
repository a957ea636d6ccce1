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

// Grace is how long an agent has for each way out.
type Grace struct {
	Quit      time.Duration // after the client's own command
	Interrupt time.Duration // after Ctrl-C, twice, as clients ask for it
	Terminate time.Duration // after SIGTERM to all that runs in the pane
}

// OwnWay gives an agent time for its own way out: a client runs its end hook before it
// goes, and takes a second Ctrl-C within a second or two as leave to go.
var OwnWay = Grace{Quit: 6 * time.Second, Interrupt: 4 * time.Second, Terminate: 10 * time.Second}

// Sum is how long all of them take at most.
func (g Grace) Sum() time.Duration { return g.Quit + g.Interrupt + g.Terminate }

// Stop ends what runs in a session of tmux, and the session: by the client's own command,
// then Ctrl-C twice, then SIGTERM to all processes of the pane, then SIGKILL, each where
// the one before did not do within its time; at once without grace. That there is no such
// session is no error.
func Stop(server tmux.Server, pane tmux.Pane, client agent.Client, grace Grace) error {
	root, err := process.Find(pane.PID)
	if err != nil { // it is gone
		return server.Kill(pane.Session)
	}
	end(server, pane, client, root, grace)
	return server.Kill(pane.Session)
}

// Leave ends an agent that runs in a pane which is not gt's, as Stop does, and leaves the
// pane to the person.
func Leave(server tmux.Server, pane tmux.Pane, client agent.Client, p process.Proc, grace Grace) {
	end(server, pane, client, p, grace)
}

// end ends a process and all that run below it.
func end(server tmux.Server, pane tmux.Pane, client agent.Client, root process.Proc, grace Grace) {
	tree := live.Tree(root)
	if grace != (Grace{}) {
		if !quits(server, pane, client, root, grace.Quit) {
			for range 2 {
				if err := server.Keys(pane.ID, "C-c"); err != nil || live.Gone([]process.Proc{root}, grace.Interrupt/2) {
					break
				}
			}
		}
		tree = append(tree, live.Tree(root)...)
		live.Signal(tree, syscall.SIGTERM)
		live.Gone(tree, grace.Terminate)
	}
	live.Kill(append(tree, live.Tree(root)...))
}

// quits gives a client the command that ends it, and reports whether it has. One that works
// takes it up only after its turn, so it is not asked; nor is one that asks something, in
// whose box somebody has typed, or whose box is not known.
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
	// Its pane can be gone before it is seen that it took the command.
	if _, err := to.Send(client.QuitCommand, limits); send.Untyped(err) {
		return false
	}
	return live.Gone([]process.Proc{root}, within-time.Since(begin))
}
