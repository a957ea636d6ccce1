package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/lib/launch/respawn"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/tick"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// Observed is a runtime that tells what runs.
type Observed interface {
	runtime.Runtime
	Status(context.Context, []runtime.Ref) []runtime.Status
}

// Bench is a runtime under test. If it is a runtime.Remote, it is tried as one.
type Bench struct {
	Observed
	Server string
	// Program is what runs as an agent; it calls Agent. "" where nothing runs.
	Program string
	// Whole reports whether an agent has its whole environment, and not only its variables.
	Whole bool
	// Crash ends an agent as a crash does; nil where the process of one can be killed.
	Crash func(runtime.Ref)
	// Silence makes that nothing answers, until what it returns is called.
	Silence func() (restore func())
}

// report is what an agent tells of itself.
type report struct {
	PID, Child int
	Args       []string
	Env        []string
	Dir        string
}

// Variables that the agent of the suite reads.
const (
	reportVar   = "GT_TEST_REPORT"   // the file of its report
	stubbornVar = "GT_TEST_STUBBORN" // it does not end when it is asked to
	briefVar    = "GT_TEST_BRIEF"    // it ends at once, with this on its screen
)

// Agent is the agent that the suite starts: it tells how it was started, and repeats what
// it is sent. It returns when it is asked to end.
func Agent(environ []string, asked <-chan os.Signal, child int) {
	getenv := func(name string) (value string) {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				value = v
			}
		}
		return value
	}
	if said := getenv(briefVar); said != "" {
		fmt.Println(said)
		if getenv("TMUX") != "" { // which can drop what a program prints right before it ends
			_ = exec.Command("tmux", "display-message", "-p", "read").Run()
		}
		return
	}
	path := getenv(reportVar)
	dir, _ := os.Getwd()
	data, _ := json.Marshal(report{os.Getpid(), child, os.Args[2:], environ, dir})
	if err := atomicfile.Write(path, data, atomicfile.Unsynced); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	for range asked {
		_ = atomicfile.Write(path+".asked", nil, atomicfile.Unsynced)
		if getenv(stubbornVar) == "" {
			return
		}
	}
}

// patient makes a call again while nothing is known, as a later tick would: a machine that
// is busy may not answer.
type patient struct{ Observed }

func retryUnknown(call func() error) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := call()
		if !errors.Is(err, runtime.ErrUnknown) || time.Now().After(end) {
			return err
		}
	}
}

func (p patient) Start(ctx context.Context, a runtime.Agent) error {
	return retryUnknown(func() error { return p.Observed.Start(ctx, a) })
}

func (p patient) Stop(ctx context.Context, r runtime.Ref) error {
	return retryUnknown(func() error { return p.Observed.Stop(ctx, r) })
}

func (p patient) Status(ctx context.Context, refs []runtime.Ref) (all []runtime.Status) {
	_ = retryUnknown(func() error {
		all = p.Observed.Status(ctx, refs)
		var err error
		for _, s := range all {
			if s.Alive == tick.Unknown {
				err = errors.Join(err, runtime.ErrUnknown)
			}
		}
		return err
	})
	return all
}

// suite is a runtime under test, which is asked again while nothing is known.
type suite struct {
	Bench
	hasty  Observed       // asks once
	remote runtime.Remote // the same; nil if it is none
}

// rows are what holds of a runtime, each where applies says so.
var rows = []struct {
	name    string
	check   func(suite, *testing.T)
	applies func(suite) bool // nil for always
}{
	{"nothing runs", suite.testMissing, nil},
	{"started, again, stopped, again", suite.life, nil},
	{"many at once", suite.testMany, nil},
	{"one session started by two", suite.testStartTwice, nil},
	{"a name that another session has", suite.taken, nil},
	{"a name that is none", suite.names, nil},
	{"crashed", suite.crashed, nil},
	{"sent", suite.sent, suite.isRemote},
	{"told a command, and asked what it said", suite.talks, suite.isRemote},
	{"nothing to reach", suite.unreached, suite.isRemote},
	{"as it was described", suite.described, suite.runs},
	{"asked to end, with what it started", suite.asked, suite.runs},
	{"does not want to end", suite.stubborn, suite.runs},
	{"ends at once", suite.brief, suite.runs},
	{"no program", suite.absent, suite.runs},
}

