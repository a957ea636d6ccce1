package process

import (
	"errors"

	"golang.org/x/sys/unix"

	"gt/lib/sys/atomicfile"
)

// AwaitEnd waits until the process with that PID has ended, zombies included. It returns at
// once if there is none.
func AwaitEnd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	} else if err != nil {
		return err
	}
	defer unix.Close(fd)
	return atomicfile.RetryInterrupted(func() error {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		return err
	})
}
