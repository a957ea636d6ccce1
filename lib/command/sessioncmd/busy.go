package sessioncmd

import (
	"fmt"
	"os"
	"slices"

	"gt/lib/cli"
	"gt/lib/launch"
	"gt/lib/state/instance"
	"gt/lib/sys/process"
)

// hidden is the flag of commands that refuse an agent which cannot be seen from here.
type hidden struct {
	Gone bool `help:"Assume that the container or machine that it was started in, which cannot be seen from here, will not come back."`
}

// believe records that an agent is gone, if the person says so.
func (h hidden) believe(at scope, id instance.ID) error {
	if !h.Gone {
		return nil
	}
	held, err := at.Store.Hold(id, readyWait)
	if err != nil {
		return err
	}
	defer held.Release()
	return h.believeHeld(at, held)
}

func (h hidden) believeHeld(at scope, held *instance.Locked) error {
	if !h.Gone {
		return nil
	}
	return launch.BelieveGone(at.Env, at.Store, at.Table(), held)
}

// cut is the flag of commands that end agents which may be busy.
type cut struct {
	Now bool `help:"Do it even if an agent is busy: in a turn, or with commands in the background."`
}

// allows asks at the terminal before agents are ended that are busy, and refuses elsewhere,
// unless a flag of the command has allowed it. An agent may always end itself.
func (c cut) allows(at scope, verb string, all []*instance.Instance) error {
	if c.Now {
		return nil
	}
	above := process.Ancestors(os.Getpid())
	var busy []string
	for _, m := range at.Members(all) {
		if what := m.Busy(); what != "" && !slices.Contains(above, m.Process.PID) {
			busy = append(busy, fmt.Sprintf("%s is busy: %s", m.Name, what))
		}
	}
	if busy == nil {
		return nil
	}
	return at.Env.ConfirmBusy(busy, "nothing was "+verb)
}

// allowsChosen is allows for the agents that a command selects.
func (c cut) allowsChosen(env *cli.Env, s agentSelection, verb string) error {
	at, err := s.scope(env)
	if err != nil {
		return err
	}
	all, _, err := s.chosen(at)
	if err != nil {
		return err
	}
	return c.allows(at, verb, all)
}
