//go:build e2e

package e2e

import (
	"encoding/json"
	"regexp"
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
	w.gt("gt-hooks", "uninstall", "claude")
	if said := w.ask("who knows it").Result; !strings.HasPrefix(said, "no tool in ") {
		t.Errorf("without the server it found %q", said)
	}
}

// A real Claude Code shows in its status line what its session and the day used.
func TestClaudeStatusLine(t *testing.T) {
	w := newWorld(t)
	settings := map[string]any{}
	if err := json.Unmarshal([]byte(w.read(w.userSettings())), &settings); err != nil {
		t.Fatal(err)
	}
	said := w.Path("status")
	// Between two messages, the client asks only at an interval. The last time that it asks without
	// one may be before it has written the answer, or so soon after that gt does not count again.
	settings["statusLine"] = map[string]any{"type": "command", "command": "tee -a " + said + " | gt-seance usage --line", "refreshInterval": 1}
	w.writeJSON(w.userSettings(), settings)
	p := w.claude("line")
	p.typ("good morning")
	w.waitFor("the line shows what the session used", func() bool { return used.MatchString(p.screen()) })
	for text := range strings.SplitSeq(w.read(said), "}{") { // what the client says of itself is understood
		if !strings.Contains(text, `"session_id":"`) {
			t.Errorf("the client says %q", text)
		}
	}
	if id := w.newest(); !strings.Contains(w.gt("gt-seance", "usage", "--line", id), " tokens") {
		t.Error("it is not counted")
	}
}

// used is a line with tokens of the session, and of the day.
var used = regexp.MustCompile(`[1-9][0-9.k]* tokens.* · today [1-9][0-9.k]* tokens`)
