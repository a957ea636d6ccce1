package process

import (
	"errors"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// AwaitForeground waits until a child has ended that was started with the terminal of our
// standard input (SysProcAttr.Foreground), and takes the terminal back. One that is stopped
// (Ctrl-Z) goes on, for no shell is there to continue it.
func AwaitForeground(pid int) error {
	const terminal = 0
	signal.Ignore(syscall.SIGTTOU) // which would stop us when we give the terminal away
	defer signal.Reset(syscall.SIGTTOU)
	for {
		var is unix.WaitStatus
		_, err := unix.Wait4(pid, &is, unix.WUNTRACED, nil)
		if err == nil && is.Stopped() {
			_ = unix.IoctlSetPointerInt(terminal, unix.TIOCSPGRP, pid)
			_ = unix.Kill(-pid, unix.SIGCONT)
		} else if !errors.Is(err, unix.EINTR) {
			return unix.IoctlSetPointerInt(terminal, unix.TIOCSPGRP, unix.Getpgrp())
		}
	}
}
