package copilot

import (
	"fmt"
	"gt/internal/testenv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/client/account"
	"gt/lib/conversation"
)

// stores are stores that real versions of Copilot wrote. The newest is described in
// e2e/copilot_test.go; the others are a command and a resume.
func stores(t testing.TB) []string { return readertest.Stores(t, 4) }

// Sessions of all versions give the same entries, and each request counts once, although
// versions report it with the request, at the end of a run, or again at the end of each
// later run.
func TestVersions(t *testing.T) {
	n := func(n int64) conversation.Usage {
		return conversation.Usage{Input: 60 * n, CacheRead: 40 * n, Output: 10 * n}
	}
	const turn = "prompt spent thought answer call result spent answer"
	old := []readertest.Want{
		{Kinds: "prompt thought answer call result answer spent prompt answer spent", Prompts: "please run:echo hello|second one", Headless: true, Spent: n(3)},
	}
	for store, want := range map[string][]readertest.Want{
		"1.0.45": old,
		"1.0.66": old,
		"1.0.102-prompt": {
			{Kinds: turn + " prompt spent answer", Prompts: "please echo|second prompt", Headless: true, Spent: n(3)},
			{Kinds: "prompt spent answer call spent result spent answer", Prompts: "delegate this", Headless: true, Spent: n(3)},
		},
		"1.0.102-pane": {
			{Kinds: turn + " spent summary prompt spent answer", Prompts: "please echo|after the compaction", Title: "A fine name", Spent: n(4)},
			{Kinds: turn + " spent summary prompt spent answer prompt spent answer", Prompts: "please echo|after the compaction|asked in the fork", Title: "A fine name (fork)", Spent: n(1)},
		},
	} {
		all := readertest.ReadStore(t, Reader{}, filepath.Join("testdata", store))
		readertest.Check(t, store, all, readertest.Adds(t, Reader{}), want, func(i int, h readertest.Held) {
			if f := h.Metadata; f.ID != h.File.ID || f.Parent != "" || f.CWD != "/home/max/project" || f.Branch != "main" || f.Model != "gpt-5.4" ||
				!strings.HasPrefix(store, f.Version) || f.Version == "" {
				t.Errorf("%s, %d: the facts are %+v", store, i, f)
			}
		})
	}
}

// A file that a sync tool merged has each event twice, and tells and counts it once.
func TestRepeatedEvents(t *testing.T) {
	store := t.TempDir()
	testenv.NoError(t, os.CopyFS(store, os.DirFS(filepath.Join("testdata", "1.0.66"))))
	once := readertest.ReadStore(t, Reader{}, store)
	paths, err := filepath.Glob(filepath.Join(store, "session-state", "*", "events.jsonl"))
	testenv.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(path, append(data, data...), 0o600))
	}
	twice := readertest.ReadStore(t, Reader{}, store)
	for i := range once {
		// One who has read the file before it was merged is told nothing again.
		state := ""
		more, _ := readertest.ReadFrom(t, Reader{}, twice[i].File, once[i].File.Size, 100)
		_, err := Reader{}.Read(twice[i].File, conversation.Options{From: once[i].File.Size, ForSummary: true, State: &state}, func(e conversation.Entry) bool {
			more = append(more, e)
			return true
		})
		testenv.NoError(t, err)
		if len(more) > 0 {
			t.Errorf("told again: %+v", more)
		}
		if a, b := once[i].Kinds(), twice[i].Kinds(); a != b {
			t.Errorf("once %s\ntwice %s", a, b)
		}
	}
}

func TestForks(t *testing.T) {
	all := readertest.ReadStore(t, Reader{}, filepath.Join("testdata", "1.0.102-pane"))
	readertest.CheckFork(t, all[0], all[1])
}

func TestGoesOn(t *testing.T) {
	readertest.CheckParts(t, Reader{}, stores(t)...)
}

func TestHostile(t *testing.T) {
	readertest.CheckHostile(t, Reader{}, readertest.ReadStore(t, Reader{}, filepath.Join("testdata", "1.0.102-prompt"))[0])
}

func FuzzReader(f *testing.F) {
	var all []string
	for _, store := range stores(f) {
		paths, _ := filepath.Glob(filepath.Join(store, "session-state", "*", "events.jsonl"))
		all = append(all, paths...)
	}
	readertest.Fuzz(f, Reader{}, "session-state/id/events.jsonl", all...)
}

