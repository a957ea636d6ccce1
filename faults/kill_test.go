//go:build linux

package faults

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/lib/log/eventlog"
)

// A plan is what the undisturbed command does and leaves, against which a
// disturbed one is held.
type plan struct {
	scenario
	w      *world
	before snapshot
	calls  []call             // of the program, in their order
	count  map[string]int     // of each call since the process began
	once   snapshot           // after the command
	twice  snapshot           // after the command was run again
	clean  result             // what it printed
	wrote  map[string][]text  // what stood in each file at some time
	known  []string           // what was wrong in the world from the first
	nexts  map[string]nextRun // what the next run came to, by the world that it found
	did    string             // the sessions and their work after it, see tick_test.go
}

// nextRun is what came of a run after a disturbed one.
type nextRun struct {
	after    snapshot
	problems []string
}

type text = string

// plans are those that were made, by the name of the scenario: the loops go through
// the same ones, one loop after another.
var plans sync.Map

// forget has the next loop make a new plan.
func (p *plan) forget() {
	plans.Delete(p.name)
	removeAll(p.w.Root)
	removeAll(p.w.Root + ".kept")
}

// newPlan prepares a world and runs the command in it, once and again, unless a loop
// before had it done.
func newPlan(t *testing.T, s scenario) *plan {
	t.Helper()
	if p, ok := plans.Load(s.name); ok {
		return p.(*plan)
	}
	p := &plan{scenario: s, w: newWorld(t, s.name), count: map[string]int{}, nexts: map[string]nextRun{}}
	made := false
	defer func() {
		if !made {
			p.forget()
		}
	}()
	s.prepare(t, p.w)
	p.w.keep(t)
	_, p.known = p.w.sound(p.folder(), snapshot{})

	defer p.set(t)()
	p.clean = p.trace(t, "trace="+watched)
	if p.clean.code != 0 {
		t.Fatalf("undisturbed: %v", p.clean)
	}
	from := begins(p.clean.calls)
	if from < 0 {
		t.Fatal("the trace does not show where the program begins")
	}
	for _, c := range p.clean.calls {
		p.count[c.name] = c.nth
	}
	p.calls = p.clean.calls[from:]
	if i := slices.IndexFunc(p.calls, func(c call) bool { return c.name == "execve" && !c.failed() }); i >= 0 {
		p.calls = p.calls[:i] // it has become another program
	}
	p.once = p.lookOrDie(t)
	p.noteWrites()
	if r := p.runAgain(t); r.code != p.again {
		t.Fatalf("undisturbed, for the second time: %v", r)
	}
	p.twice = p.lookOrDie(t)
	plans.Store(s.name, p)
	made = true
	return p
}

// set brings the world back to what it was before the command, and starts what
// lives in it; what it returns ends that.
func (p *plan) set(t *testing.T) (stop func()) {
	t.Helper()
	p.w.restore(t)
	if p.live == nil {
		if p.before.state == nil {
			p.before = p.lookOrDie(t)
		}
		return func() {}
	}
	stop = p.live(t, p.w)
	p.before = snapshot{}
	p.before = p.lookOrDie(t)
	return stop
}

func (p *plan) lookOrDie(t *testing.T) snapshot {
	t.Helper()
	s, problems := p.sound()
	if len(problems) > 0 {
		t.Fatalf("undisturbed: %s", strings.Join(problems, "\n"))
	}
	return s
}

// sound looks at the world, and says what has become wrong in it.
func (p *plan) sound() (snapshot, []string) {
	before := p.before
	if p.args[0] == "gt-krc" { // which takes events out of the log; see prune_test.go
		before.log = nil
	}
	now, problems := p.w.sound(p.folder(), before)
	return now, slices.DeleteFunc(problems, func(s string) bool { return slices.Contains(p.known, s) })
}

// trace runs the command under strace.
func (p *plan) trace(t *testing.T, expressions ...string) result {
	t.Helper()
	log := p.w.Root + ".log"
	defer os.Remove(log)
	args := strace(log, "-s", "1000000")
	for _, e := range expressions {
		args = append(args, "-e", e)
	}
	r := p.w.withEnv(p.env...).run(t, p.input, p.folder(), append(args, p.args...)...)
	r.calls, r.hit = readLog(t, log)
	return r
}

// runAgain runs the command undisturbed, as if later.
func (p *plan) runAgain(t *testing.T) result {
	t.Helper()
	return p.w.withEnv(p.env...).run(t, laterInput(p.input), p.folder(), p.args...)
}

