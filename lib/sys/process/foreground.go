package process

import (
	"errors"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground runs a command in the terminal that is the caller's standard input, as a shell
// does: in a process group of its own, which the terminal belongs to until the command has
// ended. A command that is stopped (Ctrl-Z) goes on, for no shell is there to continue it.
// started is called with its number; where that fails, the command is killed.
func Foreground(cmd *exec.Cmd, started func(pid int) error) error {
	const terminal = 0
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: terminal}
	if err := cmd.Start(); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGTTOU) // which would stop this program when it gives the terminal away
	defer signal.Reset(syscall.SIGTTOU)
	pid := cmd.Process.Pid
	failed := started(pid)
	if failed != nil {
		_ = cmd.Process.Kill()
	}
	for {
		var is unix.WaitStatus
		_, err := unix.Wait4(pid, &is, unix.WUNTRACED, nil)
		if err == nil && is.Stopped() {
			_ = unix.IoctlSetPointerInt(terminal, unix.TIOCSPGRP, pid)
			_ = unix.Kill(-pid, unix.SIGCONT)
		} else if !errors.Is(err, unix.EINTR) {
			return errors.Join(failed, unix.IoctlSetPointerInt(terminal, unix.TIOCSPGRP, unix.Getpgrp()))
		}
	}
}
