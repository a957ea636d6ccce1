package testenv

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// maxInput is what any pipe holds, in bytes.
const maxInput = 16 << 10

// A Job is what a stand-in for an agent's client runs as its child, as a hook or a command.
type Job struct {
	Args, Env []string
	Dir       string
	Stdin     string
}

// Run runs it. A program that cannot be started has the exit code 98.
func (j Job) Run() Result {
	failed := func(err error) Result {
		return Result{Line: strings.Join(j.Args, " "), Code: 98, Errs: err.Error() + "\n"}
	}
	cmd := exec.Command(j.Args[0], j.Args[1:]...)
	cmd.Dir, cmd.Env = j.Dir, j.Env
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	if len(j.Stdin) > maxInput {
		cmd.Stdin = strings.NewReader(j.Stdin)
	} else if j.Stdin != "" {
		input, err := Input(j.Stdin)
		if err != nil {
			return failed(err)
		}
		defer input.Close()
		cmd.Stdin = input
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		return failed(err)
	}
	return Result{strings.Join(j.Args, " "), cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// Input returns a pipe that has a hook's input to its end before the hook starts. One that
// is written meanwhile can be late on a busy machine, of which the hook would warn.
func Input(text string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if len(text) > maxInput {
		r.Close()
		return nil, errors.New("the input is too long for a pipe")
	}
	_, err = w.WriteString(text)
	return r, err
}
