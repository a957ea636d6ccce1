package claude

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/readertest"
	"gt/lib/conversation"
)

// linkedLine returns a line as the client writes it; parent is "null" for none.
func linkedLine(kind, id, parent, message string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,%s,"uuid":%q,"timestamp":"2026-11-28T10:00:00.000Z"}`, parent, kind, message, id)
}

func linkedPrompt(id, parent, text string) string {
	return linkedLine("user", id, parent, `"message":{"role":"user","content":"`+text+`"}`)
}

func linkedAnswer(id, parent, text string) string {
	return linkedLine("assistant", id, parent, `"message":{"role":"assistant","model":"m","id":"m`+id+`","content":[{"type":"text","text":"`+text+`"}]}`)
}

// The order of a file of Claude Code 2.1.332, and other ones with the same links.
func TestOrderOfFirstTurn(t *testing.T) {
	call := linkedLine("assistant", "c", "s", `"message":{"role":"assistant","model":"m","id":"mc","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}`)
	result := linkedLine("user", "r", "c", `"message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"built"}]}`)
	note := func(id, parent string) string {
		return linkedLine("attachment", id, parent, `"attachment":{"type":"deferred_tools_delta"}`)
	}
	p, n1, n2, s := linkedPrompt("p", "null", "build it"), note("n1", "p"), note("n2", "n1"), linkedAnswer("s", "n2", "I build.")
	end, again, done := linkedAnswer("e", "r", "Built."), linkedPrompt("p2", "e", "thanks"), linkedAnswer("d", "p2", "Done.")
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
			path := filepath.Join(t.TempDir(), "x.jsonl")
			readertest.Put(t, path, strings.Join(lines, "\n")+"\n")
			if m, err := (Reader{}).Metadata(conversation.File{Path: path}); err != nil || m.FirstID != "p" || m.Prompt != "build it" {
				t.Errorf("first %q, prompt %q, %v", m.FirstID, m.Prompt, err)
			}
			for _, o := range []conversation.Options{{}, {ForSummary: true}, {Skip: func([]byte) bool { return false }}} {
				if got := entriesOf(t, path, o); got != want {
					t.Errorf("%+v:\n got %s\nwant %s", o, got, want)
				}
			}
		})
	}
	t.Run("from within a turn", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		head := strings.Join([]string{p, n1, n2, s, call}, "\n") + "\n"
		readertest.Put(t, path, head+strings.Join([]string{result, end, again, done}, "\n")+"\n")
		got := entriesOf(t, path, conversation.Options{From: int64(len(head)), ForSummary: true})
		if _, after, _ := strings.Cut(want, "make|"); got != after {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a file that lost its head", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		lines := []string{linkedAnswer("a0", "gone", "A0"), linkedPrompt("p1", "lost", "P1"), linkedAnswer("a1", "p1", "A1"), linkedPrompt("p2", "a1", "P2")}
		readertest.Put(t, path, strings.Join(lines, "\n")+"\n")
		if got := entriesOf(t, path, conversation.Options{}); got != "answer A0|prompt P1|answer A1|prompt P2" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a parent that never comes", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		var lines, want []string
		for i := range 3 * maxHeldRecords {
			text := fmt.Sprint("n", i)
			lines, want = append(lines, linkedAnswer(text, fmt.Sprint("gone", i/2), text)), append(want, "answer "+text)
		}
		circle := []string{linkedAnswer("x", "y", "x"), linkedAnswer("y", "x", "y")}
		lines, want = append(lines, circle...), append(want, "answer x", "answer y")
		readertest.Put(t, path, strings.Join(lines, "\n")+"\n")
		if got := entriesOf(t, path, conversation.Options{}); got != strings.Join(want, "|") {
			t.Errorf("got %s", got)
		}
		readertest.Put(t, path, strings.Join(circle, "\n")+"\n")
		if got := entriesOf(t, path, conversation.Options{}); got != "answer x|answer y" {
			t.Errorf("of a circle: %s", got)
		}
	})
}

// What Claude Code 2.1.332 sent to the model on "claude --resume" of a file with the same
// links. gt also has what the client lost: whatever is before a parent that was never written,
// and turns beside a note of the client that was written late.
func TestBranchOfResume(t *testing.T) {
	base := []string{linkedPrompt("p1", "null", "P1"), linkedAnswer("a1", "p1", "A1"), linkedPrompt("p2", "a1", "P2"), linkedAnswer("a2", "p2", "A2")}
	system := func(id, parent string) string {
		return linkedLine("system", id, parent, `"subtype":"api_error","content":"x"`)
	}
	progress := func(id, parent string) string {
		return linkedLine("progress", id, parent, `"data":{"type":"hook_progress"}`)
	}
	rewound := append(slices.Clone(base), linkedPrompt("p3", "a1", "P3"), linkedAnswer("a3", "p3", "A3"))
	const both, third = "prompt P1|answer A1|prompt P2|answer A2", "prompt P1|answer A1|prompt P3|answer A3"
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"straight":               {base, both},
		"a late error":           {append(slices.Clone(base), system("s", "p1")), both},
		"a late progress":        {append(slices.Clone(base), progress("g", "a1")), both},
		"a fork at an error":     {[]string{base[0], base[1], system("s", "p1"), linkedPrompt("p2", "s", "P2"), base[3]}, both},
		"a parent never written": {[]string{base[0], base[1], linkedPrompt("p2", "gone", "P2"), base[3]}, both},
		"rewound":                {rewound, third},
		"rewound, late progress": {append(slices.Clone(rewound), progress("g", "a2")), third},
		"rewound, late error":    {append(slices.Clone(rewound), system("s", "p1")), third},
		"rewound to the first":   {append(slices.Clone(base), linkedPrompt("p3", "null", "P3"), linkedAnswer("a3", "p3", "A3")), "prompt P3|answer A3"},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		readertest.Put(t, path, strings.Join(c.lines, "\n")+"\n")
		if got := entriesOf(t, path, conversation.Options{}); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
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
