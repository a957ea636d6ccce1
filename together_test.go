package gt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
)

// A crowd is many sessions at work in one home at once: live clients, each a
// process of its own, agents in tmux panes, and clients that die after one
// hook.
type crowd struct {
	*testenv.World              // the home is its folder "repo"
	busy           atomic.Int32 // hooks that found the home busy for as long as they wait
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	testenv.Sample(t, 3)
	c := &crowd{World: testenv.NewWorld(t, "")}
	c.Env = append(c.Env, "WORK="+c.Root, "TMUX_TMPDIR="+c.Tmux(), "GOMAXPROCS=2")
	t.Cleanup(func() {
		// At once, or they would say on the way out that they end.
		pids, _ := filepath.Glob(c.Path("claude-*.pid"))
		for _, path := range pids {
			var pid int
			if data, err := os.ReadFile(path); err != nil {
				t.Error(err)
			} else if _, err := fmt.Sscan(string(data), &pid); err == nil && ofTest(pid, c.Root) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	if err := os.Mkdir(c.Path("repo"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.mustRun("git", "init", "-q")
	c.mustRun("git", "commit", "-q", "--allow-empty", "-m", "first")
	return c
}

// kept is the folder of the state that keeps what belongs to the home.
func (c *crowd) kept() string {
	c.Helper()
	return home.HomeOutsideTown(place.State(c.Path("home/.local/state/gt")), c.Path("repo")).Runtime()
}

// ofTest reports whether the process is one of ours still, by its environment.
func ofTest(pid int, work string) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains("\x00"+string(data), "\x00WORK="+work+"\x00")
}

// mustRun runs a command of nobody's in the home.
func (c *crowd) mustRun(args ...string) string {
	c.Helper()
	r := c.Run("repo", nil, args...)
	if r.Code != 0 {
		c.Fatalf("%v", r)
	}
	return r.Out
}

// client starts a client that lives until the test ends.
func (c *crowd) client(name string) {
	cmd := exec.Command("client", "-serve", name)
	cmd.Env, cmd.Dir = c.Env, c.Path("repo")
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c.await(c.Path(name))
}

func (c *crowd) await(path string) {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.Fatalf("waited a minute for %s", path)
		}
	}
}

// runClient has a client run a command, as its hook where there is an input.
func (c *crowd) runClient(name string, input map[string]string, args ...string) result {
	j := job{Args: args, Env: append(slices.Clone(c.Env), "CLAUDE_CODE_SESSION_ID="+name), Dir: c.Path("repo")}
	if input != nil {
		input["session_id"], input["cwd"] = name, c.Path("repo")
		data, err := json.Marshal(input)
		if err != nil {
			panic(err)
		}
		j.Stdin = string(data)
	}
	conn, err := net.Dial("tcp", addressOf(c.Path(name)))
	if err != nil {
		return result{Errs: err.Error(), Code: 99}
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(j); err != nil {
		return result{Errs: err.Error(), Code: 99}
	}
	var r result
	if err := json.NewDecoder(conn).Decode(&r); err != nil && !errors.Is(err, io.EOF) {
		return result{Errs: err.Error(), Code: 99}
	}
	return r
}

// patiently runs a hook again whose home was busy for as long as it waits: on a machine
// with other work a crowd can hold the lock that long. The log has no other failures.
func (c *crowd) patiently(run func() result) result {
	for {
		r := run()
		if r.Code != 0 || !strings.Contains(r.Errs, held) {
			return r
		}
		c.busy.Add(1)
	}
}

// held is what a program says that found the lock taken.
const held = "somebody else holds the lock"

// company is the one thing that a start may warn of in a crowd.
var company = regexp.MustCompile(`(?m)^gt-prime: warning: session \S+ \(process \d+\) also runs here, as '\S+'\n`)

// fine holds that a hook did its work, and complained of nothing.
func (c *crowd) fine(what string, r result) {
	c.Helper()
	if said := company.ReplaceAllString(r.Errs, ""); r.Code != 0 || said != "" {
		c.Errorf("%s: exit code %d, %q", what, r.Code, said)
	}
}

// runTogether runs the functions at once and waits for them.
func runTogether(each ...func()) {
	var wg sync.WaitGroup
	for _, f := range each {
		wg.Go(f)
	}
	wg.Wait()
}

// Some thirty programs at once in one home, again and again: sessions that
// start by doubly wired hooks, that write checkpoints, give signs of life, send
// notes, are compacted and hand over in their panes, while others come and die
// and everything is read. Each session begins once and is noted once; each note
// that was acknowledged is there once; each marker tells its own session, once;
// nobody reads half a file; and nothing is left behind. With GT_THOROUGH=1 they go round once
// more. Lines: S0-16 S0-23
// S3-15.
func TestTogetherInOneHome(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	const clients, panes, strangers = 12, 3, 4
	rounds := 2
	switch {
	case testing.Short():
		rounds = 1
	case full:
		rounds = 3
	}
	c := newCrowd(t)
	names := make([]string, clients)
	begin := make([]func(), clients)
	for i := range clients {
		names[i] = fmt.Sprintf("s%02d", i)
		begin[i] = func() { c.client(names[i]) }
	}
	runTogether(begin...)

	// Readers find every file whole, whenever they look.
	var stop atomic.Bool
	var reads atomic.Int32
	var readers sync.WaitGroup
	for _, args := range [][]string{
		{"gt-seance", "list", "--json"}, {"gt-mail", "--all", "--json"}, {"gt-checkpoint", "read", "--json"}, {"gt-prime", "--state", "--json"},
	} {
		readers.Go(func() {
			for ; !stop.Load(); reads.Add(1) {
				r := job{Args: args, Env: c.Env, Dir: c.Path("repo")}.Run()
				none := args[0] == "gt-checkpoint" && r.Code == 1 && strings.Contains(r.Errs, "there is no checkpoint")
				if (r.Code != 0 || r.Errs != "") && !none {
					t.Errorf("%q: exit code %d, %q", args, r.Code, r.Errs)
				}
				for line := range strings.Lines(r.Out) {
					if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
						t.Errorf("%q: %q is no line of JSON", args, line)
					}
				}
				// The machine is for those that write: a start waits for the lock for four
				// seconds, and readers without a pause would take half of them.
				time.Sleep(20 * time.Millisecond)
			}
		})
	}

	// What every client does, one after the other; they do not keep step, so
	// that all of it goes on at once.
	var mu sync.Mutex
	sent := map[string]bool{}      // subjects of notes that were acknowledged
	saved := map[string][]string{} // the notes that each session left before compactions
	noteID := regexp.MustCompile("`gt-mail read (\\S+)`")
	told := func(texts ...string) (found []string) { // the notes that a start names
		for _, text := range texts {
			for _, m := range noteID.FindAllStringSubmatch(text, -1) {
				found = append(found, m[1])
			}
		}
		return found
	}
	act := func(name string, n int) {
		hook := func(event, source string) map[string]string {
			return map[string]string{"hook_event_name": event, "source": source, "prompt_id": fmt.Sprint(n)}
		}
		var one, two result
		switch {
		case n == 0:
			runTogether(func() { one = c.runClient(name, hook("SessionStart", "startup"), "gt-prime", "--hook") },
				func() { two = c.runClient(name, hook("SessionStart", "startup"), "gt-prime", "--hook") })
			c.fine(name+" starts", one)
			c.fine(name+" starts again", two)
			if (one.Out == "") == (two.Out == "") {
				t.Errorf("%s was told by one of two hooks: %q, %q", name, one.Out, two.Out)
			}
			if text := one.Out + two.Out; strings.Contains(text, "Handoff complete") {
				t.Errorf("%s got a hand-over of somebody else's: %q", name, text)
			}
		case n%4 == 1:
			runTogether(func() {
				one = c.patiently(func() result {
					return c.runClient(name, hook("Stop", ""), "gt-checkpoint", "write", "--hook", "--notes", "words of "+name)
				})
			}, func() {
				two = c.patiently(func() result { return c.runClient(name, hook("PostToolUse", ""), "gt-keepalive", "touch", "--hook") })
			})
			c.fine(name+" saves", one)
			c.fine(name+" lives", two)
		case n%4 == 2:
			runTogether(func() {
				one = c.runClient(name, hook("PreCompact", ""), "gt-handoff", "--auto", "--hook", "--reason", "compaction")
			}, func() {
				two = c.runClient(name, hook("PreCompact", ""), "gt-handoff", "--auto", "--hook", "--reason", "compaction")
			})
			c.fine(name+" is compacted", one)
			c.fine(name+" is compacted again", two)
			notes := told(one.Out, two.Out)
			if len(notes) != 1 {
				t.Errorf("%s was saved %d times before one compaction", name, len(notes))
			}
			mu.Lock()
			saved[name] = append(saved[name], notes...)
			mu.Unlock()
		case n%4 == 3:
			subject := fmt.Sprintf("note %d of %s", n, name)
			runTogether(func() { one = c.runClient(name, hook("SessionStart", "compact"), "gt-prime", "--hook") },
				func() { two = c.runClient(name, hook("SessionStart", "compact"), "gt-prime", "--hook") },
				func() {
					c.fine(name+" writes", c.runClient(name, nil, "gt-mail", "send", "self", "-s", subject, "-m", "x"))
				})
			c.fine(name+" goes on", one)
			c.fine(name+" goes on again", two)
			mu.Lock()
			sent[subject] = true
			last := saved[name][max(len(saved[name])-1, 0):]
			mu.Unlock()
			if notes := told(one.Out, two.Out); !slices.Equal(notes, last) {
				t.Errorf("%s was told of %q and left %q", name, notes, last)
			}
		default:
			// A command of the agent's may find the home busy, says so, and is run again.
			for {
				one = c.runClient(name, nil, "gt-checkpoint", "write", "--notes", "words of "+name, "--step", fmt.Sprint("p", n))
				if one.Code != 75 {
					break
				}
			}
			c.fine(name+" notes", one)
			c.fine(name+" prompts", c.patiently(func() result {
				return c.runClient(name, hook("UserPromptSubmit", ""), "gt-keepalive", "touch", "--hook")
			}))
		}
	}

	// Meanwhile agents hand over in their panes, each to the next in its own.
	var handovers sync.WaitGroup
	var begun []string // files of the agents
	c.mustRun("tmux", "-f", "/dev/null", "new-session", "-d", "-s", "keep", "sleep", "600")
	for p := range panes {
		c.mustRun("tmux", "new-session", "-d", "-s", fmt.Sprint("pane", p), "claude")
		begun = append(begun, fmt.Sprint("claude-", p+1))
		c.await(c.Path(begun[p]))
	}
	word := func(p, n int) string { return fmt.Sprintf("the word of pane %d in hand-over %d.", p, n) }
	for p, name := range begun {
		handovers.Go(func() {
			for n := range rounds {
				for {
					r := c.runClient(name, nil, "gt-handoff", "--no-git-check", "-s", fmt.Sprintf("pane %d, %d", p, n), "-m", word(p, n))
					if r.Code == 0 { // or its pane is gone, and it with it
						if r.Errs != "" {
							t.Errorf("pane %d: %q", p, r.Errs)
						}
						break
					}
					if r.Code != 75 {
						t.Errorf("pane %d: exit code %d, %q", p, r.Code, r.Errs)
						return
					}
				}
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
					if next := c.toldOf(word(p, n)); len(next) > 0 {
						name = next[0]
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("nobody was told %q", word(p, n))
						return
					}
				}
				c.await(c.Path(name))
			}
		})
	}

	var met []string // strangers
	for step := range 4*rounds + 4 {
		var at []func()
		for i, name := range names {
			if n := step - i%4; n >= 0 && n <= 4*rounds {
				at = append(at, func() { act(name, n) })
			}
		}
		for k := range strangers {
			id := fmt.Sprintf("stranger-%d-%d", step, k)
			met = append(met, id)
			at = append(at, func() {
				r := job{Args: []string{"client", "session_id=" + id, "source=startup", "--", "gt-prime", "--hook"}, Env: c.Env, Dir: c.Path("repo")}.Run()
				c.fine(id, r)
				if strings.Contains(r.Out, "Handoff complete") || strings.Contains(r.Out, "compaction") {
					t.Errorf("%s took a hand-over that was not meant for it: %q", id, r.Out)
				}
				if k%2 == 0 {
					r := job{Args: []string{"client", "session_id=" + id, "reason=other", "--", "gt-keepalive", "end", "--hook"}, Env: c.Env, Dir: c.Path("repo")}.Run()
					c.fine(id+" ends", r)
				}
			})
		}
		runTogether(at...)
	}
	handovers.Wait()
	stop.Store(true)
	readers.Wait()
	t.Logf("%d reads meanwhile", reads.Load())

	for p := range panes {
		for n := range rounds {
			if next := c.toldOf(word(p, n)); len(next) != 1 {
				t.Errorf("%q was told to %q", word(p, n), next)
			}
		}
	}
	c.events(append(slices.Clone(names), met...), clients*rounds+panes*rounds)
	c.checkpoints(names)
	c.notes(sent, saved, c.records(names))
	c.leftovers()
}

// toldOf names the agents in panes that were told a text when they started, as what is
// handed over to them and not as what was before that.
func (c *crowd) toldOf(text string) (names []string) {
	starts, err := filepath.Glob(c.Path("claude-*.start"))
	if err != nil {
		c.Error(err)
	}
	for _, path := range starts {
		data, err := os.ReadFile(path)
		now, _, _ := strings.Cut(string(data), "### Earlier hand-overs")
		if err == nil && strings.Contains(now, text) {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".start"))
		}
	}
	return names
}

