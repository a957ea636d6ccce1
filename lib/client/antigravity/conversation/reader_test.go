package antigravity

import (
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/readertest"
	"gt/lib/conversation"
)

const store = "testdata/1.1"

// S0-17: conversations with tools, a subagent, a compaction, and only a short transcript.
func TestVersions(t *testing.T) {
	all := readertest.ReadStore(t, &Reader{}, store)
	want := []struct{ kinds, prompts, cwd, model string }{
		{"prompt thought call result answer call result call result call result answer prompt call result answer", "port the lamp\nto the new socket|and paint it", "/home/max/project", "Gemini 3.5 Flash (High)"},
		{"prompt answer", "Test the socket.", "", ""},
		{"prompt call result summary answer", "run echo here", "/home/max/other", "Claude Opus 4.6 (Thinking)"},
	}
	if len(all) != len(want) {
		t.Fatalf("%d conversations", len(all))
	}
	for i, h := range all {
		m := h.Metadata
		if h.Kinds() != want[i].kinds {
			t.Errorf("%d: the conversation is\n%s, want\n%s", i, h.Kinds(), want[i].kinds)
		}
		if got := strings.Join(h.Texts(conversation.Prompt), "|"); got != want[i].prompts {
			t.Errorf("%d: the prompts are %q", i, got)
		}
		if m.ID != h.File.ID || m.CWD != want[i].cwd || m.Model != want[i].model || m.Prompt == "" || m.Started.IsZero() || !m.Last.After(m.Started) {
			t.Errorf("%d: the facts are %+v", i, m)
		}
	}
	if all[1].Metadata.Parent != all[0].Metadata.ID || all[0].Metadata.Parent != "" || all[2].Metadata.Parent != "" {
		t.Errorf("the subagent's session is %q", all[1].Metadata.Parent)
	}
}

// Calls and results are as the client has them, whichever transcript is read.
func TestTools(t *testing.T) {
	var calls, failed []string
	for _, h := range readertest.ReadStore(t, &Reader{}, store) {
		for _, e := range h.Entries {
			switch {
			case e.Kind == conversation.Call:
				calls = append(calls, e.Tool+" ["+e.Target+"] "+e.Text)
			case e.Failed:
				failed = append(failed, e.Text)
			}
		}
	}
	want := []string{
		"run_command [go test ./lamp] CommandLine: go test ./lamp\nCwd: /home/max/project\nWaitMsBeforeAsync: 5000",
		"write_to_file [/home/max/project/lamp/socket.go] CodeContent: package lamp // \"socket\" <b>\n\nDescription: the socket\nIsArtifact: false\nOverwrite: true\nTargetFile: /home/max/project/lamp/socket.go",
		"list_dir [] /home/max/nowhere",
		`invoke_subagent [] [{"Role":"Tester","TypeName":"research","Prompt":"Test the socket."}]`,
		"view_file [] /home/max/project/none",
		"run_command [echo \"a b\"] CommandLine: echo \"a b\"\nCwd: /home/max/other\nWaitMsBeforeAsync: 5000",
	}
	if got := strings.Join(calls, "|"); got != strings.Join(want, "|") {
		t.Errorf("the calls are\n%s", strings.Join(calls, "\n"))
	}
	if len(failed) != 3 || !strings.Contains(failed[0], "exit code: 1") || !strings.Contains(failed[1], "does not exist") || !strings.Contains(failed[2], "no such file") {
		t.Errorf("failed are %q", failed)
	}
}

// Only what the person typed is their prompt: not what a hook injected, and not what the
// client adds.
func TestPrompts(t *testing.T) {
	dir := t.TempDir()
	line := func(source, content string) string {
		return `{"step_index":0,"source":"` + source + `","type":"USER_INPUT","status":"DONE","created_at":"2026-09-14T10:00:00Z","content":"` + content + `"}` + "\n"
	}
	readertest.Put(t, filepath.Join(dir, "brain", "a", generated, "logs", full),
		line("USER_IMPLICIT", "injected")+line("USER_EXPLICIT", "plain\\n<USER_SETTINGS_CHANGE>\\nThe user changed setting `Model Selection` from A. B to Gemini 3.5 Flash.\\n</USER_SETTINGS_CHANGE>")+
			line("USER_EXPLICIT", "<USER_REQUEST>\\nwith </USER_REQUEST> in it")+line("USER_EXPLICIT", "<USER_REQUEST></USER_REQUEST>"))
	all := readertest.ReadStore(t, &Reader{}, dir)
	if got := strings.Join(all[0].Texts(conversation.Prompt), "|"); got != "plain|with" || all[0].Metadata.Prompt != "plain" || all[0].Metadata.Model != "Gemini 3.5 Flash" {
		t.Errorf("%q, %+v", got, all[0].Metadata)
	}
}

// A list of folders is read again once it has changed, and no folder of it is taken that is
// no path.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	readertest.Put(t, filepath.Join(dir, "brain", "a", generated, "logs", full), `{"type":"PLANNER_RESPONSE","source":"MODEL","created_at":"2026-09-14T10:00:00Z","content":"x"}`+"\n")
	r := &Reader{}
	for _, want := range []struct{ history, cache, cwd string }{
		{"", "", ""},
		{`{"workspace":"relative","conversationId":"a"}` + "\n", "{", ""},
		{"", `{"/home/max/a":"a"}`, "/home/max/a"},
		{`{"workspace":"/home/max/b","conversationId":"a"}` + "\n{\n", `{"/home/max/a":"a","x":7}`, "/home/max/b"},
	} {
		readertest.Put(t, filepath.Join(dir, "history.jsonl"), want.history)
		readertest.Put(t, filepath.Join(dir, "cache", "last_conversations.json"), want.cache)
		if all := readertest.ReadStore(t, r, dir); all[0].Metadata.CWD != want.cwd {
			t.Errorf("%+v: it is in %q", want, all[0].Metadata.CWD)
		}
	}
}

func TestOddities(t *testing.T) {
	for _, h := range readertest.ReadStore(t, &Reader{}, store) {
		readertest.CheckGoesOn(t, &Reader{}, h)
		readertest.CheckSkips(t, &Reader{}, h)
	}
}

func TestHostile(t *testing.T) {
	for _, h := range readertest.ReadStore(t, &Reader{}, store) {
		readertest.CheckHostile(t, &Reader{}, h)
	}
}

func FuzzRead(f *testing.F) {
	all, err := filepath.Glob(filepath.Join(store, "brain", "*", generated, "logs", "*.jsonl"))
	if err != nil || len(all) != 3 {
		f.Fatal(all, err)
	}
	readertest.Fuzz(f, &Reader{}, filepath.Join("brain", "id", generated, "logs", short), all...)
}
