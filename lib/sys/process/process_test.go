package process

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// TestMain lets the test binary stand for an agent's hook, which tells who its
// agent is, and for a process with a name of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "who-is-my-agent" {
		p, err := AgentOf(os.Getpid())
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		json.NewEncoder(os.Stdout).Encode(p)
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "exec" {
		runAgain(os.Args[2])
	}
	os.Exit(m.Run())
}

// runAgain runs this test binary anew in the same process, that many times, each time with
// several threads. Then it says so and waits.
func runAgain(times string) {
	left, _ := strconv.Atoi(times)
	if left == 0 {
		os.Stdout.WriteString("done\n")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	var ready sync.WaitGroup
	for range 8 {
		ready.Go(func() { runtime.LockOSThread() })
	}
	ready.Wait()
	syscall.Exec(os.Args[0], []string{os.Args[0], "exec", strconv.Itoa(left - 1)}, os.Environ())
	os.Exit(1)
}

// child starts this test binary, which waits until the test ends.
func child(t *testing.T, name string, env []string, args ...string) (Proc, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(name, append([]string{"wait"}, args...)...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	testenv.NoError(t, err)
	testenv.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	p, err := Find(cmd.Process.Pid)
	testenv.NoError(t, err)
	// Start returns in the middle of the exec, when the process has no arguments yet.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if args, err := p.Args(); err != nil || len(args) > 0 || time.Now().After(deadline) {
			return p, cmd
		}
	}
}

func TestFindOfItself(t *testing.T) {
	a, err := Find(os.Getpid())
	testenv.NoError(t, err)
	b, err := Find(os.Getpid())
	if err != nil || a != b {
		t.Errorf("%+v %+v %v", a, b, err)
	}
	if a.PID != os.Getpid() || a.Start == "" || a.Boot == "" || !a.IsAlive() || !a.IsSet() {
		t.Errorf("%+v", a)
	}
	parent, err := Find(os.Getppid())
	if err != nil || parent.Start == a.Start && parent.PID == a.PID {
		t.Errorf("%+v %v", parent, err)
	}
}

// A process that runs another program stays the same one, and is never seen to be gone, although
// its first thread ends meanwhile if another thread does it.
func TestExecIsNoEnd(t *testing.T) {
	cmd := exec.Command(os.Args[0], "exec", "20")
	out, err := cmd.StdoutPipe()
	testenv.NoError(t, err)
	in, err := cmd.StdinPipe()
	testenv.NoError(t, err)
	testenv.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	p, err := Find(cmd.Process.Pid)
	testenv.NoError(t, err)
	said := make(chan string)
	go func() {
		word, _ := io.ReadAll(io.LimitReader(out, int64(len("done"))))
		said <- string(word)
	}()
	for {
		select {
		case word := <-said:
			if word != "done" {
				t.Fatalf("it said %q", word)
			}
			return
		default:
		}
		if !p.IsAlive() || p.Gone() {
			t.Fatal("it is gone")
		}
	}
}

func TestNobodyIsNotAlive(t *testing.T) {
	self, err := Find(os.Getpid())
	testenv.NoError(t, err)
	for name, p := range map[string]Proc{
		"zero":             {},
		"without a start":  {PID: self.PID, Boot: self.Boot},
		"without a boot":   {PID: self.PID, Start: self.Start},
		"a reused number":  {PID: self.PID, Start: self.Start + "1", Boot: self.Boot},
		"of another boot":  {PID: self.PID, Start: self.Start, Boot: "another"},
		"a negative":       {PID: -1, Start: self.Start, Boot: self.Boot},
		"no such process":  {PID: 1 << 30, Start: self.Start, Boot: self.Boot},
		"a group, not one": {PID: -self.PID, Start: self.Start, Boot: self.Boot},
	} {
		if p.IsAlive() {
			t.Errorf("%s: alive", name)
		}
		if p.PID > 0 {
			if err := p.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("%s: signalled: %v", name, err)
			}
		}
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if p, err := Find(pid); err == nil {
			t.Errorf("%d is %+v", pid, p)
		}
	}
}

func TestSignal(t *testing.T) {
	p, cmd := child(t, os.Args[0], nil)
	testenv.NoError(t, p.Signal(syscall.SIGTERM))
	// Dead and not waited for it is a zombie, and gone.
	for end := time.Now().Add(time.Minute); p.IsAlive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a zombie is alive")
		}
	}
	if _, err := Find(p.PID); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a zombie is found: %v", err)
	}
	cmd.Wait()
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signalled once more: %v", err)
	}
}

// The name of a process can hold what its status is parsed by.
func TestOddNames(t *testing.T) {
	self, err := os.Executable()
	testenv.NoError(t, err)
	for _, name := range []string{"a) S 1 (b", "two words", ") Z 0", "((", "né"} {
		path := filepath.Join(t.TempDir(), name)
		testenv.NoError(t, os.Symlink(self, path))
		p, _ := child(t, path, nil)
		if up := Ancestors(p.PID); !p.IsAlive() || len(up) == 0 || up[0] != os.Getpid() {
			t.Errorf("%q: %+v %v", name, p, up)
		}
	}
}

func TestAncestors(t *testing.T) {
	up := Ancestors(os.Getpid())
	if len(up) == 0 || up[0] != os.Getppid() || slices.Contains(up, os.Getpid()) || slices.Contains(up, 0) {
		t.Errorf("%v", up)
	}
	p, _ := child(t, os.Args[0], nil)
	self, err := Find(os.Getpid())
	testenv.NoError(t, err)
	if !p.DescendsFrom(self) || self.DescendsFrom(p) || self.DescendsFrom(self) {
		t.Error("who is below whom?")
	}
	if up := Ancestors(1 << 30); up != nil {
		t.Errorf("of nobody: %v", up)
	}
}

