package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"gt/internal/testenv"

	natefinch "github.com/natefinch/atomic"
)

// A file that is exchanged all the while is judged by what was opened: what does
// not pass is never read, though it stands under the name at every other look.
func TestJudgedByWhatWasOpened(t *testing.T) {
	dir := t.TempDir()
	path, good, bad := filepath.Join(dir, "f"), filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	judge := CheckPrivate
	if os.Geteuid() == 0 {
		judge = CheckFileOwner
	}
	put := func(path, text string, theirs bool) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		if theirs && os.Geteuid() == 0 { // an attacker's, else one that others may write
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Error(err)
			}
		} else if theirs {
			if err := os.Chmod(path, 0o666); err != nil {
				t.Error(err)
			}
		}
	}
	put(path, "good", false)
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !over.Load() {
			put(bad, "bad", true)
			_ = natefinch.ReplaceFile(bad, path)
			put(good, "good", false)
			_ = natefinch.ReplaceFile(good, path)
			_ = os.Symlink("/etc/passwd", bad)
			_ = natefinch.ReplaceFile(bad, path)
			_ = syscall.Mkfifo(bad, 0o600)
			_ = natefinch.ReplaceFile(bad, path)
		}
	}()
	reads, refused := 0, 0
	for range 20000 {
		data, err := ReadIf(path, 100, judge)
		switch {
		case err == nil && string(data) == "good":
			reads++
		case err == nil:
			t.Fatalf("%q was read", data)
		case !errors.Is(err, fs.ErrNotExist):
			refused++
		}
	}
	over.Store(true)
	<-done
	if reads == 0 || refused == 0 {
		t.Errorf("nothing was exchanged: %d read, %d refused", reads, refused)
	}
}

// A generation of somebody else's stands in for nothing, and what is refused is
// kept under another name.
func TestRollingIsJudged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	refuse := func(info fs.FileInfo) error {
		if info.Mode().Perm()&0o022 != 0 {
			return errors.New("no")
		}
		return nil
	}
	r := Rolling{Path: path, Judge: refuse}
	for _, text := range []string{"one", "two", "three"} {
		testenv.NoError(t, r.Write([]byte(text), Unsynced))
	}
	for _, path := range []string{path, path + ".bak"} {
		testenv.NoError(t, os.Chmod(path, 0o622))
	}
	if data, err := r.Read(); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
}
