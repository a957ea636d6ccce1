package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/sys/process"
)

// A program is found by its name wherever it runs, and with the folder that it
// works in.
func TestNamed(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	testenv.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	data, err := os.ReadFile(sleep)
	testenv.NoError(t, err)
	program := filepath.Join(dir, "gt-named-test")
	testenv.NoError(t, testenv.WriteProgram(program, data))
	cmd := exec.Command(program, "60")
	cmd.Dir = dir
	cmd.Env = []string{"PWD=" + dir}
	if err := cmd.Start(); err != nil {
		t.Skip(err) // a sleep that is part of another program
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	// Start returns in the middle of the exec, when the process may have its old name.
	for end := time.Now().Add(testenv.Patience); process.Name(cmd.Process.Pid) != "gt-named-test" && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	found := process.FindByName("gt-named-test")
	i := slices.IndexFunc(found, func(p process.Proc) bool { return p.PID == cmd.Process.Pid })
	if i < 0 {
		t.Fatalf("process %d is not among %v", cmd.Process.Pid, found)
	}
	if at, err := found[i].Dir(); err != nil || at != dir {
		t.Errorf("it works in '%s' (%v), not in %s", at, err, dir)
	}
	if !found[i].IsAlive() {
		t.Error("it is not alive")
	}
}
