//go:build linux

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watched are the calls that a sweep goes through: all that a program makes on
// files, folders, descriptors and other processes. What is left out (memory,
// clocks, signal masks, waiting) changes nothing that anybody else can see,
// and differs from run to run.
const watched = "openat,openat2,open,creat,close,read,pread64,write,pwrite64,writev,fsync,fdatasync,ftruncate," +
	"rename,renameat,renameat2,link,linkat,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat," +
	"chmod,fchmod,fchmodat,chown,fchown,fchownat,utimensat,flock,fstat,newfstatat,readlinkat,getdents64," +
	"faccessat,faccessat2,chdir,execve,clone,clone3,vfork,kill,tgkill,pidfd_open,pidfd_send_signal,exit_group"

// A call is one system call as strace writes it.
type call struct {
	pid  int // where several were traced
	name string
	args []string
	ret  string // what it returned, up to the first space
	nth  int    // which one of this name it is since the process began
	at   moment
}

// path is the file that the call is about, empty where it is about none: the
// named one, or the one behind its descriptor.
func (c call) path() string {
	for i, a := range c.args {
		if len(a) > 0 && a[0] == '"' {
			p := unquote(a)
			if !filepath.IsAbs(p) && i > 0 {
				p = filepath.Join(descriptorPath(c.args[i-1]), p)
			}
			return strings.TrimSuffix(p, "/.") // by which a folder is opened, and nothing else
		}
		if i == 0 && !strings.HasPrefix(c.name, "openat") && !strings.HasPrefix(a, "AT_FDCWD") && !hasPathArgument(c.name) {
			return descriptorPath(a)
		}
	}
	return ""
}

// destination is where a rename or link leads.
func (c call) destination() string {
	if !strings.HasPrefix(c.name, "rename") && !strings.HasPrefix(c.name, "link") {
		return ""
	}
	for i := len(c.args) - 1; i > 0; i-- {
		if a := c.args[i]; len(a) > 0 && a[0] == '"' {
			to := unquote(a)
			if dir := descriptorPath(c.args[i-1]); !filepath.IsAbs(to) && dir != "" {
				to = filepath.Join(dir, to)
			}
			return to
		}
	}
	return ""
}

func hasPathArgument(name string) bool {
	return strings.HasSuffix(name, "at") && name != "fstat" || strings.HasSuffix(name, "at2")
}

// descriptorPath is the path that strace -y writes behind a descriptor: 7</tmp/x>.
func descriptorPath(arg string) string {
	_, p, ok := strings.Cut(arg, "<")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(p, "(deleted)"), ">")
}

// fd is the number of the descriptor that the call is about, -1 for none.
func (c call) fd() int {
	if len(c.args) == 0 {
		return -1
	}
	return number(c.args[0])
}