// events holds that every line of the log is whole, that each session starts
// once and ends at most once, and that so many hand-overs were noted, each once.
func (c *crowd) events(ids []string, handovers int) {
	c.Helper()
	data, err := os.ReadFile(c.Path("home/.local/state/gt/.events.jsonl"))
	if err != nil {
		c.Error(err)
		return
	}
	starts, ends, notes, busy := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for line := range strings.Lines(string(data)) {
		var e struct {
			Type    string
			Payload struct {
				ID          string `json:"session_id"`
				Note, Error string
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || !strings.HasSuffix(line, "\n") {
			c.Errorf("a line of the log is torn: %q", line)
		}
		switch e.Type {
		case "session_start":
			starts[e.Payload.ID]++
		case "session_end":
			ends[e.Payload.ID]++
		case "handoff":
			notes[e.Payload.Note]++
		case "session_resume":
		case "hook_error":
			if !strings.Contains(e.Payload.Error, held) {
				c.Errorf("a hook failed: %s", line)
			}
			busy++
		default:
			c.Errorf("an event that nobody waits for: %s", line)
		}
	}
	if said := int(c.busy.Load()); busy > said {
		c.Errorf("the log has %d hooks that found the home busy, and %d said so", busy, said)
	}
	for _, id := range ids {
		if starts[id] != 1 {
			c.Errorf("%s started %d times", id, starts[id])
		}
	}
	for id, n := range starts {
		if n != 1 || ends[id] > 1 {
			c.Errorf("%s started %d times and ended %d times", id, n, ends[id])
		}
	}
	if len(notes) != handovers {
		c.Errorf("%d hand-overs in the log, not %d", len(notes), handovers)
	}
	for id, n := range notes {
		if n != 1 {
			c.Errorf("hand-over %s is in the log %d times", id, n)
		}
	}
}

// records holds that each live session is noted, under its own name, and that
// every record can be read. It returns the sessions' chains.
func (c *crowd) records(names []string) map[string]string {
	c.Helper()
	chains := map[string]string{}
	type record struct {
		ID, Outcome string
		Chain       string `json:"chain_id"`
		Handoff     json.RawMessage
	}
	found := map[string]record{}
	paths, _ := filepath.Glob(filepath.Join(c.kept(), "sessions/*.json"))
	for _, path := range paths {
		var r record
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &r) != nil || r.ID+".json" != filepath.Base(path) {
			c.Errorf("%s: %q, %v", path, data, err)
		}
		found[r.ID] = r
		if r.Handoff != nil {
			c.Errorf("%s waits for somebody to take up %s", r.ID, r.Handoff)
		}
	}
	for _, name := range names {
		if r := found[name]; r.ID != name || r.Outcome != "" || r.Chain == "" {
			c.Errorf("%s is noted as %+v", name, r)
		}
		chains[name] = found[name].Chain
	}
	return chains
}

// checkpoints holds that each session has one, with its own words.
func (c *crowd) checkpoints(names []string) {
	c.Helper()
	paths, _ := filepath.Glob(filepath.Join(c.kept(), "checkpoint-*.json"))
	var found []string
	for _, path := range append(paths, filepath.Join(c.kept(), "checkpoint.json")) {
		var p struct {
			ID    string `json:"session_id"`
			Notes string
		}
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &p) != nil || p.Notes != "words of "+p.ID {
			c.Errorf("%s: %q, %v", path, data, err)
		}
		if base := filepath.Base(path); base != "checkpoint.json" && base != "checkpoint-"+p.ID+".json" {
			c.Errorf("%s is of %s", path, p.ID)
		}
		found = append(found, p.ID)
	}
	slices.Sort(found)
	if !slices.Equal(found, names) {
		c.Errorf("checkpoints of %q", found)
	}
}

