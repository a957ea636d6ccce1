package git

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// carry carries the worktree dir to a bundle.
func carry(t *testing.T, dir string) (Carried, string) {
	t.Helper()
	bundle := filepath.Join(t.TempDir(), "bundle")
	c, err := Carry(dir, bundle, func(path string) bool { return strings.HasSuffix(path, ".secret") }, time.Minute)
	testenv.NoError(t, err)
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
	testenv.NoError(t, os.Remove(filepath.Join(dir, "gone")))
	canary := hostile(t, dir)
	before := readTree(t, filepath.Join(dir, ".git"))
	c, bundle := carry(t, dir)
	if after := readTree(t, filepath.Join(dir, ".git")); after != before {
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
	testenv.NoError(t, TakeBundle(clone, bundle, c, 1<<30, time.Minute))
	path := filepath.Join(t.TempDir(), "tree")
	testenv.NoError(t, errors.Join(MakeBranch(clone, "moved", c.Head, path), AddWorktree(clone, path, "moved", "", time.Minute), FillIndex(path, c.Index, time.Minute)))
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

// What a bundle and files cannot make anew elsewhere is refused by name; what only stays is
// told.
func TestPortable(t *testing.T) {
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 3\n"
	object := ".git/lfs/objects/ab/ab/" + strings.Repeat("ab", 32)
	submodule := func(t *testing.T, dir string) string {
		run(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repository(t, "x"), "sub")
		write(t, os.Getenv("HOME"), ".gitconfig", "[user]\nname = T\nemail = t@example.org\n")
		run(t, dir, "commit", "-q", "-m", "sub")
		return filepath.Join(dir, "sub")
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir string)
		want string
	}{
		"sparse": {func(t *testing.T, dir string) {
			write(t, dir, "deep/x", "x")
			run(t, dir, "add", "-A")
			run(t, dir, "commit", "-q", "-m", "deep")
			run(t, dir, "sparse-checkout", "set", "--no-cone", "/a")
		}, "git leaves out deep/x"},
		"a submodule": {func(t *testing.T, dir string) { submodule(t, dir) }, ""},
		"its changes": {func(t *testing.T, dir string) { write(t, submodule(t, dir), "x", "y") }, "the submodule sub is at another commit or has changes"},
		"its commits": {func(t *testing.T, dir string) { run(t, submodule(t, dir), "commit", "-q", "--allow-empty", "-m", "y") }, "the submodule sub is at another commit"},
		"its commits, added": {func(t *testing.T, dir string) {
			run(t, submodule(t, dir), "commit", "-q", "--allow-empty", "-m", "y")
			run(t, dir, "add", "sub")
		}, "sub has 1 commit"},
		"a pipe": {func(t *testing.T, dir string) {
			testenv.NoError(t, errors.Join(os.Remove(filepath.Join(dir, "a")), syscall.Mkfifo(filepath.Join(dir, "a"), 0o600)))
		}, "a is neither a file nor a link"},
		"Git LFS": {func(t *testing.T, dir string) {
			write(t, dir, object, "x")
			write(t, dir, "big", lfs)
			run(t, dir, "add", "big")
		}, "big is in Git LFS and on no remote"},
		"Git LFS, committed": {func(t *testing.T, dir string) {
			write(t, dir, object, "x")
			write(t, dir, "big", lfs)
			run(t, dir, "add", "big")
			run(t, dir, "commit", "-q", "-m", "big")
		}, "big is in Git LFS"},
		"Git LFS, pushed": {func(t *testing.T, dir string) {
			write(t, dir, object, "x")
			write(t, dir, "big", lfs)
			run(t, dir, "add", "big")
			run(t, dir, "commit", "-q", "-m", "big")
			run(t, dir, "update-ref", "refs/remotes/o/main", "HEAD")
		}, ""},
		"Git LFS without files": {func(t *testing.T, dir string) { write(t, dir, "big", lfs); run(t, dir, "add", "big") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Sample(t, 6)
			dir := repository(t, "a")
			c.do(t, dir)
			if err := CheckPortable(dir, time.Minute); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	dir := repository(t, "a")
	write(t, dir, "a", "x")
	run(t, dir, "stash", "-q")
	write(t, dir, ".gitignore", "ignored/")
	run(t, dir, "init", "-q", "ignored/one")
	write(t, dir, "ignored/one/x", "x")
	if c, _ := carry(t, dir); !c.Stashed || len(c.Left) != 1 || c.Left[0].String() != "ignored/one has 1 untracked" {
		t.Errorf("%+v", c)
	}
}

// A tree of which a few bytes are gigabytes on disk is noticed while git lists it.
func TestSizes(t *testing.T) {
	s := &sizeSum{most: 1000}
	line := "100644 blob 0123456789012345678901234567890123456789     400\ta\tb\x00"
	if _, err := io.WriteString(s, line+line); err != nil || s.total != 800 {
		t.Errorf("%d, %v", s.total, err)
	}
	if _, err := io.WriteString(s, line); !errors.Is(err, errTooMuch) {
		t.Errorf("%d, %v", s.total, err)
	}
}
