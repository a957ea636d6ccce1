package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen has a pipe hold as much as any user's may, where it can be had: who writes to it does
// not wait for the reader.
func widen(pipe *os.File) {
	const most = 1 << 20
	if c, err := pipe.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, most) })
	}
}
