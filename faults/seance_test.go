//go:build linux

package faults

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What gt-seance promises has nothing to do with sessions at work: it reads what
// others wrote, and touches none of it; it writes two caches, which change no
// answer, and pictures. Whatever becomes of a call, the next one answers as if
// nothing had been.
var reading = []scenario{
	{
		name: "seance-first", args: seanceList, dir: "town",
		prepare: func(t *testing.T, w *world) { conversations(t, w, true) },
	},
	{
		name: "seance-known", args: seanceList, dir: "town",
		prepare: func(t *testing.T, w *world) {
			conversations(t, w, true)
			w.mustRun(t, "", "town", seanceList...)
		},
	},
	{
		name: "seance-grown", args: seanceList, dir: "town",
		prepare: func(t *testing.T, w *world) {
			conversations(t, w, false)
			w.mustRun(t, "", "town", seanceList...)
			// Over 256 KiB of events, and more transcripts than are read again each
			// time.
			f, err := os.OpenFile(w.Path("town/.events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			noError(t, err)
			_, err = f.WriteString(strings.Repeat(filler, 9) +
				`{"ts":"2026-02-01T00:00:00Z","source":"gt","type":"session_start","actor":"demo/crew/max","payload":{"session_id":"late","cwd":"/nowhere"}}` + "\n")
			noError(t, err)
			noError(t, f.Close())
			for i := range 10 {
				converse(t, w, fmt.Sprint("new-", i))
			}
		},
	},
	{
		name: "seance-damaged", args: seanceList, dir: "town",
		prepare: func(t *testing.T, w *world) {
			conversations(t, w, false)
			w.mustRun(t, "", "town", seanceList...)
			for _, path := range caches {
				data, err := os.ReadFile(w.Path(path))
				noError(t, err)
				put(t, w.Path(path), strings.Replace(string(data), "demo", "DEMO", 1)+"{")
			}
		},
	},
	{
		name: "seance-page", args: []string{"gt-seance", "timeline", "--all", "--html", "WORLD/out/page.html"}, dir: "town",
		prepare: func(t *testing.T, w *world) {
			conversations(t, w, false)
			w.mustRun(t, "", "town", seanceList...)
			noError(t, os.Mkdir(w.Path("out"), 0o700))
			put(t, w.Path(page), "<p>an old page</p>\n")
		},
	},
}

var seanceList = []string{"gt-seance", "list", "--json", "--limit", "0"}

// What gt-seance writes.
var caches = []string{"town/.sessions/index.db", "home/.local/state/gt/.sessions/transcripts.db"}

const page = "out/page.html"

// filler is an event of 30 KiB of which no session's list tells.
var filler = `{"ts":"2026-02-01T00:00:00Z","type":"nudge","payload":{"text":"` + strings.Repeat("x", 30<<10) + `"}}` + "\n"

// conversations makes a town with a log and an archive, and a home in which
// agents keep conversations: one of each client, where all are wanted, one of
// which runs, and a dozen of Claude Code's.
func conversations(t *testing.T, w *world, all bool) {
	t.Helper()
	noError(t, os.MkdirAll(w.Path("town/.sessions/archive"), 0o700))
	put(t, w.Path("town/town.toml"), "")
	w.mustRun(t, "", "town", "gt-hooks", "trust", "--yes")
	var log [2]strings.Builder
	for i := range 20 {
		fmt.Fprintf(&log[i%2], `{"ts":"2026-01-%02dT01:00:00Z","source":"gt","type":"session_start","actor":"demo/crew/max","payload":{"session_id":"log-%d","cwd":"WORLD/town/crew","branch":"main"}}`+"\n", i/2+1+10*(1-i%2), i)
	}
	log[0].WriteString(strings.Repeat(filler, 9)) // a short log has no index
	put(t, w.Path("town/.events.jsonl"), w.fill(log[0].String()))
	put(t, w.Path("town/.sessions/archive/events.jsonl"), w.fill(log[1].String()))
	noError(t, os.MkdirAll(w.Path("town/crew"), 0o700))
	crew := w.home("town/crew")
	noError(t, crew.Prepare())
	noError(t, crew.Town.State.FixHome("log-0", crew.Runtime()))
	noError(t, os.MkdirAll(crew.Path("sessions"), 0o700))
	put(t, crew.Path("sessions", "log-0.json"), `{"id":"log-0","outcome":"done","started_at":"2026-01-11T01:00:00Z","ended_at":"2026-01-11T02:00:00Z"}`)
	for i := range 10 {
		converse(t, w, fmt.Sprint("old-", i))
	}
	if !all {
		return
	}
	for from, to := range map[string]string{
		"codex/0.169.0-pane": ".codex", "gemini/0.61.0-pane": ".gemini", "qwen/0.24.4-headless": ".qwen",
		"copilot/1.0.102-pane": ".copilot", "opencode/1.18.33-run": ".local/share/opencode", "pi/1.5.2-pane": ".pi/agent",
		"kimi/2.1.0-pane": ".kimi-code", "cline/3.0.65": ".cline/data/sessions",
	} {
		to = w.Path("home", to)
		noError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		client, version, _ := strings.Cut(from, "/")
		noError(t, os.CopyFS(to, os.DirFS(filepath.Join("../lib/client", client, "conversation/testdata", version))))
	}
	noError(t, os.MkdirAll(w.Path("home/.claude/sessions"), 0o700))
	put(t, w.Path("home/.claude/sessions/1.json"), fmt.Sprintf(`{"pid":%d,"sessionId":"old-1","status":"busy"}`, os.Getpid()))
}

// converse writes a conversation of Claude Code's, with a subagent.
func converse(t *testing.T, w *world, id string) {
	t.Helper()
	dir := w.Path("home/.claude/projects/-demo")
	text := fmt.Sprintf(`{"type":"user","uuid":"1-%[1]s","sessionId":"%[1]s","cwd":"/nowhere","timestamp":"2026-01-17T01:00:00.000Z","message":{"role":"user","content":"the demo of %[1]s"}}`+"\n", id)
	noError(t, os.MkdirAll(filepath.Join(dir, id, "subagents"), 0o700))
	put(t, filepath.Join(dir, id+".jsonl"), text)
	if strings.HasSuffix(id, "-1") {
		put(t, filepath.Join(dir, id, "subagents", "agent-"+id+".jsonl"), text)
	}
}

// A reader is a plan for a command that reads.
type reader struct {
	plan
	others string            // all that it has no business to touch
	was    map[string]string // what it writes, as it was
	left   map[string]string // what it leaves of that
	next   map[string]string // what was wrong with the next call, by what the one before left
}

// written are the files that gt-seance writes, those that are there, and what it
// left behind besides.
func (r *reader) written(t *testing.T) (files map[string]string, litter []string) {
	t.Helper()
	files = map[string]string{}
	for _, path := range append([]string{page}, caches...) {
		if data, err := os.ReadFile(r.w.Path(path)); err == nil {
			files[path] = string(data)
		}
		entries, _ := os.ReadDir(filepath.Dir(r.w.Path(path)))
		for _, e := range entries {
			if strings.Contains(e.Name(), tmpMark) {
				litter = append(litter, filepath.Join(filepath.Dir(r.w.Path(path)), e.Name()))
			}
		}
	}
	return files, litter
}

// untouched is all that it has no business to touch: content, mode and time.
func (r *reader) untouched(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	noError(t, filepath.WalkDir(r.w.Root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.w.Root, path)
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case rel == page || slices.Contains(caches, rel) || strings.Contains(rel, tmpMark):
		case e.IsDir():
			if strings.HasPrefix(rel, "home/.local/state") || rel == "town/.sessions" || rel == "town" {
				return nil
			}
			fmt.Fprintln(&b, rel, info.Mode())
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintln(&b, rel, to)
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %v %v %q\n", rel, info.Mode(), info.ModTime().UnixNano(), data)
		}
		return nil
	}))
	return b.String()
}

