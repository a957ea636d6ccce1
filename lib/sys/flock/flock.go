// Package flock takes an exclusive lock on a file for as long as a process
// needs it. The kernel drops the lock when the process dies, however it dies.
//
// The file is a lock and nothing else, and has mode 0200: a user who may only read it
// cannot hold it. Files that others can read or write are never locked, because they
// could hold the lock as well.
//
// The lock is advisory, and what it guards stands in other files.
package flock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// ErrBusy is returned by Acquire when somebody else held the lock all the time.
var ErrBusy = errors.New("somebody else holds the lock")

// A Lock is held until Unlock or the end of the process.
type Lock struct{ f *os.File }

// Acquire takes the lock on path, creating the file where it is missing, and
// waits for it at most as long as wait; then it returns ErrBusy. Waiting processes
// get the lock in the order in which they came.
func Acquire(path string, wait time.Duration) (*Lock, error) {
	return acquire(path, false, wait)
}

// AcquireCommon is Acquire for a lock that another program takes as well, and
// opens for reading: its file has mode 0600, and whoever may read it can hold it.
func AcquireCommon(path string, wait time.Duration) (*Lock, error) {
	return acquire(path, true, wait)
}

func acquire(path string, common bool, wait time.Duration) (*Lock, error) {
	deadline := time.Now().Add(wait)
	for {
		f, err := atomicfile.OpenLock(path, common)
		if err != nil {
			return nil, err
		}
		if err := lock(f, time.Until(deadline)); err != nil {
			return nil, atomicfile.Error("lock", path, err)
		}
		named, err := names(path, f)
		if named {
			return &Lock{f}, nil
		}
		f.Close()
		if err != nil {
			return nil, atomicfile.Error("lock", path, err)
		}
	}
}

// lock waits for the lock on f, and closes f if it does not get it. It waits in the
// kernel, which serves waiting processes in turn. Trying again and again would let a
// newcomer pass one that has waited for long.
func lock(f *os.File, wait time.Duration) error {
	fd := int(f.Fd())
	err := flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return err
	case wait <= 0:
		f.Close()
		return ErrBusy
	}
	got := make(chan error, 1)
	go func() { got <- flock(fd, syscall.LOCK_EX) }()
	select {
	case err := <-got:
		if err != nil {
			f.Close()
		}
		return err
	case <-time.After(wait):
		// It cannot be called back: if it gets the lock after all, it gives it
		// back at once.
		go func() {
			<-got
			f.Close()
		}()
		return ErrBusy
	}
}

func flock(fd, how int) error {
	for {
		if err := syscall.Flock(fd, how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// names reports whether the locked file still has that name: the previous holder may
// have removed it (Remove).
func names(path string, f *os.File) (bool, error) {
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}

// Unlock gives the lock back.
func (l *Lock) Unlock() { l.f.Close() }

// Remove gives the lock back and removes its file, for a place where it should not
// stay. A process that waits for it makes a new one.
func (l *Lock) Remove() {
	os.Remove(l.f.Name())
	l.f.Close()
}
