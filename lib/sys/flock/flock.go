// Package flock takes an exclusive lock on a file. The kernel releases it however the process dies.
//
// The file is only a lock and has mode 0200, so that a user who may only read it cannot
// hold it. Files that others can open are never locked. The lock is advisory: what it
// guards is in other files.
package flock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// ErrBusy is returned if another process held the lock all the time.
var ErrBusy = errors.New("somebody else holds the lock")

// Lock is held until Unlock or the end of the process.
type Lock struct{ f *os.File }

// Acquire locks path, creating the file if necessary. After wait it returns ErrBusy.
// Waiting processes get the lock in the order in which they came.
func Acquire(path string, wait time.Duration) (*Lock, error) {
	return AcquireWhile(path, false, wait, nil)
}

// AcquireWhile is Acquire that gives up only on a lock that stands still. progress returns a text
// that changes whenever others have used the lock: if it has changed once wait is over,
// AcquireWhile waits again. progress may be nil. A common lock is one that another program opens
// for reading, too: its file has mode 0600, and whoever may read it can hold it.
func AcquireWhile(path string, common bool, wait time.Duration, progress func() string) (*Lock, error) {
	deadline := time.Now().Add(wait)
	for {
		f, err := atomicfile.OpenLock(path, common)
		if err != nil {
			return nil, err
		}
		left := time.Until(deadline)
		if progress != nil {
			left = wait // whoever had a lock before this one has removed it
		}
		if err := awaitLock(f, left, progress); err != nil {
			return nil, atomicfile.Error("lock", path, err)
		}
		named, err := isStillNamed(path, f)
		if named {
			return &Lock{f}, nil
		}
		f.Close()
		if err != nil {
			return nil, atomicfile.Error("lock", path, err)
		}
	}
}

// awaitLock waits for the lock on f, and closes f if it fails. It waits in the kernel, which is
// fair; polling would let a newcomer pass one that has waited long.
func awaitLock(f *os.File, wait time.Duration, progress func() string) error {
	fd := int(f.Fd())
	err := flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil: // mutant always: TestOneProcessAtATime
		return nil
	case !errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return err
	case wait <= 0:
		f.Close()
		return ErrBusy
	}
	if progress == nil {
		progress = func() string { return "" }
	}
	last := progress()
	got := make(chan error, 1)
	go func() { got <- flock(fd, syscall.LOCK_EX) }()
	for {
		select {
		case err := <-got:
			if err != nil {
				f.Close()
			}
			return err
		case <-time.After(wait):
			if current := progress(); current != last {
				last = current
				continue
			}
			// The wait cannot be cancelled. If it gets the lock, release it at once.
			go func() {
				<-got
				f.Close()
			}()
			return ErrBusy
		}
	}
}

func flock(fd, how int) error {
	return atomicfile.RetryInterrupted(func() error { return syscall.Flock(fd, how) })
}

// isStillNamed reports whether the locked file still has its name: Remove may have taken it.
func isStillNamed(path string, f *os.File) (bool, error) {
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

func (l *Lock) Unlock() { l.f.Close() }

// Remove releases the lock and removes its file. A process that waits for it makes a new one.
func (l *Lock) Remove() {
	os.Remove(l.f.Name())
	l.f.Close()
}
