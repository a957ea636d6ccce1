package atomicfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/natefinch/atomic"
)

// Rolling is a small important file that is replaced as a whole, with its three previous
// versions: .bak, .bak.1 and .bak.2, the newest first.
//
// A process that is killed at any point of Write, Repair or Remove leaves the old state or
// the new one, and the file itself exists all the time. So a missing file means that there
// is no content, and its previous versions are not used.
//
// Only valid content becomes a previous version. A file that cannot be used is renamed
// (Quarantine) and never overwritten.
//
// Writers must hold their own lock from Repair to Write. Readers need none.
type Rolling struct {
	Path string
	// Backups is the path to which .bak is appended, if that is not Path: a file in
	// somebody else's folder has its previous versions elsewhere.
	Backups string
	// Limit is the maximum size of a file that is read; zero means MaxSize.
	Limit int64
	// Judge returns an error for a file that must not be read (see ReadIf); nil accepts any.
	Judge func(fs.FileInfo) error
	// Valid returns an error for content that is not valid; nil accepts any.
	Valid func([]byte) error
	// Warn is called with every problem that was overcome: a damaged file, its new
	// name, what is used instead. It may be nil.
	Warn func(error)
}

// generations are the suffixes of the previous versions, the newest first.
var generations = []string{".bak", ".bak.1", ".bak.2"}

// Read returns the content of the file, or of its newest usable previous version if the
// file is damaged. It changes nothing. It returns fs.ErrNotExist if there is no file, and
// says what is wrong with the file if no previous version can replace it.
func (r Rolling) Read() ([]byte, error) {
	f, err := r.findUsable()
	if err != nil || len(f.bad) == 0 {
		return f.data, err
	}
	if f.data == nil {
		return nil, f.joinErrors()
	}
	f.bad[0].err = fmt.Errorf("%w: %s", f.bad[0].err, f.describeFallback())
	for _, b := range f.bad {
		r.warn(b.err)
	}
	return f.data, nil
}

// Repair is Read, and also sets damaged files aside and makes the version that it returns the
// current file. If no usable version is left, it returns fs.ErrNotExist. The caller must hold the
// lock.
func (r Rolling) Repair() ([]byte, error) {
	f, err := r.findUsable()
	if err != nil || len(f.bad) == 0 {
		return f.data, err
	}
	if slices.ContainsFunc(f.bad, func(b brokenFile) bool { return isTransient(b.err) }) {
		return r.Read() // the file may be sound, so nothing is set aside
	}
	// The file itself comes last: without it, the previous versions would be ignored.
	for _, b := range slices.Backward(f.bad[1:]) {
		aside, err := Quarantine(b.path)
		r.warn(withAside(b.err, aside, err))
	}
	if f.data == nil {
		aside, err := Quarantine(r.Path)
		r.warn(withAside(f.bad[0].err, aside, err))
		if err != nil {
			return nil, f.bad[0].err
		}
		return nil, Error("open", r.Path, fs.ErrNotExist)
	}
	var aside string
	// A copy, not a link: a program that writes it in place would change both.
	err = writeAndMove(r.Path, f.data, 0o600, Synced, func(from, to string) (err error) {
		if aside, err = r.keepAside(); err != nil {
			return err
		}
		return atomic.ReplaceFile(from, to)
	})
	r.warn(fmt.Errorf("%w; %s", withAside(f.bad[0].err, aside, err), f.describeFallback()))
	return f.data, nil
}

// Write replaces the file. The old content becomes .bak, .bak becomes .bak.1, and so on. Writing
// the same content again adds no version, which would push out one that differs.
//
// If there was no file, somebody has removed it, so Write removes the previous versions
// that are left. If it cannot keep a previous version, it only warns.
func (r Rolling) Write(data []byte, d Durability) error {
	return r.writeKeeping(data, d, r.rotateBackups)
}

// WriteWithoutBackups is Write for content that no earlier version may replace: it removes
// the previous versions first, and does not keep the old content.
func (r Rolling) WriteWithoutBackups(data []byte, d Durability) error {
	if err := r.removeBackups(); err != nil {
		return err
	}
	return r.writeKeeping(data, d, func([]byte) error { return nil })
}