func number(s string) int {
	s, _, _ = strings.Cut(s, "<")
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func (c call) failed() bool { return strings.HasPrefix(c.ret, "-1") }

// hasFlag reports whether one of the arguments names that flag.
func (c call) hasFlag(flag string) bool {
	for _, a := range c.args {
		if a[0] != '"' && slices.Contains(strings.Split(a, "|"), flag) {
			return true
		}
	}
	return false
}

// runtimes reports whether the call is the Go runtime's own, which makes it when it
// likes: to wake somebody up, to start a thread.
func (c call) runtimes() bool {
	return strings.HasPrefix(descriptorPath(firstArg(c.args)), "anon_inode") || c.name == "tgkill" || c.hasFlag("CLONE_THREAD") ||
		strings.Contains(firstArg(c.args), "CLONE_THREAD")
}

func firstArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// moment names a call in a way that holds for every run: which one it is of
// those that its program makes on this file.
type moment struct {
	name, path, to string
	nth            int
}

func (c call) String() string {
	return fmt.Sprintf("%s(%s) [%d]", c.name, c.path(), c.nth)
}

// parseTrace reads a log of strace. Lines that are no whole call are passed
// over, and so is what the Go runtime does when it likes, unless all are wanted.
func parseTrace(log []byte, all bool) []call {
	var calls []call
	open := map[string]string{} // what a process has begun and not yet returned from
	count := map[string]int{}
	places := map[moment]int{}
	for _, line := range strings.Split(string(log), "\n") {
		pid := ""
		if i := strings.IndexByte(line, ' '); i > 0 && strings.Trim(line[:i], "0123456789") == "" {
			pid, line = line[:i], strings.TrimLeft(line[i:], " ")
		}
		if begun, ok := strings.CutSuffix(line, " <unfinished ...>"); ok {
			open[pid] = begun
			continue
		}
		if strings.HasPrefix(line, "<... ") {
			_, rest, ok := strings.Cut(line, " resumed>")
			if !ok {
				continue
			}
			line = open[pid] + rest
		}
		c, ok := parseCall(line)
		if !ok {
			continue
		}
		c.pid, _ = strconv.Atoi(pid)
		count[pid+c.name]++
		c.nth = count[pid+c.name]
		if c.runtimes() && !all {
			continue
		}
		c.at = moment{name: pid + c.name, path: plain(c.path()), to: plain(c.destination())}
		places[c.at]++
		c.at.nth = places[c.at]
		calls = append(calls, c)
	}
	return calls
}

func parseCall(line string) (call, bool) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return call{}, false
	}
	c := call{name: name}
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(rest); i++ {
		switch b := rest[i]; {
		case quoted:
			if b == '\\' {
				i++
			} else if b == '"' {
				quoted = false
			}
		case b == '"':
			quoted = true
		case b == '{' || b == '[' || b == '(' || b == '<':
			depth++
		case b == '}' || b == ']' || b == '>':
			if b == '>' && i > 0 && (rest[i-1] == '-' || rest[i-1] == '=') {
				continue
			}
			depth--
		case b == ')' && depth > 0:
			depth--
		case (b == ',' || b == ')') && depth == 0:
			if arg := strings.TrimSpace(rest[start:i]); arg != "" {
				c.args = append(c.args, arg)
			}
			start = i + 1
			if b == ')' {
				_, ret, ok := strings.Cut(rest[i:], "= ")
				if !ok {
					return c, false
				}
				c.ret = ret
				return c, true
			}
		}
	}
	return c, false
}

// plain is a path without what is made by chance.
func plain(path string) string {
	if strings.HasPrefix(path, "pipe:") {
		return "pipe"
	}
	if strings.HasPrefix(path, "/proc/") {
		return "/proc"
	}
	return normal(path)
}

// unquote reads a string as strace writes it: C's escapes.
func unquote(s string) string {
	s = strings.TrimSuffix(s, "...")
	s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'v':
			b.WriteByte('\v')
		case 'f':
			b.WriteByte('\f')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := 0
			for range 3 {
				if i == len(s) || s[i] < '0' || s[i] > '7' {
					break
				}
				n, i = n*8+int(s[i]-'0'), i+1
			}
			i--
			b.WriteByte(byte(n))
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// result is what came of a command.
type result struct {
	code   int // -1 where a signal ended it
	killed bool
	signal syscall.Signal
	stdout string
	stderr string
	calls  []call // of a traced run
	hit    bool   // the injection took place
}

func (r result) String() string {
	end := fmt.Sprintf("exit code %d", r.code)
	if r.code < 0 {
		end = fmt.Sprintf("ended by %v", r.signal)
	}
	return fmt.Sprintf("%s\nstdout: %s\nstderr: %s", end, r.stdout, r.stderr)
}

// runs starts a command and waits for it, and for who traces it.
func runs(t *testing.T, cmd *exec.Cmd, stdin string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	noError(t, cmd.Start())
	hung := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGABRT) })
	err := cmd.Wait()
	hung.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{code: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.signal = ws.Signal()
		r.killed = r.signal == syscall.SIGKILL
	}
	return r
}

// strace are the arguments under which a command is traced: only its main
// thread, on which all of the program runs, and with the tracer out of the way,
// so that the command's parent is the client and no other. The tracer holds
// standard error, so who waits for that waits for the whole log.
func strace(log string, options ...string) []string {
	return append([]string{"strace", "-D", "-qq", "-y", "-o", log}, options...)
}

// readLog parses a log and reports whether anything was injected.
func readLog(t *testing.T, log string) ([]call, bool) {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return parseTrace(data, false), bytes.Contains(data, []byte("(INJECTED)"))
}

// programBegins is what lib/cli/thread_faults.go asks for.
const programBegins = "/gt/program/begins"

// begins is the index of the first call of the program itself.
func begins(calls []call) int {
	for i, c := range calls {
		if strings.HasPrefix(c.name, "faccessat") && c.path() == programBegins {
			return i + 1
		}
	}
	return -1
}
