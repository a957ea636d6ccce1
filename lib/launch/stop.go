package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/send"
	"gt/lib/live"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// How long an agent has for each way to end, which leaves a client time to run its end hook.
// Clients take a second Ctrl-C as confirmation if it comes within a second or two.
const (
	toQuit      = 6 * time.Second  // after the client's own command
	toInterrupt = 4 * time.Second  // after Ctrl-C twice, which clients require
	toTerminate = 10 * time.Second // after SIGTERM to the pane's processes
	toEnd       = toQuit + toInterrupt + toTerminate
)

// HangUp is how long an agent has to end after its pane is gone, as with tmux's server.
const HangUp = 2 * time.Second

// StopPane ends the processes of a pane, and the pane. It tries the client's own quit command,
// Ctrl-C twice, SIGTERM to the pane's processes and SIGKILL, each after the time of the one
// before, or only SIGKILL. A pane that does not exist is no error.
func StopPane(server tmux.Server, pane tmux.Pane, client agent.Client, kill bool) error {
	root, err := process.Find(pane.PID)
	if err == nil { // otherwise it is gone
		EndAgent(server, pane, client, root, kill)
	}
	return server.KillPane(pane.ID)
}

// EndAgent ends an agent and its descendants by the steps of StopPane, but keeps the pane, which
// may be the person's.
func EndAgent(server tmux.Server, pane tmux.Pane, client agent.Client, root process.Proc, kill bool) {
	treeOf := live.ProcessTree
	if root.PID == pane.PID { // otherwise the terminal is the person's
		treeOf = live.PaneTree
	}
	tree := treeOf(root)
	if !kill {
		// Then a shell would get the keys. An agent below a launcher is suspended while that runs.
		suspended := slices.ContainsFunc(tree, process.Proc.IsSuspended)
		if !suspended && !quitByCommand(server, pane, client, root) {
			for range 2 { // the second Ctrl-C confirms the first
				if err := server.PressKeys(pane.ID, "C-c"); err != nil || live.AwaitGone([]process.Proc{root}, toInterrupt/2) {
					break
				}
			}
		}
		tree = append(tree, treeOf(root)...)
		live.SignalAll(tree, syscall.SIGTERM)
		if suspended { // it ends once it goes on
			live.SignalAll(tree, syscall.SIGCONT)
		}
		live.AwaitGone(tree, toTerminate)
	}
	live.KillAll(append(tree, treeOf(root)...))
	// Until its parent takes notice, a script that looks for the process still finds it. tmux can
	// end with its last pane and leave that to the first process, which can take seconds in a container.
	for deadline := time.Now().Add(3 * time.Second); syscall.Kill(root.PID, 0) == nil && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}

// quitByCommand gives a client its quit command and reports whether it ended. It does not try while
// the client works, because the command would wait for the end of the turn, nor while it
// asks something, has a draft in its box, or shows no known box.
func quitByCommand(server tmux.Server, pane tmux.Pane, client agent.Client, root process.Proc) bool {
	if client.QuitCommand == "" || !client.KnowsInput() {
		return false
	}
	screen, err := server.CapturePane(pane.ID)
	if err != nil || client.ScreenState(screen) == agent.Busy {
		return false
	}
	begin := time.Now()
	to := send.Target{Server: server, Pane: pane.ID, Client: client}
	limits := send.Limits{Arrive: toQuit / 2, Again: toQuit / 4, Submit: toQuit / 2}
	// The pane can be gone before Send sees that the client took the command.
	if _, err := to.Send(client.QuitCommand, limits); send.IsUntyped(err) {
		return false
	}
	return live.AwaitGone([]process.Proc{root}, toQuit-time.Since(begin))
}

// Stopper stops the agents of a store.
type Stopper struct {
	Env   *cli.Env
	Store instance.Store
	Table *agent.Table

	Now          bool // do not let the client exit by itself
	KeepsDesired bool // keep the desired state, for a restore
}

// Stop stops an instance's agent. It first writes that the agent is not wanted and that its
// session is being ended. Whoever then finds the process gone records it as killed, not as
// crashed. stopped reports that there was an agent.
func (s Stopper) Stop(id instance.ID) (stopped bool, err error) {
	held, err := s.Store.Hold(id, lockWait)
	if err != nil {
		return false, err
	}
	defer held.Release()
	return s.StopHeld(held)
}

// StopHeld is Stop for an instance that the caller has locked.
func (s Stopper) StopHeld(held *instance.Locked) (stopped bool, err error) {
	m := fleet.Members(s.Env.Getenv, s.Store, s.Table, []*instance.Instance{held.Instance}, s.Env.Now())[0]
	if err := CheckReachable(m); err != nil && !m.Process.IsSet() {
		return false, err
	}
	if held.Desired != instance.Stopped {
		// With KeepsDesired the agent is still wanted: only the time is noted, for a restore.
		if held.ShutDownAt = s.Env.Now().UTC(); !s.KeepsDesired {
			held.Desired, held.ShutDownAt = instance.Stopped, time.Time{}
		}
		if err := held.Put(s.Env.Now()); err != nil {
			return false, err
		}
	}
	if m.Pane.ID == "" && !m.Process.IsSet() {
		return false, nil
	}
	until := s.Env.Now().Add(2 * time.Second)
	if !s.Now {
		until = until.Add(toEnd)
	}
	recordStop(s.Env, s.Store.State, m, until)
	if held.Respawn {
		// Otherwise gt-session outlive would keep the worktree in use for some seconds.
		_ = tmux.Server(held.TmuxServer).NotOnDeath(m.Pane.ID) // if this fails, revive finds the agent stopped
	}
	if client := s.Table.FindClient(m.Agent); held.Adopted != nil || m.Pane.ID == "" {
		EndAgent(tmux.Server(held.TmuxServer), m.Pane, client, m.Process, s.Now)
	} else if err := StopPane(tmux.Server(held.TmuxServer), m.Pane, client, s.Now); err != nil {
		return false, err
	}
	if held.Role != "" {
		dir := pidfile.NewDir(town.Find(s.Env.Getenv, held.Path))
		if f, err := dir.Get(cmp.Or(m.Pane.Session, held.TmuxSession)); err == nil {
			s.Env.WarnError(dir.Remove(f))
		}
	}
	s.hintLeftovers(held.Instance)
	if m.Record == nil {
		return true, nil
	}
	// Its end hook may not have run.
	end := closing.End{ID: m.Record.ID, Outcome: session.Killed, Reason: StopReason, At: s.Env.Now()}
	return true, end.CloseIn(s.Store.State, lockWait, s.Env.WarnError)
}

// hintLeftovers names what the agent started that goes on: processes with sessions of their own,
// such as a browser, which may be the person's.
func (s Stopper) hintLeftovers(in *instance.Instance) {
	var words, pids []string
	for _, p := range fleet.StartedBy(s.Store, in.ID) {
		pids = append(pids, strconv.Itoa(p.PID))
		words = append(words, fmt.Sprintf("%d (%s)", p.PID, term.Clean(process.Name(p.PID))))
	}
	if len(pids) > 0 {
		s.Env.Hint("what %s started in sessions of its own goes on: %s; kill %s ends it", in.Name, strings.Join(words, ", "), strings.Join(pids, " "))
	}
}
