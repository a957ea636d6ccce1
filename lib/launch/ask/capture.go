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

// NewSession has a client create a session with the command line of agent.Client.Capture,
// and returns its id, which is at path in the client's JSON output. dir is the current
// folder. The client's standard error goes to stderr. The client has wait to answer; SIGINT
// ends it earlier.
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
	// A script's children have to end with it.
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
