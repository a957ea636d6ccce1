package primecmd

import (
	"cmp"
	"slices"

	"gt/lib/client/hook"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// due reports whether this event delivers a start-up text. A start does, unless the client
// drops it; then the next prompt does. The same holds for the start after a compaction in a
// client that reports none. Any other prompt only costs reading the session's record.
func due(call *hook.Invocation) bool {
	if call.Input.AgentID != "" { // a subagent gets its task from its parent
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
		return false // the start hook runs at the same time and delivers it
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

// unseen returns the source of a session whose start was not recorded: "clear" if the same
// process ran another session until /clear, else "startup".
func unseen(call *hook.Invocation, p process.Proc) string {
	all, err := call.Store.ReadRecords()
	call.Warn(err)
	for _, r := range all {
		if p.IsSet() && r.Process() == p && (r.Reason == "clear" || r.Reason == cmp.Or(call.Dialect.ClearReason, "clear")) {
			return "clear"
		}
	}
	return "startup"
}

// atPrompt reports whether the event is a prompt.
func atPrompt(call *hook.Invocation) bool {
	return call.Hook && call.Input.Kind() == "UserPromptSubmit"
}
