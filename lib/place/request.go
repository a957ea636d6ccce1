package place

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// MaxRequest bounds a request, in bytes.
const MaxRequest = 64 << 10

// Request is a file by which a sandboxed command that cannot write to the state asks the
// agent's hooks to act for it: <home>/.runtime/requests/<session id>. Any program in the
// sandbox can write it, so it is a claim.
type Request struct {
	dir SharedFolder
	id  string
}

// RequestOf returns a session's request in its home. The caller has validated the id.
func RequestOf(home, id string) Request {
	return Request{SharedFolder{home, []string{Runtime, "requests"}}, id}
}

func (r Request) Path() string { return r.dir.Path(r.id) }

// Write replaces the request atomically, and adds a .gitignore that hides it.
func (r Request) Write(data []byte) error {
	if len(data) > MaxRequest {
		return atomicfile.Error("write", r.Path(), atomicfile.ErrTooLarge)
	}
	dir, _, err := r.dir.openPath(mkdir)
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

// Read returns the request and its ctime, which its writer cannot forge, or fs.ErrNotExist.
func (r Request) Read() (data []byte, changed time.Time, err error) {
	return r.dir.readWithTime(r.id, MaxRequest)
}

// Exists reports whether there may be a request. It is one system call, for hooks that run
// at every tool call.
func (r Request) Exists() bool {
	_, err := os.Lstat(r.Path())
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // Read reports what is wrong
}

// Remove removes the request if it exists.
func (r Request) Remove() error { return r.dir.Remove(r.id) }
