package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen enlarges a pipe to the maximum for any user, if possible, so that its writer need
// not wait for the reader.
func widen(pipe *os.File) {
	const most = 1 << 20
	if c, err := pipe.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, most) })
	}
}
