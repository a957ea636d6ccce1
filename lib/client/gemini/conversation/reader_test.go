package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/conversation"
)

// The fixtures are stores that real versions of Gemini CLI wrote (see
// e2e/gemini_test.go). 0.20.0 was run by hand, and 0.61.0 continued what it had written.
func storeOf(name string) string { return filepath.Join("testdata", name) }

// S0-17 S2-45: every format is found, and each conversation once, although the client
// copies old files and continues in a file beside them.
func TestVersions(t *testing.T) {
	n := func(n int64) conversation.Usage {
		return conversation.Usage{Input: 60 * n, CacheRead: 40 * n, Output: 14 * n}
	}
	much := n(6)
	much.Input += 899_900
	const turn = "prompt spent answer call result spent answer"
	for _, test := range []struct {
		store, forms, summaries string // of its conversations
		want                    []readertest.Want
	}{
		{"0.20.0", ".json .json", "", []readertest.Want{
			{Kinds: "prompt spent thought answer", Prompts: "please RUNIT now", Headless: true, Spent: n(1)},
			{Kinds: turn, Prompts: "SUB? no: plain", Headless: true, Spent: n(2)},
		}},
		{"0.20.0-then-0.61.0", ".json .jsonl", "", []readertest.Want{
			{Kinds: "prompt spent thought answer", Prompts: "please RUNIT now", Headless: true, Spent: n(1)},
			{Kinds: turn + " prompt spent answer", Prompts: "SUB? no: plain|goes on", Headless: true, Spent: n(3)},
		}},
		{"0.61.0-headless", ".jsonl .jsonl .jsonl", "", []readertest.Want{
			{Kinds: "prompt spent thought answer call result spent answer prompt spent answer", Prompts: "please echo|second prompt", Headless: true, Spent: n(3)},
			{Kinds: turn, Prompts: "delegate this", Headless: true, Spent: n(2)},
			{Kinds: "prompt spent call result", Prompts: "You are the child.", Spent: n(1)},
		}},
		{"0.61.0-pane", ".jsonl", "<state_snapshot>SUMMARY-CANARY</state_snapshot>", []readertest.Want{{
			Kinds:   "prompt spent thought answer call result spent answer prompt spent answer summary prompt spent answer spent prompt spent answer",
			Prompts: "please echo|this is much|after the compaction|at last", Spent: much,
		}}},
	} {
		all := readertest.ReadAll(t, Reader{}, storeOf(test.store))
		var forms, summaries []string
		readertest.Check(t, test.store, all, readertest.SpentBy, test.want, func(i int, h readertest.Held) {
			forms, summaries = append(forms, filepath.Ext(h.File.Path)), append(summaries, h.Texts(conversation.Summary)...)
			f := h.Metadata
			if child := test.want[i].Prompts == "You are the child."; !strings.HasPrefix(f.Model, "gemini-") || (f.Parent != "") != child || child && f.Parent != all[i-1].Metadata.ID {
				t.Errorf("%s, %d: the facts are %+v", test.store, i, f)
			}
			// Nothing names the folder of a project that has only a hash.
			if test.store != "0.20.0" && f.CWD != "/home/max/project" {
				t.Errorf("%s, %d: the folder is %q", test.store, i, f.CWD)
			}
		})
		if strings.Join(forms, " ") != test.forms || strings.Join(summaries, "|") != test.summaries {
			t.Errorf("%s: the files are %q, the summaries %q", test.store, forms, summaries)
		}
	}
}

// S2-44: a project's hash is that of its path without links, also of a missing folder.
func TestProject(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	target := filepath.Join(dir, "target")
	testenv.NoError(t, os.Mkdir(target, 0o700))
	testenv.NoError(t, os.Symlink(target, filepath.Join(dir, "link")))
	sum := func(path string) string {
		s := sha256.Sum256([]byte(path))
		return hex.EncodeToString(s[:])
	}
	t.Chdir(target)
	for path, want := range map[string]string{
		target: sum(target), filepath.Join(dir, "link"): sum(target), target + "/": sum(target), ".": sum(target), "": sum(target),
		filepath.Join(dir, "link", "gone", "below"): sum(filepath.Join(target, "gone", "below")),
		"/home/max/project":                         "a033c16d00a052ebf34778420eda27d0e54776479a52cafd44c67d80ac26dad2",
	} {
		if got, err := Project(path); err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", path, got, err, want)
		}
	}
}

