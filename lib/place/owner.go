package place

import (
	"os"
	"syscall"

	"gt/lib/atomicfile"
)

// openPlain opens a regular file below an opened folder that is no link: os.Root
// follows those that stay within, so what was opened is held against what has the
// name. It waits for no FIFO.
func openPlain(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	named, err := dir.Lstat(name)
	if err == nil {
		err = same(named, f.Stat)
	}
	if err == nil && !named.Mode().IsRegular() {
		err = atomicfile.ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// same reports as an error that what was opened is not what has the name.
func same(named os.FileInfo, opened func() (os.FileInfo, error)) error {
	info, err := opened()
	if err == nil && !os.SameFile(named, info) {
		err = atomicfile.ErrNotRegular
	}
	return err
}

// ownerOf is the number of the user whose file it is.
func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return atomicfile.Owner(info), nil
}
