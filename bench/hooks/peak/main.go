// Peak runs a program and notes how much memory it had at most, in KiB.
//
//	peak FILE PROGRAM [ARG]...
//
// It is a program of its own because a process is born with the memory of who
// starts it: what the kernel reports of a child is never less than its parent
// had. So the parent has to be small.
package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
)

func main() {
	p, err := os.StartProcess(os.Args[2], os.Args[2:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fail(err)
	}
	state, err := p.Wait()
	if err != nil {
		fail(err)
	}
	kib := state.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "darwin" {
		kib /= 1024 // there it is bytes
	}
	if err := os.WriteFile(os.Args[1], strconv.AppendInt(nil, int64(kib), 10), 0o600); err != nil {
		fail(err)
	}
	os.Exit(state.ExitCode())
}

func fail(err error) {
	os.Stderr.WriteString("peak: " + err.Error() + "\n")
	os.Exit(1)
}
