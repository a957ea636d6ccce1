package agent

import (
	"slices"
	"strings"
	"testing"
)

// Freedom compares a hook's mode with an agent's flags.
func TestFreedom(t *testing.T) {
	for _, c := range []struct {
		mode, args string
		stricter   bool
	}{
		{"default", "claude", false},
		{"default", "claude --model opus --permission-mode default", false},
		{"default", "claude --dangerously-skip-permissions", true},
		{"acceptEdits", "claude --permission-mode bypassPermissions", true},
		{"acceptEdits", "claude --permission-mode=acceptEdits", false},
		{"plan", "claude --permission-mode plan", false},
		{"plan", "claude", true},
		{"plan", "claude --permission-mode=auto", true},
		{"dontAsk", "claude --permission-mode acceptEdits", true},
		{"bypassPermissions", "claude --dangerously-skip-permissions", false},
		{"bypassPermissions", "codex --dangerously-bypass-approvals-and-sandbox", false},
		{"default", "codex --yolo", true},
		{"default", "codex -s danger-full-access", true},
		{"default", "codex --sandbox=danger-full-access", true},
		{"default", `codex -c sandbox_mode="danger-full-access"`, true},
		{"default", "codex --sandbox workspace-write", false},
		{"auto_edit", "qwen --approval-mode yolo", true},
		{"auto-edit", "gemini --approval-mode=auto_edit", false},
		{"yolo", "qwen -y", false},
		{"default", "gemini -y", true},
		{"default", "copilot --allow-all-tools", true},
		{"something new", "claude --permission-mode acceptEdits", true},
	} {
		if got := FreedomOfMode(c.mode) < FreedomOfArgs(strings.Fields(c.args)); got != c.stricter {
			t.Errorf("%s, and %s: %v", c.mode, c.args, got)
		}
	}
}

// Files tells an agent's settings from its working folders.
func TestFiles(t *testing.T) {
	for args, want := range map[string]string{
		"claude --model opus --add-dir a/b /c -- [GAS": "",
		"claude --settings x.json --mcp-config=y.json": "x.json y.json",
		"claude --plugin-dir p q --model m":            "p q",
		"claude --strange a/b":                         "a/b",
		"node /bin/pi --model x":                       "/bin/pi",
		"codex -C work -m o3":                          "",
		"":                                             "",
	} {
		if got := FileArgs(strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q", args, got)
		}
	}
}