// runs reports whether a program runs as an agent.
func (s suite) runs() bool { return s.Program != "" }

func (s suite) isRemote() bool { return s.remote != nil }

// Suite checks a runtime. Rows that do not keep the runtime from answering run at the same
// time.
func Suite(t *testing.T, b Bench) {
	s := suite{Bench: b, hasty: b.Observed}
	s.remote, _ = b.Observed.(runtime.Remote)
	s.Observed = patient{s.hasty}
	t.Run("all", func(t *testing.T) {
		for _, row := range rows {
			if row.applies != nil && !row.applies(s) {
				continue
			}
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				row.check(s, t)
			})
		}
	})
	t.Run("nothing answers", s.silent)
}

func (s suite) ref(name string) runtime.Ref {
	return runtime.Ref{ID: "instances/" + name, Name: "gt-" + name, Server: s.Server, Agent: "none"}
}

func (s suite) agent(t *testing.T, name string, vars ...string) runtime.Agent {
	t.Helper()
	a := runtime.Agent{Ref: s.ref(name)}
	dir := filepath.Join(t.TempDir(), `a "place", #{of} its own;`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a.Vars = [][2]string{{reportVar, filepath.Join(t.TempDir(), "report")}, {"GT_INSTANCE", a.ID}}
	for _, kv := range vars {
		k, v, _ := strings.Cut(kv, "=")
		a.Vars = append(a.Vars, [2]string{k, v})
	}
	a.HookReported = func() bool { _, err := os.Stat(a.Vars[0][1]); return err == nil }
	a.Run = respawn.Run{Dir: dir, Args: []string{s.Program, "agent"}, Env: []string{"PATH=/usr/bin:/bin", "ONLY_HERE=yes"}}
	for _, kv := range a.Vars {
		a.Run.Env = append(a.Run.Env, kv[0]+"="+kv[1])
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background(), a.Ref); err != nil {
			t.Error(err)
		}
	})
	return a
}

