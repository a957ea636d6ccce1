// Package hook describes GitHub Copilot CLI to the hooks.
package hook

import (
	"gt/lib/client/contract"
	"gt/lib/client/names"
)

// Client is GitHub Copilot CLI. It uses Claude Code's names if the hook is wired under
// Claude Code's name of the event, else its own.
var Client = contract.Client{
	Client:           &names.Copilot,
	Accounts:         contract.Accounts(names.CopilotHome, []string{".copilot", ".copilot-*", ".copilot_*"}, "session-state"),
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
		{Name: "parent_agent_id", Field: contract.ParentAgentID}, // it gives a subagent's id as the session's
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
	Implied: []contract.ImpliedEvent{ // the input has no event if the hook is wired under Copilot's own name
		{Key: "source", Kind: "SessionStart"},
		{Key: "prompt", Kind: "UserPromptSubmit"},
		{Key: "toolResult", Kind: "PostToolUse"},
		{Key: "customInstructions", Kind: "PreCompact"},
		{Key: "stopReason", Kind: "Stop"},
		{Key: "reason", Kind: "SessionEnd"},
	},
	Limits: []string{`"code":429`}, // in the API's message
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.TopLevel, DropsStartContext: true, Overlaps: true,
		Killed: killed, ClearReason: leftReason, Headless: contract.WithFlag("-p", "--prompt"),
	},
}

// leftReason is the reason when a person exits, when the terminal was closed, and when a
// session is cleared: its successor starts with the next prompt.
const leftReason = "user_exit"

// killed decides "complete" by whether a turn was going on: without a person, Copilot
// gives that reason also when it is stopped.
func killed(e contract.SessionEnd) bool {
	switch e.Reason {
	case leftReason:
		return e.HungUp()
	case "complete":
		return e.Busy()
	}
	return contract.Killed(e)
}

// runsForeignHooks reports whether Copilot runs this program as a hook; it runs Claude
// Code's hooks, too. It sets COPILOT_CLI for all its children, which may include a Claude
// Code, but the project's folder only for its hooks. Older versions do not set the folder:
// there, Claude Code's own variables tell. named reports that the wiring names its client.
func runsForeignHooks(getenv func(string) string, named bool) bool {
	return getenv("COPILOT_PROJECT_DIR") != "" ||
		getenv("COPILOT_CLI") != "" && getenv("CLAUDECODE") == "" && (!named || getenv(names.CopilotSession) == "")
}
