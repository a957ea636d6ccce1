package claude

import (
	"fmt"
	"gt/internal/testenv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/readertest"
	"gt/lib/client/account"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

func stores(t testing.TB) []string { return readertest.Stores(t, 1) }

// All real versions give the same entries (see e2e/claude_test.go). A fork's copies keep
// the ids, and each answer counts once.
func TestVersions(t *testing.T) {
	const turns = "prompt spent answer spent call result spent answer prompt spent answer spent call result spent answer "
	for _, store := range stores(t) {
		all := readertest.ReadStore(t, Reader{}, store)
		if len(all) != 3 {
			t.Fatalf("%s: %d conversations", store, len(all))
		}
		var bill conversation.UsageTally
		var spent []conversation.HourUsage
		for i, want := range []struct{ kinds, prompts string }{
			{turns + "summary prompt spent answer", `please echo, "max" & <co>|now delegate|after it`},
			{"prompt spent answer", "You are the child."},
			{turns + "prompt spent answer", `please echo, "max" & <co>|now delegate|and the fork`},
		} {
			h := withoutCosts(all[i])
			if h.Kinds() != want.kinds {
				t.Errorf("%s, %d: the conversation is\n%s, want\n%s", store, i, h.Kinds(), want.kinds)
			}
			if got := strings.Join(h.Texts(conversation.Prompt), "|"); got != want.prompts {
				t.Errorf("%s, %d: the prompts are %q", store, i, got)
			}
			first, _, _ := strings.Cut(want.prompts, "|")
			f := h.Metadata
			if f.ID != h.File.ID || f.Prompt != first || !f.Headless || f.CWD != "/home/max/project" || f.Branch != "main" ||
				f.Model == "" || !strings.HasPrefix(filepath.Base(store), f.Version) || f.Last.Before(f.Started) {
				t.Errorf("%s, %d: %+v", store, i, f)
			}
			read, err := conversation.ReadTokens(Reader{}, h.File)
			used := bill.AddTokens(read, conversation.Lineage{ID: f.ID, Began: f.Started, Ancestors: []session.ID{all[0].Metadata.ID}})
			if spent = append(spent, used...); err != nil {
				t.Error(err)
			}
			readertest.CheckGoesOn(t, Reader{}, all[i])
			readertest.CheckSkips(t, Reader{}, all[i])
		}
		main, child, fork := withoutCosts(all[0]), all[1], withoutCosts(all[2])
		if child.Metadata.Parent != main.Metadata.ID || fork.Metadata.FirstID != main.Metadata.FirstID || !fork.Metadata.Started.After(main.Metadata.Started) {
			t.Errorf("%s: %+v of %+v", store, fork.Metadata, main.Metadata)
		}
		for i, e := range fork.Entries[:strings.Count(turns, " ")] {
			if e.ID == "" || e.ID != main.Entries[i].ID {
				t.Errorf("%s: entry %d is %q in the fork and %q in the original", store, i, e.ID, main.Entries[i].ID)
			}
		}
		if sum := conversation.SumByModel(spent); len(sum) != 1 || sum[0].Output != 70 || sum[0].Cost != 0 && math.Abs(sum[0].Cost-0.0048) > 1e-6 {
			t.Errorf("%s: %+v", store, sum)
		}
	}
}

// withoutCosts returns a conversation without the costs that newer versions state.
func withoutCosts(h readertest.Held) readertest.Held {
	h.Entries = slices.DeleteFunc(slices.Clone(h.Entries), func(e conversation.Entry) bool { return strings.HasPrefix(e.ID, "cost.") })
	return h
}

func TestInAnyState(t *testing.T) {
	for _, h := range readertest.ReadStore(t, Reader{}, stores(t)[0]) {
		readertest.CheckHostile(t, Reader{}, h)
	}
}

func FuzzReader(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(stores(f)[0], "projects", "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	readertest.Fuzz(f, Reader{}, filepath.Join("projects", "p", "id.jsonl"), paths...)
}

// asked returns a record of a person's prompt.
func asked(id string, n int, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u-%s-%d","sessionId":%q,"cwd":"/work/%s","gitBranch":"main","version":"2.1.197","entrypoint":"cli","timestamp":"2026-01-0%dT01:00:00.123Z","message":{"role":"user","content":%q}}`,
		id, n, id, id, n%9+1, text)
}

// Titles follow the client's rule, wherever they are at the end of the file. The first
// prompt is found after the client's own text.
func TestTitles(t *testing.T) {
	store := t.TempDir()
	write := func(name string, lines ...string) {
		readertest.Put(t, filepath.Join(store, "projects", name), strings.Join(lines, "\n")+"\n")
	}
	noise := `{"type":"attachment","uuid":"a1","timestamp":"2026-01-01T00:00:00Z","attachment":{"type":"hook","text":"` + strings.Repeat("x", 90<<10) + `"}}`
	custom, ai := `{"type":"custom-title","customTitle":"by the person"}`, `{"type":"ai-title","aiTitle":"by the client"}`
	write("p/both.jsonl", asked("both", 1, "hello"), custom, ai)
	write("p/ai.jsonl", asked("ai", 1, "hello"), ai, `{"type":"summary","summary":"older"}`)
	write("p/old.jsonl", asked("old", 1, "hello"), `{"type":"summary","summary":"older"}`)
	write("p/none.jsonl", asked("none", 1, "hello"))
	write("p/renamed.jsonl", custom, asked("renamed", 1, "hello"), `{"type":"custom-title","customTitle":"renamed"}`)
	write("p/behind.jsonl", noise, asked("behind", 1, "hello"), noise)
	write("p/branch.jsonl", strings.Replace(asked("branch", 1, "hello"), `"type"`, `"forkedFrom":{"sessionId":"both","messageUuid":"u"},"type"`, 1))
	write("p/agent-old.jsonl", strings.Replace(asked("both", 1, "look"), `"type"`, `"isSidechain":true,"type"`, 1))
	write("p/meta.jsonl", strings.Replace(asked("meta", 1, "not me"), `"type"`, `"isMeta":true,"type"`, 1), asked("meta", 2, "<command-name>/clear</command-name>"), asked("meta", 3, "me"))
	want := map[session.ID]conversation.Metadata{
		"both": {Title: "by the person", Prompt: "hello"}, "ai": {Title: "by the client", Prompt: "hello"},
		"old": {Title: "older", Prompt: "hello"}, "none": {Prompt: "hello"}, "renamed": {Title: "renamed", Prompt: "hello"},
		"behind": {Prompt: "hello"}, "branch": {Prompt: "hello", ForkOf: "both"}, "agent-old": {Prompt: "look", Parent: "both"},
		"meta": {Prompt: "me"},
	}
	for _, h := range readertest.ReadStore(t, Reader{}, store) {
		got, w := h.Metadata, want[h.File.ID]
		if got.Title != w.Title || got.Prompt != w.Prompt || got.ForkOf != w.ForkOf || got.Parent != w.Parent {
			t.Errorf("%s: %+v", h.File.ID, got)
		}
		delete(want, h.File.ID)
	}
	for id := range want {
		t.Errorf("%s was not found", id)
	}
}

// Every account is found once, whatever leads to it.
func TestStores(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".claude", ".claude-work", ".claude-accounts/b", "elsewhere", ".config/claude", ".claude-empty"} {
		dir = filepath.Join(home, dir, "projects")
		if strings.Contains(dir, "empty") {
			dir = filepath.Dir(dir)
		}
		testenv.NoError(t, os.MkdirAll(dir, 0o700))
	}
	testenv.NoError(t, os.Symlink(".claude", filepath.Join(home, ".claude-link")))
	env := map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, "elsewhere") + "/"}
	var got []string
	for _, dir := range account.Stores("claude", func(key string) string { return env[key] }) {
		rel, _ := filepath.Rel(home, dir)
		got = append(got, rel)
	}
	slices.Sort(got)
	if want := []string{".claude", ".claude-accounts/b", ".claude-work", ".config/claude", "elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := account.Stores("claude", func(string) string { return "" }); len(got) != 0 {
		t.Errorf("without a HOME: %q", got)
	}
}

