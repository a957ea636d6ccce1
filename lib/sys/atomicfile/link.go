package atomicfile

import (
	"os"
	"path/filepath"
)

// Link gives a file a second name in its file system, which must be free, and
// waits until that is on disk.
func Link(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	return Error("link", from, err)
}
