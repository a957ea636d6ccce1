package registry

import (
	"strings"
	"testing"

	"gt/lib/client/contract"
)

// A run that no person sees is told by its arguments, its entry point or its terminal.
func TestHeadless(t *testing.T) {
	const sdk = "CLAUDE_CODE_ENTRYPOINT=sdk-cli"
	for _, c := range []struct {
		client, args, environ string
		onScreen, want        bool
	}{
		{"claude", "claude", "", true, false},
		{"claude", "claude", "CLAUDE_CODE_ENTRYPOINT=cli", false, false},
		{"claude", "claude", "CLAUDE_CODE_ENTRYPOINT=claude-vscode", false, false},
		{"claude", "claude -p x", "CLAUDE_CODE_ENTRYPOINT=cli", true, true}, // below another Claude Code
		{"claude", "node /x/cli.js --print", "", false, true},
		{"claude", "claude --output-format=stream-json", "", false, true},
		{"claude", "claude", sdk, false, true},
		{"claude", "claude", sdk, true, false}, // of the agent that has started it
		{"claude", "claude -- -p", "", true, false},
		{"codex", "codex", "", true, false},
		{"codex", "codex exec x", "", true, true},
		{"codex", "codex -m gpt-5 e x", "", true, true},
		{"codex", "codex --search exec", "", true, true},
		{"codex", "codex -p exec", "", true, false},
		{"codex", "codex --profile=exec", "", true, false},
		{"codex", "codex resume --last", "", true, false},
		{"codex", "codex mcp-server", "", false, true},
		{"gemini", "node /x/gemini.js -p x", "", true, true},
		{"gemini", "gemini -i x", "", true, false},
		{"qwen", "qwen -p x", "", false, true},
		{"copilot", "copilot --prompt=x", "", false, true},
		{"copilot", "copilot --acp", "", false, false},
		{"cursor", "cursor-agent --print x", "", false, true},
		{"cursor", "cursor-agent", "", true, false},
		{"opencode", "opencode run x", "", false, true},
		{"opencode", "opencode --log-level run", "", true, false},
		{"opencode", "opencode", "", true, false},
		{"antigravity", "agy --print x", "", false, true},
		{"kimi", "kimi", "", false, true},
		{"kimi", "kimi", "", true, false},
		{"cline", "cline --acp", "", false, false},
		{"cline", "cline", "", false, true},
		{"amp", "amp -x", "", false, false}, // it runs no hooks of gt
	} {
		name, value, _ := strings.Cut(c.environ, "=")
		r := contract.Run{
			Args: strings.Fields(c.args), OnScreen: func() bool { return c.onScreen },
			Getenv: func(key string) string {
				if key == name {
					return value
				}
				return ""
			},
		}
		headless := FindClient(c.client).Dialect.Headless
		if got := headless != nil && headless(r); got != c.want {
			t.Errorf("%s: %s %s: %v", c.client, c.args, c.environ, got)
		}
	}
}