// notes holds that each note is there once, and that of each session the last
// that it left for itself is the one that is hooked.
func (c *crowd) notes(sent map[string]bool, saved map[string][]string, chains map[string]string) {
	c.Helper()
	type note struct {
		ID, Subject, Session, Chain string
		Hooked                      bool
	}
	subjects := map[string]int{}
	byID := map[string]note{}
	for line := range strings.Lines(c.mustRun("gt-mail", "--all", "--json")) {
		var n note
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			c.Error(err)
		}
		subjects[n.Subject]++
		byID[n.ID] = n
	}
	for subject := range sent {
		if subjects[subject] != 1 {
			c.Errorf("%q is there %d times", subject, subjects[subject])
		}
	}
	for name, ids := range saved {
		for i, id := range ids {
			n, ok := byID[id]
			if !ok || n.Session != name || n.Chain != chains[name] || n.Hooked != (i == len(ids)-1) {
				c.Errorf("note %d of %d of %s: %+v", i+1, len(ids), name, n)
			}
		}
	}
}

// leftovers holds that nothing lies about: no marker, no temporary or restart
// file, nothing set aside; that nobody holds a lock; and that git sees nothing.
func (c *crowd) leftovers() {
	c.Helper()
	err := filepath.WalkDir(c.Root, func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		if strings.Contains(name, ".gt-tmp-") || strings.Contains(name, ".bad") || strings.HasPrefix(name, "restart-") || strings.HasPrefix(name, "handoff") ||
			strings.HasSuffix(filepath.Dir(path), "mail/tmp") {
			c.Errorf("left over: %s", path)
		}
		if err == nil && (name == "lock" || strings.HasSuffix(name, ".lock")) && !strings.Contains(path, "/.git/") {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
				c.Errorf("somebody holds %s", path)
			}
		}
		return err
	})
	if err != nil {
		c.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(c.kept(), "session_id"))
	if lines := strings.Split(string(data), "\n"); err != nil || len(lines) != 3 || lines[2] != "" {
		c.Errorf("session_id: %q, %v", data, err)
	}
	if out := c.mustRun("git", "status", "--porcelain", "--ignored"); out != "" {
		c.Errorf("git shows %s", out)
	}
}

