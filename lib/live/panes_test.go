package live

import (
	"strings"
	"testing"

	"gt/lib/client/agent"
	"gt/lib/live/status"
)

// A question counts with a selected option, with a hook that told of it, or at the end of the
// screen; not as words of the conversation or of a draft, nor while the agent works.
func TestShowsQuestion(t *testing.T) {
	const rule = "──────────\n"
	const form = " MCP server \"x\" requests your input\n   Name: \n\n Enter to confirm · Esc to cancel\n"
	said := "● Press Esc to cancel.\n" + strings.Repeat("● and so on\n", 20)
	done, runs := status.Observation{Status: status.Waiting, Reason: status.Done}, status.Observation{Status: status.Running}
	for name, c := range map[string]struct {
		client, screen string
		told           status.Observation
		want           bool
	}{
		"a selected option":                    {"claude", rule + " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n" + strings.Repeat(" a note\n", 20), done, true},
		"one while a hook told of a turn":      {"claude", rule + " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n", runs, true},
		"a form without options":               {"claude", rule + form, done, true},
		"words of the conversation":            {"claude", said, done, false},
		"a form above a status row":            {"claude", rule + form + "\n  [Opus] ctx 12%\n", done, true},
		"a form above two":                     {"claude", rule + form + "  [Opus] ctx 12%\n  ◯ /ide for main.go\n", done, true},
		"a form above a border":                {"opencode", "  ┃  Name\n  ┃\n  ┃  ↑↓ select  enter submit  esc dismiss\n  ┃\n\n", done, true},
		"words above a status row":             {"cline", " Approve tool call?\n\n anthropic:claude-sonnet ○ Plan\n", done, true},
		"an answer above three rows":           {"claude", "  do you want to proceed?\n one\n two\n three\n", done, false},
		"an answer above no box":               {"claude", "● I ask: do you want to proceed?\n\n✻ Cooked for 4s\n", done, false},
		"the same, and a hook told":            {"claude", said, status.Observation{Status: status.Waiting, Reason: status.Permission}, true},
		"a draft":                              {"claude", rule + "❯ Do you want to proceed?\n" + rule, done, false},
		"a draft, and a hook told":             {"claude", rule + "❯ Do you want to proceed?\n" + rule, status.Observation{Status: status.Waiting, Reason: status.Permission}, false},
		"an empty box":                         {"claude", said + rule + "❯ \n" + rule, done, false},
		"of an account that is spent":          {"claude", rule + " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n", status.Observation{Status: status.Waiting, Reason: status.Limited}, false},
		"of a box that gt does not know":       {"antigravity", " Do you want to proceed?\n", done, false},
		"the same while a hook told of a turn": {"antigravity", " Do you want to proceed?\n", runs, true},
	} {
		if got := ShowsQuestion(agent.Builtin().FindClient(c.client), c.screen, c.told); got != c.want {
			t.Errorf("%s: %v\n%s", name, got, c.screen)
		}
	}
}
