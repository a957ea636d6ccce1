package place

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// MaxRequest is the maximum size of a request: 64 KiB.
const MaxRequest = 64 << 10

// Request is a file in which a command asks the agent's hooks to act for it, because the
// agent's sandbox does not let it write to the state:
// <home>/.runtime/requests/<session id>. Any program in the sandbox can write the file,
// so its content is only a claim.
type Request struct {
	dir Shared
	id  string
}

// RequestOf returns the request of a session in its home. The caller has validated the
// id.
func RequestOf(home, id string) Request {
	return Request{Shared{home, []string{Runtime, "requests"}}, id}
}

// Path returns the path of the request's file.
func (r Request) Path() string { return r.dir.Path(r.id) }

// Write replaces the request atomically. It also writes a .gitignore beside it, so that
// git does not show it.
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

// Read returns the request and the time of its last change, which its writer cannot
// forge. It returns fs.ErrNotExist if there is none.
func (r Request) Read() (data []byte, changed time.Time, err error) {
	return r.dir.read(r.id, MaxRequest)
}

// Exists reports whether there may be a request. It costs one system call, for the
// hooks that run at every tool call.
func (r Request) Exists() bool {
	_, err := os.Lstat(r.Path())
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // else Read says what is wrong
}

// Remove removes the request. A missing one is not an error.
func (r Request) Remove() error { return r.dir.Remove(r.id) }
