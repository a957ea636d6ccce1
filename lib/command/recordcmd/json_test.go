package recordcmd

import (
	"strings"
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.Write("home/.claude/projects/-work/large.jsonl", `{"type":"user","cwd":"ROOT/work","timestamp":"2026-01-17T03:00:00Z","message":{"role":"user","content":"Print it"}}
{"type":"assistant","timestamp":"2026-01-17T03:00:01Z","message":{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"yes"}}]}}
{"type":"user","timestamp":"2026-01-17T03:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"`+strings.Repeat("y ", 40_000)+`"}]}}
`)
	w.Prepare("sync", "--all")
	w.JSON("context-list", "context", "list", "large", "--json")
	w.JSON("list", "list", "--json")
	w.JSON("show", "show", golden.Session, "--json")
	w.JSON("tail", "tail", golden.Session, "--json")
	w.JSON("continue", "continue", golden.Session, "--json")
	w.Write("home/.codex/config.toml", "")
	w.JSON("convert", "convert", "--to", "codex", golden.Session, "--json")
}
