package hook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Each client accepts exactly these bytes.
func TestReply(t *testing.T) {
	const text = "# You are \"max\" <x>\n\tto do: é 𝄞"
	const quoted = `"# You are \"max\" \u003cx\u003e\n\tto do: é 𝄞"`
	for agent, want := range map[string]string{
		"claude":   text,
		"qwen":     `{"hookSpecificOutput":{"additionalContext":` + quoted + `,"hookEventName":"SessionStart"}}` + "\n",
		"unknown":  text,
		"opencode": text,
		"pi":       text,
		"codex":    `{"hookSpecificOutput":{"additionalContext":` + quoted + `,"hookEventName":"SessionStart"}}` + "\n",
		"gemini":   `{"hookSpecificOutput":{"additionalContext":` + quoted + `,"hookEventName":"SessionStart"}}` + "\n",
		"copilot":  `{"additionalContext":` + quoted + `}` + "\n",
		"cursor":   `{"additional_context":` + quoted + `}` + "\n",

		"antigravity": `{"injectSteps":[{"ephemeralMessage":` + quoted + `}]}` + "\n",
	} {
		t.Run(agent, func(t *testing.T) {
			got := DialectOf(agent).Reply("SessionStart", text)
			if got != want {
				t.Errorf("\n%s\nwant\n%s", got, want)
			}
			if got != text && !json.Valid([]byte(got)) {
				t.Error("no JSON")
			}
			if got := DialectOf(agent).Reply("SessionStart", ""); got != "" {
				t.Errorf("nothing to say became %q", got)
			}
		})
	}
}

// A repository's Claude hooks are Copilot's if Copilot runs them, but Claude Code's if
// Copilot's agent started that.
func TestAgent(t *testing.T) {
	for _, c := range []struct {
		named   string
		environ string
		want    string
	}{
		{"", "", "claude"}, {"codex", "", "codex"}, {"claude", "CLAUDECODE", "claude"},
		{"claude", "COPILOT_CLI COPILOT_PROJECT_DIR", "copilot"}, {"", "COPILOT_CLI COPILOT_PROJECT_DIR", "copilot"},
		{"claude", "COPILOT_CLI COPILOT_PROJECT_DIR CLAUDECODE", "copilot"}, // started by Claude Code's agent
		{"claude", "COPILOT_CLI CLAUDECODE", "claude"},                      // started by Copilot's agent
		{"codex", "COPILOT_CLI", "codex"}, {"gemini", "COPILOT_CLI COPILOT_PROJECT_DIR", "gemini"},
		{"claude", "COPILOT_CLI", "copilot"}, // an older version, which does not set the project's folder
		{"claude", "CURSOR_VERSION CURSOR_PROJECT_DIR", "cursor"}, {"cursor", "", "cursor"},
		{"claude", "CURSOR_VERSION CURSOR_PROJECT_DIR CLAUDECODE", "claude"}, // in Cursor's terminal
	} {
		getenv := func(key string) string {
			if slices.Contains(strings.Fields(c.environ), key) {
				return "1"
			}
			return ""
		}
		if got := RunningAgent(c.named, getenv); got != c.want {
			t.Errorf("%q in %q: %s, not %s", c.named, c.environ, got, c.want)
		}
	}
}

// Codex counts bytes, all others UTF-16 code units.
func TestSize(t *testing.T) {
	for s, want := range map[string][2]int{"": {0, 0}, "plain": {5, 5}, "äöü": {3, 6}, "日本語": {3, 9}, "𝄞": {2, 4}, "\xff": {1, 3}} {
		if units, bytes := DialectOf("claude").Size(s), DialectOf("codex").Size(s); units != want[0] || bytes != want[1] {
			t.Errorf("%q: %d units, %d bytes, not %v", s, units, bytes, want)
		}
	}
}