// Find finds every folder with events whose name is an id. A new name is a change.
func TestFind(t *testing.T) {
	home := t.TempDir()
	store := filepath.Join(home, ".copilot")
	const id = "ae464dc5-2fcb-48ea-bf43-d3d59e4aec97"
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(store, "session-state", name)
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write(id+"/events.jsonl", `{"type":"user.message","id":"1","timestamp":"2026-11-21T09:43:04.714Z","data":{"content":"fix the bug"}}`+"\n")
	write("without/workspace.yaml", "id: without\n")
	write(".session-operation-locks/events.jsonl", "{}\n")
	write("no id/events.jsonl", "{}\n")
	write("file.jsonl", "{}\n")
	testenv.NoError(t, os.MkdirAll(filepath.Join(store, "session-state", "folder", "events.jsonl"), 0o700))
	testenv.NoError(t, os.Mkdir(filepath.Join(store, "session-state", "fifo"), 0o700))
	testenv.NoError(t, syscall.Mkfifo(filepath.Join(store, "session-state", "fifo", "events.jsonl"), 0o600))
	for _, env := range []map[string]string{
		{"HOME": home}, {"HOME": home, "COPILOT_HOME": store + "/"}, {"COPILOT_HOME": store}, {"HOME": home, "COPILOT_HOME": "/nowhere"},
	} {
		if got := account.Stores("copilot", func(name string) string { return env[name] }); !slices.Equal(got, []string{store}) {
			t.Errorf("%v: the stores are %q", env, got)
		}
	}
	find := func() readertest.Held {
		t.Helper()
		all := readertest.ReadStore(t, Reader{}, store)
		if len(all) != 1 || all[0].File.ID != id || all[0].File.Client != "copilot" || all[0].File.Store != store {
			t.Fatalf("found are %+v", all)
		}
		return all[0]
	}
	before := find()
	workspace := write(id+"/workspace.yaml", "id: "+id+"\ncwd: /w\nbranch: b\nname: fix the bug\nuser_named: false\n")
	h := find()
	if h.Metadata.Title != "" || h.Metadata.CWD != "/w" || h.Metadata.Branch != "b" || h.Metadata.Prompt != "fix the bug" {
		t.Errorf("%+v", h.Metadata)
	}
	write(id+"/workspace.yaml", "id: "+id+"\nname: fix the\nuser_named: true\n")
	soon := time.Now().Add(time.Hour)
	testenv.NoError(t, os.Chtimes(workspace, soon, soon))
	if h := find(); h.Metadata.Title != "fix the" || h.File.Changed <= before.File.Changed {
		t.Errorf("it is called %q, and changed %d after it was %d", h.Metadata.Title, h.File.Changed, before.File.Changed)
	}
	write(id+"/workspace.yaml", "summary: |-\n  Two\n  lines\n")
	if h := find(); h.Metadata.Title != "Two lines" {
		t.Errorf("it is called %q", h.Metadata.Title)
	}
	// Gt's prompt is neither the request nor the title.
	const typed = "Handoff: the bug. Go on from the note."
	write(id+"/events.jsonl", `{"type":"user.message","id":"1","timestamp":"2026-11-21T09:43:04.714Z","data":{"content":"`+typed+`"}}`+"\n")
	for _, name := range []string{typed, typed[:20]} {
		write(id+"/workspace.yaml", "id: "+id+"\nname: '"+name+"'\nuser_named: false\n")
		if h := find(); h.Metadata.Title != "" || h.Metadata.Prompt != "" {
			t.Errorf("%+v", h.Metadata)
		}
	}
	if err := (Reader{}).Find(filepath.Join(home, "nowhere"), func(conversation.File) {}); err == nil {
		t.Error("a store that is not there is read without an error")
	}
}

