package atomicfile

import (
	"os"
	"path/filepath"
)

// Link gives a file a second name in its file system, and syncs that to disk. The name
// must not exist.
func Link(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	return Error("link", from, err)
}
