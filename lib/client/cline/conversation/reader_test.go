package cline

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/readertest"
	"gt/lib/client/account"
	"gt/lib/conversation"
)

// The fixtures are a store that Cline 3.0.65 wrote, with short system prompts.
var store = filepath.Join("testdata", "3.0.65")

// S0-17: conversations headless, in front of a person, and of a subagent.
func TestVersions(t *testing.T) {
	n := func(n int64) conversation.Usage {
		return conversation.Usage{Input: 60 * n, CacheRead: 40 * n, Output: 10 * n}
	}
	const (
		turn = "prompt answer spent"
		call = "prompt answer call spent result answer spent"
	)
	want := []readertest.Want{
		{Kinds: call, Prompts: "run: echo E2E-OUTPUT", Headless: true, Spent: n(2)},
		{Kinds: turn + " " + turn + " " + turn + " prompt answer call spent", Prompts: "hello pane|second in the pane|after resume|DELEGATE please", Spent: n(4)},
		{Kinds: call, Prompts: "DELEGATE please", Headless: true, Spent: n(2)},
		{Kinds: turn, Prompts: "You are the child: say hi", Spent: n(1)},
	}
	all := spoken(readertest.ReadStore(t, Reader{}, store))
	readertest.Check(t, store, all, readertest.SpentBy, want, func(i int, h readertest.Held) {
		f := h.Metadata
		if f.ID != h.File.ID || f.CWD != "/home/max/project" || f.Model != "e2e-model" || f.Version != "3.0.65" {
			t.Errorf("%d: the facts are %+v", i, f)
		}
	})
	if len(all) == 4 && all[3].Metadata.Parent != all[2].Metadata.ID {
		t.Errorf("the subagent is %+v", all[3].Metadata)
	}
	if got := all[0].Texts(conversation.Result); len(got) != 1 || got[0] != "E2E-OUTPUT\n" {
		t.Errorf("the results are %q", got)
	}
}

// spoken leaves out conversations in which nobody has spoken.
func spoken(all []readertest.Held) (spoken []readertest.Held) {
	for _, h := range all {
		if len(h.Entries) > 0 {
			spoken = append(spoken, h)
		}
	}
	return spoken
}

// document is a file with these messages.
func document(messages ...string) string {
	return `{"version":1,"updated_at":"2026-01-17T01:00:00.000Z","sessionId":"id","messages":[` + strings.Join(messages, ",\n") + "]}\n"
}

// What Cline says in the person's name is not theirs. A fork is known by its state, and a
// name by its difference from the prompt.
func TestOthersWords(t *testing.T) {
	dir := t.TempDir()
	put := func(role, text, more string) string {
		return fmt.Sprintf(`{"id":%q,"role":%q,"content":[{"type":"text","text":%q}],"ts":1795720956744%s}`, text, role, text, more)
	}
	readertest.Put(t, filepath.Join(dir, "100_a", "100_a.messages.json"), document(
		put("user", "<user_input mode=\"act\">one\rpasted</user_input>", ""),
		put("user", "<hook_context>from a hook</hook_context>", `,"metadata":{"displayRole":"system"}`),
		put("assistant", "You have hit your limit", `,"metadata":{"displayRole":"error"}`),
		`{"id":"r","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"query":"x","result":"out","error":"Command failed","success":false}]}]}`,
		`{"id":"s","role":"user","content":"<user_input mode=\"plan\">two</user_input>"}`,
	))
	readertest.Put(t, filepath.Join(dir, "100_a", "100_a.json"),
		`{"cwd":"/x","interactive":true,"prompt":"one","metadata":{"title":"A fine name","fork":{"forkedFromSessionId":"90_b"}}}`)
	all := readertest.ReadAll(t, Reader{}, dir)
	if len(all) != 1 || strings.Join(all[0].Texts(conversation.Prompt), "|") != "one\npasted|two" {
		t.Fatalf("it is %+v", all)
	}
	if m := all[0].Metadata; m.ForkOf != "90_b" || m.Title != "A fine name" || m.CWD != "/x" || m.Headless {
		t.Errorf("the facts are %+v", m)
	}
	for _, e := range all[0].Entries {
		if e.Kind == conversation.Answer && !e.Failed || e.Kind == conversation.Result && (!e.Failed || e.Text != "out\nCommand failed" || e.CallID != "c") {
			t.Errorf("it has %+v", e)
		}
	}
}

// A reader goes on after the messages that it has, when Cline has written the file anew.
func TestGrows(t *testing.T) {
	m := func(text string) string {
		return fmt.Sprintf(`{"id":%q,"role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">%s</user_input>"}],"ts":1795720956744}`, text, text)
	}
	path := filepath.Join(t.TempDir(), "100_a"+messagesEnd)
	f := conversation.File{Path: path}
	readertest.Put(t, path, document(m("one"), m("two")))
	all, next := readertest.ReadFrom(t, Reader{}, f, 0, 9)
	if len(all) != 2 {
		t.Fatalf("it has %+v", all)
	}
	if more, again := readertest.ReadFrom(t, Reader{}, f, next, 9); len(more) > 0 || again != next {
		t.Errorf("there is more: %+v, to %d after %d", more, again, next)
	}
	readertest.Put(t, path, document(m("one"), m("two"), m("three")))
	if more, _ := readertest.ReadFrom(t, Reader{}, f, next, 9); len(more) != 1 || more[0].Text != "three" {
		t.Errorf("new are %+v", more)
	}
}

func TestOddities(t *testing.T) { readertest.CheckParts(t, Reader{}, store) }

// The checks copy the messages and not the session's state, so the facts are those of the
// messages.
func TestHostile(t *testing.T) {
	h := spoken(readertest.ReadStore(t, Reader{}, store))[0]
	readertest.CheckHostile(t, Reader{}, readertest.CopyFileOnly(t, Reader{}, h, "x"+messagesEnd))
}

func FuzzRead(f *testing.F) {
	all, err := filepath.Glob(filepath.Join(store, "*", "*"+messagesEnd))
	if err != nil || len(all) < 4 {
		f.Fatal(all, err)
	}
	readertest.Fuzz(f, Reader{}, "id/id"+messagesEnd, all...)
}

// The store is the account, with which gt-seance resumes a session, wherever the
// environment has the sessions.
func TestStores(t *testing.T) {
	home := t.TempDir()
	own := filepath.Join(home, ".cline")
	data := filepath.Join(own, "data")
	testenv.NoError(t, os.CopyFS(filepath.Join(data, "sessions"), os.DirFS(store)))
	for name, of := range map[string]struct{ dir, want string }{
		"": {"", own}, "CLINE_DIR": {own, own}, "CLINE_DATA_DIR": {data, data},
		"CLINE_SESSION_DATA_DIR": {filepath.Join(data, "sessions"), filepath.Join(data, "sessions")},
	} {
		env := map[string]string{"HOME": home, name: of.dir}
		got := account.Stores("cline", func(key string) string { return env[key] })
		if !slices.Equal(got, []string{of.want}) {
			t.Errorf("%s: the stores are %q, want %q", name, got, of.want)
		}
		n := 0
		if err := (Reader{}).Find(got[0], func(conversation.File) { n++ }); err != nil || n == 0 {
			t.Errorf("%s: %d conversations are found: %v", name, n, err)
		}
	}
}
