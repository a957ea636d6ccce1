package launch

import (
	"errors"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/send"
	"gt/lib/live/fleet"
	"gt/lib/state/instance"
	"gt/lib/sys/flock"
	"gt/lib/sys/tmux"
)

// wakeLimits are short: an agent that is not woken now is told with its next prompt.
var wakeLimits = send.Limits{Arrive: 5 * time.Second, Again: time.Second, Submit: 5 * time.Second, Hook: 2 * time.Second}

// Wake types a line of gt's own into the empty box of an agent that waits for a prompt, and
// reports whether it did. It does not for one that is busy or asks something, whose box holds
// a draft, whose pane somebody looks at, or whose box gt does not know.
func Wake(env *cli.Env, store instance.Store, table *agent.Table, in *instance.Instance, line string) (woken bool, err error) {
	held, err := store.Hold(in.ID, time.Second)
	if errors.Is(err, flock.ErrBusy) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer held.Release()
	m := fleet.Members(env.Getenv, store, table, []*instance.Instance{held.Instance}, env.Now())[0]
	client := table.Of(m.Agent)
	if m.Pane.ID == "" || m.Quiet.IsZero() || m.Pane.Attached || !client.KnowsInput() {
		return false, nil
	}
	to := send.Target{Server: tmux.Server(m.TmuxServer), Pane: m.Pane.ID, Client: client}
	if client.Dialect != "" {
		to.LastPromptAt, to.Refused = fleet.LastPromptAt(store, m.Instance), m.Refused(env.Getenv)
	}
	_, err = to.Send(line, wakeLimits)
	if send.Untyped(err) {
		return false, nil
	}
	return err == nil, err
}
