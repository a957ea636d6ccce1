package prime

import (
	"slices"

	"gt/lib/hook"
	"gt/lib/session"
)

// due says whether there is anything to tell with this event. At a start there
// is, unless the client drops it; then it is told with the prompt that follows,
// and so is what the start after a compaction would be told, of a client that
// has none. At every other prompt nothing is, and that costs a look at the
// session's record.
func due(call *hook.Call) bool {
	if call.Input.AgentID != "" { // a subagent is told what it has to know by who sent it out
		return false
	}
	untold := call.Dialect.Untold
	if !atPrompt(call) {
		return !slices.Contains(untold, call.Input.Source)
	}
	if call.ID == "" {
		return false
	}
	r, err := call.Store.Get(call.ID)
	switch {
	case err != nil:
		call.Warn(err)
		return false
	case call.Dialect.Overlaps && (r == nil || r.Ended() || r.Process() != call.Process()):
		return false // its start tells it, just now
	case r == nil:
		call.Input.Source = "startup"
		if len(untold) > 0 {
			call.Input.Source = untold[0]
		}
	case r.Ended(): // it was chosen from a list
		call.Input.Source = "resume"
	case r.Handoff != nil && r.Handoff.Kind == session.KindAuto:
		call.Input.Source = "compact"
	default:
		return false
	}
	return true
}

// atPrompt says whether the client has a prompt for the model.
func atPrompt(call *hook.Call) bool { return call.Hook && call.Input.Kind() == "UserPromptSubmit" }
