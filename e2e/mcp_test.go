//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"gt/e2e/model"
)

// A real Claude Code that has no shell finds and reads an earlier session of its folder by the
// MCP server that gt-hooks added.
func TestClaudeMCP(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Result() != "":
			return model.Say("FOUND " + r.Result())
		case strings.Contains(asked, "who knows"):
			for _, tool := range r.Tools {
				if strings.HasPrefix(tool, "mcp__gt__search") {
					return model.Reply{Text: "I search.", Tools: []model.ToolUse{{Name: tool, Input: map[string]any{"query": "history-canary"}}}}
				}
			}
			return model.Say("no tool in " + strings.Join(r.Tools, " "))
		}
		return model.Say("ANSWER")
	})
	id := w.ask("the HISTORY-CANARY").SessionID
	if out := w.gt("gt-hooks", "install", "claude", "--mcp"); !strings.Contains(out, "gt-seance mcp added") {
		t.Fatal(out)
	}
	said := w.ask("who knows it", "--allowed-tools", "mcp__gt__search", "mcp__gt__read").Result
	if !strings.Contains(said, id) || !strings.Contains(said, "the HISTORY-CANARY") {
		t.Errorf("it found %q", said)
	}
	line := w.gt("sh", "-c", `printf '{"session_id":"%s","cost":{"total_cost_usd":0.5}}' "$0" | gt-seance usage --line`, id)
	if !strings.Contains(line, " tokens $0.5000 · today ") {
		t.Errorf("the status line is %q", line)
	}
	w.gt("gt-hooks", "uninstall", "claude")
	if said := w.ask("who knows it").Result; !strings.HasPrefix(said, "no tool in ") {
		t.Errorf("without the server it found %q", said)
	}
}
