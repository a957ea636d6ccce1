package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gt/lib/atomicfile"
)

// MaxRequest bounds a request: 64 KiB.
const MaxRequest = 64 << 10

// Request is the file in which a command that runs in an agent's sandbox, from
// which it cannot write the state, asks the agent's hooks to do what it cannot:
// <home>/.runtime/requests/<session id>. Anything that the sandbox runs can write
// it, so it is only ever read as a claim.
type Request struct{ home, id string }

// RequestOf is the request of a session in its home. The id is one that was
// checked.
func RequestOf(home, id string) Request { return Request{home, id} }

const requests = "requests"

// Path is where the request stands.
func (r Request) Path() string { return filepath.Join(r.home, Runtime, requests, r.id) }

func (r Request) open(create bool) (*os.Root, error) {
	root, err := os.OpenRoot(r.home)
	for _, name := range []string{Runtime, requests} {
		if err != nil {
			return nil, err
		}
		above := root
		root, err = enter(above, name, create)
		above.Close()
	}
	return root, err
}

// enter opens a folder in another, which may be no link.
func enter(above *os.Root, name string, create bool) (*os.Root, error) {
	if create {
		if err := above.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	info, err := above.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, atomicfile.ErrNotRegular
	}
	next, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if err := same(info, func() (os.FileInfo, error) { return next.Stat(".") }); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// Write leaves the request, whole. A .gitignore beside it keeps it out of git's
// sight.
func (r Request) Write(data []byte) error {
	if len(data) > MaxRequest {
		return atomicfile.Error("write", r.Path(), atomicfile.ErrTooLarge)
	}
	dir, err := r.open(true)
	if err != nil {
		return atomicfile.Error("write", r.Path(), err)
	}
	defer dir.Close()
	if _, err := dir.Lstat(".gitignore"); errors.Is(err, fs.ErrNotExist) {
		if err := atomicfile.WriteIn(dir, ".gitignore", []byte("*\n")); err != nil {
			return atomicfile.Error("write", r.Path(), err)
		}
	}
	return atomicfile.Error("write", r.Path(), atomicfile.WriteIn(dir, r.id, data))
}

// Read returns the request and when it was last changed, by a clock that its
// writer cannot set back: fs.ErrNotExist where there is none.
func (r Request) Read() (data []byte, changed time.Time, err error) {
	dir, err := r.open(false)
	if err != nil {
		return nil, time.Time{}, atomicfile.Error("read", r.Path(), err)
	}
	defer dir.Close()
	f, err := openOwn(dir, r.id)
	if err != nil {
		return nil, time.Time{}, atomicfile.Error("read", r.Path(), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, atomicfile.Error("read", r.Path(), err)
	}
	data, err = atomicfile.ReadFrom(f, MaxRequest)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		changed = changeTime(st)
	}
	return data, changed, atomicfile.Error("read", r.Path(), err)
}

// Exists reports whether there may be a request. It is one look, for the hooks
// that run at every tool call.
func (r Request) Exists() bool {
	_, err := os.Lstat(r.Path())
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // else Read says what is wrong
}

// Remove takes the request away.
func (r Request) Remove() error {
	dir, err := r.open(false)
	if err == nil {
		defer dir.Close()
		err = dir.Remove(r.id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return atomicfile.Error("remove", r.Path(), err)
}

// openOwn opens a regular file of this user's or root's that has one name, below
// an opened folder, following no link.
func openOwn(dir *os.Root, name string) (*os.File, error) {
	f, err := openPlain(dir, name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok || int(st.Uid) != os.Geteuid() && st.Uid != 0:
			err = errors.New("it belongs to another user")
		case st.Nlink != 1:
			err = errors.New("it has more names than one")
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readOwn(dir *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openOwn(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return atomicfile.ReadFrom(f, limit)
}
