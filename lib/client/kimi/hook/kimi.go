// Package hook describes Kimi Code to the hooks.
package hook

import (
	"gt/lib/client/contract"
	"gt/lib/client/names"
)

// Client is Kimi Code. It drops the answer to a start's hook, and a start comes with the
// first prompt, so only the prompt's hook is wired.
var Client = contract.Client{
	Client:   &names.Kimi,
	Accounts: contract.Accounts(names.KimiHome, []string{".kimi-code", ".kimi-code-*", ".kimi-code_*"}, "sessions"),
	Fields: []contract.FieldName{
		{Name: "error_type", Field: contract.Failure},
	},
	MainAgent: "main",
	Limits:    []string{"APIProviderRateLimitError"},
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Plain, DroppedSources: []string{"startup", "resume", "clear"},
		Headless:     func(r contract.Run) bool { return !r.OnScreen() }, // its arguments are overwritten with its title
		EndsSilently: true, Killed: killed, ClearReason: leftReason,
	},
}

// leftReason is the reason when a person exits, begins a new session, or chooses another,
// and also at SIGTERM. When its terminal closes, Kimi Code runs no hook.
const leftReason = "exit"

// killed decides "exit" by whether a turn was going on.
func killed(e contract.SessionEnd) bool {
	if e.Reason == leftReason {
		return e.Busy()
	}
	return contract.Killed(e)
}
