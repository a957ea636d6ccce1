// Package hook describes Claude Code to the hooks.
package hook

import (
	"strings"

	"gt/lib/client/contract"
)

// Client is Claude Code. It lists the most names, because other clients use its names.
var Client = contract.Client{
	Name:        "claude",
	Processes:   []string{"claude", "node"},
	SessionVars: []string{"CLAUDE_CODE_SESSION_ID", sharedVar},
	SharedVar:   sharedVar,
	StoreVars:   []string{storeVar},
	ProjectVar:  "CLAUDE_PROJECT_DIR",
	Accounts:    accounts,
	Fields: []contract.FieldName{
		{Name: "hook_event_name", Field: contract.Event},
		{Name: "session_id", Field: contract.SessionID},
		{Name: "transcript_path", Field: contract.Transcript},
		{Name: "cwd", Field: contract.CWD},
		{Name: "source", Field: contract.Source},
		{Name: "trigger", Field: contract.Trigger},
		{Name: "reason", Field: contract.Reason},
		{Name: "tool_name", Field: contract.ToolName},
		{Name: "tool_input", Field: contract.ToolInput},
		{Name: "tool_response", Field: contract.ToolOutput},
		{Name: "agent_id", Field: contract.AgentID},
		{Name: "last_assistant_message", Field: contract.LastAnswer},
		{Name: "context_tokens", Field: contract.ContextTokens},
		{Name: "background_tasks", Field: contract.Background},
		{Name: "session_crons", Field: contract.Crons},
		{Name: "permission_mode", Field: contract.Mode},
		{Name: "prompt", Field: contract.Prompt},
		{Name: "notification_type", Field: contract.Notice},
		{Name: "error", Field: contract.Failure},
		{Name: "is_interrupt", Field: contract.Interrupted},
	},
	Notices: []contract.NoticeName{
		{Name: "permission_prompt", Notice: contract.AsksPermission},
		{Name: "elicitation_dialog", Notice: contract.AsksQuestion},
		{Name: "idle_prompt", Notice: contract.WaitsForPrompt},
	},
	Limits: []string{"rate_limit", "billing_error"},
	Logins: []string{"authentication_failed", "oauth_org_not_allowed"},
	Prompting: []contract.Prompting{
		{Tool: "AskUserQuestion", Question: true}, {Tool: "ExitPlanMode"},
	},
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Plain, Compaction: true, ShowsCompaction: true, SystemMessage: true,
		EnvFile: "CLAUDE_ENV_FILE", ForkFlag: "--fork-session", Killed: killed, NotesStatus: true, Typed: Typed, Headless: headless,
	},
}

const storeVar = "CLAUDE_CONFIG_DIR"

// sharedVar is Gas Town's and agent-deck's variable for the id. The client's own would
// reach another Claude Code that starts in that tmux session.
const sharedVar = "CLAUDE_SESSION_ID"

// killed ignores "other" without a person: Claude Code gives it at SIGTERM and SIGHUP,
// but also at the regular end of such a run.
func killed(e contract.End) bool {
	return (e.Reason != "other" || !fromSDK(e.Getenv)) && contract.Killed(e)
}

// fromSDK reports whether the client's entry point is sdk-cli (claude -p), sdk-ts, sdk-py
// or the like. A Claude Code that such a run starts inherits the variable.
func fromSDK(getenv func(string) string) bool {
	return strings.HasPrefix(getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk")
}

// headless goes by the arguments first, because "claude -p" below another Claude Code has
// the entry point of that one. The formats are only for a run that prints.
func headless(r contract.Run) bool {
	return r.HasFlag("-p", "--print", "--output-format", "--input-format") || fromSDK(r.Getenv) && !r.OnScreen()
}
