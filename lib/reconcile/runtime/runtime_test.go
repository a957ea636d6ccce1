package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/internal/runtimetest"
	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/launch/respawn"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/tick"
	"gt/lib/sys/process"
)

// TestMain lets the test binary stand for an agent, for the program that becomes it, and
// for a runtime.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "agent":
		asked := make(chan os.Signal, 9)
		signal.Notify(asked, syscall.SIGTERM)
		child := exec.Command("sleep", "60") // one whose agent crashes is left
		if err := child.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		go io.Copy(os.Stdout, bufio.NewReader(os.Stdin))
		runtimetest.Agent(os.Environ(), asked, child.Process.Pid)
		os.Exit(1)
	case len(os.Args) > 2 && os.Args[1] == "--exec":
		fmt.Println(respawn.Exec(cli.OS(), os.Args[2]))
		os.Exit(1)
	case len(os.Args) > 1 && os.Getenv("GT_TEST_RUNTIME") != "":
		os.Exit(program(os.Getenv("GT_TEST_RUNTIME"), os.Args[1]))
	}
	flag.Parse()
	flag.Set("test.parallel", "4") // they wait
	os.Exit(m.Run())
}

// copyTestBinary copies the test binary under another name. An agent's process must have another
// executable than the program that becomes it, which is called gt-something.
func copyTestBinary(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	testenv.NoError(t, err)
	data, err := os.ReadFile(self)
	testenv.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	testenv.NoError(t, testenv.WriteProgram(path, data))
	return path
}

func TestFake(t *testing.T) {
	f := runtimetest.New(time.Now)
	var silent atomic.Bool
	f.Faults = func(string, runtime.Ref) runtimetest.Fault {
		if silent.Load() {
			return runtimetest.Fault{Err: runtime.ErrUnknown}
		}
		return runtimetest.Fault{}
	}
	runtimetest.Suite(t, runtimetest.Bench{
		Observed: f, Crash: func(r runtime.Ref) { f.Crash(r) },
		Silence: func() func() { silent.Store(true); return func() { silent.Store(false) } },
	})
}

// ownTmux gives a test a folder for the sockets of its own tmux servers.
func ownTmux(t *testing.T) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	dir = (&testenv.World{TB: t}).Tmux()
	t.Setenv("TMUX", "")
	t.Setenv("TMUX_TMPDIR", dir)
	return dir
}

func TestTmux(t *testing.T) {
	dir := ownTmux(t)
	socket := filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default")
	runtimetest.Suite(t, runtimetest.Bench{
		Observed: runtime.Tmux{Self: copyTestBinary(t, "gt-test"), SettleTime: time.Minute}, Server: socket, Program: copyTestBinary(t, "client"), Whole: true,
		Silence: func() func() {
			out, err := exec.Command("tmux", "-S", socket, "display-message", "-p", "#{pid}").Output()
			testenv.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
			testenv.NoError(t, err)
			testenv.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
		},
	})
}

// A tmux session of the person with the same name is left alone.
func TestTmuxOfAnother(t *testing.T) {
	ownTmux(t)
	if out, err := exec.Command("tmux", "-f", os.DevNull, "new-session", "-d", "-s", "gt-mine", "sleep", "600").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tm, ctx := runtime.Tmux{}, context.Background()
	r := runtime.Ref{ID: "instances/x", Name: "gt-mine"}
	sight := tm.Status(ctx, []runtime.Ref{r})[0]
	for end := time.Now().Add(time.Minute); sight.Alive != tick.Dead && time.Now().Before(end); sight = tm.Status(ctx, []runtime.Ref{r})[0] {
		time.Sleep(10 * time.Millisecond) // it becomes sleep, and has no environment for a moment
	}
	if sight.Alive != tick.Dead {
		t.Errorf("%v", sight)
	}
	if err := tm.Stop(ctx, r); err != nil {
		t.Error(err)
	}
	if err := tm.Start(ctx, runtime.Agent{Ref: r}); !errors.Is(err, runtime.ErrTaken) {
		t.Error(err)
	}
	if out, err := exec.Command("tmux", "has-session", "-t", "=gt-mine").CombinedOutput(); err != nil {
		t.Errorf("it is gone: %s", out)
	}
}

func TestExec(t *testing.T) {
	self, err := os.Executable()
	testenv.NoError(t, err)
	dir := t.TempDir()
	e, err := runtime.NewExec(self, t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "GT_TEST_RUNTIME=" + dir})
	testenv.NoError(t, err)
	silent := filepath.Join(dir, "silent")
	runtimetest.Suite(t, runtimetest.Bench{
		Observed: e, Program: copyTestBinary(t, "client"),
		Silence: func() func() {
			testenv.NoError(t, os.WriteFile(silent, nil, 0o600))
			return func() { os.Remove(silent) }
		},
	})
}

