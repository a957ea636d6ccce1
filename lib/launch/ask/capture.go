package ask

import (
	"bytes"
	"context"
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

// captureWait bounds the answer to a prompt of one character.
const captureWait = 2 * time.Minute

// NewSession has an agent begin a session, by the command line of
// agent.Client.Capture in an environment and a folder, and returns the session's
// id, which stands at path in what it prints. What it says besides goes to stderr.
// A person calls it off with ctrl-c.
func NewSession(dir string, args, environ []string, path string, stderr io.Writer) (session.ID, error) {
	program, err := process.LookPath(args[0], dir, environ)
	if err != nil {
		return "", err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, captureWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Env = append(slices.Clip(environ), "PATH="+process.SearchPath(dir, environ)) // it may be a script
	cmd.Dir, cmd.Stderr = dir, stderr
	cmd.WaitDelay = time.Second // one of its children may hold the pipe
	var out bytes.Buffer
	cmd.Stdout = &out
	name := filepath.Base(args[0])
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s did not start a session: %w", name, err)
	}
	id, err := session.ParseID(agent.Client{SessionIDJSONPath: path}.SessionIDIn(out.Bytes()))
	if err != nil {
		return "", fmt.Errorf("%s did not start a session: %w", name, err)
	}
	return id, nil
}
