package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sync waits until files of a folder, which were written Unsynced, are on disk with their
// names. All that the file system has to write goes there at once.
func Sync(dir string, _ []string) error {
	d, err := os.Open(dir)
	if err != nil {
		return Error("write", dir, err)
	}
	defer d.Close()
	return Error("write", dir, RetryInterrupted(func() error { return unix.Syncfs(int(d.Fd())) }))
}
