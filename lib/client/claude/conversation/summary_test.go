package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"gt/internal/readertest"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

func keepText(s string) string { return s }

// told writes a transcript and reads it.
func told(t testing.TB, content string) summary.Summary {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	testenv.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	s, err := Tail(path, keepText)
	testenv.NoError(t, err)
	return s
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

// The client's records, as short as possible.

func user(content string) string {
	return `{"parentUuid":"p","isSidechain":false,"type":"user","message":{"role":"user","content":` + content + `},"uuid":"u","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/me/project"}`
}

func prompt(text string) string { return user(quote(text)) }

func assistant(block string) string {
	return `{"parentUuid":"p","isSidechain":false,"message":{"id":"m","role":"assistant","model":"claude","content":[` + block + `]},"type":"assistant","uuid":"u"}`
}

func says(text string) string { return assistant(`{"type":"text","text":` + quote(text) + `}`) }

func use(id, name, input string) string {
	return assistant(`{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}`)
}

func result(id, text string) string {
	return user(`[{"tool_use_id":"` + id + `","type":"tool_result","content":` + quote(text) + `}]`)
}

func failed(id, text string) string {
	return user(`[{"type":"tool_result","content":` + quote(text) + `,"is_error":true,"tool_use_id":"` + id + `"}]`)
}

func structured(id, result string) string {
	line := user(`[{"tool_use_id":"` + id + `","type":"tool_result","content":"ok"}]`)
	return strings.TrimSuffix(line, "}") + `,"toolUseResult":` + result + `}`
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func texts(rs []summary.Request) []string {
	var all []string
	for _, r := range rs {
		all = append(all, r.Text)
	}
	return all
}

// What Claude Code 2.1.197 wrote: headless with tasks and a compaction, in a pane with
// everything that a person does there, and with replies to the agent.
func TestRealClient(t *testing.T) {
	at := func(s string) time.Time {
		when, err := time.Parse(time.RFC3339, s)
		testenv.NoError(t, err)
		return when
	}
	for name, want := range map[string]summary.Summary{
		"headless": {
			CWD: "/home/me/project",
			Requests: []summary.Request{
				{Text: "Please build the parser & tests.\nSecond line", Answer: "All done: I decided to use a hand-written parser."},
				{Text: "what next?", Answer: "ok again"},
				{Text: "after compaction"},
			},
			Answer: "ok again",
			Todos:  []summary.Todo{{Text: "Test parser", Status: "pending"}},
			Done:   1,
			Files:  []string{"sub/b.txt", "a.txt"},
			Commands: []summary.Command{
				{Text: "echo out; echo oops >&2; false", Failed: true},
				{Text: "echo fine", Failed: false},
			},
			Failures:  []string{"echo out; echo oops >&2; false: Exit code 1 out oops"},
			Compacted: "SUMMARY-OF-THE-MODEL",
		},
		"pane": {
			Title: "my work title",
			CWD:   "/home/me/project",
			Requests: []summary.Request{
				{Text: "SLOW now", Answer: "slow"},
				{Text: "queued while busy", Answer: "answer to"},
				{Text: "/review src/x.go and more", Answer: ""},
				{Text: "REJECT this", Answer: "write"},
				{Text: "ASK me", Answer: "answer to"},
				{Text: "SLOW again", Answer: "slow"},
				{Text: "<div> is broken"},
			}[1:],
			Answer:    "answer to",
			Files:     []string{"a.txt"},
			Commands:  []summary.Command{{Text: "sleep 4; echo slept", Failed: false}, {Text: "ls -la", Failed: false}}, // the person ran the last one
			Compacted: "SUMMARY-OF-THE-MODEL",
		},
		"replies": {
			Title: "a title",
			CWD:   "/home/me/project",
			Requests: []summary.Request{
				{Text: "ASK me", Answer: "answer to"},
				{Text: "Which database? Postgres", Reply: true},
				{Text: "REJECT this"},
				{Text: "do it in c.txt instead", Reply: true},
			},
			Answer: "answer to",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Tail(filepath.Join("testdata", "summary", name+".jsonl"), keepText)
			testenv.NoError(t, err)
			if got.First.Text == "" || got.First.Time.Before(at("2026-11-21T00:00:00Z")) {
				t.Errorf("it began with %+v", got.First)
			}
			got.First = summary.Request{}
			for i, r := range got.Requests {
				if r.Time.Before(at("2026-11-21T00:00:00Z")) {
					t.Errorf("%q was at %v", r.Text, r.Time)
				}
				got.Requests[i].Time = time.Time{}
				if strings.HasPrefix(r.Text, "/review") { // the model echoed the client's tags
					got.Requests[i].Answer = ""
				}
			}
			want.Answered = true // each stops after an answer
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	for content, want := range map[string]string{
		`"plain"`:                            "plain",
		`"  two\nlines  "`:                   "two\nlines",
		`[{"type":"text","text":"a block"}]`: "a block",
		`[{"type":"text","text":"<ide_opened_file>x.go is open</ide_opened_file>"},{"type":"text","text":"fix it"},{"type":"image"}]`: "fix it",
		`"<system-reminder>be good</system-reminder>\nand the question"`:                                                              "and the question",
		`"<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>keep x</command-args>"`:    "",
		`"<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>a b</command-args>"`:         "/review a b",
		`"<command-name>/plugin:do-it</command-name>\n<command-args></command-args>"`:                                                 "/plugin:do-it",
		`"<local-command-stdout>done</local-command-stdout>"`:                                                                         "",
		`"<bash-input>ls</bash-input>"`:                                   "",
		`"<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"`:       "",
		`"<task-notification>\n<task-id>x</task-id></task-notification>"`: "",
		`"[Request interrupted by user for tool use]"`:                    "",
		`"<div> is broken"`: "<div> is broken",
		`"<"`:               "<",
		`"\n\n<pasted_content id=\"d796\">\n<system-reminder>one\ntwo\n</pasted_content id=\"d796\">\n\nwhat is it?"`:                                      "<system-reminder>one\ntwo\nwhat is it?",
		`"see\n\n<pasted_content id=\"d796\">\none\ntwo\n</pasted_content id=\"d796\">\n"`:                                                                 "see\none\ntwo",
		`"<command-name>/review</command-name>\n<command-args>\n\n<pasted_content id=\"d796\">\none\ntwo\n</pasted_content id=\"d796\">\n</command-args>"`: "/review one\ntwo",
		`"a \u00e4 \ud83d\ude00"`: "a ä 😀",
		`""`:                      "", `null`: "", `3`: "", `{}`: "", `[3,null,{"type":3}]`: "",
	} {
		got := ""
		if s := told(t, lines(user(content))); len(s.Requests) > 0 {
			got = s.Requests[0].Text
			if s.First.Text != got {
				t.Errorf("%s: first %q", content, s.First.Text)
			}
		}
		if got != want {
			t.Errorf("%s reads as %q, want %q", content, got, want)
		}
	}
	// Text that is not a person's.
	for _, field := range []string{
		`"isMeta":true`, `"isCompactSummary":true`, `"isSidechain":true`, `"origin":{"kind":"task-notification"}`, `"origin":{"kind":"peer"}`,
	} {
		line := strings.TrimSuffix(prompt("no prompt"), "}") + "," + field + "}"
		if s := told(t, lines(line)); len(s.Requests) > 0 || s.First.Text != "" {
			t.Errorf("%s counts as a request", field)
		}
	}
	for attachment, want := range map[string]int{
		`{"type":"queued_command","prompt":"typed meanwhile","commandMode":"prompt","origin":{"kind":"human"}}`: 1,
		`{"type":"queued_command","prompt":[{"type":"text","text":"typed meanwhile"}],"commandMode":"prompt"}`:  1,
		`{"type":"queued_command","prompt":"a task ended","commandMode":"task-notification"}`:                   0,
		`{"type":"queued_command","prompt":"meta","commandMode":"prompt","isMeta":true}`:                        0,
		`{"type":"hook_success","content":"hook says","hookEvent":"SessionStart"}`:                              0,
	} {
		s := told(t, lines(`{"parentUuid":"p","isSidechain":false,"attachment":`+attachment+`,"type":"attachment","uuid":"u"}`))
		if len(s.Requests) != want {
			t.Errorf("%s: %q", attachment, texts(s.Requests))
		}
	}
}

// The requests are the last ones, each with its answer. A repeated request is one.
func TestTurns(t *testing.T) {
	var all []string
	for i := range 20 {
		all = append(all, prompt(fmt.Sprint("request ", i)), says(fmt.Sprint("first word to ", i)), says(fmt.Sprint("last word to ", i)))
	}
	why := "The user doesn't want to proceed with this tool use. " + "To tell you how to proceed, the user said:\n" + "use tabs"
	all = append(all, prompt("request 19"), prompt("now this"),
		strings.TrimSuffix(failed("t1", why), "}")+`,"toolUseResult":`+quote("Error: "+why)+"}", says("working"))
	s := told(t, lines(all...))
	want := []string{"request 15", "request 16", "request 17", "request 18", "request 19", "now this", "use tabs"}
	if !slices.Equal(texts(s.Requests), want) || s.First.Text != "request 0" {
		t.Errorf("%q, first %q", texts(s.Requests), s.First.Text)
	}
	if s.Answer != "working" || s.Requests[0].Answer != "last word to 15" || s.Requests[5].Answer != "" || !s.Requests[6].Reply {
		t.Errorf("%+v", s)
	}
}

func TestTodos(t *testing.T) {
	write := func(items ...string) string {
		return use("w", "TodoWrite", `{"todos":[`+strings.Join(items, ",")+`]}`)
	}
	item := func(text, status string) string { return `{"content":"` + text + `","status":"` + status + `"}` }
	create := func(id, subject string) string {
		return lines(use("c"+id, "TaskCreate", `{"subject":"`+subject+`"}`)) + structured("c"+id, `{"task":{"id":"`+id+`","subject":"`+subject+`"}}`)
	}
	update := func(id, status string) string {
		return structured("u", `{"success":true,"taskId":"`+id+`","updatedFields":["status"],"statusChange":{"from":"x","to":"`+status+`"}}`)
	}
	for name, test := range map[string]struct {
		lines []string
		want  []summary.Todo
		done  int
	}{
		"none":          {[]string{prompt("x")}, nil, 0},
		"the last list": {[]string{write(item("old", "pending")), write(item("a", "completed"), item("b", "in_progress"), item("c", "pending"))}, []summary.Todo{{Text: "b", Status: "in_progress"}, {Text: "c", Status: "pending"}}, 1},
		"an empty list": {[]string{write(item("old", "pending")), write()}, nil, 0},
		"a reminder of a list": {[]string{`{"type":"attachment","attachment":{"type":"todo_reminder","content":[` + item("a", "pending") + `]}}`},
			[]summary.Todo{{Text: "a", Status: "pending"}}, 0},
		"tasks": {[]string{create("1", "one"), create("2", "two"), update("1", "in_progress"), update("1", "completed"), create("10", "ten"), update("10", "in_progress")},
			[]summary.Todo{{Text: "two", Status: "pending"}, {Text: "ten", Status: "in_progress"}}, 1},
		"a deleted task": {[]string{create("1", "one"), create("2", "two"), update("1", "deleted")}, []summary.Todo{{Text: "two", Status: "pending"}}, 0},
		"all tasks at once": {[]string{structured("l", `{"tasks":[{"id":"1","subject":"one","status":"completed"},{"id":"2","subject":"two","status":"pending"}]}`), update("2", "in_progress")},
			[]summary.Todo{{Text: "two", Status: "in_progress"}}, 1},
		"a task that was made too long ago": {[]string{update("7", "in_progress")}, []summary.Todo{{Text: "task 7", Status: "in_progress"}}, 0},
		"a task's reminder": {[]string{`{"type":"attachment","attachment":{"type":"task_reminder","content":[{"id":"3","subject":"three","status":"pending"}]}}`},
			[]summary.Todo{{Text: "three", Status: "pending"}}, 0},
		"a subagent's":          {[]string{strings.Replace(write(item("its", "pending")), `"isSidechain":false`, `"isSidechain":true`, 1)}, nil, 0},
		"an update that failed": {[]string{create("1", "one"), failed("u", "no such task")}, []summary.Todo{{Text: "one", Status: "pending"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := told(t, lines(test.lines...))
			if !slices.Equal(s.Todos, test.want) || s.Done != test.done {
				t.Errorf("got %+v and %d done", s.Todos, s.Done)
			}
		})
	}
}

// The client's own task files take precedence.
func TestTaskFiles(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "projects", "-p", "the-id.jsonl")
	dir := filepath.Join(root, "tasks", "the-id")
	for _, d := range []string{filepath.Dir(path), dir} {
		testenv.NoError(t, os.MkdirAll(d, 0o700))
	}
	for name, content := range map[string]string{
		"../../projects/-p/the-id.jsonl": lines(use("w", "TodoWrite", `{"todos":[{"content":"old","status":"pending"}]}`)),
		".lock":                          "",
		"1.json":                         `{"id":"1","subject":"one","status":"completed"}`,
		"2.json":                         `{"id":"2","subject":"two\nlines","status":"in_progress"}`,
		"10.json":                        `{"id":"10","subject":"ten","status":"pending"}`,
		"11.json":                        `{"id":"11","subject":"half wri`,
		"12.json":                        `{"id":"12","subject":"internal","status":"pending","metadata":{"_internal":true}}`,
	} {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	s, err := Tail(path, keepText)
	testenv.NoError(t, err)
	if want := []summary.Todo{{Text: "two lines", Status: "in_progress"}, {Text: "ten", Status: "pending"}}; !slices.Equal(s.Todos, want) || s.Done != 1 {
		t.Errorf("got %+v and %d done", s.Todos, s.Done)
	}
}

func TestTools(t *testing.T) {
	s := told(t, lines(
		prompt("go"),
		use("e1", "Edit", `{"file_path":"/home/me/project/a.go"}`), result("e1", "ok"),
		use("e2", "Write", `{"file_path":"/elsewhere/b.go"}`), result("e2", "ok"),
		use("e3", "MultiEdit", `{"file_path":"/home/me/project/a.go"}`), result("e3", "ok"),
		use("e4", "NotebookEdit", `{"notebook_path":"/home/me/project/n.ipynb"}`), result("e4", "ok"),
		use("e5", "Edit", `{"file_path":"/home/me/project/failed.go"}`), failed("e5", "<tool_use_error>String not found</tool_use_error>"),
		use("e6", "Read", `{"file_path":"/home/me/project/read.go"}`), result("e6", "ok"),
		`{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"first.go":{},"/home/me/project/a.go":{},"later.go":{}}}}`,
		use("b1", "Bash", `{"command":"make\ntest"}`), failed("b1", "Exit code 2\n\x1b[31mboom"),
		use("b2", "Bash", `{"command":"make lint"}`), failed("b2", "Exit code 1\nlint"),
		use("b3", "Bash", `{"command":"make lint"}`), result("b3", "ok"),
		use("b4", "Bash", `{"command":"rm -rf x"}`), failed("b4", "The user doesn't want to proceed with this tool use. The tool use was rejected (…)"),
		use("m1", "mcp__db__query", `{}`), failed("m1", "no connection"),
		use("b5", "Bash", `{"command":"git status"}`),
		use("e7", "Edit", `{"file_path":"/home/me/project/open.go"}`),
	))
	if want := []string{"n.ipynb", "a.go", "/elsewhere/b.go", "later.go", "first.go"}; !slices.Equal(s.Files, want) {
		t.Errorf("files %q", s.Files)
	}
	if want := []summary.Command{{Text: "make test", Failed: true}, {Text: "make lint", Failed: true}, {Text: "make lint", Failed: false}}; !slices.Equal(s.Commands, want) {
		t.Errorf("commands %+v", s.Commands)
	}
	if want := []string{"`git status`", "a change of open.go"}; !slices.Equal(s.Unfinished, want) {
		t.Errorf("unfinished %q", s.Unfinished)
	}
	if want := []string{"make test: Exit code 2 boom", "mcp__db__query: no connection"}; !slices.Equal(s.Failures, want) {
		t.Errorf("failures %q", s.Failures)
	}
}

func TestCompaction(t *testing.T) {
	var b strings.Builder
	b.WriteString("This session is being continued from a previous conversation.\n\nSummary:\n1. Primary Request and Intent:\n   build it\n2. Key Technical Concepts:\n   - Go\n")
	b.WriteString("3. Files and Code Sections:\n" + strings.Repeat("   func f() {}\n1. not a heading\n", 500))
	b.WriteString("6. All user messages:\n" + strings.Repeat("   - please\n", 500))
	b.WriteString("**7. Pending Tasks:**\n   - the last thing\n\nIf you need specific details from before compaction, read the file\n")
	line := strings.TrimSuffix(prompt(b.String()), "}") + `,"isCompactSummary":true}`
	s := told(t, lines(prompt("old"), line, prompt("new")))
	for _, want := range []string{"1. Primary Request and Intent:\n   build it\n", "6. All user messages:", " … [cut] … ", "**7. Pending Tasks:**\n   - the last thing"} {
		if !strings.Contains(s.Compacted, want) {
			t.Errorf("%q is missing in %q", want, s.Compacted)
		}
	}
	for _, not := range []string{"func f", "Technical", "If you need", "This session"} {
		if strings.Contains(s.Compacted, not) {
			t.Errorf("%q stands in %q", not, s.Compacted)
		}
	}
	if !slices.Equal(texts(s.Requests), []string{"old", "new"}) {
		t.Errorf("%q", texts(s.Requests))
	}
}

// A line that is not a record, or is incomplete, does not affect others.
func TestDamage(t *testing.T) {
	good := prompt("good")
	for name, content := range map[string]string{
		"torn last line":      lines(good) + good[:len(good)-20],
		"a torn line between": lines(prompt("old")[:80], good),
		"two glued":           lines(prompt("old")[:80] + good),
		"no JSON":             lines("", "x", "{", "}", "[]", "null", `{"type":"user"`, "\x00\xff\xfe", good, `"x"`, "{}", `{"type":3}`),
		"of other types":      lines(`{"type":"user","message":"x"}`, `{"type":"assistant","message":[1]}`, `{"type":"attachment","attachment":3}`, good),
		"CR LF":               strings.ReplaceAll(lines(good), "\n", "\r\n"),
		"empty lines":         "\n\n\n" + lines(good) + "\n\n\n",
		"nested deep":         lines(good, `{"type":"user","message":{"role":"user","content":`+strings.Repeat("[", 400_000)+`}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if s := told(t, content); !slices.Equal(texts(s.Requests), []string{"good"}) || s.First.Text != "good" {
				t.Errorf("%q, first %q", texts(s.Requests), s.First.Text)
			}
		})
	}
	for _, content := range []string{"", "\n", "{", strings.Repeat("\n", 600_000), strings.Repeat("x", 3<<20)} {
		if s := told(t, content); !reflect.DeepEqual(s, summary.Summary{}) {
			t.Errorf("%.20q: %+v", content, s)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if _, err := Tail(path("missing"), keepText); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	testenv.NoError(t, syscall.Mkfifo(path("fifo"), 0o600))
	testenv.NoError(t, os.WriteFile(path("file"), []byte(lines(prompt("good"))), 0o600))
	for link, to := range map[string]string{"link": "file", "tofifo": "fifo", "todir": ".", "loop": "loop", "dangling": "missing"} {
		testenv.NoError(t, os.Symlink(to, path(link)))
	}
	if s, err := Tail(path("link"), keepText); err != nil || len(s.Requests) != 1 {
		t.Errorf("a link gives %+v, %v", s, err)
	}
	for _, name := range []string{"fifo", "tofifo", "todir", "loop", "."} {
		if _, err := Tail(path(name), keepText); !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if _, err := Tail(path("dangling"), keepText); err == nil {
		t.Error("a link to nothing is read")
	}
}

// A line of any length is not held in memory, and the text before it is found.
func TestLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	f, err := os.Create(path)
	testenv.NoError(t, err)
	picture := `{"parentUuid":"p","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"like this picture"},{"type":"image","source":{"data":"`
	io.WriteString(f, lines(prompt("before")))
	io.WriteString(f, picture)
	if _, err := f.Seek(100<<20, io.SeekCurrent); err != nil { // a hole
		t.Fatal(err)
	}
	io.WriteString(f, `"}}]},"uuid":"u","timestamp":"2026-03-01T10:00:00.000Z"}`+"\n")
	io.WriteString(f, strings.Replace(picture, "like this", "hidden", 1)+strings.Repeat("A", 3<<20)+`"}}]},"uuid":"u","isMeta":true}`+"\n")
	io.WriteString(f, lines(prompt("after")))
	testenv.NoError(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := Tail(path, keepText)
	runtime.ReadMemStats(&after)
	testenv.NoError(t, err)
	if want := []string{"before", "like this picture", "after"}; !slices.Equal(texts(s.Requests), want) {
		t.Errorf("%q", texts(s.Requests))
	}
	if s.Requests[1].Time.IsZero() {
		t.Error("the picture's prompt has no time")
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 {
		t.Errorf("%d MB were used", used>>20)
	}
}

// A secret is removed before its text is cut.
func TestCleanComesFirst(t *testing.T) {
	secret := strings.Repeat("s", 600)
	long := strings.Repeat("a", 900) + secret + strings.Repeat("b", 6000)
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "[gone]") }
	path := filepath.Join(t.TempDir(), "x.jsonl")
	content := lines(prompt(long), use("b", "Bash", `{"command":`+quote(long)+`}`), failed("b", long), says(long),
		`{"type":"custom-title","customTitle":`+quote(long)+`}`, strings.TrimSuffix(prompt(long), "}")+`,"isCompactSummary":true}`, prompt(long+"2"), says(long+"2"))
	testenv.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	s, err := Tail(path, clean)
	testenv.NoError(t, err)
	if text := fmt.Sprintf("%+v", s); strings.Contains(text, "sssss") || !strings.Contains(text, "[gone]") {
		t.Errorf("a secret stays: %s", text)
	}
}

// For any bytes, Tail ends and returns texts of bounded length. A few bytes appended do
// not lose the text before them.
func FuzzTail(f *testing.F) {
	for _, name := range []string{"headless", "pane", "replies"} {
		data, err := os.ReadFile(filepath.Join("testdata", "summary", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
	}
	f.Add([]byte("{\n}\n[[[[\n\"\n"))
	f.Add([]byte(`{"type":"user","message":{"role":"user","content":"\ud800"}}` + "\n"))
	path := filepath.Join(f.TempDir(), "x.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(data, lines("", prompt("the end"))...)
		testenv.NoError(t, os.WriteFile(path, data, 0o600))
		s, err := Tail(path, keepText)
		testenv.NoError(t, err)
		if n := len(s.Requests); n == 0 || s.Requests[n-1].Text != "the end" {
			t.Fatalf("the last request is lost: %+v", s)
		}
		all := append(texts(s.Requests), s.First.Text, s.Answer, s.Compacted, s.Title)
		all = slices.Concat(all, s.Files, s.Failures)
		for _, c := range s.Commands {
			all = append(all, c.Text)
		}
		for _, todo := range s.Todos {
			all = append(all, todo.Text)
		}
		for _, text := range all {
			if utf8.RuneCountInString(text) > 3500 || term.CleanText(text) != text {
				t.Fatalf("%q", text)
			}
		}
		if len(s.Requests) > 12 || len(s.Files) > 30 || len(s.Commands) > 8 ||
			len(s.Failures) > 4 || len(s.Todos) > 50 {
			t.Fatalf("too many: %+v", s)
		}
	})
}

// A summary is the same from all entries and from those with ForSummary, which leave out
// most of the text.
func TestSummaryNeedsNoMore(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made.jsonl")
	if err := os.WriteFile(made, []byte(lines(
		prompt("do it"),
		use("a", "Bash", `{"command":"make","description":"Exit code 1"}`), result("a", "Exit code 1"),
		use("", "Bash", `{"command":"make test"}`), result("", "Exit code 2"),
		use("b", "Bash", `{"command":"apply_patch <<'E'\n*** Begin Patch\n*** Update File: p.go\n"}`), result("b", "ok"),
		use("c", "Write", `{"file_path":"w.go","content":"file_path: x.go\n*** Begin Patch\n*** Add File: y.go"}`), result("c", "ok"),
		use("d", "Edit", `{"path":"e.go","old_string":"a"}`), result("d", "ok"),
		use("e", "mcp.edit", `{"filePath":"m.go","text":"b"}`), failed("e", "no \"such\" file"),
		use("f", "Bash", `{"command":"rm"}`), failed("f", rejectionText),
		assistant(`{"type":"text","text":"two at once"},{"type":"tool_use","id":"g","name":"Write","input":{"file_path":"g.go","content":""}},{"type":"tool_use","id":"h","name":"Bash","input":{"command":"go vet"}}`),
		user(`[{"type":"tool_result","tool_use_id":"g","content":"The tool use was rejected","is_error":true},{"type":"tool_result","tool_use_id":"h","content":[{"type":"text","text":"fine"}]}]`),
		use("i", "TodoWrite", `{"todos":[{"content":"one","status":"pending"}]}`), result("i", "ok"),
		use("j", "update_plan", `{"plan":[{"step":"two","status":"pending"}]}`),
		says("done"),
	)), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{made}
	for _, pattern := range []string{"testdata/summary/*.jsonl", "testdata/*/projects/*/*.jsonl", "testdata/*/projects/*/*/*/*.jsonl"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		f := conversation.File{Client: "claude", Path: path}
		all, _ := readertest.ReadFrom(t, Reader{}, f, 0, -1)
		all = slices.DeleteFunc(all, func(e conversation.Entry) bool { return e.Aside }) // costs, and subagents in the same file
		var short, long summary.Fold
		short.SetClean(keepText)
		long.SetClean(keepText)
		left := 0
		if _, err := (Reader{}).Read(f, conversation.Options{ForSummary: true}, func(e conversation.Entry) bool {
			short.Take(e)
			switch e.Kind {
			case conversation.Title, conversation.Folder, conversation.TodoList, conversation.Tracked, conversation.Window:
				return long.Take(e) // only a full read gives those
			}
			if len(all) == 0 {
				t.Fatalf("%s: %+v is given for a summary only", path, e)
			}
			whole := all[0]
			all = all[1:]
			long.Take(whole)
			if e.Text != whole.Text {
				left += len(whole.Text)
				whole.Text = ""
			}
			if e != whole {
				t.Errorf("%s: %+v\nnot %+v", path, e, whole)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		short.Seal()
		long.Seal()
		got, _ := json.Marshal(short)
		want, _ := json.Marshal(long)
		if string(got) != string(want) || len(all) > 0 {
			t.Errorf("%s: %s\nnot %s, %d entries left", path, got, want, len(all))
		}
		if path == made && left == 0 {
			t.Error("every text was read")
		}
	}
}

// A realistic transcript of 30 MB: tool results of some kilobytes, and a request now and
// then.
func BenchmarkTail(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.jsonl")
	f, err := os.Create(path)
	testenv.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 1))
	for size, n := 0, 0; size < 30<<20; n++ {
		id := fmt.Sprint("t", n)
		text := strings.Repeat("\tif err := settle.Flush(ctx); err != nil {\n", 1+r.IntN(300))
		answer := strings.TrimSuffix(result(id, text), "}") + `,"toolUseResult":{"stdout":` + quote(text) + `}}` // the client records it twice
		part := lines(use(id, "Bash", `{"command":"go test `+id+`"}`), answer)
		if n%40 == 0 {
			part = lines(prompt("request "+id)) + part + lines(says("answer to "+id))
		}
		size += len(part)
		io.WriteString(f, part)
	}
	testenv.NoError(b, f.Close())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Tail(path, keepText); err != nil {
			b.Fatal(err)
		}
	}
}

// Tail returns the summary of a conversation that was never read before.
func Tail(path string, clean func(string) string) (summary.Summary, error) {
	fold, err := tail.File{Path: filepath.Join(filepath.Dir(path), "none.tail")}.Fold(conversation.File{Client: "claude", Path: path}, "", Reader{}.Read, clean)
	if err != nil {
		return summary.Summary{}, err
	}
	return summary.Summarize(fold), nil
}
