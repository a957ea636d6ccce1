//go:build e2e

package argv

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
)

// A process has to live for some milliseconds to be seen; the commands that
// the stories look for, a tmux client among them, do.
func TestWatch(t *testing.T) {
	home := t.TempDir()
	w := Watch(home, Shortest)
	const runs = 100
	for i := range runs {
		cmd := exec.Command("tmux", "-L", "gt-e2e-nobody", "has-session", "-t", fmt.Sprint("run-", i))
		cmd.Env = []string{"HOME=" + home, "TMUX_TMPDIR=" + home}
		cmd.Run() // there is no such server
	}
	found, rounds := w.Stop()
	seen := 0
	for i := range runs {
		for _, p := range found {
			if p.ContainsText(fmt.Sprint("run-", i)) {
				seen++
				break
			}
		}
	}
	t.Logf("saw %d of %d short processes in %d looks", seen, runs, rounds)
	if seen == 0 {
		t.Error("the watch sees nothing")
	}
}

func TestTrace(t *testing.T) {
	if !Tracing() {
		t.Skip("strace is not here, or may not trace")
	}
	trace, prefix := NewTrace(t.TempDir())
	args := append(prefix, "sh", "-c", "true \"a b\"; /bin/echo 'x\"y' '1\n2' ä \\\\0")
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := trace.Programs()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/bin/echo", `x"y`, "1\n2", "ä", `\0`}
	if !slices.ContainsFunc(found, func(p Process) bool { return slices.Equal(p.Args, want) }) {
		t.Errorf("saw %q, and not %q", found, want)
	}
}