// A client may run its hook through a shell, or several.
func TestAgentIsAboveTheShells(t *testing.T) {
	self, err := Find(os.Getpid())
	testenv.NoError(t, err)
	const hook = `"$0" who-is-my-agent; exit $?`
	for name, args := range map[string][]string{
		"none":         {os.Args[0], "who-is-my-agent"},
		"sh":           {"sh", "-c", hook, os.Args[0]},
		"sh in a sh":   {"sh", "-c", `sh -c '"$0" who-is-my-agent; exit $?' "$0"; exit $?`, os.Args[0]},
		"env":          {"env", "A=b", os.Args[0], "who-is-my-agent"},
		"with timeout": {"timeout", "60", os.Args[0], "who-is-my-agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the race detector takes a second to end a process
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(args[0], args[1:]...)
			// What a client says of itself is inherited by those that it starts.
			cmd.Env = append(os.Environ(), "CLAUDE_CODE_SSE_PORT=1", "CLAUDECODE=1", "CLAUDE_PID=1")
			out, err := cmd.Output()
			testenv.NoError(t, err)
			var p Proc
			if err := json.Unmarshal(out, &p); err != nil || p != self {
				t.Errorf("%s %v, not %+v", out, err, self)
			}
		})
	}
}

func TestArgsAndEnviron(t *testing.T) {
	args := []string{"", "two words", "a=b", "-x", "a\nb", "é", "", "\x1b[31m"}
	env := []string{"A=b=c", "EMPTY=", "LINES=a\nb", "é=日本", "B=  "}
	p, _ := child(t, os.Args[0], env, args...)
	got, err := p.Args()
	if want := append([]string{os.Args[0], "wait"}, args...); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v, not %q", got, err, want)
	}
	if got, err := p.Environ(); err != nil || !slices.Equal(got, env) {
		t.Errorf("%q %v", got, err)
	}
	exe, err := p.Executable()
	if err != nil || filepath.Base(exe) != filepath.Base(os.Args[0]) {
		t.Error(exe, err)
	}
	bare, _ := child(t, os.Args[0], []string{})
	if got, err := bare.Environ(); err != nil || len(got) > 0 {
		t.Errorf("%q %v", got, err)
	}
	// Of a number that is another's by now nothing is told.
	p.Start += "1"
	for _, ask := range []func() ([]string, error){p.Args, p.Environ} {
		if got, err := ask(); got != nil || !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%q %v", got, err)
		}
	}
}

// A trailing empty argument is an argument.
func TestLastArgumentEmpty(t *testing.T) {
	for _, args := range [][]string{{""}, {"", ""}, {"x", ""}} {
		p, _ := child(t, os.Args[0], nil, args...)
		got, err := p.Args()
		if want := append([]string{os.Args[0], "wait"}, args...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %v, not %q", got, err, want)
		}
	}
}

func TestIsShell(t *testing.T) {
	for _, name := range strings.Fields("sh bash -zsh /bin/dash fish tcsh nu") {
		if !IsShell(name) {
			t.Errorf("%s is no shell", name)
		}
	}
	for _, name := range strings.Fields("claude node codex gemini tmux: bun python3 timeout shellcheck bashful") {
		if IsShell(name) {
			t.Errorf("%s is a shell", name)
		}
	}
}

// A process that has just been started and one that is just ending are told
// apart from any other, however often one looks.
func TestShortLives(t *testing.T) {
	seen := map[Proc]bool{}
	for range 50 {
		cmd := exec.Command("true")
		out, err := cmd.StdoutPipe()
		testenv.NoError(t, err)
		testenv.NoError(t, cmd.Start())
		p, err := Find(cmd.Process.Pid)
		io.Copy(io.Discard, out)
		cmd.Wait()
		if p.IsAlive() {
			t.Fatalf("%+v is over and alive", p)
		}
		if err == nil {
			if seen[p] {
				t.Fatalf("%+v twice", p)
			}
			seen[p] = true
		}
	}
}

// The end of a process is awaited until it is a zombie, and no longer.
func TestAwaitEnd(t *testing.T) {
	p, cmd := child(t, os.Args[0], nil)
	ended := make(chan error, 1)
	go func() { ended <- AwaitEnd(p.PID) }()
	select {
	case err := <-ended:
		t.Fatalf("it returned while the process ran: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	testenv.NoError(t, cmd.Process.Kill())
	if err := <-ended; err != nil { // nobody has reaped it
		t.Fatal(err)
	}
	cmd.Wait()
	if err := AwaitEnd(p.PID); err != nil {
		t.Fatalf("a process that is gone: %v", err)
	}
}

// What the clock shows while the machine sleeps, or is set by, is no time awake.
func TestSlept(t *testing.T) {
	const now = 50_000
	for _, c := range []struct {
		what   string
		passed time.Duration // by the clock
		awake  int64
		want   time.Duration
	}{
		{"awake all the time", 20 * time.Minute, now - 1200, 0},
		{"a night", 8 * time.Hour, now - 300, 8*time.Hour - 5*time.Minute},
		{"the clock was set back", -40 * time.Minute, now - 1200, -time.Hour},
		{"an older gt, or a hand", 8 * time.Hour, 0, 0},
		{"an earlier start of the machine", 8 * time.Hour, 60_000, 0},
	} {
		if got := sleepWithin(c.passed, c.awake, now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, got, c.want)
		}
	}
}
