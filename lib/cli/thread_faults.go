//go:build faults

package cli

import (
	"runtime"
	"syscall"
)

// A binary for the fault loops (faults/) runs on one thread, for strace counts
// the calls of each thread by itself. It asks for a path that nobody has before
// it does anything else, which shows in a trace where the start-up of the Go
// runtime ends.
func init() {
	runtime.LockOSThread()
	_ = syscall.Access("/gt/program/begins", 0)
}

// Few is one: see above.
const Few = 1