// reset puts back what it writes. The rest stays, as the cache knows a log by its
// inode; that it was not touched is looked at each time.
func (r *reader) reset(t *testing.T) {
	t.Helper()
	_, litter := r.written(t)
	for _, path := range litter {
		noError(t, os.Remove(path))
	}
	for _, path := range append([]string{page}, caches...) {
		if text, ok := r.was[path]; ok {
			put(t, r.w.Path(path), text)
		} else {
			noError(t, os.RemoveAll(r.w.Path(path)))
		}
	}
	if _, ok := r.was[caches[1]]; !ok {
		noError(t, os.RemoveAll(r.w.Path("home/.local/state/gt/.sessions")))
	}
}

func newReader(t *testing.T, s scenario) *reader {
	t.Helper()
	s.env = append(s.env, "GOMAXPROCS=1") // all on the thread that is traced
	r := &reader{plan: plan{scenario: s, w: newWorld(t, s.name), count: map[string]int{}}, next: map[string]string{}}
	t.Cleanup(func() { removeAll(r.w.Root) })
	s.prepare(t, r.w)
	r.was, _ = r.written(t)
	r.others = r.untouched(t)
	r.clean = r.trace(t, "trace="+watched)
	if r.clean.code != 0 || r.clean.stderr != "" {
		t.Fatalf("undisturbed: %v", r.clean)
	}
	from := begins(r.clean.calls)
	if from < 0 {
		t.Fatal("the trace does not show where the program begins")
	}
	r.calls = r.clean.calls[from:]
	r.left, _ = r.written(t)
	for path, text := range r.left {
		if s.name != "seance-known" && text == r.was[path] && (path == page || s.name != "seance-page") {
			t.Fatalf("%s was not written", path)
		}
	}
	return r
}

