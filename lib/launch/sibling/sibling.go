// Package sibling runs another program of the same installation and takes what it
// prints, so that a small program need not link what a large one can do.
package sibling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"gt/lib/sys/process"
)

// maxOutput bounds what is taken of what a program prints.
const maxOutput = 4 << 20

// Output runs a program with an environment, in a folder, for wait at the longest, and
// returns what it wrote to standard output.
func Output(name, dir string, environ []string, wait time.Duration, args ...string) ([]byte, error) {
	path, err := process.LookPath(process.SiblingBinary(name), dir, environ)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var out, said limited
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir, environ
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = wait // what it has started may hold the pipes open
	switch err = cmd.Run(); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not answer within %v", name, wait)
	case err != nil:
		why, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		if why = strings.TrimPrefix(why, name+": error: "); why == "" {
			why = name + ": " + err.Error()
		}
		return nil, errors.New(why)
	case out.cut:
		return nil, fmt.Errorf("%s printed more than %d bytes", name, maxOutput)
	}
	return out.Bytes(), nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := maxOutput - l.Len()
	if len(p) > room {
		l.cut = true
		l.Buffer.Write(p[:max(0, room)])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
