// Package hook has what the hooks know of Cursor's agent.
package hook

import "gt/lib/client/contract"

// Client is Cursor's agent.
var Client = contract.Client{
	Name:             Name,
	Processes:        processes,
	RunsForeignHooks: runsForeignHooks,
	Fields: []contract.FieldName{
		{Name: "conversation_id", Field: contract.SessionID},
		{Name: "text", Field: contract.LastAnswer}, // of afterAgentResponse
		{Name: "tool_output", Field: contract.ToolOutput},
		{Name: "workspace_roots", Field: contract.Roots},
		{Name: "status", Field: contract.Failure}, // of its stop: completed, aborted, error
	},
	Events: []contract.EventName{
		{Name: "beforeSubmitPrompt", Kind: "UserPromptSubmit"},
		{Name: "stop", Kind: "Stop"},
	},
	Dialect: contract.Dialect{MaxContext: maxContext, Shape: contract.Snake, Overlaps: true, DropsPromptContext: true},
}

// runsForeignHooks reports whether Cursor called us as its hook; it runs Claude
// Code's as well. A Claude Code in a terminal of it says that it is one, and so
// does Cursor's agent to its commands.
func runsForeignHooks(getenv func(string) string, _ bool) bool {
	return getenv("CURSOR_VERSION") != "" && getenv("CURSOR_PROJECT_DIR") != "" && getenv("CLAUDECODE") == "" && getenv("CURSOR_AGENT") == ""
}