// writeKeeping replaces the file after keep has kept the old content. A damaged file is set aside.
func (r Rolling) writeKeeping(data []byte, d Durability, keep func(old []byte) error) error {
	old, bad := r.readValid(r.Path)
	switch {
	case errors.Is(bad, fs.ErrNotExist):
		if err := r.removeBackups(); err != nil {
			return err // otherwise an old version could come back
		}
	case isTransient(bad):
		return bad
	}
	return Error("write", r.Path, writeAndMove(r.Path, data, 0o600, d, func(from, to string) error {
		switch {
		case errors.Is(bad, fs.ErrNotExist), bad == nil && bytes.Equal(old, data): // nothing to keep
		case bad == nil:
			if err := keep(old); err != nil {
				r.warn(err)
			}
		default:
			aside, err := r.keepAside()
			if err != nil {
				return bad
			}
			r.warn(withAside(bad, aside, nil))
		}
		return atomic.ReplaceFile(from, to)
	}))
}

// Remove removes the file and its previous versions. It removes the oldest first and the
// file last, so that after a kill on the way the file still exists.
func (r Rolling) Remove() error { return errors.Join(r.removeBackups(), Remove(r.Path)) }

func (r Rolling) removeBackups() error {
	var failed error
	for _, g := range slices.Backward(generations) {
		failed = errors.Join(failed, Remove(r.backup(g)))
	}
	return failed
}

// rotateBackups makes old, the file's content, the newest previous version. A kill can leave a
// gap in the sequence. The next write fills the gap before it drops an older version.
func (r Rolling) rotateBackups(old []byte) error {
	first, second, third := r.backup(generations[0]), r.backup(generations[1]), r.backup(generations[2])
	if _, err := os.Lstat(first); err == nil {
		if sameFile(r.Path, first) {
			return nil // an earlier write was killed after this step
		}
		if err := atomic.ReplaceFile(second, third); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Error("rename", second, err)
		}
		if err := atomic.ReplaceFile(first, second); err != nil {
			return Error("rename", first, err)
		}
	}
	err := os.Link(r.Path, first)
	if err != nil { // no links in this file system, or from another one
		return Error("write", first, writeAndMove(first, old, 0o600, Unsynced, atomic.ReplaceFile))
	}
	return nil
}

// keepAside links the file, which is about to be replaced, to another name.
func (r Rolling) keepAside() (string, error) {
	aside, err := linkAside(r.Path)
	return aside, Error("set aside", r.Path, err)
}

// sameFile reports whether two paths are hard links to one file.
func sameFile(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && os.SameFile(x, y)
}

func (r Rolling) backup(generation string) string {
	if r.Backups != "" {
		return r.Backups + generation
	}
	return r.Path + generation
}

func (r Rolling) warn(err error) {
	if r.Warn != nil {
		r.Warn(err)
	}
}

// usableVersion is the newest usable content.
type usableVersion struct {
	data []byte // nil if there is none
	path string
	bad  []brokenFile // the newer files that cannot be used, the file itself first
}

type brokenFile struct {
	path string
	err  error
}

// findUsable returns the newest usable content, or none. It fails only if there is no file.
func (r Rolling) findUsable() (usableVersion, error) {
	data, err := r.readValid(r.Path)
	switch {
	case err == nil:
		return usableVersion{data: data, path: r.Path}, nil
	case errors.Is(err, fs.ErrNotExist):
		return usableVersion{}, err
	}
	f := usableVersion{bad: []brokenFile{{r.Path, err}}}
	for _, g := range generations {
		path := r.backup(g)
		data, err := r.readValid(path)
		if err == nil {
			f.data, f.path = data, path
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // below a file is none
			f.bad = append(f.bad, brokenFile{path, err})
		}
	}
	return f, nil
}

// readValid returns the content of path, which is not nil, or an error if it cannot be used.
func (r Rolling) readValid(path string) ([]byte, error) {
	limit := cmp.Or(r.Limit, MaxSize)
	data, err := ReadIf(path, limit, r.Judge)
	if err != nil || r.Valid == nil {
		return data, err
	}
	if err := r.Valid(data); err != nil {
		return nil, Error("understand", path, err)
	}
	return data, nil
}

// isTransient reports whether an error comes from the process and not from the file, so that
// another process may be able to read it.
func isTransient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

func (f usableVersion) joinErrors() error {
	var all error
	for _, b := range f.bad {
		all = errors.Join(all, b.err)
	}
	return all
}

func (f usableVersion) describeFallback() string {
	text := fmt.Sprintf("using the version before it, '%s'", filepath.Base(f.path))
	if info, err := os.Lstat(f.path); err == nil {
		text += ", from " + info.ModTime().UTC().Format(time.DateTime) + " UTC"
	}
	return text
}

func withAside(bad error, aside string, err error) error {
	if aside != "" {
		bad = fmt.Errorf("%w: it was set aside as '%s'", bad, filepath.Base(aside))
	}
	return errors.Join(bad, err)
}
