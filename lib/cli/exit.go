package cli

import (
	"errors"
	"fmt"

	"gt/lib/sys/flock"
)

// The exit codes of every gt binary. 2 is never used: an agent that runs a
// hook reads it as "block what I am about to do".
const (
	Done  = 0  // done, or the answer is yes
	No    = 1  // the answer is no: nothing found, a predicate is false
	Bug   = 70 // a recovered panic
	IO    = 74 // something could not be read or written
	Busy  = 75 // somebody else is at it, try again
	Usage = 80 // wrong usage
)

// failure is an error with the exit code it asks for and what the reader can
// do about it.
type failure struct {
	code  int
	err   error
	hints []string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Fail gives err an exit code and hints, with which Run reports it. An error without a
// code exits with IO.
func Fail(code int, err error, hints ...string) error {
	if err == nil {
		return nil
	}
	return &failure{code, err, hints}
}

// Failf is Fail with a new error.
func Failf(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

// WithHint adds a hint to err and keeps its exit code.
func WithHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &failure{ExitCode(err), err, append(hints(err), fmt.Sprintf(format, args...))}
}

// Silent is an answer of "no" that needs no words on standard error.
var Silent = &failure{code: No, err: errors.New("no")}

// ExitCode returns the code that err asks for: Done for nil, Busy for a lock that
// somebody else holds, and IO for other errors without a code.
func ExitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return Done
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, flock.ErrBusy):
		return Busy
	}
	return IO
}

// hints returns the hints that were given to err.
func hints(err error) []string {
	var f *failure
	if errors.As(err, &f) {
		return f.hints
	}
	return nil
}

// allHints returns those and the one that the wrapped error has itself.
func allHints(err error) []string {
	all := hints(err)
	var own interface{ Hint() string }
	if errors.As(err, &own) {
		all = append(all[:len(all):len(all)], own.Hint())
	}
	return all
}
