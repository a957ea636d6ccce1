//go:build !linux

package process

import (
	"errors"
	"os"
	"time"
)

// AwaitEnd waits until the process with that PID has ended; a zombie has. It returns at once if
// there is none.
func AwaitEnd(pid int) error {
	p, err := Find(pid)
	for err == nil && !p.Gone() {
		time.Sleep(time.Second)
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
