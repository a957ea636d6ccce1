package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// TestMain lets the test binary stand for a process that writes, creates or
// rolls.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each process that is started here sleeps for a second
	if path := os.Getenv("ATOMICFILE_CREATE"); path != "" {
		if err := Create(path, []byte(fmt.Sprint(os.Getpid())), Unsynced); err != nil {
			if errors.Is(err, fs.ErrExist) {
				os.Exit(1)
			}
			os.Exit(2)
		}
		os.Exit(0)
	}
	if path := os.Getenv("ATOMICFILE_WRITE"); path != "" {
		// Until it is killed. If its parent has ended, nobody does that.
		for i, begin := 0, time.Now(); os.Getppid() != 1 && time.Since(begin) < time.Minute; i++ {
			if err := Write(path, content(i), Unsynced); err != nil {
				os.Exit(2)
			}
		}
	}
	if what := os.Getenv("ATOMICFILE_ROLLING"); what != "" {
		os.Exit(rollingChild(what))
	}
	os.Exit(m.Run())
}

// content is something that one sees to be whole.
func content(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 1+i%50_000) }

func isOneWrite(data []byte) bool {
	return len(data) > 0 && bytes.Count(data, data[:1]) == len(data)
}

// odd are things that are no regular files.
func odd(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	paths := map[string]string{}
	for _, name := range []string{"link", "dangling", "fifo", "folder"} {
		paths[name] = filepath.Join(dir, name)
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "target"), []byte("target"), 0o600))
	for _, err := range []error{
		os.Symlink("target", paths["link"]),
		os.Symlink("nowhere", paths["dangling"]),
		syscall.Mkfifo(paths["fifo"], 0o600),
		os.Mkdir(paths["folder"], 0o700),
	} {
		testenv.NoError(t, err)
	}
	t.Cleanup(func() {
		if data, err := os.ReadFile(filepath.Join(dir, "target")); string(data) != "target" {
			t.Errorf("behind the link there is now %q, %v", data, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
			t.Error("a file was made behind the dangling link")
		}
	})
	return paths
}

func TestModeWhateverTheUmask(t *testing.T) {
	dir := t.TempDir()
	wide := filepath.Join(dir, "wide")
	testenv.NoError(t, os.WriteFile(wide, nil, 0o666))
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		name := func(kind string) string { return filepath.Join(dir, fmt.Sprintf("%s-%o", kind, mask)) }
		old := syscall.Umask(mask)
		errs := []error{
			Write(name("write"), nil, Unsynced),
			Create(name("create"), nil, Unsynced),
			WriteMode(name("mode"), nil, 0o644, Unsynced),
			Write(wide, nil, Unsynced),
		}
		syscall.Umask(old)
		testenv.NoError(t, errors.Join(errs...))
		for path, want := range map[string]fs.FileMode{
			name("write"): 0o600, name("create"): 0o600, name("mode"): 0o644, wide: 0o600,
		} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %s has %v, %v", mask, path, info.Mode(), err)
			}
		}
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, path := range odd(t) {
			for call, err := range map[string]error{
				"Read":       func() error { _, err := Read(path, MaxSize); return err }(),
				"Open":       func() error { _, err := Open(path); return err }(),
				"OpenAppend": func() error { _, err := OpenAppend(path); return err }(),
				"Write":      Write(path, []byte("x"), Unsynced),
			} {
				switch {
				case name == "folder" && call == "OpenAppend": // EISDIR says it better
					if err == nil {
						t.Error("a folder was opened to append")
					}
				case !errors.Is(err, ErrNotRegular):
					t.Errorf("%s of a %s: %v", call, name, err)
				}
			}
			if err := Create(path, []byte("x"), Unsynced); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create over a %s: %v", name, err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("waits for the other end of a FIFO")
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	testenv.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	if data, err := Read(path, 5); string(data) != "12345" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	data, err := Read(path, 4)
	if len(data) > 0 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q %v", data, err)
	}
	if want := "cannot read '" + path + "': file too large (over 4 bytes)"; err.Error() != want || Error("read", path, err).Error() != want {
		t.Error(err)
	}
}

