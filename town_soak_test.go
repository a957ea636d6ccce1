package gt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/sys/process"
)

var townSoak = flag.Duration("town", 0, "run a town of twelve roles and three pools for so long, such as 2h")

// ledgerFile is the file in HOME in which the agents of TestTown say what they do. Where it
// is, a stand-in for a client is one of them.
const ledgerFile = "ledger"

// ledger is that file, a line an entry: kind, process, time and text, separated by tabs.
type ledger string

type entry struct{ kind, pid, at, text string }

func (l ledger) exists() bool {
	_, err := os.Stat(string(l))
	return err == nil
}

func (l ledger) add(kind, text string) {
	f, err := os.OpenFile(string(l), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // the test is over
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\t%d\t%s\t%s\n", kind, os.Getpid(), time.Now().UTC().Format(time.TimeOnly), text)
}

func (l ledger) read(t testing.TB) (all []entry) {
	data, err := os.ReadFile(string(l))
	testenv.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if cells := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4); len(cells) == 4 {
			all = append(all, entry{cells[0], cells[1], cells[2], cells[3]})
		}
	}
	return all
}

// townAgent is an agent of TestTown: in a turn it reads its letters and does the work of its
// pool, and now and then it asks for permission, reaches a limit, or dies after its work.
type townAgent struct {
	ledger
	screen *screen
	env    []string
	dir    string
}

func (a *townAgent) run(args ...string) (string, bool) {
	r := job{Args: args, Env: a.env, Dir: a.dir}.Run()
	if r.Code != 0 && r.Code != 1 && r.Code != 75 {
		a.add("failed", strings.ReplaceAll(r.String(), "\n", "|"))
	}
	return r.Out, r.Code == 0
}

// work does a turn. asks reports that it ends with a question, whose answer ends the turn.
func (a *townAgent) work(prompt string) (asks bool) {
	name := os.Getenv("GT_SESSION_NAME") + os.Getenv("GT_ROLE")
	a.add("begin", name)
	time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
	letters, _ := a.run("gt-mail", "inbox", "--json")
	for line := range strings.Lines(letters) {
		var letter struct {
			ID, Subject string
			Seen        bool
		}
		if json.Unmarshal([]byte(line), &letter) == nil && !letter.Seen {
			if _, ok := a.run("gt-mail", "read", letter.ID); ok {
				a.add("read", letter.Subject)
			}
		}
	}
	if os.Getenv("GT_TEMPLATE") != "" {
		if text, ok := a.run("gt-mail", "work", "claim"); ok {
			id, subject, _ := strings.Cut(strings.SplitN(text, "\n", 2)[0], "  ")
			a.add("claimed", subject)
			time.Sleep(time.Duration(500+rand.IntN(6000)) * time.Millisecond)
			a.add("did", subject)
			if _, ok := a.run("gt-mail", "work", "done", id); !ok {
				a.add("not-done", subject)
			}
		}
	}
	switch n := rand.IntN(200); {
	case n < 6:
		a.add("asks", name)
		return true
	case n < 8:
		a.add("dies", name)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case n < 9:
		a.add("limited", name)
		a.screen.hook("StopFailure", "error=rate_limit")
	}
	return false
}

// ended notes the end of a turn.
func (a *townAgent) ended() { a.add("end", "") }

const townTemplates = `
[rigs.alpha]
prefix = "al"
[rigs.beta]
prefix = "be"
[[agent]]
name = "ports"
provider = "claude"
work_dir = "alpha"
env = { VERSION = "%[1]d" }
pool = { max = 4, check = 'cat "$HOME/ports"', drain_timeout = "10m" }
[[agent]]
name = "tests"
provider = "claude"
work_dir = "beta"
env = { VERSION = "%[2]d" }
pool = { min = 1, max = 3, check = 'cat "$HOME/tests"', drain_timeout = "10m" }
defaults = { wake_mode = "resume" }
[[agent]]
name = "docs"
provider = "claude"
work_dir = "beta"
env = { VERSION = "%[3]d" }
account = "other"
pool = { max = 3, drain_timeout = "10m" }
`

var townRoles = []string{
	"mayor", "deacon", "boot", "alpha/witness", "alpha/refinery", "alpha/crew/max", "alpha/crew/joe", "alpha/polecats/Toast",
	"beta/witness", "beta/refinery", "beta/crew/ann", "beta/polecats/Nux",
}

