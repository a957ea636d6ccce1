// Package settings edits a settings file that belongs to a person and to the program that
// reads it. The file keeps its mode, owner and place, even behind a symbolic link. The
// original content is kept beside it. Concurrent edits do not lose each other's changes.
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
	BackupSuffix = ".gt-backup"
	lockSuffix   = ".gt-lock"

	maxSize  = 4 << 20          // far larger than any settings file
	lockWait = 30 * time.Second // a person waits for it, not an agent
)

// Read returns the content of a settings file, and follows symbolic links. It returns nil
// if the file does not exist, but not if it is empty.
func Read(path string) ([]byte, error) {
	target, err := followLinks(path)
	if err != nil {
		return nil, err
	}
	data, err := atomicfile.Read(target, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

type Edit struct {
	Text   []byte // the new content; nil removes the file
	Backup bool   // keep the old content
}

// Update replaces the content of a settings file with what edit returns. edit gets the
// old content, or nil if there is no file, and may be called twice. Update returns the
// path of the backup, or "".
//
// If edit fails or changes nothing, Update touches nothing, not even a lock.
func Update(path string, edit func(old []byte) (Edit, error)) (backup string, err error) {
	old, next, err := planEdit(path, edit)
	if err != nil || bytes.Equal(old, next.Text) {
		return "", err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return "", atomicfile.Error("create", filepath.Dir(path), err)
	}
	lock, err := flock.Acquire(path+lockSuffix, lockWait)
	if err != nil {
		return "", err
	}
	defer lock.Remove()
	atomicfile.Sweep(filepath.Dir(path), time.Now())

	// The file may have changed before the lock was taken.
	old, next, err = planEdit(path, edit)
	if err != nil || bytes.Equal(old, next.Text) {
		return "", err
	}
	isNew := false
	if next.Backup && old != nil {
		if backup, isNew, err = writeBackup(path, old); err != nil {
			return "", err
		}
	}
	err = replaceFile(path, next.Text)
	if errors.Is(err, syscall.EBUSY) { // it is mounted, as a container's runtime does with a single file
		if backup == "" && len(old) > 0 { // a kill in the middle must lose nothing
			if backup, isNew, err = writeBackup(path, old); err != nil {
				return "", err
			}
		}
		err = overwriteFile(path, next.Text)
	}
	if err != nil && isNew {
		_ = atomicfile.Remove(backup) // of a change that was not made
		backup = ""
	}
	return backup, err
}

func planEdit(path string, edit func([]byte) (Edit, error)) (old []byte, next Edit, err error) {
	if old, err = Read(path); err == nil {
		next, err = edit(old)
	}
	return old, next, err
}

// replaceFile writes the file with its old mode, or removes it if text is nil. Links to it stay.
func replaceFile(path string, text []byte) error {
	target, err := followLinks(path)
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
	if info == nil {
		if info, err = os.Stat(filepath.Dir(target)); err != nil {
			return atomicfile.Error("give back", target, err)
		}
	}
	return giveToOwner(target, info)
}

// giveToOwner gives what root has made to the owner of the file that it replaces, or of the folder
// that it is in: a container's root must not keep an agent from its own settings.
func giveToOwner(path string, like fs.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || st.Uid == 0 {
		return nil
	}
	return atomicfile.Error("give back", path, os.Lchown(path, int(st.Uid), int(st.Gid)))
}

// makeFolder makes a folder and its missing parents, with the mode that the client itself
// gives them.
func makeFolder(dir string) error {
	above, err := os.Stat(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err = makeFolder(filepath.Dir(dir)); err == nil {
			above, err = os.Stat(filepath.Dir(dir))
		}
	}
	if err != nil {
		return err
	}
	switch err := os.Mkdir(dir, 0o755); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return giveToOwner(dir, above)
}

// overwriteFile replaces the content of a file that cannot be renamed to. It is not atomic.
func overwriteFile(path string, text []byte) error {
	target, err := followLinks(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return atomicfile.Error("write", target, err)
	}
	defer f.Close()
	if _, err = f.Write(text); err == nil {
		err = f.Truncate(int64(len(text)))
	}
	if err == nil {
		err = f.Sync()
	}
	return atomicfile.Error("write", target, err)
}

// writeBackup writes a backup, and reports whether it is new. It overwrites none, and writes none
// if an existing one has the same content.
func writeBackup(path string, content []byte) (backup string, made bool, err error) {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return "", false, atomicfile.Error("back up", path, err)
	}
	for n := 0; ; n++ {
		backup := path + BackupSuffix
		if n > 0 {
			backup = fmt.Sprintf("%s.%d", backup, n)
		}
		err := atomicfile.Create(backup, content, atomicfile.Synced)
		if err == nil {
			return backup, true, giveToOwner(backup, folder)
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", false, err
		}
		if there, err := atomicfile.Read(backup, maxSize); err == nil && bytes.Equal(there, content) {
			return backup, false, nil
		}
	}
}

// HasBackup reports whether the file existed before gt's first change.
func HasBackup(path string) bool {
	_, err := os.Lstat(path + BackupSuffix)
	return err == nil
}

// followLinks returns where the symbolic links at path lead, even if no file exists there.
// Update must not replace a dotfile manager's link.
func followLinks(path string) (string, error) {
	at := path
	for range 40 { // the kernel's limit
		to, err := os.Readlink(at)
		if err != nil { // not a link, or missing
			return at, nil
		}
		if !filepath.IsAbs(to) {
			// ".." in a link is relative to the real path of its folder.
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
