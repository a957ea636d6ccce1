package readers_test

import (
	"gt/internal/readertest"
	"path/filepath"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// A record in the person's name that has no mark of the client is the person's.
func TestUnmarked(t *testing.T) {
	for client, c := range map[string]struct{ name, text string }{
		"kimi":        {"wire.jsonl", `{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"port it"}]},"time":1795709434990}`},
		"antigravity": {"transcript_full.jsonl", `{"step_index":1,"source":"USER_EXPLICIT","content":"port it","created_at":"2026-01-01T00:00:00Z"}`},
		"codex":       {"rollout-1.jsonl", `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"role":"user","content":[{"type":"input_text","text":"port it"}]}}`},
		"cursor":      {"s.jsonl", `{"role":"user","message":{"content":[{"type":"text","text":"port it"}]}}`},
		"cline":       {"s.messages.json", `{"messages":[{"role":"user","content":"port it","ts":1795709434990},{"role":"user","content":"[ERROR] no tool was used","ts":1795709434991}]}`},
	} {
		path := filepath.Join(t.TempDir(), "s", c.name)
		readertest.Put(t, path, c.text+"\n")
		got := entriesIn(t, readers.FindReader(client), conversation.File{Client: client, Path: path, ID: "s"}, isPrompt)
		if len(got) != 1 || got[0].Text != "port it" {
			t.Errorf("%s: %+v", client, got)
		}
	}
}