// disturbed runs the command with an injection at the call, which is looked for
// around the moment at which it was: the runtime makes some calls when it likes.
func (r *reader) disturbed(t *testing.T, c call, what string) (res result, met bool) {
	t.Helper()
	for n := range tries * 2 {
		n = (n + 1) / 2 * (1 - n%2*2) // 0, -1, 1, -2, …
		if n += c.nth; n < 1 {
			continue
		}
		r.reset(t)
		res = r.trace(t, "trace="+c.name, fmt.Sprintf("inject=%s:%s:when=%d", c.name, what, n))
		for _, d := range res.calls {
			hit := strings.Contains(d.ret, "INJECTED") || res.killed && strings.HasPrefix(d.ret, "?")
			if hit && d.at == c.at {
				return res, true
			}
		}
	}
	return res, false
}

// sound says what a disturbed run broke: of what is others', of what it writes
// itself, and of the answer to who asks next.
func (r *reader) sound(t *testing.T) (problems []string) {
	t.Helper()
	if is := r.untouched(t); is != r.others {
		problems = append(problems, "it touched what is others':\n"+difference(r.others, is))
	}
	files, litter := r.written(t)
	if text := files[page]; text != r.was[page] && !strings.HasSuffix(text, "</html>\n") {
		problems = append(problems, fmt.Sprintf("the page is neither old nor new: %q", text))
	}
	key := fmt.Sprint(slices.Sorted(maps.Keys(files)), len(litter) > 0)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		key += files[path]
	}
	if said, ok := r.next[key]; ok { // as it was after another fault
		if said != "" {
			problems = append(problems, said)
		}
		return problems
	}
	age(litter)
	next := r.w.withEnv(r.env...).run(t, "", r.folder(), r.args...)
	said := ""
	if next.code != 0 || next.stderr != "" || next.stdout != r.clean.stdout {
		said = fmt.Sprintf("the next call ends with %d and answers otherwise:\n%s\n%s", next.code, difference(r.clean.stdout, next.stdout), next.stderr)
	}
	after, left := r.written(t)
	if after[page] != r.left[page] {
		said += "the next call's page is another"
	}
	// What lies about is swept by who writes there next.
	if len(left) > 0 {
		for _, path := range caches {
			os.Remove(r.w.Path(path))
		}
		r.w.run(t, "", r.folder(), seanceList...)
		if _, left = r.written(t); len(left) > 0 {
			said += fmt.Sprintf("nothing takes away %q", left)
		}
	}
	if r.next[key] = said; said != "" {
		problems = append(problems, said)
	}
	return problems
}

