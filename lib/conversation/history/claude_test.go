package history

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gt/lib/state/session"
	"gt/lib/sys/process"
)

func claudeStores(t testing.TB) []string {
	all, err := filepath.Glob(filepath.Join("testdata", "claude", "*"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all
}

// What real versions wrote is told alike: see e2e/claude_test.go for what was
// said. A fork's copy has the ids of the original, and each answer counts once.
func TestClaudeVersions(t *testing.T) {
	const turns = "prompt spent answer spent call result spent answer prompt spent answer spent call result spent answer "
	for _, store := range claudeStores(t) {
		all := readStore(t, claude{}, store)
		if len(all) != 3 {
			t.Fatalf("%s: %d conversations", store, len(all))
		}
		var bill Bill
		for i, want := range []struct{ kinds, prompts string }{
			{turns + "summary prompt spent answer", `please echo, "max" & <co>|now delegate|after it`},
			{"prompt spent answer", "You are the child."},
			{turns + "prompt spent answer", `please echo, "max" & <co>|now delegate|and the fork`},
		} {
			h := all[i]
			if h.kinds() != want.kinds {
				t.Errorf("%s, %d: the conversation is\n%s, want\n%s", store, i, h.kinds(), want.kinds)
			}
			if got := strings.Join(h.texts(Prompt), "|"); got != want.prompts {
				t.Errorf("%s, %d: the prompts are %q", store, i, got)
			}
			first, _, _ := strings.Cut(want.prompts, "|")
			f := h.facts
			if f.ID != h.file.ID || f.Prompt != first || !f.Headless || f.CWD != "/home/max/project" || f.Branch != "main" ||
				f.Model == "" || !strings.HasPrefix(filepath.Base(store), f.Version) || f.Last.Before(f.Started) {
				t.Errorf("%s, %d: %+v", store, i, f)
			}
			if _, err := bill.Add(h.file); err != nil {
				t.Error(err)
			}
			checkGoesOn(t, claude{}, h)
			checkSkips(t, claude{}, h)
		}
		main, child, fork := all[0], all[1], all[2]
		if child.facts.Parent != main.facts.ID || fork.facts.First != main.facts.First || !fork.facts.Started.After(main.facts.Started) {
			t.Errorf("%s: %+v of %+v", store, fork.facts, main.facts)
		}
		for i, e := range fork.entries[:strings.Count(turns, " ")] {
			if e.ID == "" || e.ID != main.entries[i].ID {
				t.Errorf("%s: entry %d is %q in the fork and %q in the original", store, i, e.ID, main.entries[i].ID)
			}
		}
		if sum := bill.Sum(); len(sum) != 1 || sum[0].Output != 70 {
			t.Errorf("%s: %+v", store, sum)
		}
	}
}

func TestClaudeInAnyState(t *testing.T) {
	for _, h := range readStore(t, claude{}, claudeStores(t)[0]) {
		checkHostile(t, claude{}, h)
	}
}

func FuzzClaude(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(claudeStores(f)[0], "projects", "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	fuzzReader(f, claude{}, filepath.Join("projects", "p", "id.jsonl"), paths...)
}

// Titles go by the client's rule, wherever in the end of the file they stand; the
// first prompt is found behind what the client puts before it.
func TestClaudeTitles(t *testing.T) {
	s := newStore(t)
	noise := `{"type":"attachment","uuid":"a1","timestamp":"2026-01-01T00:00:00Z","attachment":{"type":"hook","text":"` + strings.Repeat("x", 90<<10) + `"}}`
	custom, ai := `{"type":"custom-title","customTitle":"by the person"}`, `{"type":"ai-title","aiTitle":"by the client"}`
	s.write("p/both.jsonl", said("both", 1, "hello"), custom, ai)
	s.write("p/ai.jsonl", said("ai", 1, "hello"), ai, `{"type":"summary","summary":"older"}`)
	s.write("p/old.jsonl", said("old", 1, "hello"), `{"type":"summary","summary":"older"}`)
	s.write("p/none.jsonl", said("none", 1, "hello"))
	s.write("p/renamed.jsonl", custom, said("renamed", 1, "hello"), `{"type":"custom-title","customTitle":"renamed"}`)
	s.write("p/behind.jsonl", noise, said("behind", 1, "hello"), noise)
	s.write("p/branch.jsonl", strings.Replace(said("branch", 1, "hello"), `"type"`, `"forkedFrom":{"sessionId":"both","messageUuid":"u"},"type"`, 1))
	s.write("p/agent-old.jsonl", strings.Replace(said("both", 1, "look"), `"type"`, `"isSidechain":true,"type"`, 1))
	s.write("p/meta.jsonl", strings.Replace(said("meta", 1, "not me"), `"type"`, `"isMeta":true,"type"`, 1), said("meta", 2, "<command-name>/clear</command-name>"), said("meta", 3, "me"))
	want := map[session.ID]Facts{
		"both": {Title: "by the person", Prompt: "hello"}, "ai": {Title: "by the client", Prompt: "hello"},
		"old": {Title: "older", Prompt: "hello"}, "none": {Prompt: "hello"}, "renamed": {Title: "renamed", Prompt: "hello"},
		"behind": {Prompt: "hello"}, "branch": {Prompt: "hello", ForkOf: "both"}, "agent-old": {Prompt: "look", Parent: "both"},
		"meta": {Prompt: "me"},
	}
	for _, c := range s.scan("") {
		got, w := c.Facts, want[c.File.ID]
		if got.Title != w.Title || got.Prompt != w.Prompt || got.ForkOf != w.ForkOf || got.Parent != w.Parent {
			t.Errorf("%s: %+v", c.File.ID, got)
		}
		delete(want, c.File.ID)
	}
	for id := range want {
		t.Errorf("%s was not found", id)
	}
}

// Every account is found, whatever leads to it, and once.
func TestClaudeStores(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".claude", ".claude-work", ".claude-accounts/b", "elsewhere", ".config/claude", ".claude-empty"} {
		dir = filepath.Join(home, dir, "projects")
		if strings.Contains(dir, "empty") {
			dir = filepath.Dir(dir)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".claude", filepath.Join(home, ".claude-link")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, "elsewhere") + "/"}
	var got []string
	for _, dir := range (claude{}).Stores(func(key string) string { return env[key] }) {
		rel, _ := filepath.Rel(home, dir)
		got = append(got, rel)
	}
	slices.Sort(got)
	if want := []string{".claude", ".claude-accounts/b", ".claude-work", ".config/claude", "elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (claude{}).Stores(func(string) string { return "" }); len(got) != 0 {
		t.Errorf("without a HOME: %q", got)
	}
}

// Who runs now is what the client notes, where that process is there.
func TestRunning(t *testing.T) {
	s := newStore(t)
	s.write("p/id-1.jsonl", said("id-1", 1, "hello"))
	me, err := process.Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.home, ".claude", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, note := range map[string]string{
		"1.json": `{"pid":` + strconv.Itoa(me.PID) + `,"procStart":"` + me.Start + `","sessionId":"runs","status":"busy"}`,
		"2.json": `{"pid":` + strconv.Itoa(me.PID) + `,"procStart":"1","sessionId":"another","status":"busy"}`,
		"3.json": `{"pid":4194303,"procStart":"1","sessionId":"dead"}`,
		"4.json": `{"pid":-1,"sessionId":"minus"}`, "5.json": `{`, "6.json": `{"pid":` + strconv.Itoa(me.PID) + `,"sessionId":"../x"}`,
		"7.key": `{"pid":` + strconv.Itoa(me.PID) + `,"sessionId":"key"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, errs := Running(s.getenv); errs != nil || len(got) != 1 || got["runs"].Process != me || got["runs"].Status != "busy" {
		t.Errorf("%+v", got)
	}
}
