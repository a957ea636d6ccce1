package place

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// MaxRequest bounds a request: 64 KiB.
const MaxRequest = 64 << 10

// Request is the file in which a command that runs in an agent's sandbox, from
// which it cannot write the state, asks the agent's hooks to do what it cannot:
// <home>/.runtime/requests/<session id>. Anything that the sandbox runs can write
// it, so it is only ever read as a claim.
type Request struct {
	dir Shared
	id  string
}

// RequestOf is the request of a session in its home. The id is one that was
// checked.
func RequestOf(home, id string) Request {
	return Request{Shared{home, []string{Runtime, "requests"}}, id}
}

// Path is where the request stands.
func (r Request) Path() string { return r.dir.Path(r.id) }

// Write leaves the request, whole. A .gitignore beside it keeps it out of git's
// sight.
func (r Request) Write(data []byte) error {
	if len(data) > MaxRequest {
		return atomicfile.Error("write", r.Path(), atomicfile.ErrTooLarge)
	}
	dir, err := r.dir.open(true)
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
	return r.dir.read(r.id, MaxRequest)
}

// Exists reports whether there may be a request. It is one look, for the hooks
// that run at every tool call.
func (r Request) Exists() bool {
	_, err := os.Lstat(r.Path())
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // else Read says what is wrong
}

// Remove takes the request away.
func (r Request) Remove() error { return r.dir.Remove(r.id) }
