package pi

import (
	"bytes"
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

// storeOf has sessions that a real pi wrote (see e2e/pi_test.go). In one of 1.5.2's, a
// person went back, compacted, and ran a command by hand.
func storeOf(version string) string { return filepath.Join("testdata", version) }

func TestReader(t *testing.T) {
	const turn, more = "prompt answer call spent result answer spent", " prompt answer spent"
	n := func(n int64) conversation.Usage {
		return conversation.Usage{Input: 60 * n, CacheRead: 40 * n, Output: 10 * n}
	}
	begun := readertest.Want{Kinds: turn + more, Prompts: "run: echo hi from tool|second prompt", Spent: n(3)}
	for store, want := range map[string][]readertest.Want{
		"0.74.2": {begun},
		"1.5.2": {
			begun,
			{Kinds: turn + more + more, Prompts: begun.Prompts + "|asked in the fork", Spent: n(1)},
			{Kinds: strings.TrimSpace(more), Prompts: "named", Title: "A fine name", Spent: n(1)},
			{Kinds: "prompt answer spent spent" + more + " summary spent" + more + " call result", Prompts: "hello from the tui|another way|after the compaction", Title: "Given name", Spent: n(6)},
		},
	} {
		all := readertest.ReadStore(t, Reader{}, storeOf(store))
		adds := readertest.Adds(t, Reader{})
		spent := func(h readertest.Held) conversation.Usage {
			u := adds(h)
			if n := float64(u.Output / 10); u.Cost < 0.00008*n || u.Cost > 0.00009*n {
				t.Errorf("%s: %q cost %f", store, h.Metadata.Prompt, u.Cost)
			}
			u.Cost = 0
			return u
		}
		readertest.Check(t, store, all, spent, want, func(i int, h readertest.Held) {
			if f := h.Metadata; f.ID != h.File.ID || f.CWD != "/home/max/project" || f.Model != "m1" || f.Started.Year() != 2026 || (f.ForkOf != "") != (i == 1) {
				t.Errorf("%s, %d: the facts are %+v", store, i, f)
			}
			readertest.CheckHostile(t, Reader{}, h)
		})
		readertest.CheckParts(t, Reader{}, storeOf(store))
	}
	all := readertest.ReadStore(t, Reader{}, storeOf("1.5.2"))
	readertest.CheckFork(t, all[0], all[1])
}

// Records of the first format version have no ids. One record cannot hide another.
func TestVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "2025-01-01T00-00-00-000Z_old.jsonl")
	write := func(lines ...string) readertest.Held {
		t.Helper()
		data := []byte(strings.Join(lines, "\n") + "\n")
		testenv.NoError(t, os.WriteFile(path, data, 0o600))
		id, _ := idOf(filepath.Base(path))
		f := conversation.File{Client: "pi", Path: path, ID: id, Size: int64(len(data))}
		facts, err := Reader{}.Metadata(f)
		testenv.NoError(t, err)
		entries, _ := readertest.ReadFrom(t, Reader{}, f, 0, -1)
		return readertest.Held{File: f, Metadata: facts, Entries: entries}
	}
	h := write(`{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p","provider":"x","modelId":"m0","parentSession":"/x/2024-01-01T00-00-00-000Z_before.jsonl"}`,
		`{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"asked"}}`,
		`{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","model":"m1","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"said"}],"usage":{"input":1,"output":2}}}`,
		`{"type":"compaction","timestamp":"2025-01-01T00:00:03.000Z","summary":"in short"}`,
		`{"type":"message","timestamp":"2025-01-01T00:00:04.000Z","message":{"role":"hookMessage","content":"injected"}}`,
		`{"type":"usage","id":"a","parentId":null,"kind":"cache_warm","model":"m2","usage":{"cacheRead":5}}`)
	if want := "prompt thought answer spent summary spent"; h.Kinds() != want || h.File.ID != "old" {
		t.Errorf("%s is %s", h.File.ID, h.Kinds())
	}
	// It names a session but has no copies, so it is not a fork.
	if f := h.Metadata; f.ID != "old" || f.Prompt != "asked" || f.Model != "m1" || f.ForkOf != "" || f.Started.IsZero() {
		t.Errorf("the facts are %+v", f)
	}
	// Parents that are cycles, themselves, or missing.
	h = write(`{"type":"session","id":"../../x","timestamp":"now"}`,
		`{"type":"message","id":"a","parentId":"b","message":{"role":"user","content":"one"}}`,
		`{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":[{"type":"image"},{"type":"text","text":"two"}]}}`,
		`{"type":"message","id":"c","parentId":"gone","message":{"role":"user","content":"left"}}`,
		`{"type":"message","id":"d","parentId":"a","message":{"role":"user","content":"three"}}`,
		`{"type":"session_info","id":"e","parentId":"d","name":""}`)
	if got := h.Texts(conversation.Prompt); !slices.Equal(got, []string{"one", "[image]\ntwo", "three"}) || h.Metadata.ID != "old" {
		t.Errorf("%q, %+v", got, h.Metadata)
	}
}

