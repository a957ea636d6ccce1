package readers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// A call without its result runs, until the person says something new.
func TestCallRuns(t *testing.T) {
	asked := `{"type":"user","uuid":"u","message":{"role":"user","content":"go"}}` + "\n"
	call := func(id string) string {
		return `{"type":"assistant","uuid":"a` + id + `","message":{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"x"}}]}}` + "\n"
	}
	result := func(id string) string {
		return `{"type":"user","uuid":"r` + id + `","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"y"}]}}` + "\n"
	}
	for _, test := range []struct {
		text string
		want bool
	}{
		{"", false},
		{asked, false},
		{asked + call("1"), true},
		{asked + call("1") + result("1"), false},
		{asked + call("1") + call("2") + result("2"), true},
		{asked + call("1") + strings.Replace(asked, `"u"`, `"v"`, 1), false},
		{asked + strings.Repeat(call("1")+result("1"), 40_000) + call("2"), true},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := conversation.File{Client: "claude", Path: path, Size: int64(len(test.text))}
		if got := conversation.EndsInCall(readers.FindReader("claude"), f); got != test.want {
			t.Errorf("%.200s: %v", test.text, got)
		}
	}
}
