package gt_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"
)

// depth is how many brackets are opened.
const depth = 1_000_000

// Whatever comes on standard input, a hook ends with 0, soon and without
// holding it all in memory, and the agent is told what it would be told; a
// command that wants a text says what is wrong with it.
// Lines: S1-39 S1-117.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.frugal()
	hooks := [][]string{
		{"gt-prime", "--hook"}, {"gt-keepalive", "touch", "--hook"}, {"gt-checkpoint", "write", "--hook"},
		{"gt-handoff", "--auto", "--hook"}, {"gt-keepalive", "end", "--hook"}, {"gt-prime", "--hook", "--nonsense"},
	}
	texts := [][]string{
		{"gt-mail", "send", "self", "-s", "x", "-m", "-"}, {"gt-handoff", "-m", "-"}, {"gt-handoff", "--print", "-m", "-"}, {"gt-prime", "--handoff", "-"},
		{"gt-pick", "--action", "enter=show"},
	}
	// A gigabyte, of which a file system keeps nothing but the front and the end.
	big := w.Path("big")
	const front = `{"session_id":"big","source":"startup","hook_event_name":"SessionStart","tool_response":"`
	if err := os.WriteFile(big, []byte(front), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	t.Run("a gigabyte", func(t *testing.T) {
		w.TB = t
		for i, args := range slices.Concat(hooks, texts) {
			if i == 2 { // enough to show it
				if err := os.Truncate(big, 100<<20); err != nil {
					t.Fatal(err)
				}
			}
			f, err := os.Open(big)
			if err != nil {
				t.Fatal(err)
			}
			a := w.run(work, f, args...)
			f.Close()
			if !strings.Contains(a.Line, "--hook") && a.Code == 0 {
				t.Errorf("%s: ends with 0", a.Line)
			}
		}
		if !strings.Contains(w.Read(w.kept(work, "session_id")), "big") {
			t.Error("what stood in front of the gigabyte was not read")
		}
	})
	t.Run("a gigabyte in a pipe", func(t *testing.T) {
		w.TB = t
		w.restore()
		script := `(printf '` + front + `'; head -c 1073741824 /dev/zero; echo $? >../wrote) | "$@"`
		if a := w.run(work, nil, "sh", "-c", script, "sh", "gt-prime", "--hook"); a.Out == "" || !strings.Contains(a.Errs, "over 4 MiB") {
			t.Errorf("%q, %s", a.Out, a.Errs)
		}
		if w.Read("wrote") != "0\n" {
			t.Error("the client could not write it all")
		}
	})
	t.Run("a finder", func(t *testing.T) {
		w.TB = t
		if _, err := exec.LookPath("tmux"); err != nil {
			t.Skip("no tmux")
		}
		defer w.run(work, nil, "sh", "-c", "tmux kill-server 2>/dev/null || :")
		// Without it, a server whose last session has ended would be going away
		// while the next session is asked of it.
		w.ok(w.run(work, nil, "tmux", "-f", "/dev/null", "new-session", "-d", "-s", "keep", "sleep", "600"))
		line := `{"id":"s1","title":` + strconv.Quote(strings.Repeat("\\u001b[31mx", 1000)) + "}\n"
		for name, input := range map[string]string{
			"big": "", "deep": strings.Repeat("[", depth), "open": strings.Repeat(`{"id":`, depth), "bytes": strings.Repeat("\xff\x00\x9b\n", 1<<20),
			"many": strings.Repeat(line, 10_000), "long": `{"id":"s1","title":"` + strings.Repeat("x", 20<<20) + "\"}\n" + line,
		} {
			w.Write("input/"+name, input)
			path := w.Path("input", name)
			if name == "big" {
				w.sparse("input/big", front)
			}
			code := w.Path("input", name+".code")
			w.ok(w.run(work, nil, "tmux", "-f", "/dev/null", "new-session", "-d", "-s", name, "-x", "80", "-y", "24",
				"sh", "-c", `gt-pick <"$1" >/dev/null; echo $? >"$2"`, "sh", path, code))
			var ended string
			for deadline := time.Now().Add(testenv.Patience); !strings.HasSuffix(ended, "\n") && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				w.run(work, nil, "sh", "-c", `tmux send-keys -t "$1" Escape 2>/dev/null || :`, "sh", name)
				ended = w.Read("input/" + name + ".code")
			}
			if ended != "1\n" {
				t.Errorf("%s: the finder ends with %q", name, ended)
			}
		}
	})
	t.Run("nothing ever comes", func(t *testing.T) {
		w.TB = t
		for _, said := range []string{"", `{"session_id":"open"`, `{"session_id":"open"}`} {
			var waiting sync.WaitGroup // each for seconds, and each about a session of its own
			for i, args := range hooks {
				said := strings.Replace(said, "open", "open-"+strconv.Itoa(i), 1)
				r, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := out.WriteString(said); err != nil {
					t.Fatal(err)
				}
				waiting.Go(func() {
					a := w.run(work, r, args...)
					out.Close()
					r.Close()
					if args[0] == "gt-prime" && len(args) == 2 && a.Out == "" {
						t.Errorf("%q: the agent was told nothing: %s", said, a.Errs)
					}
				})
			}
			waiting.Wait()
		}
	})
	t.Run("no stream", func(t *testing.T) {
		w.TB = t
		dir, err := os.Open(w.Root)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		for _, args := range hooks {
			w.run(work, dir, args...)
			for _, closed := range []string{"<&-", "<&- 2>&-", "<&- >&- 2>&-", "</dev/null >/dev/full", "</dev/full 2>/dev/full"} {
				if _, err := os.Stat("/dev/full"); err != nil && strings.Contains(closed, "full") {
					continue
				}
				w.run(work, nil, "sh", "-c", `"$@" `+closed, "sh", "env", args[0], args[1], args[len(args)-1])
			}
		}
		for _, args := range texts {
			w.run(work, dir, args...)
			w.run(work, nil, "sh", "-c", `"$@" <&-`, "sh", args[0], args[1], args[len(args)-1])
		}
	})
	for name, input := range map[string]string{
		"nested arrays":   strings.Repeat("[", depth),
		"nested objects":  strings.Repeat(`{"a":`, depth),
		"nested in one":   `{"session_id":"deep","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}",
		"closed":          strings.Repeat("[", depth) + strings.Repeat("]", depth),
		"twice":           `{"session_id":"one","session_id":"../two","session_id":"three"}`,
		"a mark":          "\xef\xbb\xbf" + `{"session_id":"bom"}`,
		"no UTF-8":        "{\"session_id\":\"s\xff\xfe\",\"cwd\":\"\xff\"}",
		"UTF-16":          "\xff\xfe{\x00\"\x00a\x00\"\x00:\x001\x00}\x00",
		"NUL":             "\x00\x00\x00",
		"large numbers":   `{"session_id":9007199254740993,"source":1e400,"cwd":-0}`,
		"wrong types":     `{"session_id":["x"],"source":{"a":1},"cwd":false,"transcript_path":null,"hook_event_name":3,"last_assistant_message":[]}`,
		"a string":        `"session_id"`,
		"half of a pair":  `{"session_id":"\ud800","cwd":"\udc00"}`,
		"two objects":     `{"session_id":"first"}{"session_id":"second"}`,
		"a relative path": `{"session_id":"rel","cwd":"../..","transcript_path":"../../x"}`,
		"devices":         `{"session_id":"dev","cwd":"/dev/fd","transcript_path":"/dev/zero"}`,
		"no folder":       `{"session_id":"none","cwd":"/none/` + strings.Repeat("x", 5000) + `","transcript_path":"` + strings.Repeat("/x", 5000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w.TB = t
			for _, args := range hooks {
				a := w.run(work, strings.NewReader(input), args...)
				if args[0] == "gt-prime" && len(args) == 2 && a.Out == "" {
					t.Errorf("the agent was told nothing: %s", a.Errs)
				}
			}
		})
	}
}

