// Package flock takes an exclusive lock on a file for as long as a process
// needs it. The kernel drops the lock when the process dies, however it dies.
//
// The lock is advisory, and what it guards stands in other files.
package flock

import (
	"errors"
	"os"
	"syscall"
	"time"

	"gt/lib/atomicfile"
)

// ErrBusy is what Acquire gives when somebody else held the lock all the time.
var ErrBusy = errors.New("somebody else holds the lock")

// A Lock is held until Unlock or the end of the process.
type Lock struct{ f *os.File }

// Acquire takes the lock on path, creating the file where it is missing, and
// waits for it at most as long as wait; then ErrBusy.
func Acquire(path string, wait time.Duration) (*Lock, error) {
	deadline := time.Now().Add(wait)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		f, err := atomicfile.OpenAppend(path)
		if err != nil {
			return nil, err
		}
		for {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
			if !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		if err == nil && names(path, f) {
			return &Lock{f}, nil
		}
		f.Close()
		switch {
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, atomicfile.Error("lock", path, err)
		case time.Now().After(deadline):
			return nil, atomicfile.Error("lock", path, ErrBusy)
		}
		time.Sleep(pause)
	}
}

// names says whether the file that is locked still has that name: who held the
// lock before may have taken it away (Remove).
func names(path string, f *os.File) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, named)
}

// Unlock gives the lock back.
func (l *Lock) Unlock() { l.f.Close() }

// Remove gives the lock back and takes its file away, for a place where it
// should not stay. Whoever waits for it makes a new one.
func (l *Lock) Remove() {
	os.Remove(l.f.Name())
	l.f.Close()
}
