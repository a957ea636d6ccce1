package cli

import (
	"errors"
	"fmt"

	"gt/lib/sys/flock"
)

// The exit codes of every gt program. Never 2, which an agent that runs a hook takes for "block".
const (
	Done     = 0  // done, or the answer is yes
	AnswerNo = 1  // the answer is no: nothing found, a predicate is false
	Bug      = 70 // a recovered panic
	IO       = 74 // something could not be read or written
	Busy     = 75 // another process holds a lock; try again
	Usage    = 80 // wrong usage
)

type failure struct {
	code  int
	err   error
	hints []string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Fail gives err an exit code and hints for Run. An error without a code exits with IO.
func Fail(code int, err error, hints ...string) error {
	if err == nil {
		return nil
	}
	return &failure{code, err, hints}
}

// CheckAtLeast returns an error unless the number of a flag is at least least.
func CheckAtLeast(flag string, n, least int) error {
	if n < least {
		return fmt.Errorf("%s needs a number of at least %d", flag, least)
	}
	return nil
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

// Silent is "no" without a message.
var Silent = &failure{code: AnswerNo, err: errors.New("no")}

// ExitCode returns the code of err: Done for nil, Busy for a lock that is held, and IO for
// other errors without a code.
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

func hints(err error) []string {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.hints
	}
	return nil
}

// Hints returns the hints that are printed with err.
func Hints(err error) []string {
	all := hints(err)
	var own interface{ Hint() string }
	if errors.As(err, &own) {
		all = append(all[:len(all):len(all)], own.Hint())
	}
	return all
}
