package argv

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Trace is a watch that misses nothing: strace notes every program that the
// traced command and its descendants start, however short it lives.
type Trace struct{ file string }

// Tracing reports whether strace is here and may trace.
func Tracing() bool {
	return exec.Command("strace", "-qq", "-f", "--seccomp-bpf", "-e", "trace=execve", "-o", os.DevNull, "true").Run() == nil
}

// NewTrace returns a trace that writes to a file in dir, and the words to put
// before the command that is to be traced.
func NewTrace(dir string) (t Trace, prefix []string) {
	t = Trace{filepath.Join(dir, "strace")}
	return t, []string{"strace", "-qq", "-f", "--seccomp-bpf", "-e", "trace=execve", "-e", "signal=none",
		"-s", "1000000", "-e", "abbrev=none", "-o", t.file}
}

// Programs returns the programs started so far. Of a program that was looked
// for along PATH each try counts.
func (t Trace) Programs() ([]Process, error) {
	f, err := os.Open(t.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []Process
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return found, nil // an unfinished line is one that just begins
		}
		// 4711  execve("/usr/bin/git", ["git", "status"], ["HOME=/home/max"]) = 0
		number, call, _ := strings.Cut(line, " ")
		_, call, ok := strings.Cut(call, "execve(")
		pid, err := strconv.Atoi(number)
		if _, args, more := strings.Cut(call, ", ["); ok && more && err == nil {
			found = append(found, Process{PID: pid, Args: words(args)})
		}
	}
}

// words reads strace's strings up to the bracket that closes them.
func words(s string) []string {
	var all []string
	for {
		switch {
		case strings.HasPrefix(s, `, `):
			s = s[2:]
		case strings.HasPrefix(s, `"`):
			quoted, err := strconv.QuotedPrefix(s)
			if err != nil {
				return append(all, s) // C knows escapes that Go does not: the rest, as it stands
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				word = quoted
			}
			all, s = append(all, word), s[len(quoted):]
		default:
			return all
		}
	}
}
