package ask

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"gt/lib/sys/process"
)

// The next question removes the folders of killed processes, and leaves those of running
// processes and other users.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	make := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		testenv.NoError(t, os.MkdirAll(filepath.Join(path, "sub"), 0o700))
		return path
	}
	lives := make(fmt.Sprintf("gt-ask-%d-%s-1", self.PID, self.Start))
	dead := make(fmt.Sprintf("gt-ask-%d-%s0-1", self.PID, self.Start)) // another that had the number
	gone := make("gt-ask-999999999-1-1")
	foreign := make("gt-ask-notes")
	target := make("target")
	link := filepath.Join(dir, "gt-ask-999999998-1-1")
	testenv.NoError(t, os.Symlink(target, link))
	path, err := MakeScratch(dir)
	testenv.NoError(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	for _, path := range []string{dead, gone} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range []string{lives, foreign, link, filepath.Join(target, "sub"), path} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// A database is copied with its log; a link, and what does not fit, is not.
func TestSeed(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, size := range map[string]int64{"state_5.sqlite": 9, "state_5.sqlite-wal": 7, "state_6.sqlite": maxSeed, "logs_2.sqlite": 1, "x": 1} {
		path := filepath.Join(from, name)
		testenv.NoError(t, os.WriteFile(path, nil, 0o644))
		testenv.NoError(t, os.Truncate(path, size))
	}
	testenv.NoError(t, os.Symlink("x", filepath.Join(from, "state_7.sqlite")))
	seedDatabases(from, []string{"state_*.sqlite", "none_*"}, to)
	entries, err := os.ReadDir(to)
	testenv.NoError(t, err)
	got := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		testenv.NoError(t, err)
		got[e.Name()] = info.Size()
	}
	if len(got) != 2 || got["state_5.sqlite"] != 9 || got["state_5.sqlite-wal"] != 7 {
		t.Errorf("%v", got)
	}
	seedDatabases(filepath.Join(from, "nowhere"), []string{"*"}, to)
}
