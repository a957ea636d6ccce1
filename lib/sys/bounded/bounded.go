// Package bounded runs a program with a time limit and a bounded output. The program's
// children end with it, or when its time is over.
package bounded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

type Program struct {
	Path  string // absolute
	Args  []string
	Dir   string
	Env   []string
	Input []byte
	// Stdin is read instead of Input, if it is set.
	Stdin io.Reader
	// Keep is open in the program, as its descriptor 3, if it is set: by it the program can be
	// found.
	Keep *os.File
	// Show gets standard output and error as they come; then neither is kept.
	Show io.Writer
	// Within is the time limit. Most bounds the output, in bytes; with 0 it is not read.
	Within time.Duration
	Most   int
	// Linger is how long processes outside the program's process group may hold its output
	// open after its end; 0 means 100 ms.
	Linger time.Duration
	// AsksFirst has a program that is late end by SIGTERM, and by SIGKILL only after Linger.
	AsksFirst bool
	// NoTerminal keeps the program from the terminal, which would stop it once it reads there.
	NoTerminal bool
}

type Result struct {
	Out    []byte
	Stderr string // the beginning
	Code   int    // exit status; -1 for a signal
}

var (
	ErrLate    = errors.New("it took too long")
	ErrTooMuch = errors.New("it printed too much")
)

// Failed reports a program that did not exit with 0.
type Failed struct {
	Result
	Err error
}

func (f *Failed) Error() string {
	if line, _, _ := strings.Cut(strings.TrimSpace(f.Stderr), "\n"); line != "" {
		return fmt.Sprintf("%v: %s", f.Err, line)
	}
	return f.Err.Error()
}

func (f *Failed) Unwrap() error { return f.Err }

// maxStderr bounds Stderr, in bytes.
const maxStderr = 4 << 10

// Run runs the program and returns what it printed. The error is a Failed for an exit status other
// than 0, wraps ErrLate or ErrTooMuch, or is ctx's; the result then has what was printed until its
// end. It may contain secrets: neither result nor error is redacted.
func (p Program) Run(ctx context.Context) (Result, error) {
	within, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	out, errOutput := Front{Most: p.Most}, Front{Most: maxStderr}
	cmd := exec.CommandContext(within, p.Path, p.Args...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean this process's
	}
	cmd.Stdin = bytes.NewReader(p.Input)
	if p.Stdin != nil {
		cmd.Stdin = p.Stdin
	}
	if p.Keep != nil {
		cmd.ExtraFiles = []*os.File{p.Keep}
	}
	var outputs []*outputPipe
	if p.Show != nil {
		cmd.Stdout, cmd.Stderr = p.Show, p.Show
	} else {
		errs, err := newOutput(&errOutput)
		if err != nil {
			return Result{}, fmt.Errorf("cannot run '%s': %w", p.Path, err)
		}
		outputs, cmd.Stderr = append(outputs, errs), errs.write
		if p.Most > 0 {
			from, err := newOutput(&out)
			if err != nil {
				errs.close(0)
				return Result{}, fmt.Errorf("cannot run '%s': %w", p.Path, err)
			}
			outputs, cmd.Stdout = append(outputs, from), from.write
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.NoTerminal, Setsid: p.NoTerminal}
	end := syscall.SIGKILL
	if p.AsksFirst {
		end = syscall.SIGTERM
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, end) }
	cmd.WaitDelay = cmp.Or(p.Linger, 100*time.Millisecond)
	err := cmd.Start()
	for _, o := range outputs {
		o.write.Close()
	}
	if err == nil {
		err = cmd.Wait()
	}
	for end, i := time.Now().Add(cmd.WaitDelay), 0; i < len(outputs); i++ { // both within WaitDelay
		outputs[i].close(time.Until(end))
	}
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its remaining children
	}
	r := Result{Out: out.Data, Stderr: string(errOutput.Data)}
	if cmd.ProcessState != nil {
		r.Code = cmd.ProcessState.ExitCode()
	}
	switch {
	case cmd.ProcessState == nil:
		return r, fmt.Errorf("cannot run '%s': %w", p.Path, err)
	case ctx.Err() != nil:
		return r, ctx.Err()
	case within.Err() != nil:
		return r, fmt.Errorf("%w (over %v)", ErrLate, p.Within)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return r, &Failed{r, err}
	case out.Truncated:
		return r, fmt.Errorf("%w (over %d bytes)", ErrTooMuch, p.Most)
	}
	return r, nil
}

// outputPipe is a pipe whose reader gets all that the program wrote. Package exec gives up after
// WaitDelay and drops the rest, also if this process had no time to read it.
type outputPipe struct {
	to          io.Writer
	read, write *os.File
	done        chan struct{}
}

// newOutput returns a pipe whose content is copied to a writer; done is closed at its end.
func newOutput(to io.Writer) (*outputPipe, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &outputPipe{to, read, write, make(chan struct{})}
	go func() {
		_, _ = io.Copy(to, read)
		close(o.done)
	}()
	return o, nil
}

// close waits until nobody can write any more, or for so long. Then it reads what is in the pipe.
func (o *outputPipe) close(wait time.Duration) {
	o.write.Close()
	defer o.read.Close()
	select {
	case <-o.done:
		return
	case <-time.After(wait):
	}
	_ = o.read.SetReadDeadline(time.Now())
	<-o.done
	_ = o.read.SetReadDeadline(time.Time{})
	// At the deadline the copy stopped, whatever the pipe had. One direct read takes all of that.
	if in, err := o.read.SyscallConn(); err == nil {
		_ = in.Read(func(fd uintptr) bool {
			buf := make([]byte, pipeSize)
			var n int
			err := atomicfile.RetryInterrupted(func() (err error) {
				n, err = syscall.Read(int(fd), buf)
				return err
			})
			if err == nil {
				_, _ = o.to.Write(buf[:n])
			}
			return true
		})
	}
}

// pipeSize is how much a pipe holds.
const pipeSize = 64 << 10

// Front keeps the beginning of what is written to it.
type Front struct {
	Data      []byte
	Most      int  // of Data, in bytes
	Truncated bool // more was written
}

func (f *Front) Write(p []byte) (int, error) {
	keep := min(len(p), f.Most-len(f.Data))
	f.Data = append(f.Data, p[:keep]...)
	f.Truncated = f.Truncated || keep < len(p)
	return len(p), nil
}
