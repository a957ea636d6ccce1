//go:build !linux

package process

import (
	"errors"
	"os"
	"time"
)

// AwaitEnd waits until the process with that number has ended. A zombie has. For one that
// is not there it returns at once.
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
