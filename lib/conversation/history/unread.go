package history

import (
	"fmt"
	"os"

	"gt/lib/client/account"
	"gt/lib/sys/atomicfile"
)

// Unread is what could not be read, so that it can be told in a line, however
// much it is: the first of it, and how much more there is. What is not there
// (any more), or is no file or folder at all, is nothing that could be read.
type Unread struct {
	first error
	more  int
}

// Add notes an error; nil is none.
func (u *Unread) Add(err error) {
	switch {
	case err == nil || account.Absent(err):
	case u.first == nil:
		u.first = err
	default:
		u.more++
	}
	if several, ok := u.first.(unread); ok {
		u.first, u.more = several.error, u.more+several.more
	} else if several, ok := err.(unread); ok {
		u.more += several.more
	}
}

// Err is what to tell; nil where all was read.
func (u *Unread) Err() error {
	if u.more > 0 {
		return unread{u.first, u.more}
	}
	return u.first
}

// unread is an error of several.
type unread struct {
	error
	more int
}

func (u unread) Error() string { return fmt.Sprintf("%v (and %d more)", u.error, u.more) }

func (u unread) Unwrap() error { return u.error }

// list returns what is in a folder, as far as it can be listed.
func (u *Unread) list(dir string) []os.DirEntry {
	entries, err := os.ReadDir(dir) // a link to a folder is as good
	u.Add(atomicfile.Error("read", dir, err))
	return entries
}

// file describes a file that has the path, or to which it leads; ok is false for
// all else, and where nothing is in it.
func (u *Unread) file(path string) (info os.FileInfo, ok bool) {
	info, err := os.Stat(path)
	u.Add(atomicfile.Error("read", path, err))
	return info, err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// known is the error of a file that is there and cannot be read.
func known(path string, err error) error {
	if err == nil || account.Absent(err) {
		return nil
	}
	return atomicfile.Error("read", path, err)
}
