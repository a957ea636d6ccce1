package keepalivecmd

import (
	"testing"

	"gt/lib/client/hook"
	"gt/lib/state/activity"
)

// The state after each event. Without a result, the event changes nothing.
func TestNext(t *testing.T) {
	const (
		busy, needs, idle, limited = activity.Busy, activity.NeedsInput, activity.Idle, activity.Limited
		permission, question       = activity.Permission, activity.Question
		done, spent, failed        = activity.Done, activity.Spent, activity.Failed
	)
	event := func(name string, set ...func(*hook.Input)) hook.Input {
		in := hook.Input{Event: name}
		for _, f := range set {
			f(&in)
		}
		return in
	}
	tool := func(name string) func(*hook.Input) { return func(in *hook.Input) { in.ToolName = name } }
	notice := func(word string) func(*hook.Input) { return func(in *hook.Input) { in.Notice = word } }
	because := func(word string) func(*hook.Input) { return func(in *hook.Input) { in.Failure = word } }
	stopped := func(in *hook.Input) { in.Interrupted = true }
	inside := func(in *hook.Input) { in.AgentID = "a1" }
	asked := func(name string) activity.State {
		return activity.State{Status: needs, Reason: permission, Call: event("", tool(name)).CallDigest()}
	}
	is := func(s activity.Status, why activity.Reason) activity.State {
		return activity.State{Status: s, Reason: why}
	}
	nothing := activity.State{}
	for _, c := range []struct {
		name   string
		before activity.State
		in     hook.Input
		want   activity.State // Since, Source and Call are not compared
	}{
		{"the first prompt", nothing, event("UserPromptSubmit"), is(busy, "")},
		{"a prompt", is(idle, done), event("UserPromptSubmit"), is(busy, "")},
		{"a prompt after Esc, which no event told", is(busy, ""), event("UserPromptSubmit"), is(busy, "")},
		{"a tool ended", is(busy, ""), event("PostToolUse", tool("Bash")), nothing},
		{"a turn began without a prompt", is(idle, done), event("PostToolUse", tool("Bash")), is(busy, "")},
		{"a tool of a subagent in the background ended", is(idle, done), event("PostToolUse", tool("Bash"), inside), nothing},
		{"and of one of which nothing is known", nothing, event("PostToolUse", tool("Bash"), inside), nothing},
		{"a subagent ended", is(busy, ""), event("SubagentStop", inside), nothing},
		{"a subagent ended in the background", is(idle, done), event("SubagentStop", inside), nothing},
		{"as others call it", is(busy, ""), event("Stop", inside), nothing},
		{"it asks for permission", is(busy, ""), event("PermissionRequest", tool("Bash")), is(needs, permission)},
		{"a subagent asks", is(idle, done), event("PermissionRequest", tool("Bash"), inside), is(needs, permission)},
		{"it asks a question", is(busy, ""), event("PermissionRequest", tool("AskUserQuestion")), is(needs, question)},
		{"it asks to leave the plan mode", is(busy, ""), event("PermissionRequest", tool("ExitPlanMode")), is(needs, permission)},
		{"the person allowed it, and it is done", asked("Bash"), event("PostToolUse", tool("Bash")), is(busy, "")},
		{"the person answered, as Kimi Code says", asked("Bash"), event("PermissionResult", tool("Bash")), is(busy, "")},
		{"it asks a question, as Kimi Code says", is(busy, ""), event("PreToolUse", tool("AskUserQuestion")), is(needs, question)},
		{"a tool begins", is(busy, ""), event("PreToolUse", tool("Bash")), nothing},
		{"it failed", asked("Bash"), event("PostToolUseFailure", tool("Bash")), is(busy, "")},
		{"another tool ended meanwhile", asked("Bash"), event("PostToolUse", tool("Read")), nothing},
		{"the subagent's tool ended that was asked about", asked("Bash"), event("PostToolUse", tool("Bash"), inside), is(busy, "")},
		{"a reminder", asked("Bash"), event("Notification", notice("permission_prompt")), nothing},
		{"a prompt that no other hook told", is(busy, ""), event("Notification", notice("permission_prompt")), is(needs, permission)},
		{"an MCP server asks", is(busy, ""), event("Notification", notice("elicitation_dialog")), is(needs, question)},
		{"its turn is over", is(busy, ""), event("Stop"), is(idle, done)},
		{"it ended with an error, as Cursor says", is(busy, ""), event("Stop", because("error")), is(idle, failed)},
		{"the person stopped it, as Cursor says", is(busy, ""), event("Stop", because("aborted")), is(idle, done)},
		{"its model refuses, as Copilot says", is(busy, ""), event("ErrorOccurred", because(`{"code":429,"message":"rate limit reached"}`)), is(limited, spent)},
		{"it waits for a minute", is(idle, failed), event("Notification", notice("idle_prompt")), nothing},
		{"it does since Esc", is(busy, ""), event("Notification", notice("idle_prompt")), is(idle, done)},
		{"a notification of something else", is(busy, ""), event("Notification", notice("auth_success")), nothing},
		{"Esc while a tool ran", is(busy, ""), event("PostToolUseFailure", tool("Bash"), stopped), is(idle, done)},
		{"the person stopped it", is(busy, ""), event("Interrupt"), is(idle, done)},
		{"a limit", is(busy, ""), event("StopFailure", because("rate_limit")), is(limited, spent)},
		{"no model", is(busy, ""), event("StopFailure", because("server_error")), is(idle, failed)},
		{"a subagent had no model", is(busy, ""), event("StopFailure", because("server_error"), inside), nothing},
		{"an event of which gt knows nothing", is(busy, ""), event("TeammateIdle"), nothing},
	} {
		got, ok := nextState(c.before, c.in, true)
		if ok != (c.want.Status != "") || ok && (got.Status != c.want.Status || got.Reason != c.want.Reason || got.Source != c.in.Kind()) {
			t.Errorf("%s: %+v (%v), not %+v", c.name, got, ok, c.want)
		}
	}

	// Without a registry, only the next event shows a denial.
	if got, ok := nextState(asked("Bash"), event("PostToolUse", tool("Read")), false); !ok || got.Status != busy {
		t.Errorf("another tool ended, of a client without a registry: %+v (%v)", got, ok)
	}
	if got, ok := nextState(asked("Bash"), event("Notification", notice("idle_prompt")), false); !ok || got.Status != idle {
		t.Errorf("it waits for a prompt, a client without a registry: %+v (%v)", got, ok)
	}
}
