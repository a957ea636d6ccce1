package git

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// carry carries the worktree dir to a bundle.
func carry(t *testing.T, dir string) (Carried, string) {
	t.Helper()
	bundle := filepath.Join(t.TempDir(), "bundle")
	c, err := Carry(dir, bundle, func(path string) bool { return strings.HasSuffix(path, ".secret") }, time.Minute)
	testenv.Must(t, err)
	return c, bundle
}

// The state of a worktree is made anew in another clone: its commits, index and changes. A
// secret file stays, staged or not. The repository that is carried is not touched.
func TestCarry(t *testing.T) {
	dir := repository(t, "old", "gone", "kept.secret")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, dir, "clone", "-q", dir, clone)
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	write(t, dir, "staged", "staged")
	write(t, dir, "kept.secret", "changed")
	write(t, dir, "new.secret", "new")
	run(t, dir, "add", "-A")
	write(t, dir, "old", "changed")
	write(t, dir, "ä b/new", "new")
	run(t, dir, "remote", "add", "o", "https://max:hunter2@example.org/a.git")
	run(t, dir, "remote", "add", "s", "ssh://git:hunter2@example.org/a.git")
	testenv.Must(t, os.Remove(filepath.Join(dir, "gone")))
	canary := hostile(t, dir)
	before := all(t, filepath.Join(dir, ".git"))
	c, bundle := carry(t, dir)
	if after := all(t, filepath.Join(dir, ".git")); after != before {
		t.Errorf("the repository was changed: %s", after)
	}
	if again, _ := carry(t, dir); again.Index != c.Index {
		t.Errorf("the same state is %s and %s", c.Index, again.Index)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a program of the repository ran")
	}
	if !slices.Equal(c.Held, []string{"kept.secret", "new.secret"}) {
		t.Errorf("held are %q", c.Held)
	}
	changed := slices.DeleteFunc(append(c.Changed, c.Untracked...), func(path string) bool { return strings.HasPrefix(path, "hooks/") }) // of hostile
	if !slices.Equal(changed, []string{"old", "ä b/new"}) || !slices.Equal(c.Deleted, []string{"gone"}) || c.Branch != "main" || len(c.Roots) != 1 {
		t.Errorf("%+v", c)
	}
	if want := []Remote{{"o", "https://example.org/a.git"}, {"s", "ssh://git@example.org/a.git"}}; !slices.Equal(c.Remotes, want) {
		t.Errorf("the remotes are %v", c.Remotes)
	}
	testenv.Must(t, TakeBundle(clone, bundle, c, 1<<30, time.Minute))
	path := filepath.Join(t.TempDir(), "tree")
	testenv.Must(t, errors.Join(MakeBranch(clone, "moved", c.Head, path), AddWorktree(clone, path, "moved", time.Minute), FillIndex(path, c.Index, time.Minute)))
	if got := run(t, path, "status", "--porcelain"); got != "A  staged" {
		t.Errorf("git says %q", got)
	}
	if got := run(t, path, "rev-parse", "HEAD"); got != c.Head {
		t.Errorf("HEAD is %s", got)
	}
	if err := MakeBranch(clone, "moved", c.Head, path); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := MakeBranch(clone, "main", c.Head, path); !errors.Is(err, ErrBranchTaken) {
		t.Errorf("a branch that is checked out: %v", err)
	}
	if err := TakeBundle(clone, bundle, c, 100, time.Minute); err == nil {
		t.Error("it took more than it may")
	}
}

// A merge that is under way, a conflict and an unborn branch are not carried.
func TestCarryRefuses(t *testing.T) {
	dir := repository(t, "a")
	bundle := filepath.Join(t.TempDir(), "bundle")
	none := func(string) bool { return false }
	run(t, dir, "checkout", "-q", "-b", "other")
	write(t, dir, "a", "other\n")
	run(t, dir, "commit", "-q", "-a", "-m", "other")
	run(t, dir, "checkout", "-q", "main")
	write(t, dir, "a", "main\n")
	run(t, dir, "commit", "-q", "-a", "-m", "main")
	write(t, dir, ".git/MERGE_HEAD", run(t, dir, "rev-parse", "other")+"\n")
	if _, err := Carry(dir, bundle, none, time.Minute); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a merge: %v", err)
	}
	empty := t.TempDir()
	run(t, empty, "init", "-q")
	if _, err := Carry(empty, bundle, none, time.Minute); err == nil || !strings.Contains(err.Error(), "no commit") {
		t.Errorf("an unborn branch: %v", err)
	}
}

// A tree of which a few bytes are gigabytes on disk is noticed while git lists it.
func TestSizes(t *testing.T) {
	s := &sizes{most: 1000}
	line := "100644 blob 0123456789012345678901234567890123456789     400\ta\tb\x00"
	if _, err := io.WriteString(s, line+line); err != nil || s.total != 800 {
		t.Errorf("%d, %v", s.total, err)
	}
	if _, err := io.WriteString(s, line); !errors.Is(err, errTooMuch) {
		t.Errorf("%d, %v", s.total, err)
	}
}
