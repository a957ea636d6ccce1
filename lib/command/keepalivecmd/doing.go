package keepalivecmd

import (
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/hook"
	"gt/lib/client/registry"
	"gt/lib/state/activity"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// next returns what a session does after an event of its hooks, of which before is what
// it did before. ok is false where the event changes nothing. noted reports that its
// client notes what it does (contract.Dialect).
//
// No event tells that the person has answered a prompt: the tool's end does, or the next
// thing that the agent does. Nor does any tell of Esc, and of a permission that was
// denied, in most clients.
func next(before activity.State, in hook.Input, noted bool) (after activity.State, ok bool) {
	is := func(s activity.Status, why activity.Reason) (activity.State, bool) {
		after = before
		after.Status, after.Reason, after.Source, after.Call = s, why, in.Kind(), ""
		after.Background = in.Kind() == "Stop" && in.Background()
		return after, s != before.Status || why != before.Reason || after.Background != before.Background
	}
	inside := in.AgentID != "" // a subagent: what it does, the session's own turn does not
	switch in.Kind() {
	case "UserPromptSubmit":
		if inside {
			return before, false
		}
		after, _ = is(activity.Busy, "")
		return after, true // a turn begins, also where the end of the last was not told
	case "PostToolUse", "PostToolUseFailure":
		switch {
		case inside && before.Status != activity.NeedsInput:
			return before, false
		case before.Status == activity.NeedsInput && noted && before.Call != "" && before.Call != in.Call():
			return before, false // another call, which ran beside the one that is asked about
		case in.Interrupted && !inside:
			return is(activity.Idle, activity.Done)
		}
		return is(activity.Busy, "")
	case "PermissionRequest":
		why := activity.Permission
		if p, _ := registry.Prompting(in.ToolName); p.Question {
			why = activity.Question
		}
		after, ok = is(activity.NeedsInput, why)
		after.Call = in.Call()
		return after, ok || after.Call != before.Call
	case "Notification":
		switch kind := registry.Notice(in.Notice); {
		case kind == contract.AsksPermission && before.Status != activity.NeedsInput: // else it tells again
			return is(activity.NeedsInput, activity.Permission)
		case kind == contract.AsksQuestion && before.Status != activity.NeedsInput:
			return is(activity.NeedsInput, activity.Question)
		case kind == contract.WaitsForPrompt && (before.Status == activity.Busy || before.Status == activity.NeedsInput && !noted):
			return is(activity.Idle, activity.Done) // a turn that the person stopped
		}
	case "Stop", "Interrupt":
		switch {
		case inside:
		case in.Failure == "error": // Cursor's word
			return is(activity.Idle, activity.Failed)
		default:
			return is(activity.Idle, activity.Done)
		}
	case "StopFailure":
		switch {
		case inside:
		case registry.IsLimit(in.Failure):
			return is(activity.Limited, activity.Spent)
		default:
			return is(activity.Idle, activity.Failed)
		}
	}
	return before, false
}

// ahead is how much later than now a status can have begun that another hook has written
// meanwhile, and a clock was not set back.
const ahead = 10 * time.Second

// record notes what the session does after this event, and reports whether that is new. An
// event that was earlier than the one that told last is late, and tells nothing.
func record(call *hook.Invocation, before activity.State, now time.Time) (after activity.State, noted bool, err error) {
	if _, changes := next(before, call.Input, call.Dialect.NotesStatus); !changes {
		return before, false, nil
	}
	err = activity.Change(call.Home, call.ID, func(s *activity.State) bool {
		to, ok := next(*s, call.Input, call.Dialect.NotesStatus)
		if earlier := s.Since.Sub(now); !ok || earlier > 0 && earlier < ahead {
			after = *s
			return false
		}
		to.Since = now
		if call.Input.Kind() == "UserPromptSubmit" {
			to.Prompted = now
		}
		*s, after, noted = to, to, true
		return true
	})
	return after, noted && err == nil, err
}

// maxLine bounds the line that a person's command is told, in columns.
const maxLine = 500

// report has the person's command run where the session has begun to wait for a reason that
// it is wanted for. It does not wait for it: gt-session reads which command that is.
func (t *touch) report(env *cli.Env, call *hook.Invocation, doing activity.State) error {
	if !doing.Waits() || !slices.Contains(strings.Split(t.Notify, ","), string(doing.Reason)) {
		return nil
	}
	line := call.Input.ToolName
	for l := range strings.Lines(call.Input.LastAnswer) {
		if l = strings.TrimSpace(l); l != "" {
			line = l
		}
	}
	line = term.Cut(term.Clean(env.Redact(line)), maxLine)
	args := []string{process.SiblingBinary("gt-session"), "notify", "waiting", string(call.ID), string(doing.Reason)}
	return process.Detach(call.Home.Runtime(), args, env.ChildEnviron(), line+"\n")
}
