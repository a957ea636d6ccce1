package summary

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gt/lib/conversation"
)

func keepText(s string) string { return s }

// The to-do list, the files and the failures are read in every client's form.
func TestGathering(t *testing.T) {
	for name, test := range map[string]struct {
		entries []conversation.Entry
		want    func(Summary) bool
	}{
		"Codex's plan": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "update_plan", Text: "explanation: why\nplan: [{\"step\":\"one\",\"status\":\"completed\"},{\"step\":\"two\",\"status\":\"in_progress\"}]"}},
			func(s Summary) bool {
				return s.Done == 1 && slices.Equal(s.Todos, []Todo{{Text: "two", Status: "in_progress"}})
			},
		},
		"Gemini's list, the last one": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "write_todos", Text: `[{"description":"old","status":"pending"}]`},
				{Kind: conversation.Call, Tool: "write_todos", Text: `[{"description":"new","status":"pending"},{"description":"gone","status":"cancelled"}]`},
			},
			func(s Summary) bool {
				return slices.Equal(s.Todos, []Todo{{Text: "new", Status: "pending"}})
			},
		},
		"Copilot's list": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "update_todo", Text: "- [x] one\n- [ ] two\n"}},
			func(s Summary) bool {
				return s.Done == 1 && slices.Equal(s.Todos, []Todo{{Text: "two", Status: "pending"}})
			},
		},
		"a patch": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "apply_patch", Text: "*** Begin Patch\n*** Update File: a.go\n+x\n*** Add File: b c.go\n*** End Patch"}, {Kind: conversation.Result, Tool: "apply_patch", Text: "ok"}},
			func(s Summary) bool { return slices.Equal(s.Files, []string{"b c.go", "a.go"}) },
		},
		"files, in the folder and outside": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "write_file", Text: "file_path: /work/x/a.go\ncontent: file_path: no"}, {Kind: conversation.Result, Tool: "write_file", Text: "ok"},
				{Kind: conversation.Call, Tool: "edit", Text: "filePath: /elsewhere/b.go\noldString: x"}, {Kind: conversation.Result, Tool: "edit", Text: "ok"},
			},
			func(s Summary) bool { return slices.Equal(s.Files, []string{"/elsewhere/b.go", "a.go"}) },
		},
		"asking for a hand-over is no request, and its answer no answer": {
			[]conversation.Entry{
				{Kind: conversation.Prompt, Text: "Remove the sleep."}, {Kind: conversation.Answer, Text: "Removed."},
				{Kind: conversation.Prompt, Text: "/handoff"}, {Kind: conversation.Answer, Text: "I hand over now."},
			},
			func(s Summary) bool {
				return len(s.Requests) == 1 && s.Requests[0].Text == "Remove the sleep." && s.Answer == "Removed."
			},
		},
		"what was added to it is, and so is what follows": {
			[]conversation.Entry{
				{Kind: conversation.Prompt, Text: "/handoff"}, {Kind: conversation.Answer, Text: "I cannot."},
				{Kind: conversation.Prompt, Text: "/handoff mind the lock"}, {Kind: conversation.Answer, Text: "It is held."},
			},
			func(s Summary) bool {
				return len(s.Requests) == 1 && s.Requests[0].Text == "mind the lock" && s.Answer == "It is held."
			},
		},
		"what has no result has not happened": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "edit", Text: "filePath: /work/x/a.go\noldString: x"}, {Kind: conversation.Call, Tool: "bash", Text: "make"},
			},
			func(s Summary) bool {
				return len(s.Files) == 0 && len(s.Commands) == 0 && slices.Equal(s.Unfinished, []string{"a change of a.go", "`make`"})
			},
		},
		"an edit that failed": {
			[]conversation.Entry{{Kind: conversation.Call, Tool: "edit", Text: "path: a.go\nx: y"}, {Kind: conversation.Result, Tool: "edit", Text: "no such text", Failed: true}},
			func(s Summary) bool {
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
			func(s Summary) bool {
				failed := ""
				for _, c := range s.Commands {
					failed += fmt.Sprintf("%s %v ", c.Text, c.Failed)
				}
				return failed == "make a true make b true make c true make d true make e false " &&
					slices.Equal(s.Failures, []string{"make a: Process exited with code 2 Output: broken", "make b: broken", "make c: broken", "make d: broken"})
			},
		},
		"commands that fail, in the words of clients that number their calls": {
			[]conversation.Entry{
				{Kind: conversation.Call, CallID: "1", Tool: "run_shell_command", Text: "make a"}, {Kind: conversation.Result, CallID: "1", Text: "Command: make a\nDirectory: (root)\nOutput: broken\nError: (none)\nExit Code: 1\nSignal: 0\nProcess Group PGID: 7"},
				{Kind: conversation.Call, CallID: "2", Tool: "bash", Text: "make b"}, {Kind: conversation.Result, CallID: "2", Text: "broken\n<shellId: 0 completed with exit code 3>"},
				{Kind: conversation.Call, CallID: "3", Tool: "Bash", Text: "make c"}, {Kind: conversation.Result, CallID: "3", Text: "it once said:\nexit code: 3"},
			},
			func(s Summary) bool {
				return slices.Equal(s.Failures, []string{"make a: broken", "make b: broken"})
			},
		},
		"a request that has no answer yet": {
			[]conversation.Entry{{Kind: conversation.Prompt, Text: "one"}, {Kind: conversation.Answer, Text: "two?"}, {Kind: conversation.Prompt, Text: "yes"}, {Kind: conversation.Call, Tool: "bash", Text: "make"}},
			func(s Summary) bool { return s.Answer == "two?" && s.AnswerIsEarlier },
		},
		"a request that has one": {
			[]conversation.Entry{{Kind: conversation.Prompt, Text: "one"}, {Kind: conversation.Answer, Text: "two?"}, {Kind: conversation.Prompt, Text: "yes"}, {Kind: conversation.Answer, Text: "I make it"}, {Kind: conversation.Call, Tool: "bash", Text: "make"}},
			func(s Summary) bool { return s.Answer == "I make it" && !s.AnswerIsEarlier },
		},
		"a failure that was put right": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "bash", Text: "make"}, {Kind: conversation.Result, Tool: "bash", Text: "broken", Failed: true},
				{Kind: conversation.Call, Tool: "bash", Text: "make"}, {Kind: conversation.Result, Tool: "bash", Text: "well"},
			},
			func(s Summary) bool { return len(s.Failures) == 0 && len(s.Commands) == 2 },
		},
		"two calls at once": {
			[]conversation.Entry{
				{Kind: conversation.Call, Tool: "bash", Text: "first"}, {Kind: conversation.Call, Tool: "edit", Text: "path: a\nb: c"}, {Kind: conversation.Call, Tool: "bash", Text: "second"},
				{Kind: conversation.Result, Tool: "edit", Text: "ok"}, {Kind: conversation.Result, Tool: "bash", Text: "ok"}, {Kind: conversation.Result, Tool: "bash", Text: "bad", Failed: true},
			},
			func(s Summary) bool {
				return !s.Commands[0].Failed && s.Commands[1].Failed && slices.Equal(s.Files, []string{"a"})
			},
		},
		"a compaction, and what was said to each request": {
			[]conversation.Entry{
				{Kind: conversation.Prompt, Text: "one"}, {Kind: conversation.Answer, Text: "answer to one"}, {Kind: conversation.Summary, Text: "what was kept"},
				{Kind: conversation.Prompt, Text: "two"}, {Kind: conversation.Answer, Text: "on the way"}, {Kind: conversation.Answer, Text: "answer to two"},
			},
			func(s Summary) bool {
				return s.First.Text == "one" && len(s.Requests) == 2 && s.Requests[0].Answer == "answer to one" &&
					s.Answer == "answer to two" && s.Compacted == "what was kept"
			},
		},
	} {
		var f Fold
		f.SetClean(keepText)
		f.BeganIn("/work/x")
		for _, e := range test.entries {
			f.Take(e)
		}
		if sum := Summarize(&f); !test.want(sum) {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

// key must not change, because saved files have it.
func TestKey(t *testing.T) {
	for _, text := range []string{"a", "go test ./...", "Grüße\x00\xff", strings.Repeat("x", 1000)} {
		sum := fnv.New64a()
		fmt.Fprint(sum, text)
		if want := strconv.FormatUint(sum.Sum64(), 36); hashKey(text) != want {
			t.Errorf("%q is %s, not %s", text, hashKey(text), want)
		}
	}
	if hashKey("") != "" {
		t.Error("nothing has a key")
	}
}

// sections finds the sections in one pass.
func TestSections(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	for in, want := range map[string]string{
		"1. Asked:\na\n2. Files and Code Sections:\nb\n3. Errors:\nc\n4. Next:\nd": "1. Asked:\na\n3. Errors:\nc\n4. Next:\nd",
		"front\n1. Asked:\na\r\n\n\n2. Next:\nd\n":                                 "front\n1. Asked:\na\n2. Next:\nd",
		"1. Asked:\na\n2. Next:\nd\n":                                              "1. Asked:\na\n2. Next:\nd\n", // too few
		"\n\n## 1. Asked:\n" + long + "\n**2. Done:**\nb\n3. Next:":                "## 1. Asked:\n" + Cut(long, sectionLength-len("## 1. Asked:\n")) + "\n**2. Done:**\nb\n3. Next:",
		"": "",
	} {
		got := cutSections(in)
		if strings.HasPrefix(in, "\n\n##") { // Cut's own tests check where it cuts
			got, want = got[:20]+got[strings.Index(got, "\n**"):], want[:20]+want[strings.Index(want, "\n**"):]
		}
		if got != want {
			t.Errorf("%.60q: %q\nnot %q", in, got, want)
		}
	}
}

// An answer tells whether the agent called a tool for it, also where the turn goes on after the
// fold was saved.
func TestDone(t *testing.T) {
	f := &Fold{}
	f.SetClean(keepText)
	for _, e := range []conversation.Entry{
		{Kind: conversation.Prompt, Text: "run it"},
		{Kind: conversation.Call, Tool: "Bash", Text: "command: make"}, {Kind: conversation.Result, Tool: "Bash", Text: "ok"},
		{Kind: conversation.Answer, Text: "it ran"},
		{Kind: conversation.Prompt, Text: "the port is 7443"}, {Kind: conversation.Answer, Text: "noted"},
		{Kind: conversation.Prompt, Text: "thanks"},
	} {
		f.Take(e)
	}
	if c := f.Conclusions; len(c) != 2 || !c[0].Done || c[1].Done {
		t.Errorf("%+v", f.Conclusions)
	}
}
