// Package gtexec runs another program of the same installation and returns its output, so
// that a small program need not link a large one's libraries.
package gtexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

const maxOutput = 4 << 20

// Output runs a program in a folder for at most wait and returns its standard output. If it
// fails, the error is the first line of its standard error.
func Output(name, dir string, environ []string, wait time.Duration, args ...string) ([]byte, error) {
	path, err := process.LookPath(process.SiblingBinary(name), dir, environ)
	if err != nil {
		return nil, err
	}
	p := bounded.Program{Path: path, Args: args, Dir: dir, Env: environ, Within: wait, Most: maxOutput, Linger: wait}
	out, err := p.Run(context.Background())
	var failed *bounded.Failed
	switch {
	case errors.As(err, &failed):
		why, _, _ := strings.Cut(strings.TrimSpace(failed.Stderr), "\n")
		if why = strings.TrimPrefix(why, name+": error: "); why == "" {
			why = name + ": " + failed.Err.Error()
		}
		return nil, errors.New(why)
	case errors.Is(err, bounded.ErrLate):
		return nil, fmt.Errorf("%s did not answer within %v", name, wait)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out.Out, nil
}