// What stands in the person's name is told by the client's structure: their words, a
// channel's, a command that they ran, answers to questions, pictures.
func TestWhoseWords(t *testing.T) {
	record := func(content, more string) string {
		return `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":` + content + `},"uuid":"u","timestamp":"2026-01-01T00:00:00Z","sessionId":"s"` + more + "}"
	}
	result := func(content, outcome string) string {
		return record(`[{"tool_use_id":"t","type":"tool_result","content":`+content+`}]`, `,"toolUseResult":`+outcome)
	}
	for line, want := range map[string]string{
		record(`"fix it"`, ""):                                                                                                            "prompt: fix it",
		record(`"[Request interrupted by user]"`, ""):                                                                                     "",
		record(`"[Request interrupted by user for tool use]"`, ""):                                                                        "",
		record(`"[Request interrupted by user] stands in the log"`, ""):                                                                   "prompt: [Request interrupted by user] stands in the log",
		record(`"<system-reminder>x</system-reminder>"`, `,"promptSource":"typed"`):                                                       "prompt: <system-reminder>x</system-reminder>",
		record(`"<command-name>/review</command-name>"`, `,"promptSource":"typed"`):                                                       "prompt: /review",
		record(`"<command-name> is wrong"`, ""):                                                                                           "prompt: <command-name> is wrong",
		record(`"go on"`, `,"isMeta":true`):                                                                                               "",
		record(`"go on"`, `,"origin":{"kind":"task-notification"}`):                                                                       "",
		record(`"hello"`, `,"isMeta":true,"origin":{"kind":"peer"}`):                                                                      "message peer: hello",
		record(`"<channel source=\"irc\">hello</channel>"`, `,"origin":{"kind":"channel"}`):                                               "message irc: hello",
		record(`[{"type":"image","source":{}}]`, ""):                                                                                      "prompt: [image]",
		record(`[{"type":"document","source":{}},{"type":"image","source":{}}]`, ""):                                                      "prompt: [document]",
		record(`[{"tool_use_id":"t","type":"tool_result","content":"read"},{"type":"document","source":{}}]`, ""):                         "result: read",
		record(`[{"type":"document","source":{}},{"type":"text","text":"see"}]`, ""):                                                      "prompt: see",
		record(`[{"type":"image","source":{}}]`, `,"isMeta":true`):                                                                        "",
		record(`[{"type":"image","source":{}},{"type":"text","text":"see"}]`, ""):                                                         "prompt: see",
		record(`"<bash-input>ls</bash-input>"`, ""):                                                                                       "call Bash: ls",
		record(`"<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>"`, ""):                                                          "result Bash: a\nb",
		record(`"<bash-input> is a tag"`, ""):                                                                                             "prompt: <bash-input> is a tag",
		result(`"The user answered: x"`, `{"questions":[],"answers":{"Which?":"DuckDB"},"annotations":{"Which?":{"notes":"never WAL"}}}`): "reply: Which? DuckDB\nnever WAL|result: The user answered: x",
		result(`"text in any words"`, `{"answers":{"Which?":"A"}}`):                                                                       "reply: Which? A|result: text in any words",
		result(`"a file"`, `{"stdout":"a file"}`):                                                                                         "result: a file",
	} {
		for _, skip := range []func([]byte) bool{nil, func([]byte) bool { return true }} {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			readertest.Put(t, path, line+"\n")
			var got []string
			_, err := Reader{}.Read(conversation.File{Path: path, ID: "s"}, conversation.Options{Skip: skip}, func(e conversation.Entry) bool {
				got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.Tool)+": "+e.Text)
				return true
			})
			if strings.HasPrefix(want, "result: ") && skip != nil {
				continue // a search may pass over it
			}
			if err != nil || strings.Join(got, "|") != want {
				t.Errorf("%s\n%q, want %q, %v", line, got, want, err)
			}
		}
	}
}

