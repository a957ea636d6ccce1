package process

import "golang.org/x/sys/unix"

// Confine bounds the memory, in bytes, that a process which was just started, and each
// that it starts, keeps of its own. One that is done already needs no bound.
func Confine(pid int, bytes uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
