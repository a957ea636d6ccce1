package process

import (
	"os"
)

// Detached starts this program again with these arguments, in a session of its own and
// without a terminal, so that it outlives this terminal. It returns the PID.
func Detached(dir string, environ, args []string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return startDetached(dir, self, append([]string{self}, args...), environ, null, null)
}