// The folder of a project that has only a hash is found among known paths: the list of
// projects, the trusted folders, and the files that were worked on.
func TestFolder(t *testing.T) {
	hash := HashPath("/home/max/project")
	for name, files := range map[string]map[string]string{
		"its own file":             {"tmp/" + hash + "/.project_root": "/home/max/project\n"},
		"projects by their hash":   {"projects.json": `{"projects":{"/x":"x","/home/max/project":"project"}}`},
		"folders that are trusted": {"trustedFolders.json": `{"/x":"TRUST","/home/max/project":"TRUST_FOLDER"}`},
		"a file that was read":     {"tmp/" + hash + "/chats/session-a.json": "/home/max/project/src/main.go"},
	} {
		store := t.TempDir()
		path := filepath.Join(store, "tmp", hash, "chats", "session-a.json")
		read := files["tmp/"+hash+"/chats/session-a.json"]
		readertest.Put(t, path, fmt.Sprintf(`{"sessionId":"a1","projectHash":%q,"messages":[{"id":"1","type":"user","content":"hello"},
			{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"read_file","args":{"file_path":%q}}]}]}`, hash, read))
		for file, text := range files {
			if !strings.HasSuffix(file, "a.json") {
				readertest.Put(t, filepath.Join(store, file), text)
			}
		}
		for _, h := range readertest.ReadAll(t, Reader{}, store) {
			if h.Metadata.CWD != "/home/max/project" {
				t.Errorf("%s: the folder is %q", name, h.Metadata.CWD)
			}
		}
		// Not a path on this system.
		for _, file := range []string{"projects.json", "trustedFolders.json", "tmp/" + hash + "/.project_root"} {
			readertest.Put(t, filepath.Join(store, file), `["../../etc",{"a":[1]}`)
		}
		readertest.ReadAll(t, Reader{}, store)
	}
}

const header = `{"sessionId":"a1","projectHash":"00","startTime":"2026-01-17T01:00:00Z","lastUpdated":"2026-01-17T01:00:00Z","kind":"main"}`

func user(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-17T01:00:01Z","type":"user","content":[{"text":%q}]}`, id, text)
}

func says(id, text, more string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-17T01:00:02Z","type":"gemini","content":%q,"tokens":{"input":3,"output":1,"cached":1}%s}`, id, text, more)
}

func list(messages ...string) string {
	return `{"$set":{"messages":[` + strings.Join(messages, ",") + `]}}`
}

