package process

import (
	"errors"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// AwaitForeground waits for a child that was started with the terminal of standard input
// (SysProcAttr.Foreground), and takes the terminal back. It continues a stopped child
// (Ctrl-Z), because no shell is there to do so.
func AwaitForeground(pid int) error {
	const terminal = 0
	signal.Ignore(syscall.SIGTTOU) // it would stop this process when it gives the terminal away
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
