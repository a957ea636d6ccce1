//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gt/internal/programs"
	"gt/internal/testenv"
	"gt/lib/cli"
)

// full and turn say which of the points are tried, see covering_test.go.
var (
	full = testenv.Thorough()
	turn = testenv.Turn()
)

// bin is the folder of the binaries under test, scratch where the worlds are.
var bin, scratch string

// unusable says why nothing can be traced here; empty where it can.
var unusable string

// A program runs on one thread here, because strace counts the calls of each thread
// separately. Its first call asks for a path that does not exist, which marks the end of
// the Go runtime's start-up in a trace.
func init() {
	if programs.Mains[filepath.Base(os.Args[0])] != nil {
		runtime.LockOSThread()
		cli.MaxWaitingTasks = 1
		_ = syscall.Access("/gt/program/begins", 0)
	}
}

func TestMain(m *testing.M) {
	if main := programs.Mains[filepath.Base(os.Args[0])]; main != nil {
		os.Exit(main(cli.OS()))
	}
	switch filepath.Base(os.Args[0]) {
	case "client":
		client()
	case "claude":
		if slices.Equal(os.Args[1:], []string{"--version"}) {
			fmt.Println(claudeVersion, "(Claude Code)")
			os.Exit(0)
		}
		claude()
	case "limit":
		limit()
	case "adopt":
		if err := adopt(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "adopt:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp(memory(), "gt-faults-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch, bin = dir, filepath.Join(dir, "bin")
	if err := build(); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := traceable(); err != nil {
		unusable = "strace cannot be used: " + err.Error()
		if os.Getenv("GT_FAULTS") == "required" {
			fmt.Println(unusable)
			return 1
		}
	}
	code := m.Run()
	if sum := totals.String(); sum != "" {
		fmt.Println(sum)
	}
	return code
}

// memory is a folder in memory where there is one: the loops are about the
// order of calls, and not about how long a disk takes.
func memory() string {
	const shm = "/dev/shm"
	f, err := os.CreateTemp(shm, "gt-faults-")
	if err != nil {
		return ""
	}
	f.Close()
	os.Remove(f.Name())
	return shm
}

// build makes the programs, which are this binary under their names, and the stand-ins
// for a client.
func build() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	program := filepath.Join(bin, "program")
	if err := testenv.WriteProgram(program, data); err != nil {
		return err
	}
	for name := range programs.Mains {
		if err := os.Link(program, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"client", "limit", "adopt"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return errors.Join(os.Link(program, filepath.Join(bin, claudeVersion)), os.Symlink(claudeVersion, filepath.Join(bin, "claude")))
}

// claudeVersion is the version of the stand-in for Claude Code. Its file tells it, as with Claude
// Code's own installer: it is run for that only where the file cannot be looked at.
const claudeVersion = "2.1.332"

// traceable tries whether strace kills a program at a chosen call.
func traceable() error {
	cmd := exec.Command("strace", "-D", "-qq", "-o", os.DevNull, "-e", "trace=exit_group", "-e", "inject=exit_group:signal=KILL:when=1", "true")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && !exit.Exited():
		return nil
	case err == nil:
		err = errors.New("it injects nothing")
	}
	return errors.Join(err, errors.New(strings.TrimSpace(string(out))))
}

// needsTrace skips a test that cannot run here.
func needsTrace(t *testing.T) {
	t.Helper()
	if unusable != "" {
		t.Skip(unusable)
	}
}

// totals are the figures of all tests together.
var totals tally

// A tally counts what was tried and what came of it.
type tally struct {
	mu                              sync.Mutex
	kills, faults, cases, violation int
}

func (t *tally) add(kills, faults, violations int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cases++
	t.kills, t.faults, t.violation = t.kills+kills, t.faults+faults, t.violation+violations
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cases == 0 {
		return ""
	}
	return fmt.Sprintf("faults (turn %d): %d kill points, %d faults, %d violations", turn, t.kills, t.faults, t.violation)
}
