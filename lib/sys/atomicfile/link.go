package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/natefinch/atomic"
)

// moveNew renames a temporary file to a name that must not exist: with a link, for a rename
// would replace an existing file. Where the file system has no links, as on exFAT, in
// Termux and in some file systems of user space, all processes that come here take turns.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case !hasNoLinks(err):
		return err
	}
	return moveLocked(from, to)
}

// moveLocked renames a file to a name that is free, for folders that have no hard links. It holds
// a lock on the folder from its check to the rename.
func moveLocked(from, to string) error {
	folder, err := openDir(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer folder.Close() // releases the lock
	if err := RetryInterrupted(func() error { return syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) }); err != nil {
		return err
	}
	if Exists(to) {
		return fs.ErrExist
	}
	return atomic.ReplaceFile(from, to)
}

// hasNoLinks reports whether a link failed because the file system has none.
func hasNoLinks(err error) bool {
	none := []error{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.EMLINK}
	return slices.ContainsFunc(none, func(no error) bool { return errors.Is(err, no) })
}

// copyIn copies a file below an open folder to a name that must not exist. The caller holds
// a lock that guards the name.
func copyIn(dir *os.Root, from, to string) error {
	if _, err := dir.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	f, err := OpenIn(dir, from)
	if err != nil {
		return err
	}
	defer f.Close()
	return MakeIn(dir, to, func(w *os.File) error {
		_, err := io.Copy(w, f)
		return err
	})
}
