package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// Bench is a runtime under test.
type Bench struct {
	runtime.Runtime
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
type patient struct{ runtime.Runtime }

func again(call func() error) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := call()
		if !errors.Is(err, runtime.ErrUnknown) || time.Now().After(end) {
			return err
		}
	}
}

func (p patient) Start(ctx context.Context, a runtime.Agent) error {
	return again(func() error { return p.Runtime.Start(ctx, a) })
}

func (p patient) Stop(ctx context.Context, r runtime.Ref) error {
	return again(func() error { return p.Runtime.Stop(ctx, r) })
}

func (p patient) Status(ctx context.Context, refs []runtime.Ref) (all []runtime.Status) {
	_ = again(func() error {
		all = p.Runtime.Status(ctx, refs)
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

func (p patient) Peek(ctx context.Context, r runtime.Ref) (text string, err error) {
	err = again(func() (err error) { text, err = p.Runtime.Peek(ctx, r); return err })
	return text, err
}

func (p patient) Send(ctx context.Context, r runtime.Ref, text string) error {
	return again(func() error { return p.Runtime.Send(ctx, r, text) })
}

// Suite checks a runtime.
func Suite(t *testing.T, b Bench) {
	ctx := context.Background()
	hasty := b.Runtime
	b.Runtime = patient{hasty}
	ref := func(name string) runtime.Ref {
		return runtime.Ref{ID: "instances/" + name, Name: "gt-" + name, Server: b.Server, Agent: "none"}
	}
	agent := func(t *testing.T, name string, vars ...string) runtime.Agent {
		t.Helper()
		a := runtime.Agent{Ref: ref(name)}
		dir := filepath.Join(t.TempDir(), `a "place", #{of} its own;`)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		a.Vars = [][2]string{{reportVar, filepath.Join(t.TempDir(), "report")}, {"GT_INSTANCE", a.ID}}
		for _, kv := range vars {
			k, v, _ := strings.Cut(kv, "=")
			a.Vars = append(a.Vars, [2]string{k, v})
		}
		a.Run = respawn.Run{Dir: dir, Args: []string{b.Program, "agent"}, Env: []string{"PATH=/usr/bin:/bin", "ONLY_HERE=yes"}}
		for _, kv := range a.Vars {
			a.Run.Env = append(a.Run.Env, kv[0]+"="+kv[1])
		}
		t.Cleanup(func() {
			if err := b.Stop(ctx, a.Ref); err != nil {
				t.Error(err)
			}
		})
		return a
	}
	start := func(t *testing.T, a runtime.Agent) {
		t.Helper()
		if err := b.Start(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	told := func(t *testing.T, a runtime.Agent) (r report) {
		t.Helper()
		await(t, "the agent's report", func() bool {
			data, err := os.ReadFile(a.Vars[0][1])
			return err == nil && json.Unmarshal(data, &r) == nil
		})
		return r
	}
	look := func(t *testing.T, refs ...runtime.Ref) (all []tick.Liveness) {
		t.Helper()
		statuses := b.Status(ctx, refs)
		if len(statuses) != len(refs) {
			t.Fatalf("%d statuses of %d", len(statuses), len(refs))
		}
		for _, s := range statuses {
			if (s.Alive == tick.Unknown) != (s.Err != nil) {
				t.Errorf("%v, %v", s.Alive, s.Err)
			}
			all = append(all, s.Alive)
		}
		return all
	}
	is := func(t *testing.T, r runtime.Ref, want tick.Liveness) {
		t.Helper()
		if s := b.Status(ctx, []runtime.Ref{r})[0]; s.Alive != want {
			t.Errorf("%s runs: %s, not %s (%v)", r.Name, s.Alive, want, s.Err)
		}
	}

	// Rows that do not keep the runtime from answering run at the same time.
	row := func(name string, do func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(t)
		})
	}
	real := func(name string, do func(t *testing.T)) {
		if b.Program != "" {
			row(name, do)
		}
	}
	t.Run("all", func(t *testing.T) {
		row("nothing runs", func(t *testing.T) {
			r := ref("nothing")
			is(t, r, tick.No)
			if err := b.Stop(ctx, r); err != nil {
				t.Error(err)
			}
			if _, err := b.Peek(ctx, r); !errors.Is(err, runtime.ErrNone) {
				t.Errorf("peek: %v", err)
			}
			if err := b.Send(ctx, r, "hello"); !errors.Is(err, runtime.ErrNone) {
				t.Errorf("send: %v", err)
			}
			if n := len(b.Status(ctx, nil)); n != 0 {
				t.Errorf("%d statuses of nothing", n)
			}
		})
		row("started, again, stopped, again", func(t *testing.T) {
			a := agent(t, "life")
			start(t, a)
			is(t, a.Ref, tick.Yes)
			start(t, a)
			is(t, a.Ref, tick.Yes)
			for range 2 {
				if err := b.Stop(ctx, a.Ref); err != nil {
					t.Error(err)
				}
				is(t, a.Ref, tick.No)
			}
			start(t, a)
			is(t, a.Ref, tick.Yes)
		})
		row("many at once", func(t *testing.T) {
			var refs []runtime.Ref
			var want []tick.Liveness
			for i := range 4 {
				a := agent(t, fmt.Sprintf("many-%d", i))
				refs = append(refs, a.Ref)
				want = append(want, tick.No)
				if i%2 == 0 {
					start(t, a)
					want[i] = tick.Yes
				}
			}
			if got := look(t, refs...); !slices.Equal(got, want) {
				t.Errorf("%v, not %v", got, want)
			}
		})
		row("one session started by two", func(t *testing.T) {
			a := agent(t, "twice")
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					if err := b.Start(ctx, a); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			is(t, a.Ref, tick.Yes)
			if err := b.Stop(ctx, a.Ref); err != nil {
				t.Error(err)
			}
			is(t, a.Ref, tick.No)
		})
		row("a name that another session has", func(t *testing.T) {
			a := agent(t, "name")
			start(t, a)
			other := a
			other.ID = "instances/other"
			if err := b.Start(ctx, other); !errors.Is(err, runtime.ErrTaken) {
				t.Errorf("start: %v", err)
			}
			is(t, other.Ref, tick.No)
			if err := b.Stop(ctx, other.Ref); err != nil {
				t.Errorf("stop: %v", err)
			}
			if err := b.Send(ctx, other.Ref, "hello"); !errors.Is(err, runtime.ErrNone) {
				t.Errorf("send: %v", err)
			}
			is(t, a.Ref, tick.Yes)
		})
		row("a name that is none", func(t *testing.T) {
			for _, name := range []string{"", "a b", "a:b", "a.b", "=x", "-x", "../x", "a\nb"} {
				a := runtime.Agent{Ref: runtime.Ref{ID: "instances/x", Name: name, Server: b.Server}}
				if b.Start(ctx, a) == nil || b.Stop(ctx, a.Ref) == nil {
					t.Errorf("'%s' is taken for a name", name)
				}
			}
		})
		row("crashed", func(t *testing.T) {
			a := agent(t, "crash")
			start(t, a)
			if b.Crash != nil {
				b.Crash(a.Ref)
			} else if err := syscall.Kill(told(t, a).PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			await(t, "the end to be seen", func() bool { return look(t, a.Ref)[0] == tick.No })
			start(t, a)
			is(t, a.Ref, tick.Yes)
		})
		row("sent", func(t *testing.T) {
			a := agent(t, "send")
			start(t, a)
			if b.Program != "" {
				told(t, a)
			}
			if err := b.Send(ctx, a.Ref, "what is this"); err != nil {
				t.Fatal(err)
			}
			await(t, "the prompt on the screen", func() bool {
				text, err := b.Peek(ctx, a.Ref)
				if err != nil {
					t.Fatal(err)
				}
				return strings.Contains(text, "what is this")
			})
		})
		if talks, ok := hasty.(runtime.Talker); ok {
			row("told a command, and asked what it said", func(t *testing.T) {
				a := agent(t, "talk")
				if _, err := talks.Last(ctx, a.Ref); !errors.Is(err, runtime.ErrNone) && !errors.Is(err, runtime.ErrUnknown) {
					t.Errorf("of one that does not run: %v", err)
				}
				start(t, a)
				if b.Program != "" {
					told(t, a)
				}
				if err := again(func() error { return talks.Command(ctx, a.Ref, "/compact now") }); err != nil {
					t.Fatal(err)
				}
				await(t, "the command to be heard", func() bool {
					var said string
					if err := again(func() (err error) { said, err = talks.Last(ctx, a.Ref); return err }); err != nil {
						t.Fatal(err)
					}
					return strings.Contains(said, "/compact now")
				})
			})
		}
		real("as it was described", func(t *testing.T) {
			long := strings.Repeat("a prompt; of 'any' \"length\" $(x) #{y}\n", 3000)
			a := agent(t, "described", "ODD=a\nb;'\"$(x)", "EMPTY=")
			args := []string{"", " ", "-n", ";", "a;", `\;`, "#{pane_id}", "%3", "ünd", long}
			a.Run.Args = append(a.Run.Args, args...)
			start(t, a)
			r := told(t, a)
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
			if slices.Contains(r.Env, "ONLY_HERE=yes") != b.Whole {
				t.Errorf("its environment is %q", r.Env)
			}
		})
		real("asked to end, with what it started", func(t *testing.T) {
			a := agent(t, "asked")
			start(t, a)
			r := told(t, a)
			if err := b.Stop(ctx, a.Ref); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(a.Vars[0][1] + ".asked"); err != nil {
				t.Error("it was killed and not asked")
			}
			for _, pid := range []int{r.PID, r.Child} {
				await(t, "what it started to end", func() bool {
					p, err := process.Find(pid)
					return err != nil || !p.Alive()
				})
			}
		})
		real("does not want to end", func(t *testing.T) {
			a := agent(t, "stubborn", stubbornVar+"=yes")
			start(t, a)
			told(t, a)
			begin := time.Now()
			if err := b.Stop(ctx, a.Ref); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took < runtime.Grace {
				t.Errorf("it had %v", took)
			}
			is(t, a.Ref, tick.No)
		})
		real("ends at once", func(t *testing.T) {
			a := agent(t, "brief", briefVar+"=I am not logged in")
			if err := b.Start(ctx, a); err == nil || !strings.Contains(err.Error(), "I am not logged in") {
				t.Errorf("start: %v", err)
			}
			is(t, a.Ref, tick.No)
		})
		real("no program", func(t *testing.T) {
			a := agent(t, "absent")
			a.Run.Args[0] = "/nowhere/agent"
			if err := b.Start(ctx, a); err == nil {
				t.Error("it was started")
			}
			is(t, a.Ref, tick.No)
		})
	})
	t.Run("nothing answers", func(t *testing.T) {
		a, never := agent(t, "silence"), agent(t, "never")
		start(t, a)
		restore := b.Silence()
		defer restore()
		var all sync.WaitGroup
		all.Go(func() {
			for _, s := range hasty.Status(ctx, []runtime.Ref{a.Ref, never.Ref}) {
				if s.Alive != tick.Unknown || s.Err == nil {
					t.Errorf("%v, %v", s.Alive, s.Err)
				}
			}
		})
		calls := map[string]func() error{
			"start": func() error { return hasty.Start(ctx, never) },
			"stop":  func() error { return hasty.Stop(ctx, a.Ref) },
			"send":  func() error { return hasty.Send(ctx, a.Ref, "hello") },
			"peek":  func() error { _, err := hasty.Peek(ctx, a.Ref); return err },
		}
		if talks, ok := hasty.(runtime.Talker); ok {
			calls["command"] = func() error { return talks.Command(ctx, a.Ref, "/compact") }
			calls["last"] = func() error { _, err := talks.Last(ctx, a.Ref); return err }
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
		is(t, a.Ref, tick.Yes)
		is(t, never.Ref, tick.No)
	})
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
