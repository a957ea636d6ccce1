package readers_test

import (
	"cmp"
	"errors"
	"fmt"
	"gt/internal/readertest"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/record"
	"gt/lib/sys/sqlite"
)

// What the person took back is in no reader's conversation, but its tokens are. Who reads
// on is told that what came before was taken back, and who reads it all what it was. A record
// that had it before gives it no more.
func TestTakenBack(t *testing.T) {
	claude := func(kind, id, parent, text string) string {
		if kind == "user" {
			return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":"user","message":{"role":"user","content":%q},"uuid":%q,"timestamp":"2026-01-01T00:00:00Z","sessionId":"s"}`, parent, text, id)
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"id":"m%s","role":%q,"content":[{"type":"text","text":%q}],"usage":{"output_tokens":1}},"uuid":%q,"timestamp":"2026-01-01T00:00:00Z","sessionId":"s"}`,
			parent, kind, id, kind, text, id)
	}
	codex := func(role, text string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"text","text":%q}]}}`, role, text)
	}
	pi := func(id, parent, role, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00Z","message":{"role":%q,"content":%q}}`, id, parent, role, text)
	}
	copilot := func(id, text string) string {
		return fmt.Sprintf(`{"type":"user.message","data":{"content":%q},"id":%q,"timestamp":"2026-01-01T00:00:00Z"}`, text, id)
	}
	qwen := func(id, parent, kind, more string) string {
		return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","type":%q%s}`, id, parent, kind, more)
	}
	gemini := func(id, text string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-01T00:00:00Z","type":"user","content":[{"text":%q}]}`, id, text)
	}
	kimi := func(turn int, text string) string {
		return fmt.Sprintf(`{"type":"turn.prompt","turnId":%d,"time":1795709434990}`+"\n"+
			`{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":%q}],"id":"m.%[2]s","origin":{"kind":"user"}},"time":1795709434990}`, turn, text)
	}
	said := func(text string) string { return fmt.Sprintf(`,"message":{"parts":[{"text":%q}]}`, text) }
	for _, c := range []struct {
		client        string
		before, after []string
		want          string
	}{
		{"claude",
			[]string{claude("user", "1", "null", "one"), claude("assistant", "2", `"1"`, "a"), claude("user", "3", `"2"`, "two"), claude("assistant", "4", `"3"`, "b")},
			[]string{claude("user", "5", `"2"`, "three"), claude("assistant", "6", `"5"`, "c")}, "one|three"},
		{"claude", // to the beginning
			[]string{claude("user", "1", "null", "two"), claude("assistant", "2", `"1"`, "a")},
			[]string{claude("user", "3", "null", "one"), claude("assistant", "4", `"3"`, "b")}, "one"},
		{"claude", // the line of which it follows another is missing
			[]string{claude("user", "1", "null", "one"), claude("assistant", "2", `"1"`, "a"), claude("user", "3", `"2"`, "two"), claude("assistant", "4", `"3"`, "b")},
			[]string{claude("user", "5", `"lost"`, "three"), claude("assistant", "6", `"5"`, "c"), claude("user", "7", `"2"`, "four")}, "one|four"},
		{"codex", []string{codex("user", "one"), codex("assistant", "a"), codex("user", "two"), codex("assistant", "b")},
			[]string{`{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`, codex("user", "three")}, "one|three"},
		{"codex", []string{codex("user", "two"), codex("user", "two again")},
			[]string{`{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":9}}`, codex("user", "one")}, "one"},
		{"pi", []string{pi("1", "null", "user", "one"), pi("2", `"1"`, "assistant", "a"), pi("3", `"2"`, "user", "two")},
			[]string{pi("4", `"2"`, "user", "three")}, "one|three"},
		{"copilot", []string{copilot("1", "one"), copilot("2", "two")},
			[]string{`{"type":"session.snapshot_rewind","data":{"upToEventId":"2","eventsRemoved":1},"id":"3","timestamp":"2026-01-01T00:00:00Z"}`, copilot("4", "three")}, "one|three"},
		{"qwen", []string{qwen("1", "null", "user", said("one")), qwen("2", `"1"`, "assistant", said("a")), qwen("3", `"2"`, "user", said("two"))},
			[]string{qwen("4", `"2"`, "system", `,"subtype":"rewind"`), qwen("5", `"4"`, "user", said("three"))}, "one|three"},
		{"gemini", []string{`{"sessionId":"s","projectHash":"x"}`, gemini("1", "one"), gemini("2", "two")},
			[]string{`{"$rewindTo":"2"}`, gemini("3", "three")}, "one|three"},
		{"kimi", []string{kimi(0, "one"), kimi(1, "two")},
			[]string{`{"type":"context.undone","fromTurnId":1,"time":1795709434992}`, kimi(1, "three")}, "one|three"},
		{"kimi", []string{kimi(0, "one"), kimi(1, "two")}, // before 2.1
			[]string{`{"type":"context.undo","count":1,"time":1795709434992}`, kimi(1, "three")}, "one|three"},
		{"kimi", []string{kimi(0, "one"), `{"type":"context.apply_compaction","summary":"s","time":1795709434991}`, kimi(1, "two")}, // it goes back to the compaction only
			[]string{`{"type":"context.undo","count":3,"time":1795709434992}`, kimi(1, "three")}, "one|three"},
	} {
		r := readers.FindReader(c.client)
		f := conversation.File{Client: c.client, Path: filepath.Join(t.TempDir(), "s.jsonl"), ID: "s"}
		write := func(lines ...string) { readertest.Put(t, f.Path, strings.Join(lines, "\n")+"\n") }
		var taken []conversation.Entry
		options := func(from int64) conversation.Options {
			return conversation.Options{From: from, TakenBack: func(e conversation.Entry) { taken = append(taken, e) }}
		}
		prompts := func(o conversation.Options) (string, int64) {
			var all []string
			next, err := r.Read(f, o, func(e conversation.Entry) bool {
				if e.Kind == conversation.Prompt {
					all = append(all, e.Text)
				}
				return true
			})
			if err != nil {
				t.Error(err)
			}
			return strings.Join(all, "|"), next
		}
		dir := t.TempDir()
		store := record.Store{Sessions: filepath.Join(dir, "sessions"), Contexts: filepath.Join(dir, "context")}
		sync := func() { syncRecord(t, store, r, f) }
		write(c.before...)
		sync()
		if _, next := prompts(options(0)); len(taken) > 0 {
			t.Errorf("%s: %+v", c.client, taken)
		} else {
			write(append(c.before, c.after...)...)
			sync()
			if got := recordedPrompts(t, store); got != c.want {
				t.Errorf("%s: the record has the prompts %q, want %q", c.client, got, c.want)
			}
			if prompts(options(next)); len(taken) == 0 || taken[0].Offset >= next {
				t.Errorf("%s: who reads on is told %+v", c.client, taken)
			}
		}
		taken = nil
		got, next := prompts(options(0))
		if got != c.want || len(taken) == 0 || !strings.HasPrefix(taken[0].Text, "two") {
			t.Errorf("%s: the prompts are %q, taken back are %+v", c.client, got, taken)
		}
		if info, _ := os.Stat(f.Path); next != info.Size() {
			t.Errorf("%s: the next read begins at %d", c.client, next)
		}
		taken = nil
		if prompts(options(next)); len(taken) > 0 {
			t.Errorf("%s: told again of %+v", c.client, taken)
		}
	}
}

