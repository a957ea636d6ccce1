// Package sandbox runs an agent once in a world that is made for it and gone
// afterwards: a folder to work in, a home and a town of gt's, and a network in
// which nobody can be reached, so that a run costs nothing and is told nowhere.
package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/sys/process"
)

// nobody is an address at which nobody listens: the port is the kernel's to give
// to root alone, and for a service that is long gone.
const nobody = "http://127.0.0.1:1"

const (
	poll  = 20 * time.Millisecond
	grace = 3 * time.Second // for an agent to end by itself, or when it is told to
)

// World is where an agent is run.
type World struct {
	Dir     string // what there is of it
	Project string // the folder that the agent works in
	State   string // XDG_STATE_HOME: what gt keeps of it is not the person's
}

// New makes a world.
func New() (w World, err error) {
	if w.Dir, err = os.MkdirTemp("", "gt-prove-"); err != nil {
		return w, err
	}
	if dir, err := filepath.EvalSymlinks(w.Dir); err == nil {
		w.Dir = dir
	}
	w.Project, w.State = filepath.Join(w.Dir, "project"), filepath.Join(w.Dir, "state")
	for _, dir := range []string{w.Project, w.State} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			w.End()
			return w, err
		}
	}
	return w, nil
}

// End removes the world.
func (w World) End() { os.RemoveAll(w.Dir) }

// Environ is the environment of a run: what of a person's is no run's own, the
// network of the world, and what more is asked for, in which {scratch} is a folder
// of the world.
func (w World) Environ(environ, more []string) []string {
	var env []string
	for _, kv := range environ {
		switch name, _, _ := strings.Cut(kv, "="); {
		case strings.HasPrefix(name, "GT_"), name == "TMUX", name == "TMUX_PANE", strings.HasSuffix(strings.ToUpper(name), "_PROXY"):
		default:
			env = append(env, kv)
		}
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+nobody, strings.ToLower(name)+"="+nobody)
	}
	env = append(env, "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "XDG_STATE_HOME="+w.State)
	for _, kv := range more {
		env = append(env, strings.ReplaceAll(kv, "{scratch}", filepath.Join(w.Dir, "scratch")))
	}
	return env
}

// Run runs a command until it ends, or ctx does; once enough has said so it has
// three seconds more. What it started is ended with it. It returns the end of what
// the command printed. The command's failure is none of ours: nobody answers it.
func Run(ctx context.Context, dir string, environ, command []string, enough func() bool) (said string, err error) {
	path, err := process.LookPath(command[0], dir, environ)
	if err != nil {
		return "", cli.Fail(cli.No, err)
	}
	var out tail
	cmd := exec.Command(path, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Dir, cmd.Env = dir, append(environ, "PWD="+dir, "PATH="+process.SearchPath(dir, environ)) // it may be a script
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return "", err
	}
	group := -cmd.Process.Pid
	ended := cli.Go(func() { _ = cmd.Wait() })
	defer func() {
		syscall.Kill(group, syscall.SIGKILL) // what it left behind
		ended.Wait()
		said = out.String()
	}()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last time.Time // until when it may end by itself, once it was enough
	for ctx.Err() == nil && (last.IsZero() || time.Now().Before(last)) {
		select {
		case <-ended.Done():
			return "", nil
		case <-ctx.Done():
		case <-tick.C:
			if enough() && last.IsZero() {
				last = time.Now().Add(grace)
			}
		}
	}
	syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-ended.Done():
	case <-time.After(grace):
	}
	return "", nil
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }
