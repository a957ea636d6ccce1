// Package hook has what the hooks know of GitHub Copilot CLI.
package hook

import (
	"iter"

	"gt/lib/client/contract"
)

// Client is GitHub Copilot CLI. Where a hook is wired under Claude Code's name of
// an event it speaks Claude Code's words, else its own.
var Client = contract.Client{
	Name:             Name,
	Processes:        processes,
	SessionVars:      []string{sessionVar},
	StoreVars:        []string{storeVar},
	Accounts:         accounts,
	RunsForeignHooks: runsForeignHooks,
	Fields: []contract.FieldName{
		{Name: "sessionId", Field: contract.SessionID},
		{Name: "transcriptPath", Field: contract.Transcript},
		{Name: "toolName", Field: contract.ToolName},
		{Name: "tool_args", Field: contract.ToolInput},
		{Name: "toolArgs", Field: contract.ToolInput},
		{Name: "tool_result", Field: contract.ToolOutput},
		{Name: "toolResult", Field: contract.ToolOutput},
		{Name: "agentId", Field: contract.AgentID},
		{Name: "parent_agent_id", Field: contract.ParentAgentID}, // it gives a subagent's id for the session's
		{Name: "parentAgentId", Field: contract.ParentAgentID},
	},
	Events: []contract.EventName{
		{Name: "sessionStart", Kind: "SessionStart"},
		{Name: "userPromptSubmitted", Kind: "UserPromptSubmit"},
		{Name: "postToolUse", Kind: "PostToolUse"},
		{Name: "preCompact", Kind: "PreCompact"},
		{Name: "agentStop", Kind: "Stop"},
		{Name: "errorOccurred", Kind: "StopFailure"},
		{Name: "ErrorOccurred", Kind: "StopFailure"},
		{Name: "sessionEnd", Kind: "SessionEnd"},
	},
	Implied: []contract.ImpliedEvent{ // it names no event where its hook is wired under its own name for it
		{Key: "source", Kind: "SessionStart"},
		{Key: "prompt", Kind: "UserPromptSubmit"},
		{Key: "toolResult", Kind: "PostToolUse"},
		{Key: "customInstructions", Kind: "PreCompact"},
		{Key: "stopReason", Kind: "Stop"},
		{Key: "reason", Kind: "SessionEnd"},
	},
	Limits: []string{`"code":429`}, // in the message of the API
	Dialect: contract.Dialect{
		MaxContext: maxContext, Shape: contract.TopLevel, DropsStartContext: true, Overlaps: true,
		Killed: killed, ClearReason: leftReason,
	},
}

// leftReason is given when a person leaves, when the terminal was closed, and when a
// session is cleared: the next one starts when that is asked something.
const leftReason = "user_exit"

// killed reads the reason of an end: without a person Copilot says "complete", also
// when it is stopped in the middle of a turn.
func killed(e contract.End) bool {
	switch e.Reason {
	case leftReason:
		return e.HungUp()
	case "complete":
		return e.Busy()
	}
	return contract.Killed(e)
}

// runsForeignHooks reports whether Copilot called us as its hook; it runs Claude
// Code's as well. It gives COPILOT_CLI to whatever it starts, a Claude Code that its
// agent runs among them, but the project's folder to its hooks alone. (Before it
// did, Claude Code could be told from it by what that says of itself.)
func runsForeignHooks(getenv func(string) string, named bool) bool {
	return getenv("COPILOT_PROJECT_DIR") != "" ||
		getenv("COPILOT_CLI") != "" && getenv("CLAUDECODE") == "" && (!named || getenv(sessionVar) == "")
}

func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	return contract.Accounts(getenv, storeVar, []string{".copilot", ".copilot-*", ".copilot_*"}, "session-state")
}
