//go:build !linux

package atomicfile

import (
	"cmp"
	"path/filepath"
)

// Sync waits until files of a folder, which were written Unsynced, are on disk with their
// names. No call does that for all of them at once here.
func Sync(dir string, names []string) error {
	for _, name := range names {
		f, err := Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		err = f.Sync()
		err = cmp.Or(err, Close(f))
		if err != nil {
			return Error("write", f.Name(), err)
		}
	}
	return Error("write", dir, syncDir(dir))
}