// noteWrites remembers what was written to each state file on the way to its
// last content: one may be replaced twice, another is appended to.
func (p *plan) noteWrites() {
	p.wrote = map[string][]text{}
	temp := map[string]string{}
	rel := func(path string) string { return normal(strings.TrimPrefix(path, p.w.Root+"/")) }
	for _, c := range p.calls {
		switch {
		case c.failed():
		case c.name == "openat" && c.hasFlag("O_CREAT") && !c.hasFlag("O_EXCL"):
			path := rel(c.path())
			if _, was := p.before.state[path]; !was {
				p.wrote[path] = append(p.wrote[path], "")
			}
		case c.name == "write":
			temp[c.path()] += unquote(c.args[1])
			path := rel(c.path())
			p.wrote[path] = append(p.wrote[path], p.before.state[path]+comparable(path, temp[c.path()]))
		case strings.HasPrefix(c.name, "rename"), strings.HasPrefix(c.name, "link"):
			if text, ok := temp[c.path()]; ok {
				path := rel(c.destination())
				p.wrote[path] = append(p.wrote[path], comparable(path, text))
			}
		}
	}
}

// generation reports whether a file is a copy of what another held earlier, and of
// which.
func generation(path string) (of string, ok bool) {
	if i := strings.LastIndex(path, ".bak"); i > 0 {
		return path[:i], true
	}
	if i := strings.LastIndex(path, ".bad"); i > 0 {
		return path[:i], true
	}
	return path, false
}

// oldOrNew says which files hold what they neither held before nor were meant
// to hold.
func (p *plan) oldOrNew(now snapshot) (problems []string) {
	for path, text := range now.state {
		if strings.HasSuffix(path, "/notes") {
			continue // each file of it was looked at by its reader
		}
		of, copied := generation(path)
		old, was := p.before.state[path]
		fits := was && old == text || p.once.state[path] == text || slices.Contains(p.wrote[path], text)
		if copied && !fits { // of the file, or of a newer generation
			fits = slices.Contains(p.wrote[of], text)
			for other, old := range p.before.state {
				o, _ := generation(other)
				fits = fits || o == of && old == text
			}
		}
		if !fits {
			problems = append(problems, fmt.Sprintf("%s is neither old nor new:\n%s", path, difference(old, text)))
		}
	}
	return append(problems, p.lost(now)...)
}

// lost are the files that were there, were meant to stay, and are gone.
func (p *plan) lost(now snapshot) (problems []string) {
	for path := range p.before.state {
		if _, ok := generation(path); ok {
			continue
		}
		_, is := now.state[path]
		_, will := p.once.state[path]
		if !is && will && !setAside(now, path, p.before.state[path]) {
			problems = append(problems, fmt.Sprintf("%s is gone", path))
		}
	}
	return problems
}

// setAside reports whether a file that is gone is kept under another name.
func setAside(now snapshot, path, old string) bool {
	for other, text := range now.state {
		if of, ok := generation(other); ok && of == path && text == old {
			return true
		}
	}
	return false
}

// delivered says what was lost on the way to standard output: what a start
// takes away it has told before.
func (p *plan) delivered(now snapshot, stdout string) (problems []string) {
	if p.args[0] != "gt-prime" {
		return nil
	}
	told := true
	for _, words := range []string{message, lastWords, "It flickers.", "gt-mail read"} {
		if strings.Contains(p.clean.stdout, words) && !strings.Contains(stdout, words) {
			told = false
		}
	}
	for path, text := range p.before.state {
		name := lastElem(path)
		_, there := now.state[path]
		if told || there || slices.Contains(p.drops, name) || setAside(now, path, text) {
			continue
		}
		if strings.HasPrefix(name, "handoff") || strings.Contains(path, "/handover/waiting/") || strings.Contains(name, "checkpoint") {
			problems = append(problems, fmt.Sprintf("%s is gone (%q), and what was told is %q", path, text, stdout))
		}
	}
	return problems
}

// healed says in what the world differs from one in which the command was run
// undisturbed, once or twice.
func (p *plan) healed(now snapshot) (problems []string) {
	paths := map[string]bool{}
	for _, s := range []snapshot{now, p.once, p.twice} {
		for path := range s.state {
			paths[path] = true
		}
	}
	for path := range paths {
		if _, ok := generation(path); ok {
			continue // how many there are is how often it was written
		}
		if p.cache(path) {
			continue
		}
		is, once, twice := now.state[path], p.once.state[path], p.twice.state[path]
		if is != once && is != twice {
			problems = append(problems, fmt.Sprintf("%s is not what an undisturbed run leaves:\n%s", path, difference(once, is)))
		}
	}
	for path := range now.log {
		is, once, twice := told(now.log[path]), told(p.once.log[path]), told(p.twice.log[path])
		if is != once && is != twice {
			problems = append(problems, fmt.Sprintf("%s tells\n%s\nand not\n%s\nor\n%s", path, is, once, twice))
		}
	}
	return problems
}

