package qwen

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
	gemini "gt/lib/client/gemini/conversation"
	"gt/lib/conversation"
)

// The fixtures are stores that real versions of Qwen Code wrote, see
// e2e/qwen_test.go.
func storeOf(name string) string { return filepath.Join("testdata", name) }

// S0-17: conversations of two versions, headless and in front of a person.
func TestVersions(t *testing.T) {
	n := func(n, tokens int64) conversation.Usage {
		return conversation.Usage{Input: tokens - 40*n, CacheRead: 40 * n, Output: 10 * n}
	}
	const (
		turn = "prompt spent answer call result spent answer"
		more = " prompt spent answer"
	)
	pane := []readertest.Want{
		{Kinds: turn + more + " summary" + more, Prompts: "please echo|this is much|after the compaction", Title: "A fine name", Spent: n(4, 600_300)},
	}
	for store, want := range map[string][]readertest.Want{
		"0.15.10-headless": {
			{Kinds: turn + more, Prompts: "please echo|second prompt", Headless: true, Spent: n(3, 300)},
			{Kinds: turn, Prompts: "delegate this", Headless: true, Spent: n(2, 200)},
		},
		"0.15.10-pane": pane,
		"0.24.4-headless": {
			{Kinds: turn + more, Prompts: "please echo|second prompt", Headless: true, Spent: n(3, 300)},
			{Kinds: turn + more + more, Prompts: "please echo|second prompt|asked in the fork", Headless: true, Spent: n(4, 400)},
			{Kinds: turn + " spent answer", Prompts: "delegate this", Headless: true, Spent: n(3, 300)},
			{Kinds: strings.TrimSpace(more), Prompts: "You are the child.", Spent: n(1, 100)},
		},
		"0.24.4-pane": pane,
	} {
		readertest.Check(t, store, readertest.ReadStore(t, Reader{}, storeOf(store)), readertest.SpentBy, want, func(i int, h readertest.Held) {
			for _, summary := range h.Texts(conversation.Summary) {
				if !strings.HasPrefix(summary, "<state_snapshot>SUMMARY-CANARY</state_snapshot>") {
					t.Errorf("%s, %d: the summary is %q", store, i, summary)
				}
			}
			version, _, _ := strings.Cut(store, "-")
			if f := h.Metadata; f.ID != h.File.ID || f.CWD != "/home/max/project" || f.Branch != "main" || f.Model != "e2e-model" || f.Version != version {
				t.Errorf("%s, %d: the facts are %+v", store, i, f)
			}
			for _, e := range h.Entries {
				if (e.Kind == conversation.TokenUsage || e.Kind == conversation.Answer) && e.Model != "e2e-model" {
					t.Errorf("%s, %d: of no model is %+v", store, i, e)
				}
			}
		})
	}
}

func TestFamily(t *testing.T) {
	all := readertest.ReadStore(t, Reader{}, storeOf("0.24.4-headless"))
	readertest.CheckFamily(t, all[0], all[1], all[2], all[3])
}

