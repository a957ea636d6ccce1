package gt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gt/lib/sys/sqlite"
)

// measure runs a program and writes the most memory that it had, in bytes, to a
// file. A program inherits the most that its parent had, so that has to be small.
func measure() {
	cmd := exec.Command(os.Args[3], os.Args[4:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(99)
	}
	unit := int64(1) // macOS
	if runtime.GOOS == "linux" {
		unit = 1 << 10
	}
	if err := os.WriteFile(os.Args[1], fmt.Append(nil, int64(used.Maxrss)*unit), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(99)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// forge changes a cache, with checksums that hold.
func (w *world) forge(path, sql string) {
	w.Helper()
	f, err := os.OpenFile(w.Path(path), os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(sqlite.Make(f, func(o *sqlite.Cache) error { return o.Exec(sql) }), f.Close())
	}
	if err != nil {
		w.Fatal(err)
	}
}

// sparse makes a file of a gigabyte (a part of it, unless all is wanted), of which a
// file system keeps nothing but the front.
func (w *world) sparse(path, front string) {
	w.Helper()
	w.Write(path, front)
	size := int64(1 << 30)
	if !full {
		size /= 8
	}
	if err := os.Truncate(w.Path(path), size); err != nil {
		w.Fatal(err)
	}
}

// What gt-seance finds in the clients' folders is others', and may be anything:
// links that lead in circles, FIFOs, devices, folders and sockets under the names
// of transcripts, what nobody may read, a gigabyte of nothing, lines of ten
// megabytes, a hundred thousand empty files, a database that is none. Every
// command ends soon, in little memory, tells of the session that is one and says
// what it could not read; and nothing in those folders changes. A cache that
// another user planted, or could have written, is not believed: each kind of such a
// cache meets the list and a third of the other commands, with GT_THOROUGH=1 all.
// Lines: S0-23 S1-117.
func TestHostileStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const good = "0198aaaa-1111-7000-8000-000000000001"
	ask := func(id, text string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u-%[1]s","sessionId":%[1]q,"cwd":"/x","timestamp":"2026-01-17T01:00:00Z","message":{"role":"user","content":%[2]q}}`+"\n", id, text)
	}
	const claude = homeDir + "/.claude/projects/p/"
	w.Write(claude+good+".jsonl", ask(good, "mend the lamp"))
	w.Write(claude+good+"/subagents/agent-one.jsonl", ask("agent-one", "hold the lamp"))
	if err := os.RemoveAll(w.copy); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", w.Root, w.copy).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	commands := [][]string{
		{"gt-seance"}, {"gt-seance", "list", "--all", "--json"}, {"gt-seance", "find", "--json"}, {"gt-seance", "show", good}, {"gt-seance", "read", good},
		{"gt-seance", "show", good, "--json"}, {"gt-seance", "read", good, "--json"}, {"gt-seance", "usage"}, {"gt-seance", "usage", "--each"},
		{"gt-seance", "grep", "lamp"}, {"gt-seance", "search", "lamp"}, {"gt-seance", "grep", "--tools", "-i", "l.mp"}, {"gt-seance", "chain", good}, {"gt-seance", "timeline", "--all"},
		{"gt-seance", "timeline", "--all", "--html", "-"}, {"gt-seance", "resume", "--dry-run", good}, {"gt-seance", "talk", "--dry-run", good, "why?"},
		{"gt-seance", "pick"}, {"gt-seance", "__complete", "show", ""},
	}
	asked := 0 // with -short every fourth one is run
	// livesWith runs the commands of a turn, of so many turns, and looks for the session
	// that is one; lives runs all.
	livesWith := func(t *testing.T, turn, turns int, told ...string) {
		t.Helper()
		w.TB = t
		before := w.list(homeDir + "/.claude")
		for i, args := range commands {
			if i%turns != turn%turns && !full {
				continue
			}
			if asked++; testing.Short() && asked%4 != 0 {
				continue
			}
			a := w.run(work, nil, append([]string{"measure", w.Path("peak"), "--"}, args...)...)
			verb := append(args, "list")[1]
			switch tells := strings.Contains(a.Out, "0198aaaa") || strings.Contains(a.Out, "lamp"); {
			case verb == "pick" && a.Code == 80: // there is no terminal
			case verb == "resume" && a.Code == 74: // its folder is not there
			case verb == "usage" && a.Code == 0:
			case a.Code != 0 || !tells:
				t.Errorf("%s: ends with %d and says %.500q %s", a.Line, a.Code, a.Out, a.Errs)
			}
			for _, words := range told {
				if i < 2 && !strings.Contains(a.Errs, words) {
					t.Errorf("%s: does not say %q: %s", a.Line, words, a.Errs)
				}
			}
			if strings.Count(a.Errs, "\n") > 16 {
				t.Errorf("%s: says too much: %s", a.Line, a.Errs)
			}
			var peak int64
			if _, err := fmt.Sscan(w.Read("peak"), &peak); err != nil || peak > 256<<20 { // what is collected late on a busy machine counts
				t.Errorf("%s: took %d MiB of memory, %v", a.Line, peak>>20, err)
			}
		}
		if after := w.list(homeDir + "/.claude"); after != before {
			t.Errorf("the client's folder was\n%s\nand is\n%s", before, after)
		}
	}
	lives := func(t *testing.T, told ...string) { t.Helper(); livesWith(t, 0, 1, told...) }
	// An id for every name, and a place for every client.
	places := map[string]string{
		"claude": claude + "%s.jsonl", "claude's subagent": claude + good + "/subagents/agent-%s.jsonl",
		"codex":   homeDir + "/.codex/sessions/2026/11/21/rollout-2026-11-21T09-35-00-%s.jsonl",
		"gemini":  homeDir + "/.gemini/tmp/p/chats/session-%s.jsonl",
		"gemini1": homeDir + "/.gemini/tmp/p/chats/session-%s.json",
		"qwen":    homeDir + "/.qwen/projects/p/chats/%s.jsonl",
		"copilot": homeDir + "/.copilot/session-state/%s/events.jsonl",
		"kimi":    homeDir + "/.kimi-code/sessions/wd_p/%s/agents/main/wire.jsonl",
		"agy":     homeDir + "/.gemini/antigravity-cli/brain/%s/.system_generated/logs/transcript_full.jsonl",
		"cursor":  homeDir + "/.cursor/projects/p/agent-transcripts/%[1]s/%[1]s.jsonl",
		"cline":   homeDir + "/.cline/data/sessions/%[1]s/%[1]s.messages.json",
		"pi":      homeDir + "/.pi/agent/sessions/p/2026-01-17T01-00-00-000Z_%s.jsonl",
		"file":    homeDir + "/.local/share/opencode/storage/session/p/%s.json",
		"db":      homeDir + "/.local/share/opencode/opencode-%s.db",
	}
	id := func(n int) string { return fmt.Sprintf("0198bbbb-1111-7000-8000-%012d", n) }
	others := []string{ // beside the conversations
		homeDir + "/.claude/sessions/1.json", homeDir + "/.codex/session_index.jsonl", homeDir + "/.gemini/projects.json", homeDir + "/.gemini/tmp/p/logs.json",
		homeDir + "/.gemini/tmp/p/.project_root", homeDir + "/.copilot/session-state/" + good + "/workspace.yaml", homeDir + "/.pi/agent/settings.json",
		homeDir + "/.local/share/opencode/opencode.db", homeDir + "/.local/share/opencode/opencode.db-wal", homeDir + "/.local/share/opencode/opencode.db-shm",
		homeDir + "/.local/share/opencode/opencode.db-journal", homeDir + "/.kimi-code/sessions/wd_p/" + good + "/state.json",
		homeDir + "/.gemini/antigravity-cli/history.jsonl", homeDir + "/.gemini/antigravity-cli/cache/last_conversations.json",
		homeDir + "/.cline/data/sessions/" + good + "/" + good + ".json",
	}
	for _, kind := range slices.Sorted(maps.Keys(hostile)) {
		t.Run(kind, func(t *testing.T) {
			w.TB = t
			w.restore()
			w.Write("canary/file", canary)
			n := 0
			for _, place := range slices.Sorted(maps.Keys(places)) {
				n++
				others = append(others[:15:15], fmt.Sprintf(places[place], id(n)))
				for _, path := range others {
					if _, err := os.Lstat(w.Path(path)); err == nil {
						continue
					}
					if err := os.MkdirAll(filepath.Dir(w.Path(path)), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := hostile[kind](w, w.Path(path)); err != nil {
						t.Fatal(err)
					}
				}
			}
			// Folders that are no folders, and lead in circles.
			for _, dir := range []string{homeDir + "/.claude/projects/q", homeDir + "/.codex/sessions/2027", homeDir + "/.qwen/projects/q", homeDir + "/.claude-2/projects"} {
				if err := os.MkdirAll(filepath.Dir(w.Path(dir)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := hostile[kind](w, w.Path(dir)); err != nil {
					t.Fatal(err)
				}
			}
			lives(t)
			w.canaryLives("")
		})
	}
	t.Run("folders in circles", func(t *testing.T) {
		w.TB = t
		w.restore()
		for _, dir := range []string{".claude/projects/up", ".codex/sessions/up", ".gemini/tmp/up", ".qwen/projects/up", ".copilot/session-state/up", ".pi/agent/sessions/up", ".kimi-code/sessions/wd_up", ".cline/data/sessions/up", ".gemini/antigravity-cli/brain/up", ".cursor/projects/up"} {
			path := w.Path(homeDir, dir)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink("..", path)); err != nil {
				t.Fatal(err)
			}
		}
		lives(t)
	})
	t.Run("gigabytes", func(t *testing.T) {
		w.TB = t
		w.restore()
		n := 0
		for _, place := range slices.Sorted(maps.Keys(places)) {
			n++
			front := ask(id(n), "a lamp")
			if place == "db" {
				front = "SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20\x00\x00\x00\x01\x00\x03\xff\xff"
			}
			w.sparse(fmt.Sprintf(places[place], id(n)), front)
		}
		w.sparse(homeDir+"/.local/share/opencode/opencode.db", "")
		for _, path := range others[:8] {
			if !strings.HasSuffix(path, ".db") {
				w.sparse(path, "{")
			}
		}
		lives(t, "opencode-", "file too large")
	})
	t.Run("long lines", func(t *testing.T) {
		w.TB = t
		w.restore()
		n := 0
		for _, place := range slices.Sorted(maps.Keys(places)) {
			n++
			long := ask(id(n), strings.Repeat("x", 10<<20))
			w.Write(fmt.Sprintf(places[place], id(n)), long+ask(id(n), "a lamp")+long)
		}
		lives(t, "it is not an SQLite database")
	})
	t.Run("many files", func(t *testing.T) {
		w.TB = t
		w.restore()
		many := 20_000
		if full {
			many = 100_000
		}
		for i := range many {
			f, err := os.Create(w.Path(claude + id(i) + ".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		lives(t)
	})
	// What another user planted, or could have.
	const transcripts, index = state + "/.sessions/transcripts.db", state + "/.sessions/index.db"
	for n, kind := range append(slices.Sorted(maps.Keys(hostile)), "open to all", "another user's") {
		t.Run("a cache that is "+kind, func(t *testing.T) {
			w.TB = t
			w.restore()
			events := state + "/.events.jsonl" // a short log has no index
			w.Write(events, w.Read(events)+strings.Repeat(`{"ts":"2026-01-17T01:00:00Z","type":"nudge"}`+"\n", 6000))
			w.ok(w.run(work, nil, "gt-seance"))
			w.Write("canary/file", canary)
			w.forge(transcripts, "UPDATE transcript SET texts = replace(texts, 'mend the lamp', 'planted')")
			w.forge(index, "DELETE FROM session WHERE id = 's1'")
			var err error
			for _, path := range []string{transcripts, index} {
				plant, ok := hostile[kind]
				switch {
				case ok:
					err = errors.Join(os.Remove(w.Path(path)), plant(w, w.Path(path)))
				case kind == "open to all":
					err = os.Chmod(w.Path(path), 0o666)
				case os.Geteuid() != 0:
					t.Skip("only root can be several users")
				default:
					err = errors.Join(os.Chmod(w.Path(path), 0o644), os.Chown(w.Path(path), stranger, stranger))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				a := w.ok(w.run(work, nil, "gt-seance", "list", "--json"))
				if strings.Contains(a.Out, "planted") || !strings.Contains(a.Out, "mend the lamp") || !strings.Contains(a.Out, `"id":"s1"`) || a.Errs != "" {
					t.Errorf("it answers %s%s", a.Out, a.Errs)
				}
			}
			livesWith(t, n, 3)
			w.canaryLives("")
		})
	}
	t.Run("what nobody may read", func(t *testing.T) {
		w.TB = t
		w.restore()
		w.asMe()
		defer func() { w.As = nil }()
		n := 0
		for range 50 {
			for _, place := range slices.Sorted(maps.Keys(places)) {
				n++
				path := fmt.Sprintf(places[place], id(n))
				w.Write(path, ask(id(n), "unseen"))
				w.give(workerUID, w.Path(path))
				if err := os.Chmod(w.Path(path), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Write(homeDir+"/.claude/projects/q/x.jsonl", ask("x", "unseen"))
		w.Write(homeDir+"/.claude-2/projects/p/x.jsonl", ask("x", "unseen"))
		w.give(workerUID, w.Path(homeDir))
		// A folder, an account, and another user's.
		if err := errors.Join(os.Chmod(w.Path(homeDir, ".claude/projects/q"), 0), os.Chmod(w.Path(homeDir, ".claude-2"), 0)); err != nil {
			t.Fatal(err)
		}
		lives(t, "permission denied (and ", ".claude-2/projects': permission denied", "projects/q': permission denied")
	})
}

// list is all that is below a folder, with its size.
func (w *world) list(dir string) string {
	w.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.Path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size(), info.Mode())
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return b.String()
}
