package kimi

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/readertest"
	"gt/lib/conversation"
)

// The fixtures are stores that Kimi Code 2.1.0 wrote, see e2e/kimi_test.go.
func storeOf(name string) string { return filepath.Join("testdata", name) }

// S0-17: conversations headless and in front of a person.
func TestVersions(t *testing.T) {
	n := func(n int64) conversation.Usage { return conversation.Usage{Input: 100 * n, Output: 10 * n} }
	const (
		turn = "prompt spent answer call result spent answer"
		more = " prompt spent answer"
	)
	for store, want := range map[string][]readertest.Want{
		"2.1.0-headless": {
			{Kinds: turn + more, Prompts: "run: echo E2E-OUTPUT|second prompt", Headless: true, Spent: n(3)},
			{Kinds: turn + more + more, Prompts: "run: echo E2E-OUTPUT|second prompt|asked in the fork", Spent: n(4)},
			{Kinds: turn, Prompts: "delegate this", Headless: true, Spent: n(2)},
			{Kinds: strings.TrimSpace(more), Prompts: "You are the child.", Spent: n(1)},
		},
		"2.1.0-pane": {
			{Kinds: turn + more + " spent summary" + more + " spent", Prompts: "run: echo E2E-OUTPUT|the second prompt|after the compaction", Title: "A fine name", Spent: n(6)},
		},
	} {
		readertest.Check(t, store, readertest.ReadStore(t, Reader{}, storeOf(store)), readertest.SpentBy, want, func(i int, h readertest.Held) {
			f := h.Metadata
			if f.ID != h.File.ID || f.CWD != "/home/max/project" || f.Model != "e2e" {
				t.Errorf("%s, %d: the facts are %+v", store, i, f)
			}
			if path := wireOf(storeOf(store), f.CWD, string(f.ID)); f.Parent == "" && path != h.File.Path {
				t.Errorf("%s, %d: it is in %s, not %s", store, i, h.File.Path, path)
			}
		})
	}
}

func TestFamily(t *testing.T) {
	all := readertest.ReadStore(t, Reader{}, storeOf("2.1.0-headless"))
	readertest.CheckFamily(t, all[0], all[1], all[2], all[3])
}

// A turn that was taken back is not part of the conversation, whatever number it has; its
// tokens count. What the client and its hooks say in the person's name is not theirs.
func TestUndone(t *testing.T) {
	prompt := func(turn int, text string) string {
		return fmt.Sprintf(`{"type":"turn.prompt","agentId":"main","turnId":%d,"time":1795709434990}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":%q}],"id":"%s","origin":{"kind":"user"}},"time":1795709434990}
{"type":"usage.record","model":"m","usage":{"inputOther":7},"usageScope":"turn","time":1795709434991}
`, turn, text, text)
	}
	dir := t.TempDir()
	path := wireOf(dir, "/x/My Project!", "session_a")
	readertest.Put(t, path, prompt(0, "one")+prompt(1, "two")+prompt(2, "three")+`{"type":"context.undone","agentId":"main","turns":2,"fromTurnId":1,"time":1795709434992}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"a reminder"}],"origin":{"kind":"injection"}},"time":1795709434993}
`+prompt(1, "four")+prompt(2, "five")+`{"type":"context.undone","agentId":"main","turns":1,"fromTurnId":2,"time":1795709434994}`+"\n")
	if !strings.HasPrefix(path, filepath.Join(dir, "sessions", "wd_my-project_")) {
		t.Errorf("the folder's sessions are in %s", path)
	}
	all := readertest.ReadAll(t, Reader{}, dir)
	if len(all) != 1 || strings.Join(all[0].Texts(conversation.Prompt), "|") != "one|four" || readertest.SpentBy(all[0]).Input != 35 {
		t.Errorf("it is %+v", all)
	}
}

// A person's refusal is not a failure of the tool.
func TestRejected(t *testing.T) {
	const text = `Tool \"Bash\" was not run because the user rejected the approval request.`
	path := wireOf(t.TempDir(), "/x", "session_a")
	readertest.Put(t, path, `{"type":"context.append_loop_event","event":{"type":"tool.result","parentUuid":"c","toolCallId":"t","result":{"output":"`+text+`","isError":true}},"time":1795709516673}`+"\n")
	all, _ := readertest.ReadFrom(t, Reader{}, conversation.File{Path: path}, 0, 9)
	if len(all) != 1 || !all[0].Rejected || !all[0].Failed || all[0].CallID != "t" {
		t.Errorf("it is %+v", all)
	}
}

func TestOddities(t *testing.T) {
	readertest.CheckParts(t, Reader{}, storeOf("2.1.0-headless"), storeOf("2.1.0-pane"))
}

// The checks copy the records and not the session's state, so the facts are those of the
// records.
func TestHostile(t *testing.T) {
	h := readertest.ReadStore(t, Reader{}, storeOf("2.1.0-pane"))[0]
	readertest.CheckHostile(t, Reader{}, readertest.CopyFileOnly(t, Reader{}, h, wireFile))
}

func FuzzRead(f *testing.F) {
	all, err := filepath.Glob(filepath.Join("testdata", "*", "sessions", "*", "*", "agents", "*", wireFile))
	if err != nil || len(all) < 5 {
		f.Fatal(all, err)
	}
	readertest.Fuzz(f, Reader{}, "sessions/wd_x/id/agents/main/"+wireFile, all...)
}

// Requests that end in the same millisecond are two, as those of two agents; a fork's copy is
// none. The state of versions before 2.0 has other names.
func TestSameMillisecond(t *testing.T) {
	dir := t.TempDir()
	spent := func(id string, inputs ...int) {
		path, records := wireOf(dir, "/x", id), ""
		for _, n := range inputs {
			records += fmt.Sprintf(`{"type":"usage.record","model":"m","usage":{"inputOther":%d,"output":1},"usageScope":"turn","time":1795709434991}`+"\n", n)
		}
		readertest.Put(t, path, records)
		readertest.Put(t, filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), stateFile), `{"workDir":"/x","createdAt":"2026-11-26T17:12:41.618Z"}`)
	}
	spent("session_a", 7, 9)
	spent("session_b", 8)
	spent("session_c", 7)
	var tally conversation.UsageTally
	var sums []int64
	for _, h := range readertest.ReadStore(t, Reader{}, dir) {
		if m := h.Metadata; m.CWD != "/x" || m.Started.Day() != 26 || h.Entries[0].ID != "usage.1795709434991" { // as released versions recorded
			t.Errorf("%+v, %+v", m, h.Entries[0])
		}
		spent, err := conversation.ReadTokens(Reader{}, h.File)
		var sum int64
		for _, hour := range tally.AddTokens(append(spent, spent...), conversation.Lineage{ID: h.File.ID}) {
			sum += hour.Tokens()
		}
		if sums = append(sums, sum); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(sums, []int64{8 + 10, 9, 0}) {
		t.Errorf("%v", sums)
	}
}
