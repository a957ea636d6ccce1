package sessioncmd

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/sys/process"
)

// outliveFlag lets an agent run a command that ends the agent itself.
type outliveFlag struct {
	Outlive int `hidden:"" help:"The process that this command outlives."`
}

var ancestors = sync.OnceValue(func() []int { return process.Ancestors(os.Getpid()) })

// runsIn reports whether this command runs in an agent.
func runsIn(m fleet.Member) bool {
	return m.Process.IsSet() && slices.Contains(ancestors(), m.Process.PID)
}

const handed = 2 * time.Second // how long the caller has to read the output before its agent ends

// detach starts a detached copy of the command if the command runs below an agent that it
// ends, and reports whether it did. Ending the agent would otherwise end the command first. Before
// that, cut asks about agents that are busy; now is its flag.
func (w outliveFlag) detach(at scope, s agentSelection, now bool, done string) (bool, error) {
	env := at.Env
	if w.Outlive > 0 {
		signal.Ignore(syscall.SIGHUP)
		if p, err := process.Find(w.Outlive); err == nil {
			live.Gone([]process.Proc{p}, handed)
		}
		return false, nil
	}
	all, _, err := s.chosen(at)
	if err != nil {
		return false, err
	}
	if err := (cut{now}).allows(at, done, all); err != nil {
		return false, err
	}
	for _, m := range at.Members(all) {
		if !runsIn(m) {
			continue
		}
		pid, err := process.Detached(env.Dir, env.ChildEnviron(), append(slices.Clone(env.Args), fmt.Sprint("--outlive=", os.Getpid())))
		if err != nil {
			return false, fmt.Errorf("cannot go on without %s: %w", m.Name, err)
		}
		err = env.Printf("%s is %s in a moment, by process %d: this command runs in it\n", m.Name, done, pid)
		return true, err
	}
	return false, nil
}
