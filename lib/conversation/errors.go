package conversation

import (
	"fmt"
	"os"

	"gt/lib/sys/atomicfile"
)

// ReadErrors sums up what could not be read in one error, however much it is: the
// first of it, and how much more there is. What is not there (any more), or is
// neither a file nor a folder, does not count.
type ReadErrors struct {
	first error
	more  int
}

// Add notes an error, unless it is nil. An error that another ReadErrors returned
// counts for all that it stands for.
func (u *ReadErrors) Add(err error) {
	switch {
	case err == nil || atomicfile.Absent(err):
	case u.first == nil:
		u.first = err
	default:
		u.more++
	}
	if several, ok := u.first.(severalErrors); ok {
		u.first, u.more = several.error, u.more+several.more
	} else if several, ok := err.(severalErrors); ok {
		u.more += several.more
	}
}

// Err returns what to tell, nil where all was read.
func (u *ReadErrors) Err() error {
	if u.more > 0 {
		return severalErrors{u.first, u.more}
	}
	return u.first
}

// severalErrors is an error of several.
type severalErrors struct {
	error
	more int
}

func (u severalErrors) Error() string { return fmt.Sprintf("%v (and %d more)", u.error, u.more) }

func (u severalErrors) Unwrap() error { return u.error }

// List returns what is in a folder, as far as it can be listed.
func (u *ReadErrors) List(dir string) []os.DirEntry {
	entries, err := os.ReadDir(dir) // a link to a folder is as good
	u.Add(atomicfile.Error("read", dir, err))
	return entries
}

// File describes the file at a path, or the one to which a link there leads. ok is
// false for anything else, and for an empty file.
func (u *ReadErrors) File(path string) (info os.FileInfo, ok bool) {
	info, err := os.Stat(path)
	u.Add(atomicfile.Error("read", path, err))
	return info, err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// Unreadable returns the error of a file that is there and cannot be read, nil where
// none is there.
func Unreadable(path string, err error) error {
	if err == nil || atomicfile.Absent(err) {
		return nil
	}
	return atomicfile.Error("read", path, err)
}
