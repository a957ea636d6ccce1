package git

import "golang.org/x/sys/unix"

// confine bounds the memory of a process that was just started. One that is done
// already needs none.
func confine(pid int) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory}, nil)
}
