package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The fixtures are stores that real versions of Qwen Code wrote, see
// e2e/qwen_test.go.
func qwenStore(name string) string { return filepath.Join("testdata", "qwen", name) }

// S0-17: conversations of two versions, headless and in front of a person.
func TestQwenVersions(t *testing.T) {
	type want struct {
		kinds, prompts, title string
		headless              bool
		spent                 Usage
	}
	n := func(n, tokens int64) Usage { return Usage{Input: tokens - 40*n, CacheRead: 40 * n, Output: 10 * n} }
	const (
		turn = "prompt spent answer call result spent answer"
		more = " prompt spent answer"
	)
	for _, test := range []struct {
		store string
		want  []want
	}{
		{"0.15.10-headless", []want{
			{turn + more, "please echo|second prompt", "", true, n(3, 300)},
			{turn, "delegate this", "", true, n(2, 200)},
		}},
		{"0.15.10-pane", []want{
			{turn + more + " summary" + more, "please echo|this is much|after the compaction", "A fine name", false, n(4, 600_300)},
		}},
		{"0.24.4-headless", []want{
			{turn + more, "please echo|second prompt", "", true, n(3, 300)},
			{turn + more + more, "please echo|second prompt|asked in the fork", "", true, n(4, 400)},
			{turn + " spent answer", "delegate this", "", true, n(3, 300)},
			{strings.TrimSpace(more), "You are the child.", "", false, n(1, 100)},
		}},
		{"0.24.4-pane", []want{
			{turn + more + " summary" + more, "please echo|this is much|after the compaction", "A fine name", false, n(4, 600_300)},
		}},
	} {
		all := readStore(t, qwen{}, qwenStore(test.store))
		if len(all) != len(test.want) {
			t.Errorf("%s: %d conversations, want %d", test.store, len(all), len(test.want))
			continue
		}
		for i, h := range all {
			want := test.want[i]
			f := h.facts
			if h.kinds() != want.kinds {
				t.Errorf("%s, %d: the conversation is\n%s, want\n%s", test.store, i, h.kinds(), want.kinds)
			}
			if got := strings.Join(h.texts(Prompt), "|"); got != want.prompts {
				t.Errorf("%s, %d: the prompts are %q, want %q", test.store, i, got, want.prompts)
			}
			for _, summary := range h.texts(Summary) {
				if !strings.HasPrefix(summary, "<state_snapshot>SUMMARY-CANARY</state_snapshot>") {
					t.Errorf("%s, %d: the summary is %q", test.store, i, summary)
				}
			}
			first, _, _ := strings.Cut(want.prompts, "|")
			version, _, _ := strings.Cut(test.store, "-")
			if f.ID != h.file.ID || f.Prompt != first || f.Title != want.title || f.Headless != want.headless || f.First != h.entries[0].ID ||
				f.CWD != "/home/max/project" || f.Branch != "main" || f.Model != "e2e-model" || f.Version != version || f.Last.Before(f.Started) {
				t.Errorf("%s, %d: the facts are %+v", test.store, i, f)
			}
			if got := spentBy(h); got != want.spent {
				t.Errorf("%s, %d: it cost %+v, want %+v", test.store, i, got, want.spent)
			}
			for _, e := range h.entries {
				if (e.Kind == Spent || e.Kind == Answer) && e.Model != "e2e-model" {
					t.Errorf("%s, %d: of no model is %+v", test.store, i, e)
				}
			}
		}
	}
}

// A fork names its origin, and its copies have the ids of what they are copies
// of; it started with what is its own. A subagent names its session.
func TestQwenFamily(t *testing.T) {
	all := readStore(t, qwen{}, qwenStore("0.24.4-headless"))
	origin, fork, parent, child := all[0], all[1], all[2], all[3]
	if fork.facts.ForkOf != origin.facts.ID || fork.facts.First != origin.facts.First || !fork.facts.Started.After(origin.facts.Last) {
		t.Errorf("the fork is %+v", fork.facts)
	}
	for i, e := range fork.entries {
		copied := i < len(origin.entries)
		if copied && (e.ID != origin.entries[i].ID || e.Text != origin.entries[i].Text) ||
			!copied && slices.ContainsFunc(origin.entries, func(o Entry) bool { return o.ID == e.ID }) {
			t.Errorf("of the fork, copied %v: %+v", copied, e)
		}
	}
	if child.facts.Parent != parent.facts.ID || parent.facts.Parent != "" || parent.facts.ForkOf != "" {
		t.Errorf("who delegated is %+v, the subagent %+v", parent.facts, child.facts)
	}
}

