package runtime

import (
	"context"

	"gt/lib/reconcile/tick"
	"gt/lib/sys/tmux"
)

// Status lets the suite look at agents in tmux, which gt looks at with all others of its
// (see fleet.Members).
func (t Tmux) Status(_ context.Context, refs []Ref) []Status {
	all := make([]Status, len(refs))
	for i, r := range refs {
		switch found, err := findAgent(tmux.Server(r.Server), r); {
		case err != nil:
			all[i].Err = err
		case found.runsAgent:
			all[i].Alive = tick.Alive
		default:
			all[i].Alive = tick.Dead
		}
	}
	return all
}
