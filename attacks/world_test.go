package attacks

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// A world is a person's environment with the programs under test. Nothing of who runs the
// tests is in it, nor their PATH.
type world struct{ *testenv.World }

type result = testenv.Result

// inBubblewrap is the same world, in which programs run under a bubblewrap with these
// arguments. The test is skipped where there is none.
func (w *world) inBubblewrap(args ...string) *world {
	w.Helper()
	if out, err := exec.Command("bwrap", "--dev-bind", "/", "/", "true").CombinedOutput(); err != nil {
		w.Skipf("there is no sandbox here: bwrap: %v %s", err, out)
	}
	other := w.withEnv()
	other.In = append([]string{"bwrap", "--dev-bind", "/", "/"}, args...)
	return other
}

// newWorld makes a world with a git identity and nothing else. With -short it skips most tests.
func newWorld(t testing.TB) *world {
	t.Helper()
	testenv.Sample(t, 10)
	return makeWorld(t)
}

// makeWorld is newWorld for what all tests share.
func makeWorld(t testing.TB) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{testenv.NewWorld(t, root, bin)}
	w.Programs = bin
	w.Env = append(w.Env, "PATH="+bin+":/usr/local/bin:/usr/bin:/bin", "TMPDIR="+w.Path("tmp"), "TZ=UTC")
	for _, dir := range []string{"tmp", "marks", "traps"} {
		if err := os.MkdirAll(w.Path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// add appends to a file.
func (w *world) add(path, text string) {
	w.Helper()
	w.Write(path, w.Read(path)+text)
}

// link makes a symbolic link, and the folders that it needs.
func (w *world) link(to, path string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.Path(path)), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(to, w.Path(path)); err != nil {
		w.Fatal(err)
	}
}

// withEnv is the same world under other variables ("NAME=value").
func (w *world) withEnv(env ...string) *world { return &world{w.WithEnv(env...)} }

// trap makes a program that leaves a mark and passes its input on, and returns
// its path. It lies where no project is.
func (w *world) trap(name string) string {
	w.Helper()
	return w.trapAt("traps/"+name, name)
}

// trapAt is trap at a path.
func (w *world) trapAt(path, name string) string {
	w.Helper()
	w.Write(path, "#!/bin/sh\necho \"$0 $*\" >>'"+w.Path("marks")+"/"+name+"'\nexec cat\n")
	if err := os.Chmod(w.Path(path), 0o700); err != nil {
		w.Fatal(err)
	}
	return w.Path(path)
}

// marks are the traps that something fell into since the last look.
func (w *world) marks() string {
	w.Helper()
	entries, err := os.ReadDir(w.Path("marks"))
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		said, err := os.ReadFile(filepath.Join(w.Path("marks"), e.Name()))
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, e.Name()+": "+string(said))
		if err := os.Remove(filepath.Join(w.Path("marks"), e.Name())); err != nil {
			w.Fatal(err)
		}
	}
	return strings.Join(all, "")
}

// tmux starts the person's tmux server with a session that waits in a folder, and
// returns the server's socket.
func (w *world) tmux(dir string) string {
	w.Helper()
	in := w.withEnv("TMUX_TMPDIR="+w.Tmux(), "TMUX=")
	in.MustRun(dir, "tmux", "-f", "/dev/null", "new-session", "-d", "-s", "waits", "sleep", "1000")
	return in.MustRun(dir, "tmux", "display-message", "-p", "#{socket_path}")
}

// repository makes a repository with two commits, and of its files one that was
// changed since, one that is as it was but has to be read to know it, and one
// that git does not know.
func (w *world) repository(dir string) {
	w.Helper()
	w.MustRun(".", "git", "init", "-q", "--template=", w.Path(dir))
	for _, name := range []string{"changed", "touched", "folder/kept"} {
		w.Write(dir+"/"+name, name+"\n")
	}
	w.MustRun(dir, "git", "add", ".")
	w.MustRun(dir, "git", "commit", "-q", "-m", "first")
	w.MustRun(dir, "git", "commit", "-q", "--allow-empty", "-m", "second")
	w.dirty(dir)
}