// Several lists at once, while sessions begin and end, conversations begin and
// grow, the log is rotated, and the caches that the lists write are deleted,
// damaged, and put back as they were earlier: each answer was true at some
// moment between its beginning and its end, and nobody complains. With GT_THOROUGH=1 there are
// twice as many lists. Lines: S0-22
// S0-23.
func TestTogetherInSeance(t *testing.T) {
	work := folder(t)
	town, projects := filepath.Join(work, "town"), filepath.Join(work, "home/.claude/projects/p")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(work, "home"), "LANG=C.UTF-8", "GOMAXPROCS=2", "TMUX_TMPDIR=" + work}
	if err := errors.Join(os.MkdirAll(town, 0o700), os.MkdirAll(projects, 0o700), os.WriteFile(filepath.Join(town, "town.toml"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := (job{Args: []string{"gt-hooks", "trust", "--yes", town}, Env: env, Dir: town}).Run(); r.Code != 0 {
		t.Fatalf("gt-hooks trust: %d, %q", r.Code, r.Errs)
	}
	log := eventlog.Log(filepath.Join(town, ".events.jsonl"))
	started := time.Now().Add(-time.Hour)

	// What there was at least, and what there can be.
	type mark struct{ least, most atomic.Int64 }
	var logged, ended, begun, grown mark
	var stop atomic.Bool
	var writers, readers sync.WaitGroup
	add := func(m *mark, do func(n int64) error) {
		n := m.most.Add(1) - 1
		if err := do(n); err != nil {
			t.Error(err)
		}
		m.least.Store(n + 1)
	}
	event := func(kind string, n int64, more map[string]string) error {
		payload := map[string]string{"session_id": fmt.Sprintf("log-%d", n)}
		maps.Copy(payload, more)
		return log.Append(started.Add(time.Duration(n)*time.Second), kind, "demo/crew/max", payload)
	}
	forever := func(do func(n int)) {
		writers.Go(func() {
			for n := 0; !stop.Load() && !t.Failed(); n++ {
				do(n)
			}
		})
	}
	forever(func(n int) {
		add(&logged, func(n int64) error {
			return event("session_start", n, map[string]string{"cwd": "/nowhere", "agent": "claude"})
		})
		add(&ended, func(n int64) error { return event("session_end", n, map[string]string{"outcome": "done"}) })
		if n%8 == 0 { // so that the index is worth writing again
			if err := event("nudge", int64(n), map[string]string{"text": strings.Repeat("x", 60<<10)}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Millisecond)
	})
	line := func(id, kind string, more string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":"u-%s","sessionId":%q,"timestamp":%q%s}`+"\n", kind, id, id, started.UTC().Format(time.RFC3339), more)
	}
	asked := `,"message":{"role":"user","content":"ask"}`
	forever(func(int) {
		add(&begun, func(n int64) error {
			id := fmt.Sprintf("talk-%d", n)
			return os.WriteFile(filepath.Join(projects, id+".jsonl"), []byte(line(id, "user", asked)), 0o600)
		})
		time.Sleep(2 * time.Millisecond)
	})
	if err := os.WriteFile(filepath.Join(projects, "grows.jsonl"), []byte(line("grows", "user", asked)), 0o600); err != nil {
		t.Fatal(err)
	}
	forever(func(int) {
		add(&grown, func(n int64) error {
			f, err := os.OpenFile(filepath.Join(projects, "grows.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString(line("grows", "custom-title", fmt.Sprintf(`,"customTitle":"title %d"`, n+1)))
			return errors.Join(err, f.Close())
		})
		time.Sleep(time.Millisecond)
	})
	caches := []string{filepath.Join(town, ".sessions/index.db"), filepath.Join(work, "home/.local/state/gt/.sessions/transcripts.db")}
	earlier := make([][]byte, len(caches))
	forever(func(n int) {
		i := n % len(caches)
		data, _ := os.ReadFile(caches[i])
		put := func(data []byte) { // whole, as any writer does
			if err := os.WriteFile(caches[i]+".new", data, 0o600); err == nil {
				_ = os.Rename(caches[i]+".new", caches[i])
			}
		}
		switch {
		case len(data) == 0:
		case n/2%4 == 0:
			_ = os.Remove(caches[i])
		case n/2%4 == 1:
			put(data[:len(data)/2])
		case n/2%4 == 2 && earlier[i] != nil:
			put(earlier[i])
		default:
			earlier[i] = data
		}
		time.Sleep(20 * time.Millisecond)
	})
	forever(func(int) {
		if r := (job{Args: []string{"gt-krc", "rotate"}, Env: env, Dir: town}).Run(); r.Code != 0 && r.Code != 75 {
			t.Errorf("gt-krc rotate: %d, %q", r.Code, r.Errs)
		}
		time.Sleep(100 * time.Millisecond)
	})

	lists := 15
	switch {
	case testing.Short():
		lists = 4
	case full:
		lists = 30
	}
	for range 4 {
		readers.Go(func() {
			for range lists {
				l, e, b, g := logged.least.Load(), ended.least.Load(), begun.least.Load(), grown.least.Load()
				r := job{Args: []string{"gt-seance", "list", "--json", "--limit", "0"}, Env: env, Dir: town}.Run()
				if r.Code != 0 || r.Errs != "" {
					t.Errorf("exit code %d, %q", r.Code, r.Errs)
				}
				seen, done, title := map[string]int64{}, int64(0), int64(0)
				for text := range strings.Lines(r.Out) {
					var s struct{ ID, Outcome, Title string }
					if err := json.Unmarshal([]byte(text), &s); err != nil {
						t.Errorf("%q: %v", text, err)
					}
					kind, number, _ := strings.Cut(s.ID, "-")
					n, _ := strconv.ParseInt(number, 10, 64)
					seen[kind]++
					seen["last "+kind] = max(seen["last "+kind], n+1)
					if kind == "talk" && n < b {
						seen["old talk"]++
					}
					if s.Outcome == "done" {
						done++
					}
					fmt.Sscanf(s.Title, "title %d", &title)
				}
				// Of the log all up to some line; of a folder what was there, and some of
				// what came meanwhile.
				if n := seen["log"]; n != seen["last log"] || n < l || n > logged.most.Load() {
					t.Errorf("%d sessions of the log, up to the %dth, where there were %d to %d", n, seen["last log"], l, logged.most.Load())
				}
				if done < e || done > seen["log"] || seen["log"]-done > 1 {
					t.Errorf("%d of %d have ended, where %d to %d had", done, seen["log"], e, ended.most.Load())
				}
				if seen["old talk"] != b || seen["last talk"] > begun.most.Load() || seen["grows"] != 1 {
					t.Errorf("%d of the %d conversations that there were, up to the %dth of %d", seen["old talk"], b, seen["last talk"], begun.most.Load())
				}
				if title < g || title > grown.most.Load() {
					t.Errorf("title %d, where it was %d to %d", title, g, grown.most.Load())
				}
			}
		})
	}
	readers.Wait()
	stop.Store(true)
	writers.Wait()
	t.Logf("%d sessions in the log, %d conversations, %d titles", logged.least.Load(), begun.least.Load(), grown.least.Load())
}
