package live

import (
	"os"
	"syscall"
	"time"

	"gt/lib/sys/process"
)

// Stop sends SIGTERM, so that an agent's own end hook can run, and waits up to grace. It
// reports whether the agent is gone.
func Stop(p process.Proc, grace time.Duration) bool {
	if !p.IsSet() || p.Signal(syscall.SIGTERM) != nil {
		return !p.Alive()
	}
	return Gone([]process.Proc{p}, grace)
}

// Tree returns a process and all that run below it, and nil if it is gone.
func Tree(root process.Proc) []process.Proc {
	if !root.Alive() {
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

// OfPane returns the process of a pane and all that run below it or have its terminal: also
// those that it started with nohup or in the background, whose parents have ended.
func OfPane(root process.Proc) []process.Proc {
	if !root.Alive() {
		return nil
	}
	return append(Tree(root), process.OnTerminal(root.PID)...)
}

// Signal sends a signal to those of the processes that run, but never to this one.
func Signal(all []process.Proc, sig syscall.Signal) {
	for _, p := range all {
		if p.PID != os.Getpid() && p.Alive() {
			_ = p.Signal(sig) // it may have ended meanwhile
		}
	}
}

// Kill kills processes, and waits up to a second until they are gone.
func Kill(all []process.Proc) {
	Signal(all, syscall.SIGKILL)
	Gone(all, time.Second)
}

// Gone waits until none of the processes runs, except this one, but not longer than within.
// It reports whether that is so.
func Gone(all []process.Proc, within time.Duration) bool {
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		alive := false
		for _, p := range all {
			alive = alive || p.PID != os.Getpid() && p.Alive()
		}
		if !alive || time.Now().After(deadline) {
			return !alive
		}
	}
}
