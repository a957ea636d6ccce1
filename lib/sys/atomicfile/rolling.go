package atomicfile

import (
	"bytes"
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

// Rolling is a small file that is rewritten whole and would be missed, with the
// three contents that it had before: .bak, .bak.1 and .bak.2, the newest first.
//
// A process that is killed at any point of Write, Repair or Remove leaves what
// was there or what was to be; the file itself is there all the while. That it
// is not there therefore means that nobody has anything to say, and no
// generation speaks for it.
//
// Only what was whole becomes a generation. What cannot be used is kept under
// another name (Quarantine) and never written over.
//
// Writers hold a lock of theirs from Repair to Write. Readers need none.
type Rolling struct {
	Path string
	// Backups is the path that .bak is put behind, where that is not Path: a
	// file in a folder that is somebody else's has its generations elsewhere.
	Backups string
	// Limit bounds what is read; zero is MaxSize.
	Limit int64
	// Judge says what is wrong with a file before it is read (ReadIf); nil takes
	// any.
	Judge func(fs.FileInfo) error
	// Valid says what is wrong with a content; nil takes any.
	Valid func([]byte) error
	// Warn is told of everything that was got over: what was no use, where it
	// was put, what was taken in its place. It may be nil.
	Warn func(error)
}

// generations are the ends of their names, the newest first.
var generations = []string{".bak", ".bak.1", ".bak.2"}

// Read returns the content of the file, or of the newest generation where the
// file is no use. It changes nothing. The error is fs.ErrNotExist where there
// is no file, and says what is wrong with it where no generation can stand in.
func (r Rolling) Read() ([]byte, error) {
	f, err := r.find()
	if err != nil || len(f.bad) == 0 {
		return f.data, err
	}
	if f.data == nil {
		return nil, f.errors()
	}
	f.bad[0].err = fmt.Errorf("%w: %s", f.bad[0].err, f.instead())
	for _, b := range f.bad {
		r.warn(b.err)
	}
	return f.data, nil
}

// Repair is Read for who holds the lock: what is no use is set aside, and the
// generation that is used becomes the file. The error is fs.ErrNotExist also
// where nothing was left to use.
func (r Rolling) Repair() ([]byte, error) {
	f, err := r.find()
	if err != nil || len(f.bad) == 0 {
		return f.data, err
	}
	for _, b := range f.bad {
		if passing(b.err) {
			return r.Read()
		}
	}
	// The file itself comes last: without it the rest would not be looked at.
	for _, b := range slices.Backward(f.bad[1:]) {
		aside, err := Quarantine(b.path)
		r.warn(told(b.err, aside, err))
	}
	if f.data == nil {
		aside, err := Quarantine(r.Path)
		r.warn(told(f.bad[0].err, aside, err))
		if err != nil {
			return nil, f.bad[0].err
		}
		return nil, Error("open", r.Path, fs.ErrNotExist)
	}
	var aside string
	// A copy and no link: who writes it in place would write both.
	err = place(r.Path, f.data, 0o600, Synced, func(from, to string) (err error) {
		if aside, err = r.keepAside(); err != nil {
			return err
		}
		return atomic.ReplaceFile(from, to)
	})
	r.warn(fmt.Errorf("%w; %s", told(f.bad[0].err, aside, err), f.instead()))
	return f.data, nil
}

// Write replaces the content, and what was there becomes .bak, what was .bak
// becomes .bak.1, and so on. The same content again makes no generation, or
// three of them would push out all that differs.
//
// Where there was no file, generations that are left are of one that somebody
// took away, and go. That a generation cannot be kept is no reason not to write
// the file, and only warned of.
func (r Rolling) Write(data []byte, d Durability) error { return r.write(data, d, r.rotate) }

// WriteWithoutBackups is Write for a content that nothing from before may ever stand in
// for: the generations go first, and what was there becomes none.
func (r Rolling) WriteWithoutBackups(data []byte, d Durability) error {
	if err := r.drop(); err != nil {
		return err
	}
	return r.write(data, d, func([]byte) error { return nil })
}

func (r Rolling) write(data []byte, d Durability, keep func(old []byte) error) error {
	old, bad := r.read(r.Path)
	switch {
	case errors.Is(bad, fs.ErrNotExist):
		if err := r.drop(); err != nil {
			return err // or it might come back
		}
	case passing(bad):
		return bad
	}
	return Error("write", r.Path, place(r.Path, data, 0o600, d, func(from, to string) error {
		switch {
		case errors.Is(bad, fs.ErrNotExist), bad == nil && bytes.Equal(old, data):
		case bad == nil:
			if err := keep(old); err != nil {
				r.warn(err)
			}
		default:
			aside, err := r.keepAside()
			if err != nil {
				return bad
			}
			r.warn(told(bad, aside, nil))
		}
		return atomic.ReplaceFile(from, to)
	}))
}

// Remove takes the file away with its generations. The oldest goes first and
// the file last, so that one who is killed half way has removed nothing yet.
func (r Rolling) Remove() error { return errors.Join(r.drop(), Remove(r.Path)) }

// drop removes the generations, the oldest first.
func (r Rolling) drop() error {
	var failed error
	for _, g := range slices.Backward(generations) {
		failed = errors.Join(failed, Remove(r.backup(g)))
	}
	return failed
}

// rotate makes old, which is what the file holds, the newest generation. A
// kill may leave a gap in the row, which the next write closes before it gives
// up an older one.
func (r Rolling) rotate(old []byte) error {
	first, second, third := r.backup(generations[0]), r.backup(generations[1]), r.backup(generations[2])
	if _, err := os.Lstat(first); err == nil {
		if same(r.Path, first) {
			return nil // a write was killed after this point
		}
		if err := atomic.ReplaceFile(second, third); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Error("rename", second, err)
		}
		if err := atomic.ReplaceFile(first, second); err != nil {
			return Error("rename", first, err)
		}
	}
	err := os.Link(r.Path, first)
	if err != nil { // not every file system has links, and none has them to another
		return Error("write", first, place(first, old, 0o600, Unsynced, atomic.ReplaceFile))
	}
	return nil
}