// The same in every file that gt reads: what cannot be understood is passed
// over, or set aside, and nothing ends by it.
// Lines: S0-23.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.frugal()
	now := time.Now().UTC().Format(time.RFC3339)
	keeps := w.kept(work)
	files := []string{
		state + "/.events.jsonl", conversation, keeps + "/sessions/s1.json", keeps + "/checkpoint.json", keeps + "/keepalive.json",
		keeps + "/handoff", keeps + "/session_id", keeps + "/path", roles + "/default.md", keeps + "/mail/new/1.M1R0000000a.h", keeps + "/mail/cur/1.M1R0000000b.h:2,F",
		state + "/.runtime/pids/gt-s1.pid", homeDir + "/.claude/settings.json", work + "/.claude/settings.json", homeDir + "/.claude/plugins/installed_plugins.json",
		work + "/.git/HEAD", work + "/.git/logs/HEAD", work + "/.git/info/exclude", state + "/.krc.json", state + "/.krc-autoprune.json", "env",
	}
	contents := map[string]string{
		"nothing":        "",
		"nested arrays":  strings.Repeat("[", depth) + "\n",
		"nested objects": `{"ts":"` + now + `","type":"session_start","timestamp":"` + now + `","id":"s1","payload":` + strings.Repeat(`{"a":`, depth) + "\n",
		"nested":         `{"id":"s1","session_id":"s1","timestamp":"` + now + `","hooks":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}\n",
		"wrong types":    `{"id":1,"session_id":{},"timestamp":[],"started_at":7,"pid":"x","handoff":[],"hook":"","hooks":[1],"plugins":3,"payload":7,"message":9,"type":{},"ts":1e999}` + "\n",
		"large numbers":  `{"id":"s1","timestamp":"` + now + `","pid":99999999999999999999,"more_files":1e400,"handoff":{"at":"9999999-01-01T00:00:00Z"}}` + "\n",
		"no UTF-8":       "\xff\xfe\x00\x9b\n" + `{"id":"s1` + "\xff" + `","timestamp":"` + now + `"}`,
		"CR LF":          "{\r\n}\r\n\r\nFrom: x\r\n\r\n",
		"zeros":          strings.Repeat("\x00", 1<<20),
	}
	commands := [][]string{
		{"gt-prime", "--state"}, {"gt-checkpoint", "read"}, {"gt-keepalive", "show"}, {"gt-keepalive", "pid", "list"}, {"gt-mail", "--all"}, {"gt-mail", "read", "0000000b"},
		{"gt-seance"}, {"gt-krc"}, {"gt-krc", "prune", "--dry-run"}, {"gt-hooks", "status"}, {"gt-handoff", "--print"}, {"gt-session"}, {"gt-session", "show", "one"},
		{"gt-hooks", "install", "claude", "--scope", "project"}, {"gt-keepalive", "pid", "reap", "--grace", "0s", "gone"},
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			w.TB = t
			w.restore()
			for _, path := range files { // each alone would say no more, and take twenty times as long
				w.Write(path, content)
			}
			for _, args := range commands {
				w.run(work, nil, args...)
			}
			if a := w.hook(work, "s4", "SessionStart", "gt-prime", "--hook"); a.Out == "" {
				t.Errorf("the agent was told nothing: %s", a.Errs)
			}
			w.hook(work, "s4", "Stop", "gt-checkpoint", "write", "--hook")
			w.hook(work, "s4", "PreCompact", "gt-handoff", "--auto", "--hook")
			if a := w.runWith([]string{"GT_SESSION_UUID=s4"}, work, nil, "gt-checkpoint", "read"); !strings.Contains(a.Out, fmt.Sprintf("turn %d is over", w.told-1)) {
				t.Errorf("the checkpoint is lost: %q %s", a.Out, a.Errs)
			}
			w.hook(work, "s1", "PostToolUse", "gt-keepalive", "touch", "--hook")
			if a := w.run(work, nil, "gt-keepalive", "show"); !strings.Contains(a.Out, "PostToolUse") {
				t.Errorf("the sign of life is lost: %q %s", a.Out, a.Errs)
			}
		})
	}
}
