package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a program may take before it counts as hung.
const Patience = time.Minute

// A World is a person's environment in a folder of its own: a home folder, and variables
// that have nothing of whoever runs the tests but PATH. Paths are relative to the folder.
// What goes wrong fails the test.
type World struct {
	testing.TB
	Root     string
	Env      []string
	Programs string               // a folder whose programs come before those on PATH
	In       []string             // the program that others run in, with its arguments
	As       *syscall.SysProcAttr // whom programs run as; nil is whoever runs the tests
}

// NewWorld makes a world with the home folder "home", see Person. Without a root it makes
// a folder, see Folder, and removes it at the end of the test.
func NewWorld(t testing.TB, root string, front ...string) *World {
	t.Helper()
	if root == "" {
		dir, remove, err := Folder()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(remove)
		root = dir
	}
	w := &World{TB: t, Root: root}
	env, err := Person(w.Path("home"), front...)
	if err != nil {
		t.Fatal(err)
	}
	w.Env = env
	return w
}

// Path returns a path of the world. An absolute one stays what it is.
func (w *World) Path(elem ...string) string {
	if len(elem) > 0 && filepath.IsAbs(elem[0]) {
		return filepath.Join(elem...)
	}
	return filepath.Join(append([]string{w.Root}, elem...)...)
}

// Write writes a file, and makes the folders that it needs.
func (w *World) Write(path, text string) {
	w.Helper()
	path = w.Path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// Read returns a file's content, "" for one that is not there.
func (w *World) Read(path string) string {
	w.Helper()
	data, err := os.ReadFile(w.Path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		w.Fatal(err)
	}
	return string(data)
}

// Getenv returns the value of a variable of the world. The last of two settings counts.
func (w *World) Getenv(key string) string { return Getenv(w.Env...)(key) }

// WithEnv returns the same world with more variables ("NAME=value").
func (w *World) WithEnv(env ...string) *World {
	other := *w
	other.Env = append(slices.Clone(w.Env), env...)
	return &other
}

// Command returns a program with its arguments, to be run in a folder.
func (w *World) Command(dir string, args ...string) *exec.Cmd {
	line := slices.Concat(w.In, args)
	if path := filepath.Join(w.Programs, args[0]); w.Programs != "" && filepath.Base(args[0]) == args[0] {
		if _, err := os.Stat(path); err == nil {
			line[len(w.In)] = path
		}
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.SysProcAttr = w.Path(dir), w.As
	cmd.Env = append(slices.Clone(w.Env), "PWD="+cmd.Dir)
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	return cmd
}

// Result is what became of a program.
type Result struct {
	Line      string
	Code      int
	Out, Errs string
}

func (r Result) String() string {
	return fmt.Sprintf("%s: exit code %d\n%s%s", r.Line, r.Code, r.Out, r.Errs)
}

// Run runs a program in a folder.
func (w *World) Run(dir string, stdin io.Reader, args ...string) Result {
	w.Helper()
	cmd := w.Command(dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	if err := cmd.Start(); err != nil {
		w.Fatalf("%q: %v", args, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	_ = cmd.Wait() // the exit code says it
	r := Result{strings.Join(args, " "), cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	if ctx.Err() != nil {
		w.Fatalf("it hangs: %v", r)
	}
	return r
}

// MustRun is Run for what has to work. It returns what was printed.
func (w *World) MustRun(dir string, args ...string) string {
	w.Helper()
	r := w.Run(dir, nil, args...)
	if r.Code != 0 {
		w.Fatalf("%v", r)
	}
	return strings.TrimSpace(r.Out)
}

// Tmux is the function of this name for one test.
func (w *World) Tmux() (dir string) {
	w.Helper()
	dir, end, err := Tmux()
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(end)
	return dir
}

// Getenv returns an os.Getenv for these variables ("NAME=value"). The last of two settings
// counts.
func Getenv(vars ...string) func(key string) string {
	return func(key string) string {
		for _, kv := range slices.Backward(vars) {
			if value, ok := strings.CutPrefix(kv, key+"="); ok {
				return value
			}
		}
		return ""
	}
}

// NoError ends the test on an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Tree makes folders (with a slash at the end) and empty files in a new folder.
func Tree(t testing.TB, paths ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range paths {
		path := filepath.Join(root, p)
		dir := filepath.Dir(path)
		if strings.HasSuffix(p, "/") {
			dir = path
		}
		NoError(t, os.MkdirAll(dir, 0o700))
		if dir != path {
			NoError(t, os.WriteFile(path, nil, 0o600))
		}
	}
	return root
}
