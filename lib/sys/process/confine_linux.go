package process

import "golang.org/x/sys/unix"

// Confine bounds the data memory, in bytes, of a process that was just started and of its
// children. It ignores one that has ended.
func Confine(pid int, bytes uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