// program is a runtime as docs/reconcile-exec.md describes it: processes of this machine,
// noted in a folder.
func program(dir, word string) int {
	var call struct {
		Version  int
		Session  struct{ ID, Name string }
		Sessions []struct{ ID, Name string }
		Grace    int
		Text     string
		Agent    struct {
			Client, Dir string
			Args        []string
			Env         map[string]string
		}
	}
	dec := json.NewDecoder(os.Stdin)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&call); err != nil || call.Version != 1 {
		fmt.Fprintln(os.Stderr, "cannot read what to do:", err)
		return 80
	}
	if _, err := os.Stat(filepath.Join(dir, "silent")); err == nil {
		return 75
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 74
	}
	if word == "start" { // one at a time
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return 74
		}
	}
	file := func(name, suffix string) string { return filepath.Join(dir, name+suffix) }
	type noted struct {
		ID    string
		PID   int
		Start string
		Boot  string
		NS    string
	}
	running := func(id, name string) (process.Proc, bool, bool) {
		var n noted
		data, err := os.ReadFile(file(name, ".json"))
		if err != nil || json.Unmarshal(data, &n) != nil {
			return process.Proc{}, false, false
		}
		p := process.ProcFromRecord(n.PID, n.Start, n.Boot, n.NS)
		return p, p.IsAlive() && n.ID == id, p.IsAlive() && n.ID != id
	}
	s := call.Session
	p, own, others := running(s.ID, s.Name)
	switch word {
	case "start":
		switch {
		case own:
			return 0
		case others:
			return 1
		}
		os.Remove(file(s.Name, ".in"))
		os.Remove(call.Agent.Env["GT_TEST_REPORT"])
		screen, err := os.Create(file(s.Name, ".out"))
		if err != nil || syscall.Mkfifo(file(s.Name, ".in"), 0o600) != nil {
			return 74
		}
		input, err := os.OpenFile(file(s.Name, ".in"), os.O_RDWR, 0)
		if err != nil {
			return 74
		}
		cmd := exec.Command(call.Agent.Args[0], call.Agent.Args[1:]...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = call.Agent.Dir, input, screen, screen
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		for k, v := range call.Agent.Env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 70
		}
		p, err := process.Find(cmd.Process.Pid)
		data, _ := json.Marshal(noted{s.ID, p.PID, p.Start, p.Boot, p.NS})
		if err != nil && !errors.Is(err, os.ErrProcessDone) || os.WriteFile(file(s.Name, ".json"), data, 0o600) != nil {
			return 74
		}
		ended := make(chan bool)
		go func() { cmd.Wait(); close(ended) }()
		for report := call.Agent.Env["GT_TEST_REPORT"]; ; time.Sleep(5 * time.Millisecond) {
			select {
			case <-ended:
				said, _ := os.ReadFile(file(s.Name, ".out"))
				os.Stderr.Write(said)
				return 70
			default:
			}
			if _, err := os.Stat(report); err == nil {
				return 0
			}
		}
	case "stop":
		if !own {
			return 1
		}
		_ = syscall.Kill(-p.PID, syscall.SIGTERM)
		for end := time.Now().Add(time.Duration(call.Grace) * time.Second); p.IsAlive() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		for _ = syscall.Kill(-p.PID, syscall.SIGKILL); p.IsAlive(); time.Sleep(5 * time.Millisecond) {
		}
	case "alive":
		for _, s := range call.Sessions {
			if _, own, _ := running(s.ID, s.Name); own {
				fmt.Println(s.ID, "yes")
			} else {
				fmt.Println(s.ID, "no")
			}
		}
	case "peek", "last":
		if !own {
			return 1
		}
		said, _ := os.ReadFile(file(s.Name, ".out"))
		os.Stdout.Write(said)
	case "send", "command":
		if !own {
			return 1
		}
		in, err := os.OpenFile(file(s.Name, ".in"), os.O_RDWR, 0)
		if err != nil {
			return 74
		}
		fmt.Fprintln(in, call.Text)
	default:
		return 80
	}
	return 0
}

