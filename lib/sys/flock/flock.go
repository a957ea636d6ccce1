// Package flock takes an exclusive lock on a file for as long as a process
// needs it. The kernel drops the lock when the process dies, however it dies.
//
// The file is a lock and nothing else, of mode 0200: who may only read cannot hold
// it. Nothing that others can read or write is ever locked, for they could.
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

// ErrBusy is what Acquire gives when somebody else held the lock all the time.
var ErrBusy = errors.New("somebody else holds the lock")

// A Lock is held until Unlock or the end of the process.
type Lock struct{ f *os.File }

// Acquire takes the lock on path, creating the file where it is missing, and
// waits for it at most as long as wait; then ErrBusy. Those who wait get it in
// the order in which they came.
func Acquire(path string, wait time.Duration) (*Lock, error) {
	return acquire(path, false, wait)
}

// AcquireCommon is Acquire for a lock that another program takes as well, and
// opens for reading: its file has mode 0600, and who may read it can hold it.
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

// lock waits for the lock on f, which it closes where it does not get it. The
// kernel lets those who wait in it come in turn, as trying again and again
// would not: who had waited long was passed by who came just then.
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

// names reports whether the file that is locked still has that name: who held the
// lock before may have taken it away (Remove).
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

// Remove gives the lock back and takes its file away, for a place where it
// should not stay. Whoever waits for it makes a new one.
func (l *Lock) Remove() {
	os.Remove(l.f.Name())
	l.f.Close()
}
