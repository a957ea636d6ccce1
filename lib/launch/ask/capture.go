package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gt/lib/client/agent"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// NewSession has an agent begin a session, by the command line of
// agent.Client.Capture in an environment and in our working directory, which is dir, and
// returns the session's id, which stands at path in what it prints. What it says besides goes to stderr. It
// has wait to answer, and a person calls it off with ctrl-c.
func NewSession(wait time.Duration, dir string, args, environ []string, path string, stderr io.Writer) (session.ID, error) {
	program, err := process.LookPath(args[0], dir, environ)
	if err != nil {
		return "", err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Env = append(slices.Clip(environ), "PATH="+process.SearchPath(dir, environ)) // it may be a script
	cmd.Stderr = stderr
	// It may be a script, whose children must not outlive it here.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // one of its children may hold the pipe
	var out bytes.Buffer
	cmd.Stdout = &out
	name := filepath.Base(args[0])
	switch err := cmd.Run(); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s did not start a session within %v", name, wait)
	case err != nil:
		return "", fmt.Errorf("%s did not start a session: %w", name, err)
	}
	id, err := session.ParseID(agent.Client{SessionIDJSONPath: path}.SessionIDIn(out.Bytes()))
	if err != nil {
		return "", fmt.Errorf("%s did not start a session: %w", name, err)
	}
	return id, nil
}
