// Package measure is what the benchmarks have in common.
package measure

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Interrupted has remove called, and the program end, when a person or the system ends it.
func Interrupted(remove func()) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		remove()
		os.Exit(1)
	}()
}

// Quartiles returns the values below which a quarter, half and three quarters lie; zeros
// for none.
func Quartiles[T int64 | float64 | time.Duration](all []T) (low, median, high T) {
	if len(all) == 0 {
		return 0, 0, 0
	}
	s := slices.Sorted(slices.Values(all))
	return s[len(s)/4], s[len(s)/2], s[len(s)*3/4]
}
