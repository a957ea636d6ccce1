//go:build faults

package cli

import (
	"runtime"
	"syscall"
)

// A program for the fault loops (faults/) runs on one thread, because strace counts the
// calls of each thread separately. Its first call asks for a path that does not exist,
// which marks the end of the Go runtime's start-up in a trace.
func init() {
	runtime.LockOSThread()
	_ = syscall.Access("/gt/program/begins", 0)
}

const Few = 1