// dirty changes the files of a repository.
func (w *world) dirty(dir string) {
	w.Helper()
	w.Write(dir+"/changed", "CHANGED\n") // of the same length
	w.Write(dir+"/new", "new\n")
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"changed", "touched"} {
		if err := os.Chtimes(w.Path(dir+"/"+name), later, later); err != nil {
			w.Fatal(err)
		}
	}
}

// hook runs a program as a hook of Claude Code's (or as what args name), in a
// folder and for a session. more is the rest of its input, with a comma before it.
func (w *world) hook(dir, id, event, more, name string, args ...string) result {
	w.Helper()
	return w.Run(dir, strings.NewReader(w.input(dir, id, event, more)), append([]string{name}, args...)...)
}

// input is what a client hands to a hook.
func (w *world) input(dir, id, event, more string) string {
	return fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":%q%s}`, id, event, w.Path(dir), more)
}

// start has a session begin in a client of its own, which then ends, and returns
// what the session is told.
func (w *world) start(dir, id string) result {
	w.Helper()
	c := w.client(dir)
	defer c.stop()
	return c.start(dir, id)
}

// thread proves that an honest session's thread goes on: what one notes and hands
// over, the next is told.
func (w *world) thread(dir string) {
	w.Helper()
	first := fmt.Sprintf("70000000-0000-4000-8000-%08x0001", crc32.ChecksumIEEE([]byte(dir))) // a session's home is its first one
	next := first[:len(first)-1] + "2"
	c := w.client(dir)
	did := []result{
		c.start(dir, first),
		c.typed(dir, first, "gt-checkpoint", "write", "--notes", "TWIN-NOTES"),
		c.hook(dir, nil, first, "Stop", "", "gt-checkpoint", "write", "--hook", "--agent", "claude"),
		c.typed(dir, first, "gt-handoff", "-s", "TWIN-SUBJECT", "-m", "TWIN-MESSAGE"),
	}
	c.stop()
	did = append(did, w.start(dir, next))
	for _, said := range []string{"TWIN-SUBJECT", "TWIN-MESSAGE", "TWIN-NOTES"} {
		if told := did[len(did)-1]; !strings.Contains(told.Out, said) {
			w.Errorf("%s is not told to who follows:\n%v", said, did)
			return
		}
	}
}

// listing is all that is in folders, each with its mode and its content.
func (w *world) listing(dirs ...string) map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(w.Path(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			said := info.Mode().String()
			switch {
			case info.Mode().IsRegular():
				data, err := os.ReadFile(path)
				if errors.Is(err, fs.ErrPermission) && info.Mode()&0o400 == 0 {
					data, err = make([]byte, info.Size()), nil // a lock, which only root can read; it is empty
				}
				if err != nil {
					return err
				}
				said += " " + string(data)
			case info.Mode()&fs.ModeSymlink != 0:
				to, err := os.Readlink(path)
				if err != nil {
					return err
				}
				said += " " + to
			}
			all[strings.TrimPrefix(path, w.Root+"/")] = said
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Fatal(err)
		}
	}
	return all
}

// changes tells what is different between two listings.
func changes(before, after map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(after)) {
		switch old, was := before[path]; {
		case !was:
			fmt.Fprintf(&b, "new: %s\n", path)
		case old != after[path]:
			fmt.Fprintf(&b, "changed: %s\n", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		// A request is taken away when its turn ends, served or not.
		if _, is := after[path]; !is && !strings.Contains(path, "/.runtime/requests/") {
			fmt.Fprintf(&b, "gone: %s\n", path)
		}
	}
	return b.String()
}

// state is the folder that keeps what belongs to a home of the world, which has
// been one.
func (w *world) state(dir string) string {
	w.Helper()
	notes, err := filepath.Glob(w.Path("home/.local/state/gt/homes/*/path"))
	if err != nil {
		w.Fatal(err)
	}
	for _, path := range notes {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), `"path":"`+w.Path(dir)+`"`) {
			return strings.TrimPrefix(filepath.Dir(path), w.Root+"/")
		}
	}
	w.Fatalf("nothing is kept of %s", dir)
	return ""
}