// The error says what was tried, on what, and why not, and can be asked for
// its cause.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file, none := filepath.Join(dir, "file"), filepath.Join(dir, "none", "x")
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		err  error
		is   error
		said string
	}{
		{func() error { _, err := Read(none, 1); return err }(), fs.ErrNotExist, "cannot open '" + none + "': no such file or directory"},
		{Write(none, nil, Unsynced), fs.ErrNotExist, "cannot write '" + none + "': no such file or directory"},
		{Create(file, nil, Unsynced), fs.ErrExist, "cannot create '" + file + "': file exists"},
		{Create(none, nil, Unsynced), fs.ErrNotExist, "cannot create '" + none + "': no such file or directory"},
		{Rename(none, file, Synced), fs.ErrNotExist, "cannot rename '" + none + "': no such file or directory"},
		{Write(dir, nil, Unsynced), ErrNotRegular, "cannot replace '" + dir + "': not a regular file"},
		{EnsurePrivateDir(file), nil, "cannot use '" + file + "': not a folder"},
		{EnsurePrivateDir(filepath.Join(file, "x")), syscall.ENOTDIR, "cannot use '" + filepath.Join(file, "x") + "': not a directory"},
		{Error("touch", "x", fmt.Errorf("because: %w", fs.ErrPermission)), fs.ErrPermission, "cannot touch 'x': because: permission denied"},
	} {
		if c.err == nil || c.err.Error() != c.said || c.is != nil && !errors.Is(c.err, c.is) {
			t.Errorf("%v\nwant %s", c.err, c.said)
		}
	}
	for _, err := range []error{Error("x", "y", nil), Remove(none), Remove(file), Remove(file)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Package os wraps what a call returned.
func TestRetryInterrupted(t *testing.T) {
	results := []error{syscall.EINTR, &os.LinkError{Op: "linkat", Err: syscall.EINTR}, syscall.ENOSPC}
	calls := 0
	err := RetryInterrupted(func() error { calls++; return results[calls-1] })
	if err != syscall.ENOSPC || calls != len(results) {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestFailureLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testenv.NoError(t, Write(file, []byte("old"), Synced))
	if err := Create(file, []byte("new"), Synced); err == nil {
		t.Fatal("created what is there")
	}
	if err := DeliverIn(root(t, dir), dir, "tmp", "none/new", []byte("x")); err == nil {
		t.Fatal("delivered to nowhere")
	}
	entries, _ := os.ReadDir(dir)
	if data, _ := os.ReadFile(file); len(entries) != 1 || string(data) != "old" {
		t.Errorf("%v %q", entries, data)
	}
}

func TestCreateIsForOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 32 {
		wg.Go(func() {
			if i < 16 {
				switch err := Create(path, content(i), Unsynced); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
				return
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "ATOMICFILE_CREATE="+path)
			if err := cmd.Run(); err == nil {
				won.Add(1)
			} else if cmd.ProcessState.ExitCode() != 1 {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d created the file", won.Load())
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Error(entries)
	}
}

// Whoever reads while others write, and are killed while they do, sees one
// whole content.
func TestReadersSeeWholeContent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	testenv.NoError(t, Write(path, content(0), Unsynced))
	stop := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := 0; time.Now().Before(stop); i++ {
				if err := Write(path, content(i), Unsynced); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for time.Now().Before(stop) {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "ATOMICFILE_WRITE="+path)
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(20 * time.Millisecond)
				cmd.Process.Kill()
				cmd.Wait()
			}
		})
	}
	reads := 0
	for ; time.Now().Before(stop); reads++ {
		if data, err := Read(path, MaxSize); err != nil || !isOneWrite(data) {
			t.Fatalf("%.20q… of %d bytes, %v", data, len(data), err)
		}
	}
	wg.Wait()

	// What the killed left is swept once it is old, and nothing else is.
	keep := []string{"file", ".hidden", ".note" + tmpMark + "young"}
	for _, name := range keep[1:] {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	old := time.Now().Add(-61 * time.Minute)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "young") {
			testenv.NoError(t, os.Chtimes(filepath.Join(dir, e.Name()), old, old))
		}
	}
	Sweep(dir, time.Now())
	Sweep(filepath.Join(dir, "none"), time.Now())
	entries, _ = os.ReadDir(dir)
	if len(entries) != len(keep) {
		t.Errorf("after %d reads and a sweep: %v", reads, entries)
	}
}

func TestQuarantineKeepsAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for i := range 3 {
		testenv.NoError(t, os.WriteFile(path, []byte(fmt.Sprint(i)), 0o600))
		to, err := Quarantine(path)
		testenv.NoError(t, err)
		if data, _ := os.ReadFile(to); string(data) != fmt.Sprint(i) {
			t.Errorf("%s holds %q", to, data)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Error("the name is not free", err)
		}
	}
	for _, name := range []string{"file.bad", "file.bad.1", "file.bad.2"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := Quarantine(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func root(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	testenv.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestDeliver(t *testing.T) {
	dir := t.TempDir()
	in := root(t, dir)
	tmp, to := filepath.Join(dir, "tmp"), filepath.Join(dir, "new")
	testenv.NoError(t, DeliverIn(in, dir, "tmp", "new", []byte("note")))
	if data, err := os.ReadFile(to); string(data) != "note" || err != nil {
		t.Error(data, err)
	}
	if _, err := os.Lstat(tmp); err == nil {
		t.Error("the temporary file is still there")
	}
	testenv.NoError(t, os.WriteFile(tmp, []byte("another's"), 0o600))
	if err := DeliverIn(in, dir, "tmp", "new", []byte("x")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if data, _ := os.ReadFile(tmp); string(data) != "another's" {
		t.Errorf("%q", data)
	}
}

func TestEnsurePrivateDir(t *testing.T) {
	root := t.TempDir()
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(root, "a", "b")
	for range 2 {
		testenv.NoError(t, EnsurePrivateDir(dir))
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(d, info.Mode(), err)
		}
	}
	link := filepath.Join(root, "link")
	testenv.NoError(t, os.Symlink(dir, link))
	if err := EnsurePrivateDir(link); err == nil {
		t.Error("a link is taken for a folder")
	}
	// One of many that make it at once.
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := EnsurePrivateDir(filepath.Join(root, "x", "y", "z")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if os.Geteuid() == 0 {
		theirs := filepath.Join(root, "theirs")
		testenv.NoError(t, errors.Join(os.Mkdir(theirs, 0o777), os.Chown(theirs, 12345, -1)))
		if err := EnsurePrivateDir(theirs); err == nil {
			t.Error("somebody else's folder is used")
		}
	}
}

// Without links, still only one of many makes a file, and none is replaced.
func TestMoveInTurn(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "to")
	var made atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		from := filepath.Join(dir, fmt.Sprint("from-", i))
		testenv.NoError(t, os.WriteFile(from, []byte(from), 0o600))
		all.Go(func() {
			switch err := moveLocked(from, to); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d have made it", n)
	}
}
