// Package settings changes a settings file that belongs to somebody else: a
// person, who may keep it in another place behind a symbolic link, and the
// program that reads it. The file keeps its mode, owner and place; what it was
// before the first change is kept beside it; and several who change it at once
// each find what the others wrote.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

const (
	// BackupSuffix ends the name of a backup.
	BackupSuffix = ".gt-backup"
	lockSuffix   = ".gt-lock"

	maxSize  = 4 << 20 // far over any settings file
	lockWait = 5 * time.Second
)

// Read returns the content of a settings file, following symbolic links; nil
// where there is no file, which an empty one is not.
func Read(path string) ([]byte, error) {
	target, err := follow(path)
	if err != nil {
		return nil, err
	}
	data, err := atomicfile.Read(target, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// An Edit is what becomes of a settings file.
type Edit struct {
	Text   []byte // the new content; nil leaves no file behind
	Backup bool   // the old content is worth keeping
}

// Update replaces the content of a settings file by what edit makes of the old
// one, which is nil where there is no file. It returns the path of the backup,
// empty where none was asked for or needed.
//
// Nothing is touched, not even a lock, when edit changes nothing or fails. It
// may be called twice.
func Update(path string, edit func(old []byte) (Edit, error)) (backup string, err error) {
	old, next, err := plan(path, edit)
	if err != nil || bytes.Equal(old, next.Text) {
		return "", err
	}
	// The program itself makes its folder with this mode.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", atomicfile.Error("create", filepath.Dir(path), err)
	}
	lock, err := flock.Acquire(path+lockSuffix, lockWait)
	if err != nil {
		return "", err
	}
	defer lock.Remove()
	atomicfile.Sweep(filepath.Dir(path), time.Now())

	// Somebody else may have been here before the lock was ours.
	old, next, err = plan(path, edit)
	if err != nil || bytes.Equal(old, next.Text) {
		return "", err
	}
	if next.Backup && old != nil {
		if backup, err = keep(path, old); err != nil {
			return "", err
		}
	}
	return backup, replace(path, next.Text)
}

func plan(path string, edit func([]byte) (Edit, error)) (old []byte, next Edit, err error) {
	if old, err = Read(path); err == nil {
		next, err = edit(old)
	}
	return old, next, err
}

// replace writes the file that path leads to.
func replace(path string, text []byte) error {
	target, err := follow(path)
	if err != nil {
		return err
	}
	if text == nil {
		return atomicfile.Remove(target)
	}
	atomicfile.Sweep(filepath.Dir(target), time.Now())
	perm := fs.FileMode(0o600)
	info, err := os.Stat(target)
	if err == nil {
		perm = info.Mode().Perm()
	}
	if err := atomicfile.WriteMode(target, text, perm, atomicfile.Synced); err != nil {
		return err
	}
	// Root at work in somebody's home must not take the file from them.
	if info != nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
			return atomicfile.Error("give back", target, os.Chown(target, int(st.Uid), int(st.Gid)))
		}
	}
	return nil
}

// keep writes a backup that nobody has to miss later: it overwrites none that
// is there, and makes none where one has this content already.
func keep(path string, content []byte) (string, error) {
	for n := 0; ; n++ {
		backup := path + BackupSuffix
		if n > 0 {
			backup = fmt.Sprintf("%s.%d", backup, n)
		}
		err := atomicfile.Create(backup, content, atomicfile.Synced)
		if !errors.Is(err, fs.ErrExist) {
			return backup, err
		}
		if there, err := atomicfile.Read(backup, maxSize); err == nil && bytes.Equal(there, content) {
			return backup, nil
		}
	}
}

// HasBackup reports whether there was a settings file before the first change.
func HasBackup(path string) bool {
	_, err := os.Lstat(path + BackupSuffix)
	return err == nil
}

// follow returns where the symbolic links at path lead to, be there a file or
// not: a dotfile manager's link stays a link, also one whose file is yet to be
// made.
func follow(path string) (string, error) {
	at := path
	for range 40 { // as many as the kernel follows
		to, err := os.Readlink(at)
		if err != nil { // no link, or nothing there at all
			return at, nil
		}
		if !filepath.IsAbs(to) {
			// "..", in a link, is seen from where its folder really is.
			dir, err := filepath.EvalSymlinks(filepath.Dir(at))
			if err != nil {
				return "", atomicfile.Error("follow", path, err)
			}
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", atomicfile.Error("follow", path, errors.New("too many symbolic links"))
}
