package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/conversation/transcript"
)

func same(s string) string { return s }

// What a successor is told of a session does not depend on which client kept it:
// of what each real client wrote, the requests, the last answer and the commands
// are found.
//
// S0-17
func TestTailOfClients(t *testing.T) {
	for _, r := range readers.All {
		if r.Client() == "claude" {
			continue // transcript.Tail's own tests
		}
		found := 0
		stores, err := filepath.Glob(filepath.Join("../../client", r.Client(), "conversation/testdata/*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, store := range stores {
			err := r.Find(store, func(f conversation.File) {
				facts, err := r.Metadata(f)
				if err != nil || facts.Prompt == "" || facts.ForkOf != "" {
					return
				}
				id := facts.ID
				if f.ID != "" {
					id = f.ID
				}
				sum, err := Tail(r.Client(), f.Path, id, facts.CWD, same)
				if err != nil {
					t.Errorf("%s: %v", f.Path, err)
					return
				}
				if !strings.HasPrefix(sum.First.Text, facts.Prompt) || len(sum.Requests) == 0 {
					t.Errorf("%s: first asked is %q and not %q, of %d requests", f.Path, sum.First.Text, facts.Prompt, len(sum.Requests))
				}
				if strings.Contains(facts.Prompt, "echo") {
					found++
					if len(sum.Commands) == 0 || !strings.Contains(sum.Commands[0].Text, "echo ") || sum.Commands[0].Failed {
						t.Errorf("%s: the commands are %v", f.Path, sum.Commands)
					}
					if sum.Answer == "" {
						t.Errorf("%s: nothing was answered", f.Path)
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
		}
		if found == 0 {
			t.Errorf("no session of %s in which a command was run", r.Client())
		}
	}
}

// The list, the files and the failures are read in every form that clients have.
func TestGathering(t *testing.T) {
	for name, test := range map[string]struct {
		entries []conversation.Entry
		want    func(transcript.Summary) bool
	}{
		"Codex's plan": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "update_plan", Text: "explanation: why\nplan: [{\"step\":\"one\",\"status\":\"completed\"},{\"step\":\"two\",\"status\":\"in_progress\"}]"}},
			func(s transcript.Summary) bool {
				return s.Done == 1 && slices.Equal(s.Todos, []transcript.Todo{{Text: "two", Status: "in_progress"}})
			},
		},
		"Gemini's list, the last one": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "write_todos", Text: `[{"description":"old","status":"pending"}]`},
				{Kind: conversation.Call, Tool: "write_todos", Text: `[{"description":"new","status":"pending"},{"description":"gone","status":"cancelled"}]`},
			},
			func(s transcript.Summary) bool {
				return slices.Equal(s.Todos, []transcript.Todo{{Text: "new", Status: "pending"}})
			},
		},
		"Copilot's list": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "update_todo", Text: "- [x] one\n- [ ] two\n"}},
			func(s transcript.Summary) bool {
				return s.Done == 1 && slices.Equal(s.Todos, []transcript.Todo{{Text: "two", Status: "pending"}})
			},
		},
		"a patch": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "apply_patch", Text: "*** Begin Patch\n*** Update File: a.go\n+x\n*** Add File: b c.go\n*** End Patch"}},
			func(s transcript.Summary) bool { return slices.Equal(s.Files, []string{"b c.go", "a.go"}) },
		},
		"files, in the folder and outside": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "write_file", Text: "file_path: /work/x/a.go\ncontent: file_path: no"},
				{Kind: conversation.Call, Tool: "edit", Text: "filePath: /elsewhere/b.go\noldString: x"},
			},
			func(s transcript.Summary) bool { return slices.Equal(s.Files, []string{"/elsewhere/b.go", "a.go"}) },
		},
		"an edit that failed": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "edit", Text: "path: a.go\nx: y"}, {Kind: conversation.Result, Tool: "edit", Text: "no such text", Failed: true}},
			func(s transcript.Summary) bool {
				return len(s.Files) == 0 && slices.Equal(s.Failures, []string{"edit: no such text"})
			},
		},
		"commands that fail, in the words of each": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "exec_command", Text: "make a"}, {Kind: conversation.Result, Text: "Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nbroken"},
				{Kind: conversation.Call, Tool: "run_shell_command", Text: "make b"}, {Kind: conversation.Result, Tool: "run_shell_command", Text: "Output: broken\nExit Code: 1\nSignal: (none)"},
				{Kind: conversation.Call, Tool: "bash", Text: "make c"}, {Kind: conversation.Result, Tool: "bash", Text: "broken\n<exited with exit code 3>"},
				{Kind: conversation.Call, Tool: "bash", Text: "make d"}, {Kind: conversation.Result, Tool: "bash", Text: "broken", Failed: true},
				{Kind: conversation.Call, Tool: "bash", Text: "make e"}, {Kind: conversation.Result, Tool: "bash", Text: "well\n<exited with exit code 0>"},
			},
			func(s transcript.Summary) bool {
				failed := ""
				for _, c := range s.Commands {
					failed += fmt.Sprintf("%s %v ", c.Text, c.Failed)
				}
				return failed == "make a true make b true make c true make d true make e false " && len(s.Failures) == 4
			},
		},
		"a failure that was put right": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "bash", Text: "make"}, {Kind: conversation.Result, Tool: "bash", Text: "broken", Failed: true},
				{Kind: conversation.Call, Tool: "bash", Text: "make"}, {Kind: conversation.Result, Tool: "bash", Text: "well"},
			},
			func(s transcript.Summary) bool { return len(s.Failures) == 0 && len(s.Commands) == 2 },
		},
		"two calls at once": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "bash", Text: "first"}, {Kind: conversation.Call, Tool: "edit", Text: "path: a\nb: c"}, {Kind: conversation.Call, Tool: "bash", Text: "second"},
				{Kind: conversation.Result, Tool: "edit", Text: "ok"}, {Kind: conversation.Result, Tool: "bash", Text: "ok"}, {Kind: conversation.Result, Tool: "bash", Text: "bad", Failed: true},
			},
			func(s transcript.Summary) bool {
				return !s.Commands[0].Failed && s.Commands[1].Failed && slices.Equal(s.Files, []string{"a"})
			},
		},
		"a compaction, and what was said to each request": {
			[]conversation.Entry{
				{Kind: conversation.Prompt, Text: "one"}, {Kind: conversation.Answer, Text: "answer to one"}, {Kind: conversation.Summary, Text: "what was kept"},
				{Kind: conversation.Prompt, Text: "two"}, {Kind: conversation.Answer, Text: "on the way"}, {Kind: conversation.Answer, Text: "answer to two"},
			},
			func(s transcript.Summary) bool {
				return s.First.Text == "one" && len(s.Requests) == 2 && s.Requests[0].Answer == "answer to one" &&
					s.Answer == "answer to two" && s.Compacted == "what was kept"
			},
		},
	} {
		var g gathering
		for _, e := range test.entries {
			g.take(e)
		}
		if sum := transcript.Sum("/work/x", g.first, g.told, same); !test.want(sum) {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

// Of a long conversation what it began with and what it did last is known, and no
// more of it is held than that.
func TestTailOfLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout-2026-01-01T00-00-00-01a1fd75-85c4-76e1-a003-c19c0b51656b.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	line := func(format string, args ...any) {
		fmt.Fprintf(f, `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":`+format+"}\n", args...)
	}
	fmt.Fprintln(f, `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"01a1fd75-85c4-76e1-a003-c19c0b51656b","cwd":"/work/x"}}`)
	line(`{"type":"message","role":"user","content":[{"type":"input_text","text":"the first request"}]}`)
	long := strings.Repeat("x", 10_000)
	for i := range 2 * wholly / 10_000 {
		line(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"answer %d %s"}]}`, i, long)
	}
	line(`{"type":"message","role":"user","content":[{"type":"input_text","text":"the last request"}]}`)
	f.Close()
	clean := func(s string) string { return strings.ReplaceAll(s, "request", "REQUEST") }
	sum, err := Tail("codex", path, "01a1fd75-85c4-76e1-a003-c19c0b51656b", "/work/x", clean)
	if err != nil {
		t.Fatal(err)
	}
	if sum.First.Text != "the first REQUEST" || len(sum.Requests) != 1 || sum.Requests[0].Text != "the last REQUEST" || !strings.HasPrefix(sum.Answer, "answer ") {
		t.Errorf("%.300v", sum)
	}
}

// What is not there is told of as such; what gt cannot read is passed over.
func TestTailOfNothing(t *testing.T) {
	if _, err := Tail("codex", filepath.Join(t.TempDir(), "none"), "id", "/", same); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if sum, err := Tail("nobody", "/etc/passwd", "id", "/", same); err != nil || len(sum.Requests) > 0 {
		t.Error(sum, err)
	}
	if _, err := Tail("gemini", t.TempDir(), "id", "/", same); err == nil {
		t.Error("a folder is read")
	}
}