// Each message is given once, in its last version. Messages that the person took back are
// not given, but their tokens count. Messages that the client lost or compacted are
// given.
func TestRecords(t *testing.T) {
	context := user("ctx", "<session_context>\nno words of the person's\n</session_context>")
	call := `,"toolCalls":[{"id":"c1","name":"ls","args":{"dir":"x"},"result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"files"}}}]}]`
	response := `{"id":"r","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"files"}}}]}`
	summary := user("sum", "<state_snapshot>all of it</state_snapshot>")
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"a message that is updated": {
			[]string{user("u1", "one"), says("g1", "half", ""), says("g1", "whole", call), response, says("g2", "done", "")},
			"prompt one, spent, answer whole, call x, result files, spent, answer done"},
		"a result that stands nowhere else": {
			[]string{user("u1", "one"), response},
			"prompt one, result files"},
		"a rewind": {
			[]string{user("u1", "one"), says("g1", "1", ""), user("u2", "two"), says("g2", "2", ""), `{"$rewindTo":"u2"}`, user("u3", "three")},
			"prompt one, spent, answer 1, spent, prompt three"},
		"a rewind to what nobody knows": {
			[]string{user("u1", "one"), `{"$rewindTo":"?"}`, user("u3", "three")},
			"prompt three"},
		"a message that comes back after a rewind": {
			[]string{user("u1", "one"), `{"$rewindTo":"u1"}`, user("u1", "one again")},
			"prompt one again"},
		"a turn that was broken off": {
			[]string{list(context), user("u1", "one"), says("g1", "1", ""), user("u2", "two"), list(context, user("u1", "one"), says("g1", "1", ""))},
			"prompt one, spent, answer 1"},
		"the first turn broken off": {
			[]string{list(context), user("u1", "one"), list(context), user("u2", "two")},
			"prompt two"},
		"a client that goes on, and leaves out what was no prompt": {
			[]string{user("u0", "/about"), user("u1", "one"), list(context, user("u1", "one")), user("u2", "two")},
			"prompt /about, prompt one, prompt two"},
		"a client that loses all when it goes on": {
			[]string{list(context), user("u1", "one"), header, list(context), user("u2", "two")},
			"prompt one, prompt two"},
		"a compaction": {
			[]string{list(context), user("u1", "one"), says("g1", "1", ""), user("u2", "two"), says("g2", "2", ""),
				list(context, summary, says("ack", "Got it.", ""), user("copy-u2", "two"), says("copy-g2", "2", "")), user("u3", "three")},
			"prompt one, spent, answer 1, prompt two, spent, answer 2, summary <state_snapshot>all of it</state_snapshot>, prompt three"},
		"a rewind behind a compaction": {
			[]string{list(context), user("u1", "one"), says("g1", "1", ""), user("u2", "two"), says("g2", "2", ""),
				list(context, summary, says("ack", "Got it.", ""), user("copy-u2", "two"), says("copy-g2", "2", "")), user("u3", "three"),
				`{"$rewindTo":"copy-u2"}`, user("u4", "four")},
			"prompt one, spent, answer 1, spent, summary <state_snapshot>all of it</state_snapshot>, prompt four"},
		"what hooks and the editor say": {
			[]string{user("u1", "<hook_context>hook</hook_context>\n\none"), `{"id":"u2","type":"user","content":[{"text":"two"},{"text":"<hook_context>x</hook_context>"}]}`,
				user("u3", "Here is the user's editor context as a JSON object. {}"),
				`{"id":"u4","type":"user","content":[{"text":"see @a.txt"},{"text":"\n--- Content from referenced files ---\nlong"}]}`,
				`{"id":"u5","type":"user","content":"expanded","displayContent":[{"text":"typed"}]}`},
			"prompt one, prompt two, prompt see @a.txt, prompt typed"},
		"what is no message": {
			[]string{`{"id":"i","type":"info","content":"hm"}`, `{"id":7,"type":"user","content":"x"}`, `{"$set":7}`, `{"$set":{"messages":[1,{"id":{}}]}}`, user("u1", "one")},
			"prompt one"},
	} {
		store := t.TempDir()
		path := filepath.Join(store, "tmp", "p", "chats", "session-x.jsonl")
		readertest.Put(t, path, header+"\n"+strings.Join(test.lines, "\n")+"\n")
		all := readertest.ReadAll(t, Reader{}, store)
		if len(all) != 1 {
			t.Errorf("%s: %d conversations", name, len(all))
			continue
		}
		var got []string
		for _, e := range all[0].Entries {
			got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.Text))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, strings.Join(got, ", "), test.want)
		}
	}
}

