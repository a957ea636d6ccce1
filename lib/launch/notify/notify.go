// Package notify runs the command of the person's that is told when an agent waits.
package notify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// patience is how long the command may take.
const patience = 10 * time.Second

// Run runs a command with a name, the status and the reason behind its own arguments, and
// a line on its standard input. What it starts ends with it, or when its time is over.
func Run(env *cli.Env, command []string, name, reason, line string) error {
	return run(env, patience, command, name, reason, line)
}

func run(env *cli.Env, patience time.Duration, command []string, name, reason, line string) error {
	program, err := process.LookPath(command[0], env.Dir, env.ChildEnviron())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := append(command[1:len(command):len(command)], term.Clean(name), "waiting", reason)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env.ChildEnviron()
	cmd.Dir = env.Getenv("HOME")
	if info, err := os.Stat(cmd.Dir); err != nil || !info.IsDir() {
		cmd.Dir = "/"
	}
	cmd.Stdin = strings.NewReader(term.Clean(env.Redact(line)) + "\n")
	var said front
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("'%s' was stopped after %v", program, patience)
	case err != nil:
		return fmt.Errorf("'%s' failed: %w: %s", program, err, strings.TrimSpace(term.Clean(string(said))))
	}
	return nil
}

// front is the front of what is written to it.
type front []byte

func (f *front) Write(p []byte) (int, error) {
	*f = append(*f, p[:min(len(p), 200-min(len(*f), 200))]...)
	return len(p), nil
}