// cache reports whether a file only saves time, to whoever reads the log next.
func (p *plan) cache(path string) bool {
	return p.args[0] == "gt-hooks" && strings.Contains(path, "/.sessions/")
}

// told are the events of a log as text.
func told(log []byte) string {
	all, _ := entries(log)
	var b strings.Builder
	for _, e := range all {
		if e.kind == eventlog.HookError {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", e.kind, e.session)
	}
	return b.String()
}

// difference shows the lines in which two texts differ.
func difference(want, is string) string {
	var b strings.Builder
	has := func(text, line string) bool { return strings.Contains("\n"+text+"\n", "\n"+line+"\n") }
	for _, line := range strings.Split(want, "\n") {
		if !has(is, line) {
			b.WriteString("-" + line + "\n")
		}
	}
	for _, line := range strings.Split(is, "\n") {
		if !has(want, line) {
			b.WriteString("+" + line + "\n")
		}
	}
	if b.Len() == 0 && want != is {
		return fmt.Sprintf("-%q\n+%q", want, is)
	}
	return strings.TrimRight(b.String(), "\n")
}

// points are the calls before which the command is killed: all that the
// program makes in a full run, else those that change something.
func (p *plan) points() []call {
	if full {
		return p.calls
	}
	return slices.DeleteFunc(slices.Clone(p.calls), func(c call) bool { return !c.changes() })
}

// killPoints are those of the points that this scenario tries.
func (p *plan) killPoints() (points []call) {
	before := ""
	for _, c := range p.points() {
		shape := p.shape(c)
		if p.tries("kill " + before + ", " + shape) {
			points = append(points, c)
		}
		before = shape
	}
	return points
}

// changes reports whether others can see that the call was made.
func (c call) changes() bool {
	switch c.name {
	case "openat":
		return c.hasFlag("O_CREAT")
	case "close":
		return isLock(lastElem(c.path()))
	case "openat2", "read", "pread64", "fstat", "newfstatat", "readlinkat", "getdents64", "faccessat", "faccessat2", "chdir", "pidfd_open":
		return false
	}
	return true
}

func lastElem(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// TestKill kills each command before each of its system calls. [S2-29]
func TestKill(t *testing.T) {
	sweep(t, scenarios, func(t *tried, s scenario) {
		for again := false; ; again = true {
			p := newPlan(t.T, s)
			points := p.killPoints()
			for _, c := range points {
				t.kill(c, p.kill(t.T, c))
			}
			if len(points) == 0 || !full {
				break // others try them all
			}
			more := p.ends(t.T)
			if len(more) == 0 {
				break
			}
			if again {
				t.Errorf("the sweep is not complete: behind its last point the command does not end by itself, but makes\n%v", more)
				break
			}
			// The one run that the points are from can be the odd one; two are not.
			t.Logf("%s: once more, for the run that the points are from lacks %v", s.name, more)
			p.forget()
		}
	})
}

// ends has the command come to its end, twice, when it is to be killed at the
// call after the last of each name. It returns nil where it does, and else the
// calls that it made instead.
func (p *plan) ends(t *testing.T) (more []call) {
	t.Helper()
	names := slices.Sorted(maps.Keys(p.count))
	most := maps.Clone(p.count)
	ended := 0
	for range tries {
		expressions := []string{"trace=" + strings.Join(names, ",")}
		for _, name := range names {
			expressions = append(expressions, fmt.Sprintf("inject=%s:signal=KILL:when=%d", name, most[name]+1))
		}
		stop := p.set(t)
		r := p.trace(t, expressions...)
		stop()
		n := len(r.calls)
		switch {
		case r.code == 0:
			ended++
		case n == 0:
		case !r.calls[n-1].changes(), strings.HasPrefix(r.calls[n-1].path(), "anon_inode"):
			// The runtime, or who waits, looked once more than in the run that the
			// points are from; that changes nothing.
			most[r.calls[n-1].name]++
		default:
			more = append(more, r.calls[n-1])
		}
		if ended == 2 {
			return nil
		}
	}
	return append(more, call{name: "nothing"})
}

// tries is how often a call is looked for.
const tries = 12

// disturb runs the command with an injection at the call, in a world that is
// set anew, until it meets exactly that call: the runtime, or one who waits,
// may have made some more or less of its name before it.
func (p *plan) disturb(t *testing.T, c call, what string) (r result, stop func(), met bool) {
	t.Helper()
	n := c.nth
	for range tries {
		stop = p.set(t)
		r = p.trace(t, "trace="+c.name, fmt.Sprintf("inject=%s:%s:when=%d", c.name, what, n))
		passed := 0
		for _, d := range r.calls {
			if d.at != c.at {
				continue
			}
			// A killed program does not return from its last call.
			if strings.Contains(d.ret, "INJECTED") || r.killed && strings.HasPrefix(d.ret, "?") {
				return r, stop, true
			}
			passed = d.nth
		}
		stop()
		if n++; passed > 0 {
			n = passed
		}
	}
	return r, func() {}, false
}

func (p *plan) kill(t *testing.T, c call) (problems []string) {
	t.Helper()
	r, stop, met := p.disturb(t, c, "signal=KILL")
	defer stop()
	if !met && !c.changes() && strings.HasPrefix(c.path(), "/proc/") {
		return nil // how often a program looks whether another has ended differs
	}
	if !met {
		return notMet(t, p.name, c, fmt.Sprint(": ", r))
	}
	now, problems := p.sound()
	problems = append(problems, p.oldOrNew(now)...)
	problems = append(problems, p.delivered(now, r.stdout)...)
	problems = append(problems, p.follows(t)...)
	return append(problems, p.heals(t, now)...)
}

// notMet is what is wrong where a program was never at a call again that it made once.
func notMet(t *testing.T, name string, c call, saw string) (problems []string) {
	t.Helper()
	if strings.HasPrefix(c.name, "clone") {
		t.Logf("%s: %v was made once and not in %d runs more: how many threads Go starts differs", name, c, tries)
		return nil
	}
	return []string{fmt.Sprintf("it was not killed there in %d runs%s", tries, saw)}
}

// follows has the next session start after a hand-over, in a world that is put
// back afterwards: where there is a marker, it is told.
func (p *plan) follows(t *testing.T) (problems []string) {
	t.Helper()
	markers, _ := filepath.Glob(p.w.home(p.folder()).Path("handoff*"))
	if p.next == "" || len(markers) == 0 {
		return nil
	}
	noError(t, copyTree(p.w.Root, p.w.Root+".killed"))
	r := p.w.run(t, start("s-next", "startup"), p.folder(), prime...)
	if !strings.Contains(r.stdout, p.next) {
		problems = append(problems, fmt.Sprintf("there is a marker, and the next session is not told: %v", r))
	}
	noError(t, p.w.refill(p.w.Root+".killed"))
	noError(t, removeAll(p.w.Root+".killed"))
	return problems
}

// heals runs the command again, undisturbed, and looks whether all is as if
// nothing had been.
func (p *plan) heals(t *testing.T, now snapshot) []string {
	t.Helper()
	after, problems := p.runsAgain(t, now)
	problems = append(problems, p.healed(after)...)
	return append(problems, p.swept(t, now.litter)...)
}

// swept says which temporary files a later run does not take away: the same
// command's, or else the next session's in the same folder.
func (p *plan) swept(t *testing.T, litter []string) (problems []string) {
	t.Helper()
	left := func() []string {
		return slices.DeleteFunc(litter, func(path string) bool { _, err := os.Lstat(path); return err != nil })
	}
	if litter = left(); len(litter) == 0 {
		return nil
	}
	cwd := "WORLD/" + p.folder()
	p.w.run(t, strings.Replace(start("s-sweeps", "startup"), "WORLD/work", cwd, 1), p.folder(), prime...)
	p.w.run(t, strings.Replace(event("s-sweeps", "Stop"), "WORLD/work", cwd, 1), p.folder(), write...)
	if litter = left(); len(litter) > 0 {
		problems = append(problems, fmt.Sprintf("nothing takes away %v", litter))
	}
	return problems
}

// runsAgain runs the command again, undisturbed, when what was left is old. Where an
// earlier disturbance left the same world, it did so then; a full run has it do so
// each time.
func (p *plan) runsAgain(t *testing.T, now snapshot) (after snapshot, problems []string) {
	t.Helper()
	if full || p.live != nil || len(now.litter) > 0 {
		return p.runsAgainIn(t, now)
	}
	key := now.key()
	known, ok := p.nexts[key]
	if !ok {
		known.after, known.problems = p.runsAgainIn(t, now)
		p.nexts[key] = known
	}
	return known.after, known.problems
}

func (p *plan) runsAgainIn(t *testing.T, now snapshot) (after snapshot, problems []string) {
	t.Helper()
	age(now.litter)
	if r := p.runAgain(t); r.code != 0 && r.code != p.again {
		problems = append(problems, fmt.Sprintf("the next run: %v", r))
	}
	after, more := p.sound()
	return after, append(problems, more...)
}

// age makes files old enough for who sweeps.
func age(files []string) {
	old := time.Now().Add(-48 * time.Hour)
	for _, f := range files {
		os.Chtimes(f, old, old)
	}
}