// keepAside gives the file, which is about to be replaced, another name as
// well.
func (r Rolling) keepAside() (string, error) {
	aside, err := aside(r.Path)
	return aside, Error("set aside", r.Path, err)
}

func same(a, b string) bool {
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

// found is the newest content that can be used.
type found struct {
	data []byte // nil where there is none
	path string
	bad  []broken // what is newer and no use, the file itself first
}

type broken struct {
	path string
	err  error
}

// find looks for the newest content that can be used.
func (r Rolling) find() (found, error) {
	var f found
	for i, path := range append([]string{r.Path}, r.backup(generations[0]), r.backup(generations[1]), r.backup(generations[2])) {
		data, err := r.read(path)
		switch {
		case err == nil:
			f.data, f.path = data, path
			return f, nil
		case !errors.Is(err, fs.ErrNotExist):
			f.bad = append(f.bad, broken{path, err})
		case i == 0:
			return f, err
		}
	}
	return f, nil
}

// read returns what path holds, never nil, if it can be used.
func (r Rolling) read(path string) ([]byte, error) {
	limit := r.Limit
	if limit == 0 {
		limit = MaxSize
	}
	data, err := ReadIf(path, limit, r.Judge)
	if err != nil || r.Valid == nil {
		return data, err
	}
	if err := r.Valid(data); err != nil {
		return nil, Error("understand", path, err)
	}
	return data, nil
}

// passing reports whether an error is of the process and not of the file, which
// the next to come may well be able to read.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// errors is what is wrong with all of them.
func (f found) errors() error {
	var all error
	for _, b := range f.bad {
		all = errors.Join(all, b.err)
	}
	return all
}

// instead says what is used.
func (f found) instead() string {
	text := fmt.Sprintf("using the generation before it, '%s'", filepath.Base(f.path))
	if info, err := os.Lstat(f.path); err == nil {
		text += ", from " + info.ModTime().UTC().Format(time.DateTime) + " UTC"
	}
	return text
}

// told adds to what is wrong with a file what became of it.
func told(bad error, aside string, err error) error {
	if aside != "" {
		bad = fmt.Errorf("%w: it was set aside as '%s'", bad, filepath.Base(aside))
	}
	return errors.Join(bad, err)
}