// A town of twelve roles and three pools goes on for hours with agents that work, wait, die and
// reach limits, while its templates change, pools grow and shrink, and a person writes, prompts,
// restarts, hands over and drains. No turn is cut, no work is lost or done twice, and no letter
// stays unread.
func TestTown(t *testing.T) {
	if *townSoak == 0 {
		t.Skip("takes hours; -town 2h does it")
	}
	w := testenv.NewWorld(t, "")
	testenv.NoError(t, testenv.Programs(w.Path("bin")))
	w.Programs = w.Path("bin")
	w.Env = append(w.Env, "PATH="+w.Path("bin")+":"+os.Getenv("PATH"), "TMUX_TMPDIR="+w.Tmux(), "WORK="+w.Path("work"), "SCREEN=1", "GOMAXPROCS=2")
	w.Write("work/x", "")
	w.Write("town/mayor/town.json", `{"type":"town","version":1,"name":"t"}`)
	for _, dir := range []string{"deacon/dogs/boot", "alpha/witness", "alpha/refinery/rig", "alpha/crew/max", "alpha/crew/joe", "alpha/polecats/Toast", "beta/witness", "beta/refinery/rig", "beta/crew/ann", "beta/polecats/Nux"} {
		w.Write(filepath.Join("town", dir, "x"), "")
	}
	l := ledger(w.Path("home", ledgerFile))
	w.Write(string(l), "")
	pools := []string{"ports", "tests", "docs"}
	versions := []any{0, 0, 0}
	configure := func() {
		w.Write("town/town.toml", fmt.Sprintf(townTemplates, versions...))
		w.MustRun("town", "gt-hooks", "trust", "--yes", ".")
	}
	want := func(pool string, n int) { w.Write(filepath.Join("home", pool), fmt.Sprint(n)) }
	for _, pool := range pools {
		want(pool, 1)
	}
	configure()

	done := map[string]int{}
	do := func(args ...string) (string, int) {
		r := w.Run("town", nil, args...)
		done[strings.Join(args[:2], " ")+fmt.Sprint(" ", r.Code)]++
		if r.Code != 0 && r.Code != 1 && r.Code != 75 {
			t.Errorf("%s %v", time.Now().UTC().Format(time.TimeOnly), r)
		}
		return r.Out, r.Code
	}
	for _, role := range townRoles {
		w.MustRun("town", "gt-session", "new", "--role", role)
	}
	var said bytes.Buffer
	var tick *exec.Cmd
	runs := func() {
		tick = w.Command("town", "gt-reconcile", "run", "--every", "1s")
		tick.Stdout, tick.Stderr = &said, &said
		testenv.NoError(t, tick.Start())
	}
	stops := func(signal os.Signal) {
		_ = tick.Process.Signal(signal)
		_ = tick.Wait()
	}
	runs()

	type agent struct{ Name, Status, Reason, Template, State string }
	list := func() (all []agent) {
		text, _ := do("gt-session", "list", "--json")
		for line := range strings.Lines(text) {
			var a agent
			testenv.NoError(t, json.Unmarshal([]byte(line), &a))
			all = append(all, a)
		}
		return all
	}
	answer := func() {
		for _, a := range list() {
			if a.Status == "waiting" && (a.Reason == "permission" || a.Reason == "question") {
				do("gt-session", "answer", a.Name)
				do("gt-session", "answer", a.Name, "1")
			}
		}
	}
	giveBack := func() {
		text, _ := do("gt-mail", "work")
		for line := range strings.Lines(text) {
			if strings.Contains(line, "blocked: ") {
				do("gt-mail", "work", "back", strings.Fields(line)[0])
			}
		}
	}
	names := map[string]string{}
	for _, a := range list() {
		for _, role := range townRoles {
			if strings.HasSuffix(a.Name, "-"+strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(role, "alpha/"), "beta/"), "/", "-")) || strings.HasSuffix(a.Name, "-"+filepath.Base(role)) {
				names[role] = a.Name
			}
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	works, letters := 0, 0
	for end := time.Now().Add(*townSoak); time.Now().Before(end); time.Sleep(2 * time.Second) {
		role, pool := townRoles[random.IntN(len(townRoles))], pools[random.IntN(3)]
		switch n := random.IntN(100); {
		case n < 25:
			works++
			do("gt-mail", "work", "give", pool, "-s", fmt.Sprintf("work %d", works), "-m", "all of it")
		case n < 40:
			letters++
			do("gt-mail", "send", role, "-s", fmt.Sprintf("letter %d", letters), "-m", "read it")
		case n < 50:
			letters++
			do("gt-mail", "send", "--wake", role, "-s", fmt.Sprintf("letter %d", letters), "-m", "read it")
		case n < 60:
			do("gt-session", "send", names[role], "go on")
		case n < 68:
			want(pool, random.IntN(5))
		case n < 72:
			versions[random.IntN(3)] = random.IntN(4)
			configure()
		case n < 77:
			do("gt-session", "restart", names[role])
		case n < 81:
			if all := list(); len(all) > 0 {
				if a := all[random.IntN(len(all))]; a.Template != "" {
					do("gt-session", []string{"drain", "suspend", "resume", "close"}[random.IntN(4)], a.Name)
				}
			}
		case n < 85:
			do("gt-handoff", names[role], "-s", "go on", "-m", "as before")
		case n < 87:
			do("gt-reconcile", []string{"accept", "pin"}[random.IntN(2)], pool)
			do("gt-reconcile", "pin", pool, "--off")
		case n < 89:
			stops([]os.Signal{syscall.SIGKILL, syscall.SIGTERM}[random.IntN(2)])
			runs()
		case n < 95:
			answer()
		default:
			giveBack()
		}
	}

	// Until all is done, by a few commands a second
	for _, pool := range pools {
		want(pool, 2)
	}
	reads := func(kind string) map[string]int {
		counts := map[string]int{}
		for _, e := range l.read(t) {
			if e.kind == kind {
				counts[e.text]++
			}
		}
		return counts
	}
	for end := time.Now().Add(20 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Second) {
		if open, _ := do("gt-mail", "work"); strings.TrimSpace(open) == "" && len(reads("read")) >= letters {
			break
		}
		giveBack()
		answer()
		for _, a := range list() {
			switch {
			case a.Status == "idle", a.Status == "waiting" && a.Reason != "permission" && a.Reason != "question":
				do("gt-session", "send", a.Name, "go on")
			case a.Template == "" && (a.Status == "stopped" || a.Status == "error"):
				do("gt-session", "start", a.Name)
			}
		}
	}
	stops(syscall.SIGTERM)
	did, read := reads("did"), reads("read")
	for n := range works {
		if s := fmt.Sprintf("work %d", n+1); did[s] != 1 {
			t.Errorf("%s was done %d times", s, did[s])
		}
	}
	for n := range letters {
		if s := fmt.Sprintf("letter %d", n+1); read[s] == 0 {
			t.Errorf("%s was not read", s)
		}
	}
	cut(t, l)
	for _, kind := range []string{"failed", "not-done"} {
		for text := range reads(kind) {
			t.Errorf("%s: %s", kind, text)
		}
	}
	t.Logf("%d works, %d letters; %v", works, letters, done)
	counts := map[string]int{}
	for _, e := range l.read(t) {
		counts[e.kind]++
	}
	t.Log(counts)
	w.Run("town", nil, "gt-session", "close", "--state", "creating,active,suspended,draining,quarantined")
	w.Run("town", nil, "gt-session", "shutdown", "--town", "--now")
	if out, err := w.Command("town", "tmux", "list-sessions").Output(); err == nil {
		t.Errorf("left:\n%s", out)
	}
	if t.Failed() {
		data, err := os.ReadFile(w.Path("town/.events.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		_ = os.WriteFile(filepath.Join(os.TempDir(), "town-ledger"), []byte(w.Read(string(l))), 0o600)
		_ = os.WriteFile(filepath.Join(os.TempDir(), "town-events"), data, 0o600)
		t.Logf("what it printed ends with:\n%s", said.Bytes()[max(0, said.Len()-16<<10):])
	}
}

// cut reports each turn that neither ended nor ended its own process, and whose process is gone.
func cut(t *testing.T, l ledger) {
	open := map[string]entry{}
	for _, e := range l.read(t) {
		switch e.kind {
		case "begin":
			open[e.pid] = e
		case "end", "dies":
			delete(open, e.pid)
		}
	}
	for pid, e := range open {
		var n int
		_, _ = fmt.Sscan(pid, &n)
		if p, err := process.Find(n); err != nil || !p.IsAlive() {
			t.Errorf("the turn of %s (process %s), begun at %s, was cut", e.text, pid, e.at)
		}
	}
}
