package writers_test

import (
	"bytes"
	"encoding/json"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/client/account"
	gemini "gt/lib/client/gemini/conversation"
	"gt/lib/client/readers"
	"gt/lib/client/writers"
	"gt/lib/conversation"
)

// said is the part of an entry that a round trip keeps.
type said struct {
	kind   conversation.Kind
	text   string
	failed bool
}

var testTime = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

var held = []conversation.Entry{
	{Kind: conversation.Prompt, Text: "please \"look\" <at> it\nand é", Time: testTime},
	{Kind: conversation.Answer, Text: "I look.", Model: "m", Time: testTime.Add(time.Second)},
	{Kind: conversation.Call, Tool: "my.Tool", CallID: "a", Text: "file_path: x\nlimit: 3", Time: testTime.Add(2 * time.Second)},
	{Kind: conversation.Call, Tool: "Bash", CallID: "b", Text: "ls", Target: "ls", Time: testTime.Add(2 * time.Second)},
	{Kind: conversation.Result, CallID: "b", Text: "two", Time: testTime.Add(3 * time.Second)},
	{Kind: conversation.Result, CallID: "a", Text: "one", Failed: true, Time: testTime.Add(3 * time.Second)},
	{Kind: conversation.Answer, Text: "Done.", Time: testTime.Add(4 * time.Second)},
	{Kind: conversation.Prompt, Text: "thanks", Time: testTime.Add(time.Minute)},
	{Kind: conversation.Prompt, Text: "more"}, // without a time
	{Kind: conversation.Call, Tool: "9-lives", Text: "x", Time: testTime.Add(2 * time.Minute)},
	{Kind: conversation.Answer, Text: "Bye.", Time: testTime.Add(2 * time.Minute)},
}