// The forms in which Copilot writes a name, as seen, and broken ones.
func TestFlatYAML(t *testing.T) {
	for _, test := range []struct {
		text string
		want map[string]string
	}{
		{"id: a\ncwd: /w x/y\nuser_named: true\nsummary_count: 0\n", map[string]string{"id": "a", "cwd": "/w x/y", "user_named": "true", "summary_count": "0"}},
		{"name: |-\n  two lines\n  of a prompt: \"quoted\"\nuser_named: false\n", map[string]string{"name": "two lines\nof a prompt: \"quoted\"", "user_named": "false"}},
		{"name: |-\n  one\n\n  three\nid: a\n", map[string]string{"name": "one\n\nthree", "id": "a"}},
		{"name: >-\n  folded\n  text\n", map[string]string{"name": "folded text"}},
		{"name: '''single'' start'\n", map[string]string{"name": "'single' start"}},
		{"name: \"a\\n\\u00fc\\\"\"\n", map[string]string{"name": "a\nü\""}},
		{"name: 'null'\n", map[string]string{"name": "null"}},
		{"name: null\nbranch: ~\nid:\n", map[string]string{"name": "", "branch": "", "id": ""}},
		{"name: fix: the #1 bug\n", map[string]string{"name": "fix: the #1 bug"}},
		{"name: a\r\nid: b\r\n", map[string]string{"name": "a", "id": "b"}},
		{"list:\n- a: b\n  c: d\nmap:\n  e: f\n# g: h\n", map[string]string{"list": "", "map": ""}},
		{"name: 'torn", map[string]string{"name": "'torn"}},
		{"name: \"torn", map[string]string{"name": "\"torn"}},
		{"name: |", map[string]string{"name": ""}},
		{"", map[string]string{}},
		{":\n: x\nx\ny:z\n'", map[string]string{}},
	} {
		if got := flatYAML(test.text); !maps.Equal(got, test.want) {
			t.Errorf("%q is %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzFlatYAML(f *testing.F) {
	f.Add("name: |-\n  a\nid: 'b'\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		for key := range flatYAML(text) {
			if !strings.Contains(text, key+":") {
				t.Errorf("%q has no %q", text, key)
			}
		}
	})
}

// Events that the fixtures do not have.
func TestEvents(t *testing.T) {
	for _, test := range []struct{ kind, data, want string }{
		{"user.message", `{"content":"hello","transformedContent":"<x>hello"}`, "prompt : hello"},
		{"user.message", `{"content":"hello","source":"user"}`, "prompt : hello"},
		{"user.message", `{"content":"hello","source":"command-plan"}`, "prompt : hello"},
		{"user.message", `{"content":"hello","source":"skill-pdf"}`, ""},
		{"user.message", `{"content":"hello","source":"agent-a"}`, ""},
		{"user.message", `{"content":"hello","source":"system"}`, ""},
		{"user.message", `{"content":"hello","source":"immediate-prompt"}`, "prompt : hello"},
		{"user.message", `{"content":"hello","source":"of a later version"}`, "prompt : hello"},
		{"user.message", `{"content":"hello","source":"thinking-exhausted-continuation"}`, ""},
		{"user.message", `{"content":"hello","source":"instruction-discovery"}`, ""},
		{"user.message", `{"content":"go on","isAutopilotContinuation":true}`, ""},
		{"user.message", `{"content":"hello","parentToolCallId":"c"}`, ""},
		{"user.message", `{"content":""}`, ""},
		{"human_response.recorded", `{"response":{"responseKind":"ask_user","content":{"color":"red"}}}`, "reply : red"},
		{"user_input.completed", `{"requestId":"r","answer":"blue"}`, "reply : blue"},
		{"tool.user_requested", `{"toolCallId":"c","toolName":"bash","arguments":{"command":"ls"}}`, "call bash: ls"},
		{"tool.execution_complete", `{"success":false,"error":{"message":"no","code":"denied"}}`, "result : no"},
		{"assistant.message", `{"content":"","toolRequests":[{"name":"view","arguments":{"path":"/a","view_range":[1,2]}}]}`, "call view: path: /a\nview_range: [1,2]"},
		{"assistant.message", `{"content":"text","parentToolCallId":"c"}`, ""},
		{"session.compaction_complete", `{"success":true,"summaryContent":"all of it","compactionTokensUsed":{"input":3,"output":1}}`, "summary : all of it"},
		{"session.compaction_complete", `{"success":false}`, ""},
		{"session.usage_record", `{"usage":{"model":"m","inputTokens":0,"outputTokens":0}}`, ""},
		{"assistant.reasoning", `{"content":"seen on the screen"}`, ""},
		{"tomorrow", `{"content":"?"}`, ""},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		line := fmt.Sprintf(`{"type":%q,"data":%s,"id":"1","timestamp":"2026-11-21T09:43:04.714Z","parentId":null}`, test.kind, test.data)
		testenv.NoError(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
		all, _ := readertest.ReadFrom(t, Reader{}, conversation.File{Path: path}, 0, -1)
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprintf("%s %s: %s", e.Kind, e.Tool, e.Text))
			if e.ID != "1" {
				t.Errorf("%s: %+v", line, e)
			}
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%s is %q, want %q", line, got, test.want)
		}
	}
}
