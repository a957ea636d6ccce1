package attacks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A world is a person's surroundings: a home folder, state and settings of
// their own, and a PATH that begins with the programs under test. Nothing of
// who runs the tests is in it. A folder that is named is one in the world.
type world struct {
	*testing.T
	root string
	env  []string
}

// newWorld makes a world with a git identity and nothing else.
func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: root}
	w.env = []string{
		"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + w.at("home"),
		"XDG_STATE_HOME=" + w.at("home/.local/state"),
		"TMPDIR=" + w.at("tmp"),
		"LANG=C.UTF-8", "TERM=screen-256color", "COLUMNS=80", "SHELL=/bin/sh", "TZ=UTC",
	}
	for _, dir := range []string{"home", "tmp", "marks", "traps"} {
		if err := os.MkdirAll(w.at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.put("home/.gitconfig", "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n")
	return w
}

// at is a path in the world.
func (w *world) at(path string) string { return filepath.Join(w.root, path) }

// put writes a file, and the folders that it needs.
func (w *world) put(path, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.at(path)), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.at(path), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// add appends to a file.
func (w *world) add(path, text string) {
	w.Helper()
	old, err := os.ReadFile(w.at(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	w.put(path, string(old)+text)
}

// link makes a symbolic link, and the folders that it needs.
func (w *world) link(to, path string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.at(path)), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(to, w.at(path)); err != nil {
		w.Fatal(err)
	}
}

// with is the same world under other variables ("NAME=value").
func (w *world) with(env ...string) *world {
	return &world{w.T, w.root, append(slices.Clone(w.env), env...)}
}

// A result is what became of a program.
type result struct {
	line      string
	code      int
	out, errs string
}

func (r result) String() string {
	return fmt.Sprintf("%s: %d\n%s%s", r.line, r.code, r.out, r.errs)
}

// patience is how long a program may take before it counts as hung.
const patience = time.Minute

// run runs a program in a folder of the world.
func (w *world) run(dir, stdin, name string, args ...string) result {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := name
	if strings.HasPrefix(name, "gt-") {
		path = filepath.Join(bin, name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = w.at(dir)
	cmd.Env = append(slices.Clone(w.env), "PWD="+cmd.Dir)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	r := result{line: strings.Join(append([]string{name}, args...), " "), out: out.String(), errs: errs.String()}
	switch {
	case ctx.Err() != nil:
		w.Fatalf("it hangs: %v", r)
	case cmd.ProcessState == nil:
		w.Fatalf("%s: %v", r.line, err)
	}
	r.code = cmd.ProcessState.ExitCode()
	return r
}

// must runs a program that has to work, and returns what it printed.
func (w *world) must(dir, name string, args ...string) string {
	w.Helper()
	r := w.run(dir, "", name, args...)
	if r.code != 0 {
		w.Fatalf("%v", r)
	}
	return strings.TrimSpace(r.out)
}

// trap makes a program that leaves a mark and passes its input on, and returns
// its path. It lies where no project is.
func (w *world) trap(name string) string {
	w.Helper()
	return w.trapAt("traps/"+name, name)
}

// trapAt is trap at a path.
func (w *world) trapAt(path, name string) string {
	w.Helper()
	w.put(path, "#!/bin/sh\necho \"$0 $*\" >>'"+w.at("marks")+"/"+name+"'\nexec cat\n")
	if err := os.Chmod(w.at(path), 0o700); err != nil {
		w.Fatal(err)
	}
	return w.at(path)
}

// marks are the traps that something fell into since the last look.
func (w *world) marks() string {
	w.Helper()
	entries, err := os.ReadDir(w.at("marks"))
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		said, err := os.ReadFile(filepath.Join(w.at("marks"), e.Name()))
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, e.Name()+": "+string(said))
		if err := os.Remove(filepath.Join(w.at("marks"), e.Name())); err != nil {
			w.Fatal(err)
		}
	}
	return strings.Join(all, "")
}

// repository makes a repository with two commits, and of its files one that was
// changed since, one that is as it was but has to be read to know it, and one
// that git does not know.
func (w *world) repository(dir string) {
	w.Helper()
	w.must(".", "git", "init", "-q", "--template=", w.at(dir))
	for _, name := range []string{"changed", "touched", "folder/kept"} {
		w.put(dir+"/"+name, name+"\n")
	}
	w.must(dir, "git", "add", ".")
	w.must(dir, "git", "commit", "-q", "-m", "first")
	w.must(dir, "git", "commit", "-q", "--allow-empty", "-m", "second")
	w.dirty(dir)
}

// dirty changes the files of a repository.
func (w *world) dirty(dir string) {
	w.Helper()
	w.put(dir+"/changed", "CHANGED\n") // of the same length
	w.put(dir+"/new", "new\n")
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"changed", "touched"} {
		if err := os.Chtimes(w.at(dir+"/"+name), later, later); err != nil {
			w.Fatal(err)
		}
	}
}
