package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that was on a screen and is dying, or whose terminal has gone, still counts as
// on one: a client's last hook must not take it for a run that nobody sees.
func TestOnScreen(t *testing.T) {
	start := func(t *testing.T, stdin *os.File) (Proc, *exec.Cmd) {
		cmd := exec.Command("sleep", "1000")
		cmd.Stdin = stdin
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return Proc{PID: cmd.Process.Pid}, cmd
	}
	check := func(t *testing.T, what string, p Proc, want bool) {
		t.Helper()
		if got := p.OnScreen(); got != want {
			t.Errorf("%s: on a screen %v, want %v", what, got, want)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	p, _ := start(t, null)
	check(t, "/dev/null", p, false)
	p, _ = start(t, read)
	check(t, "a pipe", p, false)

	closed := exec.Command("sh", "-c", "exec sleep 1000 <&-")
	if err := closed.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed.Process.Kill(); closed.Wait() })
	check(t, "no standard input", Proc{PID: closed.Process.Pid}, false)

	master, terminal := openTerminal(t)
	p, _ = start(t, terminal)
	check(t, "a terminal that gives lines", p, false)
	setRaw(t, terminal)
	check(t, "a terminal that gives keys", p, true)
	p, cmd := start(t, terminal)
	cmd.Process.Signal(syscall.SIGKILL)
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	check(t, "a zombie", p, true)
	cmd.Wait()
	check(t, "a dead process", p, true)
	p, _ = start(t, terminal)
	terminal.Close()
	master.Close()
	check(t, "a terminal that is gone", p, true)
}

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (master, terminal *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, terminal
}

func setRaw(t *testing.T, terminal *os.File) {
	mode, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	mode.Lflag &^= unix.ICANON
	if err := unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
}
