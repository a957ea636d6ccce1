// Package flock takes an exclusive lock on a file for as long as a process
// needs it. The kernel drops the lock when the process dies, however it dies.
//
// The lock is advisory and belongs to the file, not to its name: the file is
// never renamed or removed, and what it guards stands in other files.
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
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return &Lock{f}, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, atomicfile.Error("lock", path, err)
		case time.Now().After(deadline):
			f.Close()
			return nil, atomicfile.Error("lock", path, ErrBusy)
		}
		time.Sleep(pause)
	}
}

// Unlock gives the lock back.
func (l *Lock) Unlock() { l.f.Close() }