func record(id, parent, kind, more string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"a1","timestamp":"2026-01-17T01:00:00Z","type":%q,"cwd":"/x","version":"1"%s}`, id, parent, kind, more)
}

func user(id, parent, text, more string) string {
	return record(id, parent, "user", fmt.Sprintf(`%s,"message":{"role":"user","parts":[{"text":%q}]}`, more, text))
}

func says(id, parent, text string) string {
	return record(id, parent, "assistant", fmt.Sprintf(`,"message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":%q}]},`+
		`"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":6}`, text))
}

func TestRecords(t *testing.T) {
	rewind := func(id, parent string) string { return record(id, parent, "system", `,"subtype":"rewind"`) }
	one := []string{user("u1", "null", "one", ""), says("a1", "u1", "1"), user("u2", "a1", "two", ""), says("a2", "u2", "2")}
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"thoughts": {one[:2], "prompt one, spent, thought hm, answer 1"},
		"a rewind": {
			append(slices.Clone(one), rewind("w", "a1"), user("u3", "w", "three", "")),
			"prompt one, spent, thought hm, answer 1, spent, prompt three"},
		"a rewind to the beginning": {
			append(slices.Clone(one), rewind("w", "null"), user("u3", "w", "three", "")),
			"spent, spent, prompt three"},
		"a rewind to what nobody knows": {
			append(slices.Clone(one[:2]), rewind("w", "?"), user("u3", "w", "three", "")),
			"prompt one, spent, thought hm, answer 1, prompt three"},
		"two rewinds": {
			append(slices.Clone(one), rewind("w", "a1"), user("u3", "w", "three", ""), rewind("v", "a1"), user("u4", "v", "four", "")),
			"prompt one, spent, thought hm, answer 1, spent, prompt four"},
		"a rewind at the end": {
			append(slices.Clone(one), rewind("w", "a1")), "prompt one, spent, thought hm, answer 1, spent"},
		"two processes in one session": { // the last one to write wins
			append(slices.Clone(one), user("u3", "a1", "three", ""), says("a3", "u3", "3"), record("x", "a2", "system", `,"subtype":"session_artifact_event"`)),
			"prompt one, spent, thought hm, answer 1, spent, prompt three, spent, thought hm, answer 3"},
		"who speaks in the person's name": {
			[]string{user("u1", "null", "clock", `,"subtype":"cron"`), user("u2", "u1", "done", `,"subtype":"notification","provenance":"system"`),
				user("u3", "u2", "goal", `,"provenance":"goal_runtime"`), user("u4", "u3", "meanwhile", `,"subtype":"mid_turn_user_message"`),
				user("u5", "u4", "long form", `,"systemPayload":{"displayText":"typed"}`), user("u6", "u5", "hook's", `,"systemPayload":{"displayText":"","hookContext":"x"}`),
				user("u7", "u6", "<system-reminder>x</system-reminder>asked", "")},
			"reply meanwhile, prompt typed, prompt asked"},
		"what is no message": {
			[]string{record("s", "null", "system", `,"subtype":"ui_telemetry"`), `{"type":"assistant","message":[1],"usageMetadata":"x"}`, user("u1", "s", "one", "")},
			"prompt one"},
	} {
		store := t.TempDir()
		readertest.Put(t, filepath.Join(store, "projects", "-x", "chats", "a1.jsonl"), strings.Join(test.lines, "\n")+"\n")
		all := readertest.ReadStore(t, Reader{}, store)
		if len(all) != 1 {
			t.Errorf("%s: %d conversations", name, len(all))
			continue
		}
		var got []string
		for _, e := range all[0].Entries {
			got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.Text))
			if e.Kind == conversation.TokenUsage && e.Usage != (conversation.Usage{Input: 3, Output: 3}) {
				t.Errorf("%s: %+v", name, e.Usage)
			}
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, strings.Join(got, ", "), test.want)
		}
	}
}

// The first versions wrote Gemini CLI's format. Archived conversations are found, too.
// Files whose names are not ids are not.
func TestPlaces(t *testing.T) {
	store := t.TempDir()
	readertest.Put(t, filepath.Join(store, "tmp", gemini.HashPath("/x"), "chats", "session-2025-a.json"),
		`{"sessionId":"old","messages":[{"id":"1","type":"user","content":"hello"},{"id":"2","type":"qwen","content":"you","tokens":{"input":1}}]}`)
	for name, id := range map[string]string{"chats/new": "new", "chats/archive/away": "away", "chats/ no id": "x", "subagents/new/agent-a": "agent-a", "subagents/ /agent-b": "agent-b"} {
		readertest.Put(t, filepath.Join(store, "projects", "-x", name+".jsonl"), user("u"+id, "null", "I am "+id, "")+"\n")
	}
	readertest.Put(t, filepath.Join(store, "projects", "-x", "chats", "new.runtime.json"), "{}")
	var got []string
	for _, h := range readertest.ReadAll(t, Reader{}, store) {
		got = append(got, fmt.Sprintf("%s of %q: %s", h.Metadata.ID, h.Metadata.Parent, h.Kinds()))
	}
	slices.Sort(got)
	if want := []string{`agent-a of "new": prompt`, `away of "": prompt`, `new of "": prompt`, `old of "": prompt spent answer`}; !slices.Equal(got, want) {
		t.Errorf("found are %q, want %q", got, want)
	}
	home := filepath.Join(t.TempDir(), "home")
	testenv.NoError(t, os.MkdirAll(filepath.Join(home, ".qwen", "tmp"), 0o700))
	env := map[string]string{"HOME": home, "QWEN_HOME": store, "QWEN_RUNTIME_DIR": store}
	if got := account.Stores("qwen", func(name string) string { return env[name] }); !slices.Equal(got, []string{store, filepath.Join(home, ".qwen")}) {
		t.Errorf("the stores are %q", got)
	}
}

func TestHostile(t *testing.T) {
	for _, store := range []string{"0.15.10-headless", "0.24.4-headless", "0.24.4-pane"} {
		for _, h := range readertest.ReadStore(t, Reader{}, storeOf(store)) {
			if h.Metadata.Parent != "" {
				continue // its model is in a file beside it
			}
			h.File.Store, h.Metadata.Headless = t.TempDir(), true
			if h.Metadata.Title == "" && h.Metadata.ForkOf == "" {
				readertest.CheckHostile(t, Reader{}, h)
			}
			readertest.CheckGoesOn(t, Reader{}, h)
			readertest.CheckSkips(t, Reader{}, h)
		}
	}
}

func FuzzReader(f *testing.F) {
	fixtures, err := filepath.Glob(filepath.Join("testdata", "*", "projects", "*", "chats", "*.jsonl"))
	if err != nil || len(fixtures) == 0 {
		f.Fatal(fixtures, err)
	}
	f.Add([]byte(user("u1", "null", "one", "") + "\n" + record("w", "u1", "system", `,"subtype":"rewind"`) + "\n"))
	readertest.Fuzz(f, Reader{}, "projects/-x/chats/a1.jsonl", fixtures...)
}