// What a program answers counts only where it is clear.
func TestExecAlive(t *testing.T) {
	refs := []runtime.Ref{{ID: "i/a", Name: "a"}, {ID: "i/b", Name: "b"}}
	for _, c := range []struct {
		script string
		want   string
	}{
		{"echo i/a yes attached; echo i/b no", "yes no"},
		{"echo i/a yes limited=1795446000; echo i/b yes limited=soon", "yes yes"},
		{"echo i/b yes", "unknown yes"},
		{"echo i/a yes; echo i/b yes; exit 1", "unknown unknown"},
		{"echo i/a yes; echo i/b perhaps", "yes unknown"},
		{"echo i/a yes; echo i/a no; echo i/b no; echo i/b no", "unknown no"},
		{"echo; echo yes; echo x y z; echo I/A yes; echo i/ano", "unknown unknown"},
		{"yes i/a no | head -c 9000000", "unknown unknown"},
		{"sleep 600", "unknown unknown"},
		{"(sleep 600 &) ; echo i/a yes; echo i/b no", "yes no"},
		{"kill -9 $$", "unknown unknown"},
	} {
		path := filepath.Join(t.TempDir(), "runtime")
		testenv.NoError(t, testenv.WriteProgram(path, []byte("#!/bin/sh\n"+c.script+"\n")))
		limits := runtime.Deadlines
		limits.Alive = 30 * time.Second
		if c.script == "sleep 600" {
			limits.Alive = 100 * time.Millisecond
		}
		e := runtime.Exec{Program: path, Environ: []string{"PATH=" + os.Getenv("PATH")}, Limits: limits}
		s := e.Status(context.Background(), refs)
		if got := s[0].Alive.String() + " " + s[1].Alive.String(); got != c.want {
			t.Errorf("%s: %s, not %s (%v)", c.script, got, c.want, s[0].Err)
		}
		if limited := strings.Contains(c.script, "limited"); s[0].Limited != limited || s[1].Limited != limited || limited != (s[0].Until.Unix() == 1795446000) || !s[1].Until.IsZero() {
			t.Errorf("%s: %+v", c.script, s)
		}
		if s[0].Attached != strings.Contains(c.script, "attached") {
			t.Errorf("%s: attached %v", c.script, s[0].Attached)
		}
	}
}

// A program that was written before a word does without it, and no other error is taken for
// that.
func TestExecKnowsNoWord(t *testing.T) {
	r := runtime.Ref{ID: "i/a", Name: "a"}
	for script, cannot := range map[string]bool{"exit 80": true, "exit 64": false, "exit 1": false, "exit 0": false} {
		path := filepath.Join(t.TempDir(), "runtime")
		testenv.NoError(t, testenv.WriteProgram(path, []byte("#!/bin/sh\n"+script+"\n")))
		e := runtime.Exec{Program: path, Environ: []string{"PATH=" + os.Getenv("PATH")}, Limits: runtime.Deadlines}
		_, err := e.LastAnswer(context.Background(), r)
		if told := e.Command(context.Background(), r, "/compact"); errors.Is(err, runtime.ErrCannot) != cannot || errors.Is(told, runtime.ErrCannot) != cannot {
			t.Errorf("%s: %v, %v", script, err, told)
		}
		if err := e.Send(context.Background(), r, "x"); errors.Is(err, runtime.ErrCannot) {
			t.Errorf("send has always been there: %v", err)
		}
	}
}

// A program of the town's, or of a project, is not run.
func TestNewExec(t *testing.T) {
	town, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{town, outside} {
		testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "agents-in-docker"), []byte("#!/bin/sh\n")))
	}
	testenv.NoError(t, os.Symlink(filepath.Join(town, "agents-in-docker"), filepath.Join(outside, "link")))
	environ := []string{"PATH=" + town + ":" + outside}
	if e, err := runtime.NewExec("agents-in-docker", town, environ); err != nil || filepath.Dir(e.Program) != outside {
		t.Errorf("%s, %v", e.Program, err)
	}
	if _, err := runtime.NewExec(filepath.Join(outside, "agents-in-docker"), town, environ); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"./agents-in-docker", filepath.Join(town, "agents-in-docker"), filepath.Join(outside, "link"), "absent", "/nowhere/x", ""} {
		if _, err := runtime.NewExec(name, town, environ); err == nil {
			t.Errorf("'%s' is run", name)
		}
	}
}

// A call that is given up ends what it runs.
func TestExecCancelled(t *testing.T) {
	path, mark := filepath.Join(t.TempDir(), "runtime"), filepath.Join(t.TempDir(), "pid")
	testenv.NoError(t, testenv.WriteProgram(path, []byte("#!/bin/sh\nsleep 600 & echo $! >"+mark+".tmp; mv "+mark+".tmp "+mark+"; wait\n")))
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := (runtime.Exec{Program: path, Environ: []string{"PATH=" + os.Getenv("PATH")}, Limits: runtime.Deadlines}).Stop(ctx, runtime.Ref{ID: "i/a", Name: "a"}); !errors.Is(err, runtime.ErrUnknown) {
			t.Error(err)
		}
	})
	var pid int
	for pid == 0 {
		data, _ := os.ReadFile(mark)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	done.Wait()
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if p, err := process.Find(pid); err != nil || !p.IsAlive() {
			return
		}
	}
	t.Error("what the program started runs on")
}
