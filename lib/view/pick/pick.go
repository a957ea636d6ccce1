// Package pick lets a person choose a session with gt-pick, which is a program of its own
// because its finder is larger than the rest of gt.
package pick

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// Key is a key that chooses a session, and the action that it stands for.
type Key struct{ Key, Action string }

// PickSession shows sessions as they arrive, and returns the chosen one and its action. If the
// person chooses none it returns cli.Silent.
func PickSession(env *cli.Env, keys []Key, sessions iter.Seq[*catalog.Session]) (action string, id session.ID, err error) {
	path, err := process.LookPath(process.SiblingBinary("gt-pick"), env.Dir, env.Environ)
	if err != nil {
		return "", "", cli.WithHint(err, "it comes with gt: ./install.sh --only all puts it beside %s", env.Name)
	}
	var args []string
	for _, k := range keys {
		args = append(args, "--action", k.Key+"="+k.Action)
	}
	var said bytes.Buffer
	// A signal for this process is one for gt-pick, which puts the terminal back.
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	cmd := exec.CommandContext(ended, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = env.Dir, env.Environ, &said, env.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", "", err
	}
	if err := cmd.Start(); err != nil {
		return "", "", fmt.Errorf("cannot run '%s': %w", path, err)
	}
	for each := range sessions {
		if err := term.WriteJSON(in, each); err != nil || ended.Err() != nil {
			break // gt-pick stops reading after a choice
		}
	}
	in.Close()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case ended.Err() != nil, errors.As(err, &exit) && exit.ExitCode() == cli.AnswerNo:
		return "", "", cli.Silent
	case err != nil:
		return "", "", fmt.Errorf("gt-pick failed: %w", err)
	}
	action, name, _ := strings.Cut(strings.TrimSuffix(said.String(), "\n"), "\t")
	id, err = session.ParseID(name)
	return action, id, err
}