// A name is found wherever it is, in a large file at its ends.
func TestLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "2025-01-01T00-00-00-000Z_big.jsonl")
	var b bytes.Buffer
	b.WriteString(`{"type":"session","version":3,"id":"big","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}` + "\n")
	fmt.Fprintf(&b, `{"type":"message","id":"0","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"system","content":"%s"}}`+"\n", strings.Repeat("x", 100<<10))
	b.WriteString(`{"type":"message","id":"1","parentId":"0","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"asked"}}` + "\n")
	for i := range 40 {
		fmt.Fprintf(&b, `{"type":"message","id":"%d","parentId":"%d","timestamp":"2025-01-01T00:01:00.000Z","message":{"role":"assistant","model":"m%d","content":"%s"}}`+"\n", i+2, i+1, i, strings.Repeat("y", 50<<10))
	}
	b.WriteString(`{"type":"session_info","id":"n","parentId":"41","timestamp":"2025-01-01T00:02:00.000Z","name":"A name"}` + "\n")
	testenv.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	facts, err := Reader{}.Metadata(conversation.File{Path: path, Size: int64(b.Len())})
	if err != nil || facts.Title != "A name" || facts.Prompt != "asked" || facts.Model != "m39" || facts.CWD != "/p" || facts.Last.Minute() != 2 || facts.ID != "big" {
		t.Errorf("%+v, %v", facts, err)
	}
}

// Each place with sessions is found once, whatever names it.
func TestStores(t *testing.T) {
	home := t.TempDir()
	mkdir := func(elem ...string) string {
		dir := filepath.Join(append([]string{home}, elem...)...)
		testenv.NoError(t, os.MkdirAll(dir, 0o700))
		return dir
	}
	mkdir(".pi", "agent", "sessions", "--p--")
	other, flat, named := mkdir("other"), mkdir("flat"), mkdir("named")
	mkdir("other", "sessions")
	os.WriteFile(filepath.Join(home, ".pi", "agent", "settings.json"), []byte(`{"sessionDir":"~/named"}`), 0o600)
	vars := map[string]string{"HOME": home, "PI_CODING_AGENT_DIR": other, "PI_CODING_AGENT_SESSION_DIR": flat}
	getenv := func(name string) string { return vars[name] }
	if got, want := account.Stores("pi", getenv), []string{other, filepath.Join(home, ".pi", "agent"), flat, named}; !slices.Equal(got, want) {
		t.Errorf("stores %q, want %q", got, want)
	}
	vars["PI_CODING_AGENT_SESSION_DIR"] = filepath.Join(other, "sessions")
	if got := account.Stores("pi", getenv); len(got) != 3 {
		t.Errorf("stores %q", got)
	}
	for _, name := range []string{"2025-01-01T00-00-00-000Z_one.jsonl", "2025-01-01T00-00-00-000Z_..jsonl", "notes.jsonl", "my_notes.jsonl"} {
		os.WriteFile(filepath.Join(flat, name), []byte("{}\n"), 0o600)
	}
	var found []string
	if err := (Reader{}).Find(flat, func(f conversation.File) { found = append(found, string(f.ID)) }); err != nil || !slices.Equal(found, []string{"one"}) {
		t.Errorf("%q, %v", found, err)
	}
	if err := (Reader{}).Find(filepath.Join(home, "gone"), func(conversation.File) {}); err == nil {
		t.Error("a folder that is gone can be listed")
	}
}

func FuzzReader(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "sessions", "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	readertest.Fuzz(f, Reader{}, "sessions/--p--/2026-01-17_id.jsonl", paths...)
}

// Sessions that e2e/pi_test.go recorded with several versions read the same.
func TestRecorded(t *testing.T) {
	all, err := filepath.Glob(filepath.Join("testdata", "*-print"))
	if err != nil || len(all) < 2 {
		t.Fatal(all, err)
	}
	for _, store := range all {
		h := readertest.ReadStore(t, Reader{}, store)
		const turn, more = "prompt answer call spent result answer spent", " prompt answer spent"
		if len(h) != 2 || h[0].Kinds() != turn+more || h[1].Kinds() != turn+more+more || h[1].Metadata.ForkOf != h[0].Metadata.ID || h[1].Metadata.FirstID != h[0].Metadata.FirstID {
			t.Errorf("%s: %+v", store, h)
		}
		h = readertest.ReadStore(t, Reader{}, strings.TrimSuffix(store, "print")+"pane")
		if len(h) != 1 || h[0].Metadata.Title != "A fine name" || strings.Join(h[0].Texts(conversation.Prompt), "|") != "please echo|the right way|after the compaction" || len(h[0].Texts(conversation.Summary)) != 1 {
			t.Errorf("%s: %+v", store, h)
		}
	}
}