func (s suite) start(t *testing.T, a runtime.Agent) {
	t.Helper()
	if err := s.Start(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func (s suite) report(t *testing.T, a runtime.Agent) (r report) {
	t.Helper()
	await(t, "the agent's report", func() bool {
		data, err := os.ReadFile(a.Vars[0][1])
		return err == nil && json.Unmarshal(data, &r) == nil
	})
	return r
}

func (s suite) liveness(t *testing.T, refs ...runtime.Ref) (all []tick.Liveness) {
	t.Helper()
	statuses := s.Status(t.Context(), refs)
	if len(statuses) != len(refs) {
		t.Fatalf("%d statuses of %d", len(statuses), len(refs))
	}
	for _, status := range statuses {
		if (status.Alive == tick.Unknown) != (status.Err != nil) {
			t.Errorf("%v, %v", status.Alive, status.Err)
		}
		all = append(all, status.Alive)
	}
	return all
}

func (s suite) expectLiveness(t *testing.T, r runtime.Ref, want tick.Liveness) {
	t.Helper()
	if status := s.Status(t.Context(), []runtime.Ref{r})[0]; status.Alive != want {
		t.Errorf("%s runs: %s, not %s (%v)", r.Name, status.Alive, want, status.Err)
	}
}

func (s suite) testMissing(t *testing.T) {
	r := s.ref("nothing")
	s.expectLiveness(t, r, tick.Dead)
	if err := s.Stop(t.Context(), r); err != nil {
		t.Error(err)
	}
	if n := len(s.Status(t.Context(), nil)); n != 0 {
		t.Errorf("%d statuses of nothing", n)
	}
}

func (s suite) life(t *testing.T) {
	a := s.agent(t, "life")
	s.start(t, a)
	s.expectLiveness(t, a.Ref, tick.Alive)
	s.start(t, a)
	s.expectLiveness(t, a.Ref, tick.Alive)
	for range 2 {
		if err := s.Stop(t.Context(), a.Ref); err != nil {
			t.Error(err)
		}
		s.expectLiveness(t, a.Ref, tick.Dead)
	}
	s.start(t, a)
	s.expectLiveness(t, a.Ref, tick.Alive)
}

func (s suite) testMany(t *testing.T) {
	var refs []runtime.Ref
	var want []tick.Liveness
	for i := range 4 {
		a := s.agent(t, fmt.Sprintf("many-%d", i))
		refs = append(refs, a.Ref)
		want = append(want, tick.Dead)
		if i%2 == 0 {
			s.start(t, a)
			want[i] = tick.Alive
		}
	}
	if got := s.liveness(t, refs...); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func (s suite) testStartTwice(t *testing.T) {
	a := s.agent(t, "twice")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := s.Start(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	s.expectLiveness(t, a.Ref, tick.Alive)
	if err := s.Stop(t.Context(), a.Ref); err != nil {
		t.Error(err)
	}
	s.expectLiveness(t, a.Ref, tick.Dead)
}

func (s suite) taken(t *testing.T) {
	a := s.agent(t, "name")
	s.start(t, a)
	other := a
	other.ID = "instances/other"
	if err := s.Start(t.Context(), other); !errors.Is(err, runtime.ErrTaken) {
		t.Errorf("start: %v", err)
	}
	s.expectLiveness(t, other.Ref, tick.Dead)
	if err := s.Stop(t.Context(), other.Ref); err != nil {
		t.Errorf("stop: %v", err)
	}
	s.expectLiveness(t, a.Ref, tick.Alive)
}

// unreached: what does not run, and what another session runs under the name, shows nothing
// and takes nothing.
func (s suite) unreached(t *testing.T) {
	a := s.agent(t, "reached")
	s.start(t, a)
	other := a.Ref
	other.ID = "instances/other"
	for _, r := range []runtime.Ref{s.ref("nothing"), other} {
		err := retryUnknown(func() error { _, err := s.remote.Peek(t.Context(), r); return err })
		if !errors.Is(err, runtime.ErrNone) {
			t.Errorf("peek: %v", err)
		}
		if err := retryUnknown(func() error { return s.remote.Send(t.Context(), r, "hello") }); !errors.Is(err, runtime.ErrNone) {
			t.Errorf("send: %v", err)
		}
	}
}

func (s suite) names(t *testing.T) {
	for _, name := range []string{"", "a b", "a:b", "a.b", "=x", "-x", "../x", "a\nb"} {
		a := runtime.Agent{Ref: runtime.Ref{ID: "instances/x", Name: name, Server: s.Server}}
		if s.Start(t.Context(), a) == nil || s.Stop(t.Context(), a.Ref) == nil {
			t.Errorf("'%s' is taken for a name", name)
		}
	}
}

func (s suite) crashed(t *testing.T) {
	a := s.agent(t, "crash")
	s.start(t, a)
	if s.Crash != nil {
		s.Crash(a.Ref)
	} else if err := syscall.Kill(s.report(t, a).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the end to be seen", func() bool { return s.liveness(t, a.Ref)[0] == tick.Dead })
	s.start(t, a)
	s.expectLiveness(t, a.Ref, tick.Alive)
}

func (s suite) sent(t *testing.T) {
	a := s.agent(t, "send")
	s.start(t, a)
	if s.Program != "" {
		s.report(t, a)
	}
	if err := retryUnknown(func() error { return s.remote.Send(t.Context(), a.Ref, "what is this") }); err != nil {
		t.Fatal(err)
	}
	await(t, "the prompt on the screen", func() bool {
		var text string
		if err := retryUnknown(func() (err error) { text, err = s.remote.Peek(t.Context(), a.Ref); return err }); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(text, "what is this")
	})
}

func (s suite) talks(t *testing.T) {
	a := s.agent(t, "talk")
	if _, err := s.remote.LastAnswer(t.Context(), a.Ref); !errors.Is(err, runtime.ErrNone) && !errors.Is(err, runtime.ErrUnknown) {
		t.Errorf("of one that does not run: %v", err)
	}
	s.start(t, a)
	if s.Program != "" {
		s.report(t, a)
	}
	if err := retryUnknown(func() error { return s.remote.Command(t.Context(), a.Ref, "/compact now") }); err != nil {
		t.Fatal(err)
	}
	await(t, "the command to be heard", func() bool {
		var said string
		if err := retryUnknown(func() (err error) { said, err = s.remote.LastAnswer(t.Context(), a.Ref); return err }); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(said, "/compact now")
	})
}

func (s suite) described(t *testing.T) {
	long := strings.Repeat("a prompt; of 'any' \"length\" $(x) #{y}\n", 3000)
	a := s.agent(t, "described", "ODD=a\nb;'\"$(x)", "EMPTY=")
	args := []string{"", " ", "-n", ";", "a;", `\;`, "#{pane_id}", "%3", "ünd", long}
	a.Run.Args = append(a.Run.Args, args...)
	s.start(t, a)
	r := s.report(t, a)
	if !slices.Equal(r.Args, args) {
		t.Errorf("its arguments are %.500q", r.Args)
	}
	if r.Dir != a.Run.Dir {
		t.Errorf("it is in %s", r.Dir)
	}
	for _, kv := range a.Vars[2:] {
		if !slices.Contains(r.Env, kv[0]+"="+kv[1]) {
			t.Errorf("it has no %s", kv[0])
		}
	}
	if slices.Contains(r.Env, "ONLY_HERE=yes") != s.Whole {
		t.Errorf("its environment is %q", r.Env)
	}
}

func (s suite) asked(t *testing.T) {
	a := s.agent(t, "asked")
	s.start(t, a)
	r := s.report(t, a)
	if err := s.Stop(t.Context(), a.Ref); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(a.Vars[0][1] + ".asked"); err != nil {
		t.Error("it was killed and not asked")
	}
	for _, pid := range []int{r.PID, r.Child} {
		await(t, "what it started to end", func() bool {
			p, err := process.Find(pid)
			return err != nil || !p.IsAlive()
		})
	}
}

func (s suite) stubborn(t *testing.T) {
	a := s.agent(t, "stubborn", stubbornVar+"=yes")
	s.start(t, a)
	s.report(t, a)
	begin := time.Now()
	if err := s.Stop(t.Context(), a.Ref); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < runtime.Grace {
		t.Errorf("it had %v", took)
	}
	s.expectLiveness(t, a.Ref, tick.Dead)
}

func (s suite) brief(t *testing.T) {
	a := s.agent(t, "brief", briefVar+"=I am not logged in")
	if err := s.Start(t.Context(), a); err == nil || !strings.Contains(err.Error(), "I am not logged in") {
		t.Errorf("start: %v", err)
	}
	s.expectLiveness(t, a.Ref, tick.Dead)
}

func (s suite) absent(t *testing.T) {
	a := s.agent(t, "absent")
	a.Run.Args[0] = "/nowhere/agent"
	if err := s.Start(t.Context(), a); err == nil {
		t.Error("it was started")
	}
	s.expectLiveness(t, a.Ref, tick.Dead)
}

func (s suite) silent(t *testing.T) {
	a, never := s.agent(t, "silence"), s.agent(t, "never")
	s.start(t, a)
	restore := s.Silence()
	defer restore()
	var all sync.WaitGroup
	all.Go(func() {
		for _, status := range s.hasty.Status(t.Context(), []runtime.Ref{a.Ref, never.Ref}) {
			if status.Alive != tick.Unknown || status.Err == nil {
				t.Errorf("%v, %v", status.Alive, status.Err)
			}
		}
	})
	calls := map[string]func() error{
		"start": func() error { return s.hasty.Start(t.Context(), never) },
		"stop":  func() error { return s.hasty.Stop(t.Context(), a.Ref) },
	}
	if remote := s.remote; remote != nil {
		calls["send"] = func() error { return remote.Send(t.Context(), a.Ref, "hello") }
		calls["peek"] = func() error { _, err := remote.Peek(t.Context(), a.Ref); return err }
		calls["command"] = func() error { return remote.Command(t.Context(), a.Ref, "/compact") }
		calls["last"] = func() error { _, err := remote.LastAnswer(t.Context(), a.Ref); return err }
	}
	for word, err := range calls {
		all.Go(func() {
			if err := err(); !errors.Is(err, runtime.ErrUnknown) {
				t.Errorf("%s: %v", word, err)
			}
		})
	}
	all.Wait()
	restore()
	s.expectLiveness(t, a.Ref, tick.Alive)
	s.expectLiveness(t, never.Ref, tick.Dead)
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited in vain", what)
		}
	}
}
