package git

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The line is added once, whatever stands there already, and git obeys it.
func TestExclude(t *testing.T) {
	for name, before := range map[string]string{
		"template": "# git ls-files --others\n",
		"no end":   "*.o",
		"crlf":     "*.o\r\n",
		"there":    "mine\r\n",
		"empty":    "",
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t, "a")
			path := filepath.Join(dir, ".git", "info", "exclude")
			write(t, dir, ".git/info/exclude", before)
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if err := Exclude(dir, "mine"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got := read(t, path)
			if !strings.HasPrefix(got, before) || strings.Count(got, "mine") != 1 {
				t.Errorf("%q became %q", before, got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			write(t, dir, "mine", "")
			if s := status(t, dir); len(s.Changes) != 0 {
				t.Errorf("git shows %+v", s.Changes)
			}
		})
	}
}

// A linked worktree reads the exclude file of its repository, and a folder in
// a worktree that of the worktree.
func TestExcludeWhereGitLooks(t *testing.T) {
	dir := repository(t, "a")
	linked := filepath.Join(t.TempDir(), "linked")
	run(t, dir, "worktree", "add", "-q", linked)
	sub := filepath.Join(linked, "sub", "sub")
	write(t, sub, "mine", "")
	if err := os.RemoveAll(filepath.Join(dir, ".git", "info")); err != nil {
		t.Fatal(err)
	}
	if err := Exclude(sub, "mine"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, ".git", "info", "exclude")); got != "mine\n" {
		t.Errorf("got %q", got)
	}
	if s := status(t, linked); len(s.Changes) != 0 {
		t.Errorf("git shows %+v", s.Changes)
	}
	outside := t.TempDir()
	if err := Exclude(outside, "mine"); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside git: %v, %v", entries, err)
	}
}