// Each client's reader reads what its writer wrote: every message, call and result, in
// order. Each result is written for the next client, so that each one gets what another
// kept.
func TestRoundTrip(t *testing.T) {
	source := readertest.SourceOf(held)
	for _, w := range append(slices.Clone(writers.Writers), writers.Writers[0]) {
		settled, err := conversation.PairResults(source)
		testenv.NoError(t, err)
		var want []said
		for e, err := range settled.Entries {
			testenv.NoError(t, err)
			want = append(want, said{e.Kind, e.Text, e.Failed && w.Client() != "codex"}) // its rollouts have no field for it
		}
		home := t.TempDir()
		getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
		now := testTime.Add(time.Hour)
		c := &conversation.Copy{ID: w.NewID(now), FromClient: "other", CWD: home, Branch: "main", Now: now, Settled: settled}
		back := readBack(t, w, getenv, c)
		m := back.Metadata
		keepsBranch := !slices.Contains([]string{"gemini", "opencode", "pi", "kimi"}, w.Client())
		if m.ID != c.ID || m.Prompt == "" || m.CWD != home && w.Client() != "gemini" || keepsBranch && m.Branch != "main" {
			t.Errorf("%s: %+v", w.Client(), m)
		}
		var got []said
		var entries []conversation.Entry
		for _, e := range back.Entries {
			if e.Kind != conversation.TokenUsage {
				got, entries = append(got, said{e.Kind, e.Text, e.Failed}), append(entries, e)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read was\n%+v, written\n%+v", w.Client(), got, want)
		}
		source = readertest.SourceOf(entries)
	}
}

// readBack writes a copy where its client keeps conversations, inside HOME, and returns
// what the reader reads there.
func readBack(t *testing.T, w conversation.Writer, getenv func(string) string, c *conversation.Copy) readertest.Held {
	t.Helper()
	own, err := account.FindCurrent(w.Client(), getenv)
	testenv.NoError(t, err)
	path, err := w.TranscriptPath(own, c)
	folder := own.Dir
	if rel, rerr := filepath.Rel(getenv("HOME"), folder); err != nil || rerr != nil || !filepath.IsLocal(rel) {
		t.Fatal(path, folder, err)
	}
	var text bytes.Buffer
	testenv.NoError(t, w.Write(&text, c))
	if path != "" {
		readertest.Put(t, path, text.String())
		if second, ok := w.(conversation.Companion); ok {
			file, content, err := second.CompanionFile(path, c)
			testenv.NoError(t, err)
			readertest.Put(t, file, string(content))
		}
	} else {
		takeIn(t, folder, text.Bytes())
	}
	all := readertest.ReadAll(t, readers.FindReader(w.Client()), storeOf(t, w.Client(), getenv))
	if len(all) != 1 {
		t.Fatalf("%s: %d conversations are found", w.Client(), len(all))
	}
	return all[0]
}

func storeOf(t *testing.T, client string, getenv func(string) string) string {
	t.Helper()
	stores := account.Stores(client, getenv)
	if len(stores) != 1 {
		t.Fatal(client, stores)
	}
	return stores[0]
}

// takeIn converts OpenCode's export to the files of versions before 1.2. The JSON of each
// part is the same.
func takeIn(t *testing.T, folder string, data []byte) {
	t.Helper()
	type object = map[string]any
	var all struct {
		Info     object
		Messages []struct {
			Info  object
			Parts []object
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	put := func(v object, elem ...string) {
		t.Helper()
		data, err := json.Marshal(v)
		testenv.NoError(t, err)
		readertest.Put(t, filepath.Join(append([]string{folder, "storage"}, elem...)...)+".json", string(data))
	}
	put(all.Info, "session", "p", all.Info["id"].(string))
	for _, m := range all.Messages {
		put(m.Info, "message", all.Info["id"].(string), m.Info["id"].(string))
		for _, p := range m.Parts {
			put(p, "part", m.Info["id"].(string), p["id"].(string))
		}
	}
}

// A conversation that began after now, or has no times, stays in order and before what
// follows: OpenCode sorts by time.
func TestOpenCodeOrder(t *testing.T) {
	entries := slices.Clone(held)
	for i := range entries {
		entries[i].Time = testTime.Add(-time.Duration(i) * time.Hour)
	}
	entries[0].Time = testTime.Add(48 * time.Hour)
	settled, err := conversation.PairResults(readertest.SourceOf(entries))
	testenv.NoError(t, err)
	w := writers.FindWriter("opencode")
	var text bytes.Buffer
	testenv.NoError(t, w.Write(&text, &conversation.Copy{ID: w.NewID(testTime), FromClient: "other", CWD: "/x", Now: testTime, Settled: settled}))
	var all struct {
		Messages []struct {
			Info struct {
				ID   string
				Time struct{ Created int64 }
			}
		}
	}
	testenv.NoError(t, json.Unmarshal(text.Bytes(), &all))
	for i, m := range all.Messages {
		if m.Info.Time.Created >= testTime.UnixMilli() || i > 0 && (m.Info.ID <= all.Messages[i-1].Info.ID || m.Info.Time.Created <= all.Messages[i-1].Info.Time.Created) {
			t.Errorf("message %d is %+v", i, m.Info)
		}
	}
	if a, b := w.NewID(testTime), w.NewID(testTime.Add(time.Millisecond)); a <= b {
		t.Errorf("the later session %s is behind %s", b, a)
	}
}

// OpenCode uses the model of the person's settings if no session has one.
func TestOpenCodeModel(t *testing.T) {
	home := t.TempDir()
	config := filepath.Join(home, ".config")
	w := writers.FindWriter("opencode").(conversation.Importer)
	if got := w.Model(nil, config); got != "" {
		t.Errorf("nothing says which model, and it is %q", got)
	}
	readertest.Put(t, filepath.Join(home, ".config", "opencode", "opencode.json"), `{"model":"mine/own/model"}`)
	if got := w.Model(nil, config); got != "mine/own/model" {
		t.Errorf("the model is %q", got)
	}
}

// Place follows each client's name for a folder, and the folder that the person chose.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	project := filepath.Join(home, "max's projéct $x")
	testenv.NoError(t, os.MkdirAll(project, 0o700))
	readertest.Put(t, filepath.Join(home, "other", ".gemini", "projects.json"), `{"projects":{"`+project+`":"known","/x":"max-s"}}`)
	readertest.Put(t, filepath.Join(home, "other", ".gemini", "tmp", "known", ".project_root"), project)
	readertest.Put(t, filepath.Join(home, "moved", ".gemini", "projects.json"), `{"projects":{"`+project+`":"elsewhere"}}`)
	readertest.Put(t, filepath.Join(home, "moved", ".gemini", "tmp", "elsewhere", ".project_root"), "/x")
	readertest.Put(t, filepath.Join(home, "moved", ".gemini", "tmp", "mine", ".project_root"), project+"\n")
	readertest.Put(t, filepath.Join(home, "pi", "settings.json"), `{"sessionDir":"~/chosen"}`)
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, project)
	for _, c := range []struct{ client, env, want string }{
		{"gemini", "GEMINI_CLI_HOME=" + filepath.Join(home, "other"), "other/.gemini/tmp/known/chats/session-2026-01-17T01-00-01234567.jsonl"},
		{"gemini", "GEMINI_CLI_HOME=" + filepath.Join(home, "moved"), "moved/.gemini/tmp/mine/chats/session-2026-01-17T01-00-01234567.jsonl"},
		{"qwen", "", ".qwen/projects/" + slug + "/chats/01234567-0000-4000-8000-000000000000.jsonl"},
		{"qwen", "QWEN_HOME=" + filepath.Join(home, "q"), "q/projects/" + slug + "/chats/01234567-0000-4000-8000-000000000000.jsonl"},
		{"pi", "", ".pi/agent/sessions/--" + strings.ReplaceAll(project[1:], "/", "-") + "--/2026-01-17T01-00-00-000Z_01234567-0000-4000-8000-000000000000.jsonl"},
		{"pi", "PI_CODING_AGENT_DIR=" + filepath.Join(home, "pi"), "chosen/2026-01-17T01-00-00-000Z_01234567-0000-4000-8000-000000000000.jsonl"},
		{"opencode", "XDG_DATA_HOME=" + filepath.Join(home, "d"), "d/opencode"},
	} {
		getenv := func(key string) string {
			if name, value, _ := strings.Cut(c.env, "="); key == name {
				return value
			}
			return map[string]string{"HOME": home}[key]
		}
		own, err := account.FindCurrent(c.client, getenv)
		testenv.NoError(t, err)
		path, err := writers.FindWriter(c.client).TranscriptPath(own, &conversation.Copy{ID: "01234567-0000-4000-8000-000000000000", CWD: project, Now: testTime})
		if path == "" {
			path = own.Dir
		}
		if want := filepath.Join(home, filepath.FromSlash(c.want)); err != nil || path != want {
			t.Errorf("%s with %s:\n%s, want\n%s, %v", c.client, c.env, path, want, err)
		}
	}
}

// Plain marks text that Gemini CLI would take for a command or for its own.
func TestPlain(t *testing.T) {
	for text, changed := range map[string]bool{
		"/compact": true, " ?": true, "<session_context>x": true, "<hook_context>x": true, "please": false, "a /path": false,
	} {
		if got := gemini.MarkTyped(text); (got != text) != changed || !strings.HasSuffix(got, text) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// A call and its result have the same id, once each.
func TestPairs(t *testing.T) {
	settled, err := conversation.PairResults(readertest.SourceOf(held))
	testenv.NoError(t, err)
	for _, w := range writers.Writers {
		var text bytes.Buffer
		c := &conversation.Copy{ID: w.NewID(testTime), FromClient: "other", CWD: t.TempDir(), Now: testTime, Settled: settled}
		testenv.NoError(t, w.Write(&text, c))
		ids := map[string]int{}
		for _, id := range regexp.MustCompile(`"((?:call|toolu)_[0-9A-Za-z]+_[0-9]+x?)"`).FindAllStringSubmatch(text.String(), -1) {
			ids[id[1]]++
		}
		// Gemini CLI repeats it in the result, Qwen Code in the displayed result.
		times := map[string]int{"gemini": 2, "qwen": 3, "opencode": 1}[w.Client()]
		if times == 0 {
			times = 2
		}
		if len(ids) != 3 {
			t.Errorf("%s: the ids of three calls are %v", w.Client(), ids)
		}
		for id, n := range ids {
			if n != times {
				t.Errorf("%s: %s stands %d times", w.Client(), id, n)
			}
		}
	}
}
