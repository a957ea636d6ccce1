package opencode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/client/account"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/sqlite"
)

// The databases in testdata/opencode have the rows that OpenCode writes in
// e2e/opencode_test.go, copied by SQLite without the other tables. The parts of "run" are
// in the write-ahead log.

func storeOf(name string) string {
	return filepath.Join("testdata", "1.18.33-"+name)
}

// readHeld reads all conversations of a store, oldest first.
func readHeld(t *testing.T, store string) []readertest.Held {
	t.Helper()
	r := &Reader{}
	var all []readertest.Held
	if err := r.Find(store, func(f conversation.File) {
		facts, err := r.Metadata(f)
		testenv.NoError(t, err)
		entries, next := readertest.ReadFrom(t, r, f, 0, -1)
		if rest, again := readertest.ReadFrom(t, r, f, next, -1); len(rest) > 0 || again != next {
			t.Errorf("behind the end of %s stand %d entries", f.ID, len(rest))
		}
		all = append(all, readertest.Held{File: f, Metadata: facts, Entries: entries})
	}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b readertest.Held) int { return a.Metadata.Started.Compare(b.Metadata.Started) })
	return all
}

// A part that is too long to be read is counted.
func TestSkipped(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "opencode.db"))
	testenv.NoError(t, err)
	defer f.Close()
	err = sqlite.Make(f, func(db *sqlite.Cache) error {
		for _, sql := range []string{
			"CREATE TABLE session(id TEXT)", "CREATE TABLE message(id TEXT, session_id TEXT, data TEXT)", "CREATE TABLE part(id TEXT, session_id TEXT, data TEXT)",
			"INSERT INTO message VALUES ('m', 'one', '{}'), ('n', 'two', '{}')",
			fmt.Sprintf("INSERT INTO part VALUES ('p', 'one', zeroblob(%d)), ('q', 'two', 'x')", sqlite.MaxRow+1),
		} {
			if err := db.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
	testenv.NoError(t, err)
	for id, want := range map[string]int{"one": 1, "two": 0} {
		if n, err := (&Reader{}).Skipped(conversation.File{Path: f.Name(), ID: session.ID(id)}); n != want || err != nil {
			t.Errorf("%s: %d, %v", id, n, err)
		}
	}
}

// Tables of a newer version are said to be unknown. Those of another program are passed over.
func TestUnknownTables(t *testing.T) {
	for sql, want := range map[string]string{
		"CREATE TABLE session(id TEXT, directory TEXT); CREATE TABLE message(id TEXT, session_id TEXT, data TEXT)":                                                                                                     "table 'part' has no column 'id'",
		"CREATE TABLE session(id TEXT, directory TEXT); CREATE TABLE message(id TEXT, session_id TEXT, data TEXT); CREATE TABLE part(id TEXT, message_id TEXT, body TEXT); INSERT INTO session VALUES ('ses_1', '/x')": "table 'part' has no column 'data'",
		"CREATE TABLE session(id TEXT, directory TEXT); CREATE TABLE message(id TEXT, session_id TEXT, data TEXT); CREATE TABLE part(id TEXT, message_id TEXT, data TEXT)":                                             "",
		"CREATE TABLE session(id TEXT, user TEXT)": "",
	} {
		store := t.TempDir()
		f, err := os.Create(filepath.Join(store, "opencode.db"))
		testenv.NoError(t, err)
		testenv.NoError(t, sqlite.Make(f, func(db *sqlite.Cache) error { return db.Exec(sql) }))
		f.Close()
		r := &Reader{}
		err = r.Find(store, func(conversation.File) {})
		if err == nil {
			_, err = r.Read(conversation.File{Client: "opencode", Store: store, Path: f.Name(), ID: "ses_1"}, conversation.Options{}, func(conversation.Entry) bool { return true })
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}

const turn = "prompt answer call result spent answer spent"

func TestReader(t *testing.T) {
	n := func(n int64) conversation.Usage {
		return conversation.Usage{Input: 60 * n, CacheRead: 40 * n, Output: 10 * n}
	}
	const more = " prompt answer spent"
	all := append(readHeld(t, storeOf("run")), readHeld(t, storeOf("pane"))...)
	readertest.Check(t, "1.18.33", all, readertest.Adds(t, &Reader{}), []readertest.Want{
		{Kinds: turn + " " + turn, Title: "SUMMARY-CANARY", Prompts: `"please echo"|"delegate this"`, Headless: true, Spent: n(4)},
		{Kinds: strings.TrimSpace(more), Title: "A part (@general subagent)", Prompts: "You are the child.", Spent: n(1)},
		{Kinds: turn + " " + turn + more, Title: "SUMMARY-CANARY (fork #1)", Prompts: `"please echo"|"delegate this"|"asked in the fork"`, Spent: n(1)},
		{Kinds: strings.TrimSpace(more), Title: "A fine name", Prompts: "another", Headless: true, Spent: n(1)},
		{Kinds: turn + " summary spent" + more + " spent", Title: "SUMMARY-CANARY", Prompts: "please echo|after the compaction", Spent: n(5)},
	}, func(i int, h readertest.Held) {
		if f := h.Metadata; f.ID != h.File.ID || f.CWD != "/home/max/project" || f.Version != "1.18.33" || f.Model != "e2e-model" || f.Started.Year() != 2026 {
			t.Errorf("%d: the facts are %+v", i, f)
		}
		readertest.CheckGoesOn(t, &Reader{}, h)
	})
	if all[1].Metadata.Parent != all[0].Metadata.ID || all[2].Metadata.FirstID != all[0].Metadata.FirstID || all[3].Metadata.FirstID == all[0].Metadata.FirstID {
		t.Errorf("the subagent is %+v, the fork %+v", all[1].Metadata, all[2].Metadata)
	}
	// Copies in a fork keep the ids of the originals, and no two messages of a
	// conversation have the same id.
	for i, e := range all[0].Entries {
		if copied := all[2].Entries[i]; copied.ID != e.ID || copied.Text != e.Text || copied.Kind != e.Kind {
			t.Errorf("%+v was copied to %+v", e, copied)
		}
	}
	if got := all[0].Texts(conversation.Call)[0] + all[0].Texts(conversation.Result)[0]; got != "echo E2E-OUTPUTE2E-OUTPUT\n" {
		t.Errorf("the command is %q", got)
	}
}

// fixture converts a database to the files of versions before databases.
func fixture(t testing.TB, store string) string {
	dir := t.TempDir()
	db, err := sqlite.Open(filepath.Join(store, "opencode.db"))
	testenv.NoError(t, err)
	defer db.Close()
	write := func(data string, elem ...string) {
		path := filepath.Join(append([]string{dir, "storage"}, elem...)...)
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.NoError(t, os.WriteFile(path+".json", []byte(data), 0o600))
	}
	for table, each := range map[string]func(sqlite.Row){
		"session": func(r sqlite.Row) {
			data, _ := json.Marshal(map[string]any{"id": r.Text("id"), "version": r.Text("version"), "projectID": "global", "directory": r.Text("directory"),
				"title": r.Text("title"), "parentID": r.Text("parent_id"), "time": map[string]any{"created": r.Int("time_created"), "updated": r.Int("time_updated")},
				"revert": json.RawMessage(cmp.Or(r.Text("revert"), "null"))})
			write(string(data), "session", "global", r.Text("id"))
		},
		"message": func(r sqlite.Row) { write(r.Text("data"), "message", r.Text("session_id"), r.Text("id")) },
		"part":    func(r sqlite.Row) { write(r.Text("data"), "part", r.Text("message_id"), r.Text("id")) },
	} {
		testenv.NoError(t, db.Scan(table, func(r sqlite.Row) bool { each(r); return true }))
	}
	return dir
}

// Files give the same as the database that imported them, and count only if no database
// has them.
func TestFiles(t *testing.T) {
	for _, name := range []string{"run", "pane"} {
		dir := fixture(t, storeOf(name))
		want, got := readHeld(t, storeOf(name)), readHeld(t, dir)
		if len(got) != len(want) {
			t.Fatalf("%s: %d conversations, want %d", name, len(got), len(want))
		}
		for i := range want {
			want[i].Metadata.Headless = false // the files did not record it
			if got[i].Metadata != want[i].Metadata || !slices.Equal(got[i].Entries, want[i].Entries) {
				t.Errorf("%s, %d:\n%+v\n%+v, want\n%+v\n%+v", name, i, got[i].Metadata, got[i].Entries, want[i].Metadata, want[i].Entries)
			}
			readertest.CheckGoesOn(t, &Reader{}, got[i])
		}
		for _, suffix := range []string{"", "-wal"} {
			if data, err := os.ReadFile(filepath.Join(storeOf(name), "opencode.db"+suffix)); err == nil {
				os.WriteFile(filepath.Join(dir, "opencode.db"+suffix), data, 0o600)
			}
		}
		if both := readHeld(t, dir); len(both) != len(want) || !strings.HasSuffix(both[0].File.Path, ".db") {
			t.Errorf("%s: %d conversations in database and files", name, len(both))
		}
	}
}

// A part of a kind that only a newer version writes is named.
func TestUnknown(t *testing.T) {
	dir := fixture(t, storeOf("run"))
	h := readHeld(t, dir)[0]
	parts, err := filepath.Glob(filepath.Join(dir, "storage", "part", "*", "*.json"))
	if err != nil || len(parts) == 0 {
		t.Fatal(err)
	}
	for _, path := range parts {
		testenv.NoError(t, os.WriteFile(path, []byte(`{"type":"tomorrow"}`), 0o600))
	}
	u, err := conversation.CountUnknown(&Reader{}, h.File)
	if want := []string{"tomorrow"}; err != nil || u.Records < 4 || u.Kinds != 1 || !slices.Equal(u.First, want) {
		t.Errorf("%+v, %v", u, err)
	}
}

// Following gives each complete entry once: no text that is being written and no result
// of a running tool. Of a client that died, it gives everything.
func TestGrows(t *testing.T) {
	dir := fixture(t, storeOf("run"))
	r := &Reader{}
	h := readHeld(t, dir)[0]
	last := h.Entries[len(h.Entries)-1]
	put := func(kind, in, id, data string) {
		t.Helper()
		path := filepath.Join(dir, "storage", kind, in, id+".json")
		os.MkdirAll(filepath.Dir(path), 0o700)
		testenv.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
	from := last.Offset + 1
	more := func(want ...string) {
		t.Helper()
		var got []string
		var entries []conversation.Entry
		entries, from = readertest.ReadFrom(t, r, h.File, from, -1)
		for _, e := range entries {
			got = append(got, string(e.Kind)+" "+e.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("there came %q, want %q", got, want)
		}
	}
	session := string(h.File.ID)
	now := last.Time.UnixMilli() + 1000
	put("message", session, "msg_z1", fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, now))
	more()
	put("part", "msg_z1", "prt_1", `{"type":"text","text":"next"}`)
	put("part", "msg_z1", "prt_2", `{"type":"text","text":"a file's text","synthetic":true}`)
	more("prompt next")
	put("message", session, "msg_z2", fmt.Sprintf(`{"role":"assistant","modelID":"m","time":{"created":%d}}`, now+1))
	put("part", "msg_z2", "prt_1", `{"type":"reasoning","text":"","time":{"start":1}}`)
	more()
	put("part", "msg_z2", "prt_1", `{"type":"reasoning","text":"a thought","time":{"start":1,"end":2}}`)
	put("part", "msg_z2", "prt_2", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"pending","input":{}}}`)
	more("thought a thought")
	put("part", "msg_z2", "prt_2", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{"command":"ls"}}}`)
	more("call ls")
	more()
	put("part", "msg_z2", "prt_2", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"error","input":{"command":"ls"},"error":"refused"}}`)
	put("part", "msg_z2", "prt_3", `{"type":"text","text":"","time":{"start":1}}`)
	more("result refused")
	put("message", session, "msg_z3", fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, now+2000))
	put("part", "msg_z3", "prt_1", `{"type":"text","text":"after a crash"}`)
	more("prompt after a crash")
}

// What the person took back is missing until it is restored; its tokens were spent.
func TestUndone(t *testing.T) {
	dir := fixture(t, storeOf("pane"))
	path, _ := filepath.Glob(filepath.Join(dir, "storage", "session", "*", "*.json"))
	data, err := os.ReadFile(path[0])
	if err != nil || !strings.Contains(string(data), `"revert":{`) {
		t.Fatal(err, string(data))
	}
	var s map[string]any
	json.Unmarshal(data, &s)
	delete(s, "revert")
	data, _ = json.Marshal(s)
	before := readHeld(t, dir)[0]
	testenv.NoError(t, os.WriteFile(path[0], data, 0o600))
	after := readHeld(t, dir)[0]
	if got := strings.TrimPrefix(after.Kinds(), strings.TrimSuffix(before.Kinds(), " spent")); got != " prompt answer spent" || !slices.Contains(after.Texts(conversation.Prompt), "to be taken back") {
		t.Errorf("there came %q", got)
	}
}

// Files of other programs are skipped, and links are not followed out of the store.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	r := &Reader{}
	getenv := func(name string) string {
		return map[string]string{"HOME": dir, "XDG_DATA_HOME": filepath.Join(dir, ".local", "share")}[name]
	}
	if got := account.Stores("opencode", getenv); len(got) != 0 {
		t.Errorf("stores %q", got)
	}
	store := filepath.Join(dir, ".local", "share", "opencode")
	for name, data := range map[string]string{
		"opencode.db":                            "no database",
		"storage/session/p/ses_1.json":           `{"id":"ses_1","title":{},"time":{"created":"x","updated":-1},"directory":7,"parentID":"../../x"}`,
		"storage/session/p/ses_2.json":           "\xff\xfe{",
		"storage/session/p/..json":               `{}`,
		"storage/session/p/ses 3.json":           `{}`,
		"storage/message/ses_1/msg_1.json":       `{"role":"user","time":{"created":1e300}}`,
		"storage/message/ses_1/msg_2.json":       `{"role":"assistant","tokens":{"input":-5,"output":1e400,"cache":7},"cost":"x","time":7}`,
		"storage/message/ses_1/msg_3.json":       `[]`,
		"storage/message/ses_1/msg_4.json":       "",
		"storage/part/msg_1/prt_1.json":          `{"type":"text","text":"\ud800 asked"}`,
		"storage/part/msg_2/prt_1.json":          `{"type":"tool","tool":[],"state":{"status":"completed","output":{},"input":"x"}}`,
		"storage/part/msg_2/prt_2.json":          `{"type":"text","text":["x"]}`,
		"storage/part/msg_2/prt_3.json":          `{"type":"unknown"}`,
		"storage/part/msg_2/../prt.json":         `{}`,
		"storage/session/p/folder.json/x":        ``,
		"storage/message/ses_1/folder.json/data": ``,
	} {
		path := filepath.Join(store, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		testenv.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
	if got := account.Stores("opencode", getenv); !slices.Equal(got, []string{store}) {
		t.Errorf("stores %q", got)
	}
	// A broken database is an error, and the files beside it are found.
	found := 0
	if err := r.Find(store, func(conversation.File) { found++ }); found != 2 || err == nil || !strings.Contains(err.Error(), "it is not an SQLite database") {
		t.Errorf("%d conversations, %v", found, err)
	}
	os.Remove(filepath.Join(store, "opencode.db"))
	all := readHeld(t, store)
	if len(all) != 2 {
		t.Fatalf("%d conversations", len(all))
	}
	for _, h := range all {
		if h.Metadata.Parent != "" || h.Metadata.Title != "" || !h.Metadata.Started.IsZero() {
			t.Errorf("the facts are %+v", h.Metadata)
		}
		if h.File.ID == "ses_1" && h.Kinds() != "prompt call result" {
			t.Errorf("it is %s", h.Kinds())
		}
	}
	// A session that is gone has no entries.
	f := conversation.File{Client: "opencode", Store: storeOf("run"), Path: filepath.Join(storeOf("run"), "opencode.db"), ID: "ses_gone"}
	if facts, err := r.Metadata(f); facts != (conversation.Metadata{}) || err != nil {
		t.Errorf("%+v, %v", facts, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(`{"role":"user","time":{"created":1795252787229}}`, `{"type":"text","text":"x"}`, true)
	f.Add(`{"role":"assistant","modelID":"m","tokens":{"input":1},"time":{"created":1,"completed":2}}`, `{"type":"tool","tool":"bash","state":{"status":"running","input":{"command":"ls"}}}`, true)
	f.Add(`{"role":"assistant","summary":true}`, `{"type":"step-finish","cost":0.5,"tokens":{"input":1,"reasoning":3}}`, false)
	f.Fuzz(func(t *testing.T, message, data string, open bool) {
		for _, e := range entriesOf(message, []part{{"prt_1", data}, {"prt_2", data}}, open) {
			if e.Usage.Input < 0 || e.Usage.Output < 0 || e.Usage.Cost < 0 || e.Time.After(time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("%+v", e)
			}
		}
	})
}

// Thoughts are part of the output. A message of an early version, which has no steps, has
// its own token counts.
func TestSpent(t *testing.T) {
	const tokens = `"cost":0.25,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}`
	want := conversation.Usage{Input: 1, Output: 5, CacheRead: 4, CacheWrite: 5, Cost: 0.25}
	message := `{"role":"assistant","modelID":"m","time":{"created":1795252787229,"completed":1795252787230},` + tokens + `}`
	step := part{"prt_1", `{"type":"step-finish",` + tokens + `}`}
	for n, parts := range [][]part{nil, {step}, {step, step}} {
		all := entriesOf(message, parts, true)
		if len(all) != max(n, 1) || all[0].Kind != conversation.TokenUsage || all[0].Usage != want || all[0].Model != "m" || n == 2 && all[0].ID == all[1].ID {
			t.Errorf("%d steps cost %+v", n, all)
		}
	}
}

// OpenCode 2 keeps a message and its parts in one row, beside the tables of OpenCode 1 with the
// same session as it was. The rows are written by its published schema; no version of it was
// tried.
func TestSecond(t *testing.T) {
	store := t.TempDir()
	f, err := os.Create(filepath.Join(store, "opencode.db"))
	testenv.NoError(t, err)
	defer f.Close()
	const both = "CREATE TABLE %s (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, model TEXT, revert TEXT, permission TEXT, time_created INTEGER, time_updated INTEGER)"
	row := func(id, kind string, seq int, data string) string {
		return fmt.Sprintf("INSERT INTO session_message VALUES ('%s', 'ses_1', '%s', %d, %d, '%s')", id, kind, seq, int64(1790000000000)+int64(seq/2), data)
	}
	err = sqlite.Make(f, func(db *sqlite.Cache) error {
		for _, sql := range []string{
			fmt.Sprintf(both, "session"), fmt.Sprintf(both, "session_v2"),
			"CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, data TEXT)", "CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, data TEXT)",
			"CREATE TABLE session_message(id TEXT, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT)",
			"INSERT INTO session VALUES ('ses_1', NULL, '/old', 'as it was', '1.18.33', NULL, NULL, NULL, 1780000000001, 1780000000002), ('ses_0', NULL, '/old', 'never opened again', '1.18.33', NULL, NULL, NULL, 1780000000001, 1780000000002)",
			`INSERT INTO session_v2 VALUES ('ses_1', NULL, '/now', 'a title', '2.0.3', '{"providerID":"e2e","id":"e2e-model"}', '{"messageID":"msg_7"}', NULL, 1790000000000, 1790000002000)`,
			row("msg_9", "user", 0, `{"text":"port it","files":[{"mime":"image/png","uri":"x"}],"time":{"created":1790000000000}}`),
			row("msg_1", "model-switched", 1, `{"model":{"id":"x"},"time":{"created":1790000000000}}`),
			row("msg_2", "assistant", 2, `{"agent":"build","model":{"id":"e2e-model","providerID":"e2e"},"time":{"created":1790000000001,"completed":1790000000002},"cost":0.5,
				"tokens":{"input":60,"output":10,"reasoning":5,"cache":{"read":40,"write":0}},"content":[
				{"type":"reasoning","id":"r","text":"a thought"},{"type":"text","id":"t","text":"I run it."},
				{"type":"tool","id":"c","name":"bash","time":{"created":1790000000001,"ran":1790000000001,"completed":1790000000002},"state":{"status":"completed","input":{"command":"ls"},"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}},
				{"type":"tool","id":"d","name":"bash","time":{"created":1790000000001},"state":{"status":"error","input":{"command":"false"},"content":[],"error":{"type":"unknown","message":"refused"}}}]}`),
			row("msg_3", "synthetic", 3, `{"text":"not the person","time":{"created":1790000000001}}`),
			row("msg_4", "shell", 4, `{"callID":"s","command":"make","output":"made","time":{"created":1790000000002,"completed":1790000000002}}`),
			row("msg_5", "compaction", 5, `{"reason":"auto","summary":"SUMMARY","recent":"","time":{"created":1790000000002}}`),
			row("msg_7", "user", 7, `{"text":"taken back","time":{"created":1790000000003}}`),
		} {
			if err := db.Exec(sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
	testenv.NoError(t, err)
	all := readHeld(t, store)
	if len(all) != 2 || all[0].Metadata.ID != "ses_0" || all[1].Metadata.ID != "ses_1" {
		t.Fatalf("found are %+v", all)
	}
	h := all[1]
	if m := h.Metadata; m.CWD != "/now" || m.Title != "a title" || m.Version != "2.0.3" || m.Model != "e2e-model" || m.Prompt != "port it [image]" {
		t.Errorf("the facts are %+v", m)
	}
	if got, want := h.Kinds(), "prompt thought answer call result call result spent call result summary"; got != want {
		t.Errorf("read is %q, not %q", got, want)
	}
	if got, want := strings.Join(slices.Concat(h.Texts(conversation.Call), h.Texts(conversation.Result)), "|"), "ls|false|make|a\nb|refused|made"; got != want {
		t.Errorf("the commands are %q", got)
	}
	for _, e := range h.Entries {
		if e.Kind == conversation.TokenUsage && e.Usage != (conversation.Usage{Input: 60, CacheRead: 40, Output: 15, Cost: 0.5}) {
			t.Errorf("spent is %+v", e.Usage)
		}
	}
	readertest.CheckGoesOn(t, &Reader{}, h)
	testenv.NoError(t, (&Reader{}).Unknown(h.File, func(kind string) { t.Errorf("'%s' is not known", kind) }))
}

// A database that imported a message without its parts has them beside it, where the version
// before it kept them.
func TestPartsBeside(t *testing.T) {
	store := t.TempDir()
	f, err := os.Create(filepath.Join(store, "opencode.db"))
	testenv.NoError(t, err)
	defer f.Close()
	testenv.NoError(t, sqlite.Make(f, func(db *sqlite.Cache) error {
		for _, sql := range []string{
			"CREATE TABLE session(id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, model TEXT, revert TEXT, permission TEXT, time_created INTEGER, time_updated INTEGER)",
			"CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, data TEXT)", "CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, data TEXT)",
			"INSERT INTO session VALUES ('ses_1', NULL, '/w', 'a title', '1.2.5', NULL, NULL, NULL, 1790000000000, 1790000000002)",
			`INSERT INTO message VALUES ('msg_1', 'ses_1', 1790000000000, '{"role":"user","time":{"created":1790000000000}}'), ('msg_2', 'ses_1', 1790000000001, '{"role":"user","time":{"created":1790000000001}}')`,
			`INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_1', '{"type":"text","text":"two"}')`,
		} {
			if err := db.Exec(sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	}))
	for _, id := range []string{"msg_1", "msg_2"} {
		readertest.Put(t, filepath.Join(store, "storage", "part", id, "prt_1.json"), `{"id":"prt_1","type":"text","text":"one"}`)
	}
	if all := readHeld(t, store); len(all) != 1 || strings.Join(all[0].Texts(conversation.Prompt), "|") != "one|two" || all[0].Metadata.Prompt != "one" {
		t.Errorf("%+v", all)
	}
}