func qwenRecord(id, parent, kind, more string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"a1","timestamp":"2026-01-17T01:00:00Z","type":%q,"cwd":"/x","version":"1"%s}`, id, parent, kind, more)
}

func qwenUser(id, parent, text, more string) string {
	return qwenRecord(id, parent, "user", fmt.Sprintf(`%s,"message":{"role":"user","parts":[{"text":%q}]}`, more, text))
}

func qwenSays(id, parent, text string) string {
	return qwenRecord(id, parent, "assistant", fmt.Sprintf(`,"message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":%q}]},`+
		`"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":6}`, text))
}

// What the client's records do to a conversation.
func TestQwenRecords(t *testing.T) {
	rewind := func(id, parent string) string { return qwenRecord(id, parent, "system", `,"subtype":"rewind"`) }
	one := []string{qwenUser("u1", "null", "one", ""), qwenSays("a1", "u1", "1"), qwenUser("u2", "a1", "two", ""), qwenSays("a2", "u2", "2")}
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"thoughts": {one[:2], "prompt one, spent, thought hm, answer 1"},
		"a rewind": {
			append(slices.Clone(one), rewind("w", "a1"), qwenUser("u3", "w", "three", "")),
			"prompt one, spent, thought hm, answer 1, spent, prompt three"},
		"a rewind to the beginning": {
			append(slices.Clone(one), rewind("w", "null"), qwenUser("u3", "w", "three", "")),
			"spent, spent, prompt three"},
		"a rewind to what nobody knows": {
			append(slices.Clone(one[:2]), rewind("w", "?"), qwenUser("u3", "w", "three", "")),
			"prompt one, spent, thought hm, answer 1, prompt three"},
		"two rewinds": {
			append(slices.Clone(one), rewind("w", "a1"), qwenUser("u3", "w", "three", ""), rewind("v", "a1"), qwenUser("u4", "v", "four", "")),
			"prompt one, spent, thought hm, answer 1, spent, prompt four"},
		"who speaks in the person's name": {
			[]string{qwenUser("u1", "null", "clock", `,"subtype":"cron"`), qwenUser("u2", "u1", "done", `,"subtype":"notification","provenance":"system"`),
				qwenUser("u3", "u2", "goal", `,"provenance":"goal_runtime"`), qwenUser("u4", "u3", "meanwhile", `,"subtype":"mid_turn_user_message"`),
				qwenUser("u5", "u4", "long form", `,"systemPayload":{"displayText":"typed"}`), qwenUser("u6", "u5", "hook's", `,"systemPayload":{"displayText":"","hookContext":"x"}`),
				qwenUser("u7", "u6", "<system-reminder>x</system-reminder>asked", "")},
			"reply meanwhile, prompt typed, prompt asked"},
		"what is no message": {
			[]string{qwenRecord("s", "null", "system", `,"subtype":"ui_telemetry"`), `{"type":"assistant","message":[1],"usageMetadata":"x"}`, qwenUser("u1", "s", "one", "")},
			"prompt one"},
	} {
		store := t.TempDir()
		put(t, filepath.Join(store, "projects", "-x", "chats", "a1.jsonl"), strings.Join(test.lines, "\n")+"\n")
		all := readStore(t, qwen{}, store)
		if len(all) != 1 {
			t.Errorf("%s: %d conversations", name, len(all))
			continue
		}
		var got []string
		for _, e := range all[0].entries {
			got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.Text))
			if e.Kind == Spent && e.Usage != (Usage{Input: 3, Output: 3}) {
				t.Errorf("%s: %+v", name, e.Usage)
			}
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, strings.Join(got, ", "), test.want)
		}
	}
}

// What the first versions wrote is Gemini CLI's form, and what was put away is
// found, too; files whose names are no ids are not.
func TestQwenPlaces(t *testing.T) {
	store := t.TempDir()
	put(t, filepath.Join(store, "tmp", geminiHash("/x"), "chats", "session-2025-a.json"),
		`{"sessionId":"old","messages":[{"id":"1","type":"user","content":"hello"},{"id":"2","type":"qwen","content":"you","tokens":{"input":1}}]}`)
	for name, id := range map[string]string{"chats/new": "new", "chats/archive/away": "away", "chats/ no id": "x", "subagents/new/agent-a": "agent-a", "subagents/ /agent-b": "agent-b"} {
		put(t, filepath.Join(store, "projects", "-x", name+".jsonl"), qwenUser("u"+id, "null", "I am "+id, "")+"\n")
	}
	put(t, filepath.Join(store, "projects", "-x", "chats", "new.runtime.json"), "{}")
	var got []string
	for _, h := range readAll(t, qwen{}, store) {
		got = append(got, fmt.Sprintf("%s of %q: %s", h.facts.ID, h.facts.Parent, h.kinds()))
	}
	slices.Sort(got)
	if want := []string{`agent-a of "new": prompt`, `away of "": prompt`, `new of "": prompt`, `old of "": prompt spent answer`}; !slices.Equal(got, want) {
		t.Errorf("found are %q, want %q", got, want)
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(home, ".qwen", "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "QWEN_HOME": store, "QWEN_RUNTIME_DIR": store}
	if got := (qwen{}).Stores(func(name string) string { return env[name] }); !slices.Equal(got, []string{store, filepath.Join(home, ".qwen")}) {
		t.Errorf("the stores are %q", got)
	}
}

func TestQwenHostile(t *testing.T) {
	for _, store := range []string{"0.15.10-headless", "0.24.4-headless", "0.24.4-pane"} {
		for _, h := range readStore(t, qwen{}, qwenStore(store)) {
			if h.facts.Parent != "" {
				continue // its model lies beside it
			}
			h.file.Store, h.facts.Headless = t.TempDir(), true
			if h.facts.Title == "" && h.facts.ForkOf == "" {
				checkHostile(t, qwen{}, h)
			}
			checkGoesOn(t, qwen{}, h)
			checkSkips(t, qwen{}, h)
		}
	}
}

func FuzzQwen(f *testing.F) {
	fixtures, err := filepath.Glob(filepath.Join("testdata", "qwen", "*", "projects", "*", "chats", "*.jsonl"))
	if err != nil || len(fixtures) == 0 {
		f.Fatal(fixtures, err)
	}
	f.Add([]byte(qwenUser("u1", "null", "one", "") + "\n" + qwenRecord("w", "u1", "system", `,"subtype":"rewind"`) + "\n"))
	fuzzReader(f, qwen{}, "projects/-x/chats/a1.jsonl", fixtures...)
}
