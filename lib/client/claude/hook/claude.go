// Package hook has what the hooks know of Claude Code.
package hook

import (
	"strings"

	"gt/lib/client/contract"
)

// Client is Claude Code. Others took over its words, so it lists the most.
var Client = contract.Client{
	Name:        Name,
	Processes:   processes,
	SessionVars: []string{sessionVar, sharedVar},
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
	Prompting: []contract.Prompting{
		{Tool: "AskUserQuestion", Question: true}, {Tool: "ExitPlanMode"},
	},
	Dialect: contract.Dialect{
		MaxContext: maxContext, Shape: contract.Plain, Compaction: true, ShowsCompaction: true, SystemMessage: true,
		EnvFile: "CLAUDE_ENV_FILE", ForkFlag: "--fork-session", Killed: killed, NotesStatus: true,
	},
}

// sharedVar is how Gas Town and agent-deck call the id. The client's own variable would
// reach another Claude Code that is started there.
const sharedVar = "CLAUDE_SESSION_ID"

// killed reads the reason of an end: Claude Code gives "other" when it is sent
// SIGTERM or SIGHUP, and at the regular end of a run without a person.
func killed(e contract.End) bool {
	if e.Reason == "other" && strings.HasPrefix(e.Getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk") {
		return false
	}
	return contract.Killed(e)
}