// A record that was written again counts once, and a title that names another session is
// not this one's.
func TestForeignRecords(t *testing.T) {
	const id, other = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
	store := t.TempDir()
	title := func(of, text string) string {
		return fmt.Sprintf(`{"type":"custom-title","customTitle":%q,"sessionId":%q}`, text, of)
	}
	readertest.Put(t, filepath.Join(store, "projects", "p", id+".jsonl"),
		strings.Join([]string{asked(id, 1, "hello"), title(id, "ours"), asked(id, 2, "again"), asked(id, 1, "hello"), title(other, "theirs"), asked(id, 2, "again")}, "\n"))
	all := readertest.ReadStore(t, Reader{}, store)
	if len(all) != 1 || all[0].Metadata.Title != "ours" || strings.Join(all[0].Texts(conversation.Prompt), "|") != "hello|again" {
		t.Errorf("%+v", all)
	}
}

// A session's subagents are found in folders of any depth and behind links, and a sync
// tool's copy is the same session.
func TestFindBelow(t *testing.T) {
	const id = "aaaaaaaa-0000-4000-8000-000000000001"
	store := t.TempDir()
	p := filepath.Join(store, "projects", "p")
	for _, name := range []string{
		id + ".jsonl", id + ".sync-conflict-20261127-101010-ABCDEFG.jsonl", id + "/subagents/agent-a.jsonl", id + "/subagents/workflows/wf_1/agent-b.jsonl",
		id + "/subagents/workflows/wf_1/journal.jsonl", id + "/subagents/workflows/wf_2/deep/er/agent-c.jsonl", id + "/tool-results/agent-x.jsonl",
		"../../kept/agent-d.jsonl",
	} {
		readertest.Put(t, filepath.Join(p, name), asked("x", 1, name)+"\n")
	}
	testenv.NoError(t, os.Symlink(filepath.Join(store, "kept"), filepath.Join(p, id, "subagents", "linked")))
	var got []string
	testenv.NoError(t, Reader{}.Find(store, func(f conversation.File) { got = append(got, fmt.Sprint(f.ID, " ", f.Parent, " ", f.IsSyncCopy)) }))
	slices.Sort(got)
	want := []string{id + "  false", id + "  true", "agent-a " + id + " false", "agent-b " + id + " false", "agent-c " + id + " false", "agent-d " + id + " false"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A large result that the client keeps in a file is read from there, and only from the
// session's own folder.
func TestKeptResults(t *testing.T) {
	const id = "aaaaaaaa-0000-4000-8000-000000000001"
	store := t.TempDir()
	path := filepath.Join(store, "projects", "p", id+".jsonl")
	for _, file := range []string{filepath.Join(store, "projects", "p", id, "tool-results", "t.txt"), filepath.Join(store, "secret.txt")} {
		readertest.Put(t, file, "in "+filepath.Base(file))
	}
	for name, want := range map[string]string{
		"/home/max/elsewhere/t.txt":        "in t.txt",
		filepath.Join(store, "secret.txt"): "<persisted-output>",
		"../../../secret.txt":              "<persisted-output>",
	} {
		readertest.Put(t, path, fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":%q}]},"uuid":"u"}`, "<persisted-output>\nOutput too large (35.2KB). Full output saved to: "+name+"\n\nPreview"))
		f := conversation.File{Path: path, ID: id}
		entries, _ := readertest.ReadFrom(t, Reader{}, f, 0, -1)
		if len(entries) != 1 || !strings.HasPrefix(entries[0].Text, want) || !(Reader{}).KeepsResults(f) {
			t.Errorf("%s: %+v", name, entries)
		}
	}
}
