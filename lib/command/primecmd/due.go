package primecmd

import (
	"slices"

	"gt/lib/client/hook"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// due reports whether there is anything to tell with this event. At a start there
// is, unless the client drops it; then it is told with the prompt that follows,
// and so is what the start after a compaction would be told, of a client that
// has none. At every other prompt nothing is, and that costs a look at the
// session's record.
func due(call *hook.Invocation) bool {
	if call.Input.AgentID != "" { // a subagent is told what it has to know by who sent it out
		return false
	}
	if !atPrompt(call) {
		return !slices.Contains(call.Dialect.DroppedSources, call.Input.Source)
	}
	if call.ID == "" {
		return false
	}
	r, err := call.Store.Get(call.ID)
	process := call.Process()
	switch {
	case err != nil:
		call.Warn(err)
		return false
	case call.Dialect.Overlaps && (r == nil || r.Ended() || process.IsSet() && r.Process() != process):
		return false // its start, which runs at the same time, tells it
	case r == nil:
		call.Input.Source = unseen(call, process)
	case r.Ended() || process.IsSet() && r.Process() != process:
		call.Input.Source = "resume"
	case r.Handoff != nil && r.Handoff.Kind == session.KindAuto:
		call.Input.Source = "compact"
	default:
		return false
	}
	return true
}

// unseen is how a session began whose start nobody noted: by /clear where the
// client's process ran another until then.
func unseen(call *hook.Invocation, p process.Proc) string {
	all, err := call.Store.All()
	call.Warn(err)
	for _, r := range all {
		if p.IsSet() && r.Process() == p && r.Reason == "clear" {
			return "clear"
		}
	}
	return "startup"
}

// atPrompt reports whether the client has a prompt for the model.
func atPrompt(call *hook.Invocation) bool {
	return call.Hook && call.Input.Kind() == "UserPromptSubmit"
}
