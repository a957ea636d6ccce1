//go:build linux

package faults

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A plan is what the undisturbed command does and leaves, against which a
// disturbed one is held.
type plan struct {
	scenario
	w      *world
	before snapshot
	calls  []call            // of the program, in their order
	count  map[string]int    // of each call since the process began
	once   snapshot          // after the command
	twice  snapshot          // after the command was run again
	clean  result            // what it printed
	wrote  map[string][]text // what stood in each file at some time
}

type text = string

// newPlan prepares a world and runs the command in it, once and again.
func newPlan(t *testing.T, s scenario) *plan {
	t.Helper()
	p := &plan{scenario: s, w: newWorld(t, s.name), count: map[string]int{}}
	t.Cleanup(func() {
		removeAll(p.w.root)
		removeAll(p.w.root + ".kept")
	})
	s.prepare(t, p.w)
	p.w.keep(t)
	p.before = p.lookOrDie(t)

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
	p.once = p.lookOrDie(t)
	p.noteWrites()
	if r := p.runAgain(t); r.code != 0 {
		t.Fatalf("undisturbed, for the second time: %v", r)
	}
	p.twice = p.lookOrDie(t)
	return p
}

func (p *plan) lookOrDie(t *testing.T) snapshot {
	t.Helper()
	s, problems := p.w.sound(p.folder(), snapshot{})
	if len(problems) > 0 {
		t.Fatalf("undisturbed: %s", strings.Join(problems, "\n"))
	}
	return s
}

// trace runs the command under strace.
func (p *plan) trace(t *testing.T, expressions ...string) result {
	t.Helper()
	log := p.w.root + ".log"
	defer os.Remove(log)
	args := strace(log, "-s", "1000000")
	for _, e := range expressions {
		args = append(args, "-e", e)
	}
	cmd := p.w.command(p.folder(), append(args, p.args...)...)
	cmd.Env = append(cmd.Env, p.env...)
	r := runs(t, cmd, input(p.w, p.input))
	r.calls, r.hit = readLog(t, log)
	return r
}

// runAgain runs the command undisturbed, as if later.
func (p *plan) runAgain(t *testing.T) result {
	t.Helper()
	cmd := p.w.command(p.folder(), p.args...)
	cmd.Env = append(cmd.Env, p.env...)
	return runs(t, cmd, input(p.w, p.again()))
}

// noteWrites remembers what was written to each state file on the way to its
// last content: a file may be replaced twice.
func (p *plan) noteWrites() {
	p.wrote = map[string][]text{}
	temp := map[string]string{}
	for _, c := range p.calls {
		switch {
		case c.failed():
		case c.name == "write":
			temp[c.path()] += unquote(c.args[1])
		case strings.HasPrefix(c.name, "rename"), strings.HasPrefix(c.name, "link"):
			if text, ok := temp[c.path()]; ok {
				p.wrote[c.to()] = append(p.wrote[c.to()], normal(text))
			}
		}
	}
}

// oldOrNew says which files hold what they neither held before nor were meant
// to hold.
func (p *plan) oldOrNew(now snapshot) (problems []string) {
	for path, text := range now.state {
		if strings.HasSuffix(path, "/notes") {
			continue // each file of it was looked at by its reader
		}
		old, was := p.before.state[path]
		fits := was && old == text || p.once.state[path] == text || slices.Contains(p.wrote[p.w.path(path)], text)
		if !fits {
			problems = append(problems, fmt.Sprintf("%s is neither old nor new:\n%s", path, difference(old, text)))
		}
	}
	for path := range p.before.state {
		_, is := now.state[path]
		_, will := p.once.state[path]
		if !is && will {
			problems = append(problems, fmt.Sprintf("%s is gone", path))
		}
	}
	return problems
}

// delivered says what was lost on the way to standard output: what a start
// takes away it has told before, whole.
func (p *plan) delivered(now snapshot, stdout string) (problems []string) {
	if p.args[0] != "gt-prime" || normal(stdout) == normal(p.clean.stdout) {
		return nil
	}
	for path, text := range p.before.state {
		name := path[strings.LastIndex(path, "/")+1:]
		if _, there := now.state[path]; !there && (strings.HasPrefix(name, "handoff") || strings.Contains(name, "checkpoint")) {
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

// told are the events of a log as text.
func told(log []byte) string {
	all, _ := entries(log)
	var b strings.Builder
	for _, e := range all {
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
	return strings.TrimRight(b.String(), "\n")
}

// points are the calls before which the command is killed: all that the
// program makes in a full run, else those that change something.
func (p *plan) points() []call {
	if *full {
		return p.calls
	}
	return slices.DeleteFunc(slices.Clone(p.calls), func(c call) bool { return !c.changes() })
}

// changes says whether others can see that the call was made.
func (c call) changes() bool {
	switch c.name {
	case "openat":
		return c.has("O_CREAT")
	case "close":
		return isLock(lastElem(c.path()))
	case "write":
		return !strings.HasPrefix(c.path(), "anon_inode")
	case "read", "pread64", "fstat", "newfstatat", "readlinkat", "getdents64", "faccessat", "faccessat2", "chdir", "pidfd_open":
		return false
	}
	return true
}

func lastElem(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// TestKill kills each command before each of its system calls.
func TestKill(t *testing.T) {
	needsTrace(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, s)
			kills, violations := 0, 0
			for _, c := range p.points() {
				kills++
				if problems := p.kill(t, c); len(problems) > 0 {
					violations++
					t.Errorf("killed before %v:\n%s", c, strings.Join(problems, "\n"))
				}
			}
			totals.add(kills, 0, violations)
			t.Logf("%s: %d kill points, %d violations", s.name, kills, violations)
		})
	}
}

// tries is how often a point is tried that was not met: the runtime may make
// a call more or less.
const tries = 5

func (p *plan) kill(t *testing.T, c call) (problems []string) {
	t.Helper()
	var r result
	for n := 0; ; n++ {
		p.w.restore(t)
		r = p.trace(t, "trace="+c.name, fmt.Sprintf("inject=%s:signal=KILL:when=%d", c.name, c.nth))
		if r.killed {
			break
		}
		if n == tries {
			return []string{fmt.Sprintf("it was not killed in %d runs: %v", n, r)}
		}
	}
	now, problems := p.w.sound(p.folder(), p.before)
	problems = append(problems, p.oldOrNew(now)...)
	problems = append(problems, p.delivered(now, r.stdout)...)
	return append(problems, p.heals(t, now)...)
}

// heals runs the command again, undisturbed, and looks whether all is as if
// nothing had been.
func (p *plan) heals(t *testing.T, now snapshot) (problems []string) {
	t.Helper()
	age(now.litter)
	if r := p.runAgain(t); r.code != 0 {
		problems = append(problems, fmt.Sprintf("the next run: %v", r))
	}
	after, more := p.w.sound(p.folder(), p.before)
	problems = append(problems, more...)
	return append(problems, p.healed(after)...)
}

// age makes files old enough for who sweeps.
func age(files []string) {
	old := time.Now().Add(-48 * time.Hour)
	for _, f := range files {
		os.Chtimes(f, old, old)
	}
}
