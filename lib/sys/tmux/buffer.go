package tmux

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Buffer is a paste buffer of the server. It carries private data to the program of a pane,
// without a file or a command line.
type Buffer string

const bufferPrefix = "gt-"

// NewBuffer returns an unused name.
func NewBuffer() Buffer { return Buffer(bufferPrefix + rand.Text()) }

// ParseBuffer returns an error for a name that NewBuffer cannot have made.
func ParseBuffer(name string) (Buffer, error) {
	random, ok := strings.CutPrefix(name, bufferPrefix)
	if !ok || len(random) != len(rand.Text()) || strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", fmt.Errorf("'%s' is not a buffer that gt loads", name)
	}
	return Buffer(name), nil
}

// RunShell makes the server run a shell command beside its panes. The command takes data from
// the buffer; its output is discarded.
func (s Server) RunShell(b Buffer, data []byte, command string) error {
	_, err := s.runWith(bytes.NewReader(data), callWait, "load-buffer", "-b", string(b), "-", ";",
		"run-shell", "-b", strings.ReplaceAll(command, "#", "##")+" >/dev/null 2>&1") // tmux expands it as a format
	if err != nil {
		_ = s.DropBuffer(b) // it may not have been loaded
	}
	return err
}

// TakeBuffer returns the buffer's content and deletes it. It waits for a busy server, because the content
// is nowhere else.
func (s Server) TakeBuffer(b Buffer) ([]byte, error) {
	out, err := s.runFor(bufferLifetime, "save-buffer", "-b", string(b), "-", ";", "delete-buffer", "-b", string(b))
	return []byte(out), err
}

func (s Server) DropBuffer(b Buffer) error { return s.runSilent("delete-buffer", "-b", string(b)) }

// bufferLifetime is how long a buffer waits for its program, which takes it as soon as it starts.
const bufferLifetime = time.Minute

// SweepBuffers deletes the buffers that nobody took, because a process was killed. They
// hold an environment with its keys.
func (s Server) SweepBuffers(now time.Time) error {
	out, err := s.run("list-buffers", "-F", "#{buffer_created} #{buffer_name}")
	if err != nil {
		return err
	}
	var args []string
	for line := range strings.Lines(out) {
		created, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		b, err := ParseBuffer(name)
		at, aerr := strconv.ParseInt(created, 10, 64)
		if err != nil || aerr != nil || now.Sub(time.Unix(at, 0)).Abs() <= bufferLifetime {
			continue
		}
		if args != nil {
			args = append(args, ";")
		}
		args = append(args, "delete-buffer", "-b", string(b))
	}
	if args == nil {
		return nil
	}
	return s.runSilent(args...)
}
