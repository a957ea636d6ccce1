package process

import (
	"fmt"
	"os"
	"syscall"

	"gt/lib/sys/atomicfile"
)

// Exec replaces this process with a program, the first of args, in the folder
// dir. It returns only if that fails.
func Exec(dir string, args, environ []string) error {
	path, err := LookPath(args[0], dir, environ)
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return atomicfile.Error("change to", dir, err)
	}
	err = syscall.Exec(path, args, environ)
	return fmt.Errorf("cannot run '%s': %w", path, err)
}
