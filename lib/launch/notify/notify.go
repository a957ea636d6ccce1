// Package notify runs the person's command for an agent that waits.
package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

const commandTimeout = 10 * time.Second

// Run runs a command with the arguments NAME STATUS REASON after its own, and a line on its
// standard input. Its children end with it, or at commandTimeout.
func Run(env *cli.Env, command []string, name, status, reason, line string) error {
	return run(env, commandTimeout, command, name, status, reason, line)
}

// run is Run with another time limit. The command runs in the home folder, or in / without one.
func run(env *cli.Env, patience time.Duration, command []string, name, status, reason, line string) error {
	program, err := process.LookPath(command[0], env.Dir, env.ChildEnviron())
	if err != nil {
		return err
	}
	dir := env.Getenv("HOME")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = "/"
	}
	p := bounded.Program{
		Path: program, Args: append(command[1:len(command):len(command)], term.Clean(name), status, reason),
		Dir: dir, Env: env.ChildEnviron(), Input: []byte(term.Clean(env.Redact(line)) + "\n"), Within: patience, Linger: time.Second,
	}
	_, err = p.Run(context.Background())
	var failed *bounded.Failed
	switch {
	case errors.Is(err, bounded.ErrLate):
		return fmt.Errorf("'%s' was stopped after %v", program, patience)
	case errors.As(err, &failed):
		said := strings.TrimSpace(term.Clean(failed.Stderr))
		return fmt.Errorf("'%s' failed: %w: %s", program, failed.Err, strings.ToValidUTF8(said[:min(len(said), 200)], ""))
	case err != nil:
		return err
	}
	return nil
}
