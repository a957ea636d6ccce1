package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/conversation"
)

// The order of a file of Claude Code 2.1.332, and other ones with the same links.
func TestOrderOfFirstTurn(t *testing.T) {
	record := func(kind, id, parent, message string) string {
		if parent != "null" {
			parent = `"` + parent + `"`
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,%s,"uuid":%q,"timestamp":"2026-11-28T10:00:00.000Z"}`, parent, kind, message, id)
	}
	user := func(id, parent, text string) string {
		return record("user", id, parent, `"message":{"role":"user","content":"`+text+`"}`)
	}
	said := func(id, parent, text string) string {
		return record("assistant", id, parent, `"message":{"role":"assistant","model":"m","id":"m`+id+`","content":[{"type":"text","text":"`+text+`"}]}`)
	}
	call := record("assistant", "c", "s", `"message":{"role":"assistant","model":"m","id":"mc","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}`)
	result := record("user", "r", "c", `"message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"built"}]}`)
	note := func(id, parent string) string {
		return record("attachment", id, parent, `"attachment":{"type":"deferred_tools_delta"}`)
	}
	p, n1, n2, s := user("p", "null", "build it"), note("n1", "p"), note("n2", "n1"), said("s", "n2", "I build.")
	end, again, done := said("e", "r", "Built."), user("p2", "e", "thanks"), said("d", "p2", "Done.")
	mode := `{"type":"permission-mode","permissionMode":"default"}`
	const want = "prompt build it|answer I build.|call make|result built|answer Built.|prompt thanks|answer Done."
	for name, lines := range map[string][]string{
		"in order":          {mode, p, n1, n2, s, call, result, end, again, done},
		"answer first":      {mode, s, mode, p, n1, n2, call, result, end, again, done},
		"call first":        {mode, s, call, p, n1, n2, result, end, again, done},
		"result first":      {mode, s, call, result, mode, p, n1, n2, end, again, done},
		"whole turn first":  {s, call, result, end, p, n1, n2, again, done},
		"notes first":       {n2, n1, s, p, call, result, end, again, done},
		"prompt after note": {s, n2, n1, call, p, result, end, again, done},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "0dfb4f3e-6c1a-4d3c-9c1f-3a1b5c7d9e0f.jsonl")
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, o := range []conversation.Options{{}, {ForSummary: true}, {Skip: func([]byte) bool { return false }}} {
				if got := entriesOf(t, path, o); got != want {
					t.Errorf("%+v:\n got %s\nwant %s", o, got, want)
				}
			}
		})
	}
	t.Run("from within a turn", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "0dfb4f3e-6c1a-4d3c-9c1f-3a1b5c7d9e0f.jsonl")
		head := strings.Join([]string{p, n1, n2, s, call}, "\n") + "\n"
		if err := os.WriteFile(path, []byte(head+strings.Join([]string{result, end, again, done}, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := entriesOf(t, path, conversation.Options{From: int64(len(head)), ForSummary: true})
		if _, after, _ := strings.Cut(want, "make|"); got != after {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a parent that never comes", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "0dfb4f3e-6c1a-4d3c-9c1f-3a1b5c7d9e0f.jsonl")
		var lines, want []string
		for i := range 3 * maxHeldRecords {
			text := fmt.Sprint("n", i)
			lines, want = append(lines, said(text, fmt.Sprint("gone", i/2), text)), append(want, "answer "+text)
		}
		circle := []string{said("x", "y", "x"), said("y", "x", "y")}
		lines, want = append(lines, circle...), append(want, "answer x", "answer y")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := entriesOf(t, path, conversation.Options{}); got != strings.Join(want, "|") {
			t.Errorf("got %s", got)
		}
		if err := os.WriteFile(path, []byte(strings.Join(circle, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := entriesOf(t, path, conversation.Options{}); got != "answer x|answer y" {
			t.Errorf("of a circle: %s", got)
		}
	})
}

// entriesOf returns the kinds and texts of a conversation's entries.
func entriesOf(t *testing.T, path string, o conversation.Options) string {
	t.Helper()
	var all []string
	_, err := Reader{}.Read(conversation.File{Path: path}, o, func(e conversation.Entry) bool {
		switch e.Kind {
		case conversation.Prompt, conversation.Answer, conversation.Result:
			all = append(all, string(e.Kind)+" "+e.Text)
		case conversation.Call:
			all = append(all, "call "+e.Target)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "|")
}