// Following a conversation gives everything once, also a message that is rewritten.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session-x.jsonl")
	call := `,"toolCalls":[{"id":"c1","name":"ls","args":{"dir":"x"},"result":"files"}]`
	var next int64
	text, seen := "", ""
	for _, line := range []string{
		header, user("u1", "one"), says("g1", "1", ""), says("g1", "1", call),
		`{"id":"r","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"files"}}}]}`,
		says("g2", "2", ""), user("u2", "two"), `{"$rewindTo":"u2"}`, user("u3", "three"),
	} {
		for _, part := range []string{line[:len(line)/2], line[len(line)/2:] + "\n"} {
			text += part
			readertest.Put(t, path, text)
			var all []conversation.Entry
			all, next = readertest.ReadFrom(t, Reader{}, conversation.File{Path: path}, next, -1)
			for _, e := range all {
				seen += string(e.Kind) + " " + e.Text + ", "
			}
		}
	}
	if want := "prompt one, spent , answer 1, call x, result files, spent , answer 2, prompt two, prompt three, "; seen != want {
		t.Errorf("who followed saw\n%s, want\n%s", seen, want)
	}
}

// The format that is one JSON object is read one message at a time, however long it is.
func TestDocument(t *testing.T) {
	store := t.TempDir()
	path := filepath.Join(store, "tmp", "p", "chats", "session-x.json")
	long := strings.Repeat("x", 300<<10)
	var b strings.Builder
	b.WriteString("{\n  \"odd\": [1, -2.5e3, true, null, {\"messages\": [\"}\\\"\"]}],\n  \"sessionId\": \"a1\",\n  \"projectHash\": \"00\",\n" +
		"  \"startTime\": \"2026-01-17T01:00:00Z\",\n  \"lastUpdated\": \"2026-01-17T02:00:00Z\",\n  \"messages\": [\n")
	for i := range 5 {
		fmt.Fprintf(&b, "    {\n      \"id\": \"u%d\",\n      \"type\": \"user\",\n      \"content\": \"prompt %d %s\"\n    },\n", i, i, long)
		fmt.Fprintf(&b, "    7, \"}\", {\n      \"id\": \"g%d\",\n      \"type\": \"gemini\",\n      \"content\": \"\\\"}] \\\\\",\n      \"model\": \"gemini-%d\"\n    }%s\n", i, i, map[bool]string{true: ","}[i < 4])
	}
	b.WriteString("  ],\n  \"summary\": \"A fine name\"\n}")
	readertest.Put(t, path, b.String())
	all := readertest.ReadAll(t, Reader{}, store)
	if len(all) != 1 {
		t.Fatalf("%d conversations", len(all))
	}
	f := all[0].Metadata
	if f.ID != "a1" || f.Title != "A fine name" || f.Model != "gemini-4" || !strings.HasPrefix(f.Prompt, "prompt 0 xxx") ||
		!f.Last.Equal(time.Date(2026, 1, 17, 2, 0, 0, 0, time.UTC)) {
		t.Errorf("the facts are %+v", f)
	}
	if got := strings.Count(all[0].Kinds(), "prompt answer"); got != 5 || all[0].Entries[1].Text != `"}] \` {
		t.Errorf("the conversation is %s, %q", all[0].Kinds(), all[0].Entries[1].Text)
	}
	readertest.CheckGoesOn(t, Reader{}, all[0])

	// Following gives one more message.
	_, next := readertest.ReadFrom(t, Reader{}, all[0].File, 0, -1)
	readertest.Put(t, path, strings.Replace(b.String(), "\n  ],\n  \"summary\"", ",\n    {\"id\": \"u9\", \"type\": \"user\", \"content\": \"more\"}\n  ],\n  \"summary\"", 1))
	if more, _ := readertest.ReadFrom(t, Reader{}, all[0].File, next, -1); len(more) != 1 || more[0].Text != "more" {
		t.Errorf("of a message more %+v is read", more)
	}
}

// A damaged document gives its complete parts.
func TestDocumentHostile(t *testing.T) {
	source := readertest.ReadAll(t, Reader{}, storeOf("0.20.0"))[0]
	data, err := os.ReadFile(source.File.Path)
	testenv.NoError(t, err)
	path := filepath.Join(t.TempDir(), "session-x.json")
	read := func(data []byte) []conversation.Entry {
		t.Helper()
		readertest.Put(t, path, string(data))
		f := conversation.File{Path: path, Size: int64(len(data)), Store: filepath.Dir(path)}
		if _, err := (Reader{}).Metadata(f); err != nil {
			t.Fatal(err)
		}
		all, next := readertest.ReadFrom(t, Reader{}, f, 0, -1)
		if rest, _ := readertest.ReadFrom(t, Reader{}, f, next, -1); len(rest) > 0 || next > int64(len(data)) {
			t.Errorf("behind the end at %d stands %+v", next, rest)
		}
		return all
	}
	for n := 0; n < len(data); n += 1 + n/97 {
		if got := read(data[:n]); len(got) > len(source.Entries) || !slices.Equal(got, source.Entries[:len(got)]) {
			t.Fatalf("cut at %d it is %+v", n, got)
		}
		read(data[n:])
		read(append(slices.Clone(data[:n]), data[min(n+100, len(data)):]...))
	}
	for _, value := range []string{"null", "true", "-1", "1e999", `"x"`, "[]", "{}", strings.Repeat("[", 5000)} {
		for _, key := range readertest.Keys(bytes.ReplaceAll(data, []byte(`": `), []byte(`":`))) {
			read(bytes.ReplaceAll(data, []byte(key), []byte(key+value+`,"was":`)))
		}
	}
	huge := bytes.Replace(data, []byte(`"messages": [`), append([]byte(`"messages": [ {"id":"huge","type":"user","content":"`), append(bytes.Repeat([]byte("x"), conversation.MaxRecord), `"},`...)...), 1)
	if !testing.Short() {
		if got := read(huge); len(got) != len(source.Entries) {
			t.Errorf("beside a message that is too long there are %d entries, want %d", len(got), len(source.Entries))
		}
	}
}

func TestHostile(t *testing.T) {
	for _, store := range []string{"0.61.0-headless", "0.61.0-pane"} {
		for _, h := range readertest.ReadAll(t, Reader{}, storeOf(store)) {
			h.File.Store = t.TempDir() // the files beside it name these
			if h.Metadata.Parent == "" {
				h.Metadata.CWD, h.Metadata.Headless = "", true
			}
			readertest.CheckHostile(t, Reader{}, h)
			readertest.CheckGoesOn(t, Reader{}, h)
			readertest.CheckSkips(t, Reader{}, h)
		}
	}
}

func FuzzReader(f *testing.F) {
	fixtures, err := filepath.Glob(filepath.Join("testdata", "*", "tmp", "*", "chats", "*.jsonl"))
	if err != nil || len(fixtures) == 0 {
		f.Fatal(fixtures, err)
	}
	readertest.Fuzz(f, Reader{}, "tmp/p/chats/session-x.jsonl", fixtures...)
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"sessionId":"a","messages":[{"id":"1","type":"user","content":["x",{"text":"y"}]},{"id":"2","type":"gemini","tokens":{"input":1}}],"summary":"s"}`))
	f.Add([]byte(`{"messages":[[],{"id":"1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "session-x.json")
		readertest.Put(t, path, string(data))
		file := conversation.File{Store: filepath.Dir(path), Path: path, Size: int64(len(data))}
		if _, err := (Reader{}).Metadata(file); err != nil {
			t.Fatal(err)
		}
		all, next := readertest.ReadFrom(t, Reader{}, file, 0, -1)
		for _, e := range all {
			if e.Offset < 0 || e.Offset >= next || next > int64(len(data)) || e.Kind == "" {
				t.Errorf("%+v", e)
			}
		}
		if rest, _ := readertest.ReadFrom(t, Reader{}, file, next, -1); len(rest) > 0 {
			t.Errorf("behind the end stands %+v", rest)
		}
	})
}

// Messages after the last one that is read are counted.
func TestSkipped(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads a quarter of a million messages")
	}
	path := filepath.Join(t.TempDir(), "session-1.jsonl")
	var b strings.Builder
	for i := range MaxMessages + 3 {
		fmt.Fprintf(&b, `{"id":"m%d","type":"user","content":"x"}`+"\n", i)
	}
	testenv.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	if n, err := (Reader{}).Skipped(conversation.File{Path: path}); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