// TestSeanceKill kills gt-seance before each of its system calls.
func TestSeanceKill(t *testing.T) {
	sweep(t, reading, func(t *tried, s scenario) {
		r := newReader(t.T, s)
		for i, c := range r.points() {
			if !nth(i, 3) {
				continue
			}
			res, met := r.disturbed(t.T, c, "signal=KILL")
			if !met && (c.changes() || !strings.HasPrefix(c.path(), "/proc/")) {
				t.Errorf("it was not killed before %v: %v", c, res)
			}
			var problems []string
			if files, _ := r.written(t.T); files[page] != r.was[page] && files[page] != r.left[page] {
				problems = append(problems, "the page is neither old nor new")
			}
			t.kill(c, append(problems, r.sound(t.T)...))
		}
	})
}

// TestSeanceErrors lets each of gt-seance's calls fail: the answer is the right
// one, or what could not be read is said.
func TestSeanceErrors(t *testing.T) {
	sweep(t, reading, func(t *tried, s scenario) {
		r := newReader(t.T, s)
		for _, f := range faultsOf(r.calls, func(i int, c call) bool { return nth(i, 24) || c.changes() }) {
			res, met := r.disturbed(t.T, f.call, "error="+f.err)
			if !met && f.at.path == "/proc" {
				continue
			}
			problems := r.sound(t.T)
			if !met {
				problems = append(problems, "it did not fail there")
			}
			if problems = append(problems, r.answered(f, res)...); len(problems) > 0 {
				problems = append(problems, res.stderr)
			}
			t.fault(f, problems)
		}
	})
}

// answered says what is wrong with an answer under a fault.
func (r *reader) answered(f fault, res result) (problems []string) {
	missing := ""
	if res.stdout != r.clean.stdout {
		missing = difference(r.clean.stdout, res.stdout)
	}
	if data, _ := os.ReadFile(r.w.Path(page)); string(data) != r.left[page] {
		missing += "\nthe page is not written"
	}
	switch {
	case res.code == 0 && missing == "":
		return nil
	case f.err == "EINTR":
		return []string{"an interrupted call is no failure"}
	case res.code != 0 && res.code != 74:
		return []string{"the exit code is of no failure"}
	case f.at.path == "pipe": // nothing can be said there
		return nil
	case f.unseen() != "" || f.told(r.w.Root, res.stderr):
		return nil
	}
	// A database is told of by its own name.
	if db, ok := strings.CutSuffix(f.path(), "-wal"); ok && strings.Contains(res.stderr, "'"+db+"'") {
		return nil
	}
	return []string{"nothing is said of it, and this is missing:\n" + missing}
}

// unseen says why a fault may change an answer without a word.
func (f fault) unseen() string {
	for _, s := range mayBeUnseen {
		if slices.Contains(s.calls, f.name) && s.path.MatchString(strings.TrimPrefix(f.path(), scratch)) {
			return s.reason
		}
	}
	return ""
}

var mayBeUnseen = []struct {
	calls  []string
	path   *regexp.Regexp
	reason string
}{
	{[]string{"openat", "read"}, regexp.MustCompile(`^/proc/`),
		"what the system does not tell of a process is not known of it"},
	{[]string{"newfstatat"}, regexp.MustCompile(`/(town\.toml|town\.json)$`),
		"where no town can be looked for, the personal one is it"},
}
