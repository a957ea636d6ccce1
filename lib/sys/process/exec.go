package process

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"gt/lib/sys/atomicfile"
)

// Exec replaces this process by a program, args[0], in the folder dir. It returns only on failure.
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

// maxInput is how much Detach writes before the start; a pipe holds that much.
const maxInput = 4 << 10

// Detach starts a program, args[0], in the folder dir and in a session of its own, without
// output, and does not wait for its end. It only waits until the program has read the input
// that does not fit into a pipe.
func Detach(dir string, args, environ []string, input string) error {
	path, err := LookPath(args[0], dir, environ)
	if err != nil {
		return err
	}
	stdin, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	defer to.Close()
	first := input[:min(len(input), maxInput)]
	if _, err := to.WriteString(first); err != nil {
		return err
	}
	if _, err := startDetached(dir, path, args, environ, stdin); err != nil {
		return fmt.Errorf("cannot run '%s': %w", path, err)
	}
	if len(first) == len(input) {
		return nil
	}
	stdin.Close() // so that writing fails if the program ends
	widen(to)
	_, err = to.WriteString(input[len(first):])
	return err
}

// startDetached starts a program in a session of its own, without a terminal and output, and
// returns its PID. Without stdin, the program reads nothing. Package os would first start a
// process to find out how to wait for one.
func startDetached(dir, path string, args, environ []string, stdin *os.File) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	pid, _, err := syscall.StartProcess(path, args, &syscall.ProcAttr{
		Dir: dir, Env: environ, Files: []uintptr{cmp.Or(stdin, null).Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	runtime.KeepAlive(stdin)
	return pid, err
}

// RestartDetached starts this program again with these arguments, in a session of its own and
// without a terminal, so that it outlives this terminal. It returns the PID.
func RestartDetached(dir string, environ, args []string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	return startDetached(dir, self, append([]string{self}, args...), environ, nil)
}
