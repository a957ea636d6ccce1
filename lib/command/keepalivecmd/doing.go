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

// next returns the state of a session after a hook's event. ok is false if the event
// changes nothing. noted reports whether the client keeps a registry of its own state
// (contract.Dialect).
//
// Only Kimi Code has an event for the person's answer (PermissionResult). Otherwise the end of
// the tool or the next event reports it. Most clients have no event for Esc or for a denied permission either.
func next(before activity.State, in hook.Input, noted bool) (after activity.State, ok bool) {
	is := func(s activity.Status, why activity.Reason) (activity.State, bool) {
		after = before
		after.Status, after.Reason, after.Source, after.Call = s, why, in.Kind(), ""
		after.Background = in.Kind() == "Stop" && in.Background()
		after.Login = in.Kind() == "StopFailure" && registry.IsLogin(in.Failure)
		return after, s != before.Status || why != before.Reason || after.Background != before.Background || after.Login != before.Login
	}
	inside := in.AgentID != "" // a subagent, whose events do not end the session's turn
	switch in.Kind() {
	case "UserPromptSubmit":
		if inside {
			return before, false
		}
		after, _ = is(activity.Busy, "")
		return after, true // also if the last turn's end was not reported
	case "PostToolUse", "PostToolUseFailure", "PermissionResult": // the last is the person's answer
		switch {
		case inside && before.Status != activity.NeedsInput:
			return before, false
		case before.Status == activity.NeedsInput && noted && before.Call != "" && before.Call != in.Call():
			return before, false // another call, which ran in parallel to the one with the question
		case in.Interrupted && !inside:
			return is(activity.Idle, activity.Done)
		}
		return is(activity.Busy, "")
	case "PreToolUse": // of a client that reports a question only so
		if _, asks := registry.Prompting(in.ToolName); !asks {
			return before, false
		}
		fallthrough
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
		case kind == contract.AsksPermission && before.Status != activity.NeedsInput: // the client repeats the notice
			return is(activity.NeedsInput, activity.Permission)
		case kind == contract.AsksQuestion && before.Status != activity.NeedsInput:
			return is(activity.NeedsInput, activity.Question)
		case kind == contract.WaitsForPrompt && (before.Status == activity.Busy || before.Status == activity.NeedsInput && !noted):
			return is(activity.Idle, activity.Done) // the person stopped the turn
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

// ahead is how far in the future a stored status may begin because another hook wrote it
// meanwhile. A larger difference means that the clock was set back.
const ahead = 10 * time.Second

// record stores the session's state after this event, and reports whether it changed. It
// ignores an event that is older than the stored state.
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

// maxLine limits the line that the person's command receives, in columns.
const maxLine = 500

// report starts the person's command if the session begins to wait for one of the wanted
// reasons. It does not wait for the command, which gt-session looks up.
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
