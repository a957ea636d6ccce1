package place

import (
	"os"
	"syscall"
)

// noFollow opens no link in the last element, and waits for no FIFO.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ownerOf is the number of the user whose file it is.
func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return owner(info), nil
}

func owner(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
