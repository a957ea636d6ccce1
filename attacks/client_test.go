package attacks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gt/internal/testenv"
)

// standIns are what this test's own program can be besides the tests, by its first
// argument: a client of hooks, and what an attacker leaves running.
var standIns map[string]func(args []string) int

func init() {
	standIns = map[string]func([]string) int{
		"client":   func([]string) int { return serveJobs(os.Stdin, os.Stdout) },
		"relaunch": relaunch,
		"listen":   listen,
		"hold":     hold,
		"exchange": exchange,
	}
}

// relaunch is a client that reads its project's .env and runs itself anew with that,
// as Qwen Code does.
func relaunch([]string) int {
	if os.Getenv("RELAUNCHED") != "" {
		return serveJobs(os.Stdin, os.Stdout)
	}
	more, err := os.ReadFile(".env")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(append(os.Environ(), "RELAUNCHED=1"), strings.Fields(string(more))...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 1
	}
	return 0
}

// serveJobs runs what it is told to as a client runs its hooks, as children.
func serveJobs(in io.Reader, out io.Writer) int {
	jobs, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j testenv.Job
		if err := jobs.Decode(&j); err != nil {
			return 0
		}
		if err := results.Encode(j.Run()); err != nil {
			return 1
		}
	}
}

// listen takes connections at a socket, notes each in a file, and answers with what
// a tmux server answers that wants its client to run a command (MSG_SHELL).
func listen(args []string) int {
	l, err := net.Listen("unix", args[0])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if err := os.WriteFile(args[1], []byte("connected\n"), 0o666); err != nil {
				fmt.Println(err)
			}
			// The type, the length, the protocol's version and the pid of an imsg, and the text.
			shell := "touch " + args[1] + ".ran\x00"
			head := []byte{208, 0, 0, 0, byte(16 + len(shell)), 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0}
			c.Write(append(head, shell...))
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// hold takes the lock of every file below folders that it can open in any way, and
// keeps what it got until its input ends.
func hold(args []string) int {
	var got []string
	for _, dir := range args {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			for _, how := range []int{syscall.O_RDONLY, syscall.O_WRONLY, syscall.O_RDWR} {
				fd, err := syscall.Open(path, how|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
				if err != nil {
					continue
				}
				if syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
					got = append(got, path)
					break
				}
				syscall.Close(fd)
			}
			return nil
		})
	}
	said, _ := json.Marshal(got)
	fmt.Printf("ready %s\n", said)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// exchange puts something else in the place of each of some paths and takes it away
// again, as often as it can, until its input ends: a link to the folder that is its
// first argument, or a pipe where that is empty. It says at the end how often it did.
func exchange(args []string) int {
	bait := func(path string) error { return os.Symlink(args[0], path) }
	if args[0] == "" {
		bait = func(path string) error { return syscall.Mkfifo(path, 0o600) }
	}
	runtime.GOMAXPROCS(1) // the other processor is for who is attacked
	var ended atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	fmt.Println("ready")
	n := 0
	for ; !ended.Load(); n++ {
		path := args[1+n%(len(args)-1)]
		if os.Rename(path, path+".own") != nil {
			continue
		}
		if bait(path) == nil {
			if n%20 == 0 {
				time.Sleep(time.Millisecond)
			}
			os.Remove(path)
		}
		if os.Rename(path+".own", path) != nil { // somebody made a new one
			os.RemoveAll(path)
			os.Rename(path+".own", path)
		}
	}
	fmt.Println(n)
	return 0
}

// A companion is a process that runs beside the tests, until they end.
type companion struct {
	w     *world
	said  *bufio.Reader
	input io.WriteCloser
	ready string // what it said after "ready"
	stop  func()
}

// startCompanion starts a program and waits for the line "ready" where it says one.
func (w *world) startCompanion(dir string, waits bool, args ...string) *companion {
	w.Helper()
	cmd := w.Command(dir, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		in.Close()
		late := time.AfterFunc(testenv.Patience, func() { cmd.Process.Kill() })
		defer late.Stop()
		cmd.Wait()
	})
	w.Cleanup(stop)
	c := &companion{w, bufio.NewReader(out), in, "", stop}
	if waits {
		line, err := c.said.ReadString('\n')
		rest, ok := strings.CutPrefix(line, "ready")
		if !ok {
			w.Fatalf("%s: %q %v %s", strings.Join(args, " "), line, err, errs.String())
		}
		c.ready = strings.TrimSpace(rest)
	}
	return c
}

// testProgram is the program of these tests, where every user can run it.
func testProgram() string { return filepath.Join(filepath.Dir(bin), "stand-in") }

// named is the same program by the name of another.
func (w *world) named(name string) string {
	w.Helper()
	data, err := os.ReadFile(testProgram())
	if err != nil {
		w.Fatal(err)
	}
	w.Write("named/"+name, "")
	if err := testenv.WriteProgram(w.Path("named/"+name), data); err != nil {
		w.Fatal(err)
	}
	return w.Path("named/" + name)
}

// client starts a stand-in for an agent's client, in the world's environment.
func (w *world) client(dir string) *companion {
	w.Helper()
	return w.startCompanion(dir, false, testProgram(), "client")
}

// run has the client run a program in an environment that may be another than
// its own, as a client does that reads variables from a project's settings.
func (c *companion) run(dir string, env []string, stdin, name string, args ...string) result {
	c.w.Helper()
	path := name
	if strings.HasPrefix(name, "gt-") {
		path = filepath.Join(bin, name)
	}
	j := testenv.Job{Args: append([]string{path}, args...), Env: append(append([]string{}, c.w.Env...), env...), Dir: c.w.Path(dir), Stdin: stdin}
	done := make(chan error, 1)
	var r result
	go func() {
		err := json.NewEncoder(c.input).Encode(j)
		done <- errors.Join(err, json.NewDecoder(&oneLine{c.said}).Decode(&r))
	}()
	select {
	case err := <-done:
		if err != nil {
			c.w.Fatalf("%s: %v", name, err)
		}
	case <-time.After(testenv.Patience):
		c.w.Fatalf("it hangs: %s %s", name, strings.Join(args, " "))
	}
	r.Line = strings.Join(append([]string{name}, args...), " ")
	return r
}

// hook is world.hook, run by the client.
func (c *companion) hook(dir string, env []string, id, event, more, name string, args ...string) result {
	c.w.Helper()
	return c.run(dir, env, c.w.input(dir, id, event, more), name, args...)
}

// start has a session begin, and returns what it is told.
func (c *companion) start(dir, id string) result {
	c.w.Helper()
	return c.hook(dir, nil, id, "SessionStart", `,"source":"startup"`, "gt-prime", "--hook", "--agent", "claude")
}

// typed has the client's session run a command.
func (c *companion) typed(dir, id, name string, args ...string) result {
	c.w.Helper()
	return c.run(dir, []string{"CLAUDE_CODE_SESSION_ID=" + id, "CLAUDECODE=1"}, "", name, args...)
}

// oneLine reads one line of a reader and no more, so that the next reader of it
// finds the next line.
type oneLine struct{ from *bufio.Reader }

func (l *oneLine) Read(p []byte) (int, error) {
	for i := range p {
		b, err := l.from.ReadByte()
		if err != nil {
			return i, err
		}
		if p[i] = b; b == '\n' {
			return i + 1, nil
		}
	}
	return len(p), nil
}