// A record keeps what the client wrote after a rewind before the next prompt, and nothing of
// the turn that was taken back, in however many parts the record had it.
func TestRecordAfterRewind(t *testing.T) {
	codex := func(kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":%q,"payload":{%s}}`, kind, payload)
	}
	said := func(role, text string) string {
		return codex("response_item", fmt.Sprintf(`"type":"message","role":%q,"content":[{"type":"text","text":%q}]`, role, text))
	}
	pi := func(id, parent, role, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-01-01T00:00:00Z","message":{"role":%q,"content":%q}}`, id, parent, role, text)
	}
	const shell = `<user_shell_command>\n<command>\nls -la\n</command>\n<result>\nExit code: 0\nDuration: 0.1 seconds\nOutput:\nlisted\n</result>\n</user_shell_command>`
	for _, c := range []struct {
		client string
		parts  []string // what the client had written at each sync
		want   string
	}{
		{"pi", []string{
			pi("1", "", "user", "ask A") + "\n" + pi("2", "1", "assistant", "answer A") + "\n" + pi("3", "2", "user", "ask B"),
			pi("4", "3", "assistant", "bad B"),
			pi("5", "4", "assistant", "bad more"),
			`{"type":"branch_summary","id":"6","parentId":"2","timestamp":"2026-01-01T00:00:00Z","fromId":"5","summary":"tried"}` + "\n" + pi("7", "6", "user", "ask C"),
			pi("8", "7", "user", "ask D"),
			pi("9", "7", "assistant", "answer C"), // back to before D, without a new prompt
		}, "ask A|answer A|tried|ask C|answer C"},
		{"codex", []string{
			said("user", "ask A") + "\n" + said("assistant", "answer A") + "\n" + said("user", "ask B"),
			said("assistant", "bad B"),
			codex("event_msg", `"type":"thread_rolled_back","num_turns":1`) + "\n" +
				codex("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"`+shell+`"}]`) + "\n" +
				codex("compacted", `"message":"summed up","replacement_history":[]`) + "\n" + said("user", "ask C"),
			said("assistant", "answer C"),
		}, "ask A|answer A|ls -la|Exit code: 0\nDuration: 0.1 seconds\nOutput:\nlisted|summed up|ask C|answer C"},
	} {
		r := readers.FindReader(c.client)
		f := conversation.File{Client: c.client, Path: filepath.Join(t.TempDir(), "s.jsonl"), ID: "s"}
		dir := t.TempDir()
		store := record.Store{Sessions: filepath.Join(dir, "sessions"), Contexts: filepath.Join(dir, "context")}
		all := ""
		for _, part := range c.parts {
			all += part + "\n"
			readertest.Put(t, f.Path, all)
			syncRecord(t, store, r, f)
		}
		testenv.NoError(t, record.Reader{}.Find(store.Sessions, func(f conversation.File) {
			var texts []string
			for _, e := range entriesIn(t, record.Reader{}, f, nil) {
				if text := cmp.Or(e.Target, e.Text); text != "" {
					texts = append(texts, strings.TrimSpace(text))
				}
			}
			if got := strings.Join(texts, "|"); got != c.want {
				t.Errorf("%s: the record has %q, want %q", c.client, got, c.want)
			}
			id, err := record.ParseID(strings.TrimSuffix(filepath.Base(f.Path), ".jsonl"))
			testenv.NoError(t, err)
			_, _, torn, err := store.Verify(id, nil)
			testenv.NoError(t, err)
			if torn {
				t.Errorf("%s: torn", c.client)
			}
		}))
	}
}

// Some clients remove from their files what the person takes back. A record gives it no more once
// the person has gone on with another prompt, and gives it again if they restore it. What is
// missing without that may be lost, and stays.
func TestRecordAfterRemoval(t *testing.T) {
	const undone = "undone:" // the client still has it, and hides it
	write := func(path, text string) { readertest.Put(t, path, text) }
	at := func(n int) int { return 1790000000000 + 1000*n }
	number := func(text string) int { return int(text[len(text)-1]) }
	forms := map[string]func(dir string, prompts []string) conversation.File{
		"cline": func(dir string, prompts []string) conversation.File {
			var all []string
			for _, p := range prompts {
				all = append(all, fmt.Sprintf(`{"id":"m%s","role":"user","content":[{"type":"text","text":"<user_input>%[1]s</user_input>"}],"ts":%d}`, p, at(number(p))),
					fmt.Sprintf(`{"id":"a%s","role":"assistant","content":[{"type":"text","text":"answer %[1]s"}],"ts":%d}`, p, at(number(p))+1))
			}
			f := conversation.File{Client: "cline", Path: filepath.Join(dir, "s", "s.messages.json"), ID: "s"}
			write(f.Path, `{"version":1,"messages":[`+strings.Join(all, ",")+`]}`)
			return f
		},
		"opencode's files": func(dir string, prompts []string) conversation.File {
			testenv.NoError(t, os.RemoveAll(filepath.Join(dir, "storage")))
			revert := "{}"
			for _, p := range prompts {
				p, gone := strings.CutPrefix(p, undone)
				if gone {
					revert = fmt.Sprintf(`{"messageID":"u%s"}`, p)
				}
				write(filepath.Join(dir, "storage/message/s/u"+p+".json"), fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, at(number(p))))
				write(filepath.Join(dir, "storage/part/u"+p+"/p.json"), fmt.Sprintf(`{"type":"text","text":%q}`, p))
				write(filepath.Join(dir, "storage/message/s/v"+p+".json"), fmt.Sprintf(`{"role":"assistant","time":{"created":%d,"completed":1}}`, at(number(p))+1))
				write(filepath.Join(dir, "storage/part/v"+p+"/p.json"), fmt.Sprintf(`{"type":"text","text":"answer %s"}`, p))
			}
			f := conversation.File{Client: "opencode", Store: dir, Path: filepath.Join(dir, "storage/session/p/s.json"), ID: "s"}
			write(f.Path, fmt.Sprintf(`{"id":"s","directory":"/w","revert":%s}`, revert))
			return f
		},
		"opencode": func(dir string, prompts []string) conversation.File {
			f := conversation.File{Client: "opencode", Store: dir, Path: filepath.Join(dir, "opencode.db"), ID: "s"}
			file, err := os.CreateTemp(dir, "")
			testenv.NoError(t, err)
			defer file.Close()
			testenv.NoError(t, sqlite.Make(file, func(db *sqlite.Cache) error {
				var errs []error
				do := func(sql string, args ...any) { errs = append(errs, db.Exec(fmt.Sprintf(sql, args...))) }
				do("CREATE TABLE session(id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, model TEXT, revert TEXT, permission TEXT, time_created INTEGER, time_updated INTEGER)")
				do("CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
				do("CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
				revert := "NULL"
				for _, p := range prompts {
					p, gone := strings.CutPrefix(p, undone)
					if gone {
						revert = fmt.Sprintf(`'{"messageID":"u%s"}'`, p)
					}
					do(`INSERT INTO message VALUES ('u%s', 's', %d, '{"role":"user","time":{"created":%[2]d}}')`, p, at(number(p)))
					do(`INSERT INTO part VALUES ('pu%s', 'u%[1]s', 's', '{"type":"text","text":"%[1]s"}')`, p)
					do(`INSERT INTO message VALUES ('v%s', 's', %d, '{"role":"assistant","time":{"created":%[2]d,"completed":1}}')`, p, at(number(p))+1)
					do(`INSERT INTO part VALUES ('pv%s', 'v%[1]s', 's', '{"type":"text","text":"answer %[1]s"}')`, p)
				}
				do("INSERT INTO session VALUES ('s', NULL, '/w', 'a title', '1.18.33', NULL, %s, NULL, 1790000000000, 1790000000002)", revert)
				return errors.Join(errs...)
			}))
			testenv.NoError(t, os.Rename(file.Name(), f.Path))
			return f
		},
	}
	for name, form := range forms {
		for _, c := range []struct {
			syncs []string // the prompts that the client has
			want  string   // those that the record gives
		}{
			{[]string{"A B", "A C"}, "A|C"},
			{[]string{"A B C", "A D", "A D E"}, "A|D|E"},
			{[]string{"A B", "D"}, "D"}, // to the beginning
			{[]string{"A B", "A"}, "A|B"},
			{[]string{"A B C", "A D", "A D B"}, "A|B|D"}, // with the first words again
			{[]string{"A B", "A undone:B"}, "A"},
			{[]string{"A B", "A undone:B", "A C"}, "A|C"},
			{[]string{"A B", "A undone:B", "A B"}, "A|B"},
		} {
			if name == "cline" && strings.Contains(strings.Join(c.syncs, " "), undone) {
				continue
			}
			dir, at := t.TempDir(), t.TempDir()
			store := record.Store{Sessions: filepath.Join(dir, "sessions"), Contexts: filepath.Join(dir, "context")}
			for _, prompts := range c.syncs {
				f := form(at, strings.Fields(prompts))
				syncRecord(t, store, readers.FindReader(f.Client), f)
			}
			if got := recordedPrompts(t, store); got != c.want {
				t.Errorf("%s, %q: the record has the prompts %q, want %q", name, c.syncs, got, c.want)
			}
		}
	}
}

// syncRecord updates the record of a client's file.
func syncRecord(t *testing.T, s record.Store, r conversation.Reader, f conversation.File) {
	t.Helper()
	index, err := s.Index()
	testenv.NoError(t, err)
	info, err := os.Stat(f.Path)
	testenv.NoError(t, err)
	f.Size, f.Changed = info.Size(), info.ModTime().UnixNano()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	y := record.Syncer{Store: s, Index: index, Redact: func(s string) string { return s }, Now: func() time.Time { return now }, Bulk: true}
	_, err = y.Sync(r, conversation.Conversation{File: f, Metadata: conversation.Metadata{ID: "s", Started: now}})
	testenv.NoError(t, err)
}

// recordedPrompts returns the prompts of the only record in a store.
func recordedPrompts(t *testing.T, s record.Store) string {
	t.Helper()
	var all []string
	testenv.NoError(t, record.Reader{}.Find(s.Sessions, func(f conversation.File) {
		for _, e := range entriesIn(t, record.Reader{}, f, isPrompt) {
			all = append(all, e.Text)
		}
		source, err := record.SourceOf(f)
		testenv.NoError(t, err)
		n := 0
		testenv.NoError(t, source(0, func(e conversation.Entry) bool {
			if e.Kind == conversation.Prompt {
				n++
			}
			return true
		}))
		id, err := record.ParseID(strings.TrimSuffix(filepath.Base(f.Path), ".jsonl"))
		testenv.NoError(t, err)
		said := 0
		testenv.NoError(t, s.Messages(id, func(m record.Message) error {
			if m.Role == "user" {
				said++
			}
			return nil
		}))
		if n != len(all) || said != len(all) {
			t.Errorf("%d and %d of %d prompts would be gone on with", n, said, len(all))
		}
	}))
	return strings.Join(all, "|")
}
