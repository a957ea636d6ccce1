package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// command is a program as a client starts it: directly, with its input in a
// pipe.
type command struct {
	path  string
	args  []string
	dir   string
	env   []string
	stdin string
}

type result struct {
	stdout string
	wall   time.Duration // from before it was started until it was gone
	cpu    time.Duration // of the processor, for itself and what it started
}

// run runs the command. It is an error when it does not exit with 0, or says
// anything on standard error.
func (c command) run() (result, error) {
	pipes := make([]*os.File, 0, 6)
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return result{}, err
		}
		defer r.Close()
		defer w.Close()
		pipes = append(pipes, r, w)
	}
	in, input, output, out, errors, errs := pipes[0], pipes[1], pipes[2], pipes[3], pipes[4], pipes[5]

	began := time.Now()
	p, err := os.StartProcess(c.path, append([]string{c.path}, c.args...), &os.ProcAttr{
		Dir: c.dir, Env: c.env, Files: []*os.File{in, out, errs},
	})
	if err != nil {
		return result{}, err
	}
	for _, f := range []*os.File{in, out, errs} {
		f.Close()
	}
	_, _ = io.WriteString(input, c.stdin) // the floor may read none
	input.Close()
	stdout, err := io.ReadAll(output)
	if err != nil {
		return result{}, err
	}
	state, err := p.Wait()
	r := result{stdout: string(stdout), wall: time.Since(began)}
	if err != nil {
		return r, err
	}
	r.cpu = state.UserTime() + state.SystemTime()
	said, err := io.ReadAll(errors)
	switch {
	case err != nil:
		return r, err
	case !state.Success():
		return r, fmt.Errorf("%s: %v: %s", filepath.Base(c.path), state, said)
	case len(said) > 0:
		return r, fmt.Errorf("%s complained: %s", filepath.Base(c.path), said)
	}
	return r, nil
}

// floor is the floor in the place of c: with the same input and surroundings. It reads
// the input where that is the most of what a hook does.
func (w *world) floor(c command, reads bool) command {
	c.path, c.args = filepath.Join(w.bin, "floor"), nil
	if reads {
		c.args = []string{"read"}
	}
	return c
}

// runTraced runs the command once below a program that looks at what it does.
func (c command) runTraced(program []string) error {
	p := exec.Command(program[0], append(append(program[1:], c.path), c.args...)...)
	p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr = c.dir, c.env, strings.NewReader(c.stdin), io.Discard, os.Stdout
	return p.Run()
}

// gitStatus is the git status that a hook may run, as it runs it.
func (w *world) gitStatus(c command) command {
	c.path, c.stdin = w.git, ""
	c.args = []string{"--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--renames"}
	return c
}

// askTmux is the question that a hook asks tmux.
func (w *world) askTmux(c command) command {
	c.path, c.stdin = w.tmux, ""
	c.args = []string{"-u", "-S", w.socket, "display-message", "-p", "-t", "%0", "#{session_name}"}
	return c
}

// peak runs the command and returns how much memory it had at most, in KiB. A
// program that it started counts where it had more.
func (w *world) peak(c command) (float64, error) {
	file := filepath.Join(w.dir, "peak")
	c.args = append([]string{file, c.path}, c.args...)
	c.path = filepath.Join(w.bin, "peak")
	if _, err := c.run(); err != nil {
		return 0, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
}
