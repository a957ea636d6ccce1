package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals returns the signals by which a person or a system ends a program: Ctrl-C, SIGTERM and
// the end of its terminal, but not that if whoever started the program has it ignored, as nohup
// does. signal.Notify would undo that.
func EndSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}
