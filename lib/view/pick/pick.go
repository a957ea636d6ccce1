// Package pick has a person take one of many sessions, in gt-pick: a program of
// its own, for its finder is larger than all the rest of gt.
package pick

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// Key is a key that takes a session, and what for.
type Key struct{ Key, Action string }

// One shows sessions while they come, and returns the one that was taken and for
// which action. None is cli.Silent: the person knows.
func One(env *cli.Env, keys []Key, sessions iter.Seq[*catalog.Session]) (action string, id session.ID, err error) {
	path, err := process.LookPath(process.SiblingBinary("gt-pick"), env.Dir, env.Environ)
	if err != nil {
		return "", "", cli.WithHint(err, "it comes with gt: install.sh puts it beside %s", env.Name)
	}
	var args []string
	for _, k := range keys {
		args = append(args, "--action", k.Key+"="+k.Action)
	}
	var said bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = env.Dir, env.Environ, &said, env.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", "", err
	}
	if err := cmd.Start(); err != nil {
		return "", "", fmt.Errorf("cannot run '%s': %w", path, err)
	}
	for each := range sessions {
		line, err := term.JSON(each)
		if err == nil {
			_, err = in.Write(line)
		}
		if err != nil {
			break // who has taken one reads no further
		}
	}
	in.Close()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case errors.As(err, &exit) && exit.ExitCode() == cli.No:
		return "", "", cli.Silent
	case err != nil:
		return "", "", fmt.Errorf("gt-pick failed: %w", err)
	}
	action, name, _ := strings.Cut(strings.TrimSuffix(said.String(), "\n"), "\t")
	id, err = session.ParseID(name)
	return action, id, err
}
