// Package hook describes Cursor's agent to the hooks.
package hook

import (
	"gt/lib/client/contract"
	"gt/lib/client/names"
)

var Client = contract.Client{
	Client:           &names.Cursor,
	Accounts:         contract.Accounts(names.CursorDir, []string{".cursor"}, "projects"),
	TellsMore:        true,
	RunsForeignHooks: runsForeignHooks,
	Fields: []contract.FieldName{
		{Name: "conversation_id", Field: contract.SessionID},
		{Name: "text", Field: contract.LastAnswer}, // in afterAgentResponse
		{Name: "tool_output", Field: contract.ToolOutput},
		{Name: "workspace_roots", Field: contract.Roots},
		{Name: "status", Field: contract.Failure}, // in stop: completed, aborted, error
	},
	Events: []contract.EventName{
		{Name: "beforeSubmitPrompt", Kind: "UserPromptSubmit"},
		{Name: "stop", Kind: "Stop"},
	},
	Dialect: contract.Dialect{MaxContext: 10000, Shape: contract.Snake, Overlaps: true, DropsPromptContext: true, Headless: contract.WithFlag("-p", "--print")},
}

// runsForeignHooks reports whether Cursor runs this program as a hook; it runs Claude
// Code's hooks, too. A Claude Code in its terminal has CLAUDECODE, and commands of its
// agent have CURSOR_AGENT.
func runsForeignHooks(getenv func(string) string, _ bool) bool {
	return getenv("CURSOR_VERSION") != "" && getenv("CURSOR_PROJECT_DIR") != "" && getenv("CLAUDECODE") == "" && getenv("CURSOR_AGENT") == ""
}
