//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
)

// A world is a person's surroundings: a home folder, a repository to work in,
// and what gt has left there. It lies always at the same path, for the paths in
// it are absolute; a copy is kept to begin from again.
type world struct {
	*testenv.World
	vars map[string]string // what stands in a scenario for something of this world
}

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	testenv.Sample(t, 10)
	w := &world{World: testenv.NewWorld(t, filepath.Join(scratch, name), bin)}
	w.Programs, w.vars = bin, map[string]string{"WORLD": w.Root}
	w.Env = append(w.Env, "TMPDIR="+w.Path("tmp"), "GIT_CONFIG_GLOBAL="+w.Path("home", ".gitconfig"), "TZ=UTC", "SCENE="+w.Root)
	noError(t, os.MkdirAll(w.Path("tmp"), 0o700))
	return w
}

// repository makes a git repository with a commit and a changed file: a copy of the
// first one.
func (w *world) repository(t *testing.T, dir string) {
	t.Helper()
	kept := filepath.Join(scratch, "repository")
	committing.Lock()
	defer committing.Unlock()
	if _, err := os.Lstat(kept); err == nil {
		noError(t, copyTree(kept, w.Path(dir)))
		return
	}
	w.mustRun(t, "", ".", "git", "init", "-q", "--template=", dir)
	noError(t, os.WriteFile(w.Path(dir, "parser.go"), []byte("package parser\n"), 0o600))
	w.mustRun(t, "", dir, "git", "add", ".")
	w.mustRun(t, "", dir, "git", "commit", "-q", "-m", "the parser")
	noError(t, os.WriteFile(w.Path(dir, "parser.go"), []byte("package parser // changed\n"), 0o600))
	noError(t, copyTree(w.Path(dir), kept))
}

var committing sync.Mutex

// withEnv is the same world under other variables.
func (w *world) withEnv(env ...string) *world { return &world{w.WithEnv(env...), w.vars} }

// fill puts what is of this world into a text.
func (w *world) fill(text string) string {
	for name, value := range w.vars {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// home is what gt takes a folder of the world to be.
func (w *world) home(dir string) home.Home { return home.Find(w.Getenv, w.Path(dir), "") }

// command is a program in a folder of the world.
func (w *world) command(dir string, args ...string) *exec.Cmd {
	filled := make([]string, len(args))
	for i, a := range args {
		filled[i] = w.fill(a)
	}
	cmd := w.Command(dir, filled...)
	cmd.Args[0] = filled[0]
	cmd.WaitDelay = 0 // a tracer writes after its program has ended
	cmd.Env = nil
	for _, kv := range w.Env {
		cmd.Env = append(cmd.Env, w.fill(kv))
	}
	return cmd
}

// run runs a program undisturbed.
func (w *world) run(t *testing.T, stdin, dir string, args ...string) result {
	t.Helper()
	return runs(t, w.command(dir, args...), w.fill(stdin))
}

// mustRun is run, for what has to work.
func (w *world) mustRun(t *testing.T, stdin, dir string, args ...string) result {
	t.Helper()
	r := w.run(t, stdin, dir, args...)
	if r.code != 0 {
		t.Fatalf("%v: %v", args, r)
	}
	return r
}

// gone runs a hook of a client that is gone afterwards, as after a crash.
func (w *world) gone(t *testing.T, stdin, dir string, args ...string) {
	t.Helper()
	w.mustRun(t, stdin, dir, append([]string{"client"}, args...)...)
}

// client runs a command as its child, and ends with it.
func client() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keep remembers the world as it is, and restore brings it back.
func (w *world) keep(t *testing.T) {
	t.Helper()
	noError(t, os.RemoveAll(w.Root+".kept"))
	noError(t, copyTree(w.Root, w.Root+".kept"))
}

func (w *world) restore(t *testing.T) {
	t.Helper()
	noError(t, w.refill(w.Root+".kept"))
}

// refill makes the world what a copy of it is. The folders that are in both stay the
// folders that they are, for gt tells one from another that has the same path; for
// those that do not, it is told that they are the same.
func (w *world) refill(from string) error {
	err := errors.Join(removeOthers(from, w.Root), copyTree(from, w.Root))
	if err != nil {
		return err
	}
	return adopt(w.Path("home", ".local", "state", "gt"))
}

// removeOthers removes what is in to, but for the folders that are in from as well,
// and for files that are the same.
func removeOthers(from, to string) error {
	entries, err := os.ReadDir(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		a, b := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if info, serr := os.Lstat(a); serr == nil && info.IsDir() && e.IsDir() {
			err = errors.Join(err, removeOthers(a, b))
		} else if serr != nil || !isCopy(info, b) {
			err = errors.Join(err, removeAll(b))
		}
	}
	return err
}

// isCopy reports whether a file is still the copy that was made of another: who writes to
// it gives it a time of its own.
func isCopy(info fs.FileInfo, copied string) bool {
	is, err := os.Lstat(copied)
	return err == nil && info.Mode().IsRegular() && is.Mode() == info.Mode() && is.Size() == info.Size() && is.ModTime().Equal(info.ModTime())
}

// adopt has the homes and towns of a state be whichever folders have their paths now.
func adopt(state string) error {
	notes, err := filepath.Glob(filepath.Join(state, "*", "*", "*"))
	for _, path := range notes {
		if name := filepath.Base(path); name != "path" && name != "trust.json" {
			continue
		}
		var told map[string]any
		data, rerr := os.ReadFile(path)
		if rerr != nil || json.Unmarshal(data, &told) != nil {
			return errors.Join(err, rerr, fmt.Errorf("%s is not a note", path))
		}
		now, lerr := place.Identify(told["path"].(string))
		if lerr != nil {
			continue
		}
		old := fmt.Sprint(uint64(told["inode"].(float64)))
		if fmt.Sprint(now.Inode) == old {
			continue
		}
		text := string(data)
		for key, value := range map[string]any{"device": now.Device, "inode": now.Inode, "born": now.BirthTime} {
			text = regexp.MustCompile(`"`+key+`": ?[0-9]+`).ReplaceAllString(text, fmt.Sprintf(`"%s":%v`, key, value))
		}
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
	}
	return err
}

// removeAll waits for who still writes there: a program that a killed one had
// started.
func removeAll(dir string) error {
	for n := 0; ; n++ {
		err := os.RemoveAll(dir)
		if err == nil || n == 20 {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// copyTree copies files, folders and links with their modes and times.
func copyTree(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case isCopy(info, to):
		return nil
	case info.Mode().IsRegular():
		data, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrPermission) && info.Mode()&0o400 == 0 {
			err = nil // a lock, which only root can read; it is empty
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
			return err
		}
	case info.IsDir():
		if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	default:
		return nil // a socket
	}
	return errors.Join(os.Chmod(to, info.Mode().Perm()), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
