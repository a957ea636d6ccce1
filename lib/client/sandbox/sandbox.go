// Package sandbox runs an agent once in temporary folders: a project, a home and a town,
// without a network, so that a run costs nothing and leaves no trace.
package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/names"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// unusedAddress is an address without a server: only root may listen on port 1, whose service is
// long obsolete.
const unusedAddress = "http://127.0.0.1:1"

const (
	pollInterval = 20 * time.Millisecond
	exitGrace    = 3 * time.Second // for an agent to exit by itself, or after a signal
)

// Sandbox is the temporary folders in which a client runs once.
type Sandbox struct {
	Dir     string // holds the others
	Project string // the agent's working folder
	State   string // XDG_STATE_HOME, so that gt's state is not the person's
}

// New creates the folders.
func New() (s Sandbox, err error) {
	if s.Dir, err = os.MkdirTemp("", "gt-prove-"); err != nil {
		return s, err
	}
	s.Dir = atomicfile.ResolveLinks(s.Dir)
	s.Project, s.State = filepath.Join(s.Dir, "project"), filepath.Join(s.Dir, "state")
	for _, dir := range []string{s.Project, s.State} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			s.Remove()
			return s, err
		}
	}
	return s, nil
}

// Remove removes the folders.
func (w Sandbox) Remove() { os.RemoveAll(w.Dir) }

// Environ returns the environment of a run: the person's without the variables of gt,
// tmux and proxies, an address without a server as proxy, and more, in which {scratch} is a
// folder of the sandbox.
func (w Sandbox) Environ(environ, more []string) []string {
	var env []string
	for _, kv := range environ {
		switch name, _, _ := strings.Cut(kv, "="); {
		case strings.HasPrefix(name, "GT_"), name == "TMUX", name == "TMUX_PANE", strings.HasSuffix(strings.ToUpper(name), "_PROXY"):
		default:
			env = append(env, kv)
		}
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+unusedAddress, strings.ToLower(name)+"="+unusedAddress)
	}
	env = append(env, "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "XDG_STATE_HOME="+w.State)
	for _, kv := range more {
		env = append(env, strings.ReplaceAll(kv, "{scratch}", filepath.Join(w.Dir, "scratch")))
	}
	return env
}

// Run runs a command until it exits or ctx ends. After enough returns true, the command
// has three more seconds. Run kills the command's process group and returns the end of
// its output. It is not an error if the command fails, because it gets no answer from a
// model.
func Run(ctx context.Context, dir string, environ, command []string, enough func() bool) (said string, err error) {
	path, err := process.LookPath(command[0], dir, environ)
	if err != nil {
		return "", cli.Fail(cli.AnswerNo, err)
	}
	var out outputTail
	cmd := exec.Command(path, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Dir, cmd.Env = dir, append(environ, "PWD="+dir, "PATH="+process.SearchPath(dir, environ)) // it may be a script
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, on which it could ask something
	cmd.WaitDelay = exitGrace
	if err := cmd.Start(); err != nil {
		return "", err
	}
	group := -cmd.Process.Pid
	ended := cli.Go(func() { _ = cmd.Wait() })
	defer func() {
		syscall.Kill(group, syscall.SIGKILL) // processes that it left
		ended.Wait()
		said = out.String()
	}()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last time.Time // the deadline, once enough returned true
	for ctx.Err() == nil && (last.IsZero() || time.Now().Before(last)) {
		select {
		case <-ended.Done():
			return "", nil
		case <-ctx.Done():
		case <-tick.C:
			if enough() && last.IsZero() {
				last = time.Now().Add(exitGrace)
			}
		}
	}
	syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-ended.Done():
	case <-time.After(exitGrace):
	}
	return "", nil
}

type outputTail struct{ text []byte }

const tailSize = 4 << 10

func (t *outputTail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(p), nil
}

func (t *outputTail) String() string { return string(t.text) }

// RefuseBelowAgent returns an error, which says why, if an agent runs this command: trust is the
// person's decision. An agent outside a sandbox could still write the file itself.
func RefuseBelowAgent(env *cli.Env, why string) error {
	refusal := cli.Fail(cli.AnswerNo, errors.New(why), "run this in a terminal of your own")
	for _, name := range names.SessionVars() { // agents can also be nested
		if env.Getenv(name) != "" { // mutant never: . TestScripts/town_trust
			return refusal
		}
	}
	known := agent.Builtin()
	for _, pid := range process.Ancestors(os.Getpid()) {
		if known.OfProcess(pid).Name != "" {
			return refusal
		}
	}
	return nil
}
