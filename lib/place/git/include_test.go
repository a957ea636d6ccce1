package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The patterns are those that others' copies of this feature silently do not match.
func TestCopyIncluded(t *testing.T) {
	person(t)
	dir := repository(t, "tracked.env")
	write(t, dir, ".gitignore", ".env*\n!.env.example\ndata/\n*-local/\nlink/\nout\n")
	for _, name := range []string{
		".env", ".env.example", ".env.left", "data/fixtures/a_1.txt", "data/fixtures/b.txt", "data/other", "parts/x-local/S.md", "sub/x-local/S.md", "inner/x-local/S.md", "unknown.key", "out", ".runtime/x",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, "text of "+name)
	}
	if err := os.Chmod(filepath.Join(dir, ".env"), 0o640); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for name, to := range map[string]string{".env.link": "/etc/passwd", ".env.inside": ".env"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "add", ".gitignore")
	run(t, dir, "commit", "-q", "-m", "rules")
	write(t, dir, Include, "# what is needed\n.env*\n!.env.left\ndata/fixtures/a_*.txt\n**/x-local/\n*.key\nout\ndata/other\ntracked.env\n.runtime/\n")
	run(t, dir, "worktree", "add", "-q", "../tree")
	tree := filepath.Join(filepath.Dir(dir), "tree")
	write(t, tree, "out", "mine")
	write(t, tree, "parts", "no folder")
	if err := os.Symlink(outside, filepath.Join(tree, "sub")); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(filepath.Join(tree, "elsewhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", filepath.Join(tree, "inner")); err != nil {
		t.Fatal(err)
	}

	n, left, err := CopyIncluded(dir, tree, quick)
	var names []string
	for _, err := range left {
		name, _, _ := strings.Cut(err.Error(), ":")
		names = append(names, name)
	}
	slices.Sort(names)
	if err != nil || n != 3 || !slices.Equal(names, []string{".env.inside", ".env.link", "inner/x-local/S.md", "parts/x-local/S.md", "sub/x-local/S.md"}) {
		t.Errorf("copied %d, left %q, %v", n, left, err)
	}
	for name, want := range map[string]string{
		".env": "text of .env", "data/fixtures/a_1.txt": "text of data/fixtures/a_1.txt", "data/other": "text of data/other", "out": "mine",
		".env.left": "", ".env.example": "", "data/fixtures/b.txt": "", "unknown.key": "", ".env.link": "", ".runtime/x": "",
	} {
		if data, _ := os.ReadFile(filepath.Join(tree, name)); string(data) != want {
			t.Errorf("%s: %q, want %q", name, data, want)
		}
	}
	if info, err := os.Stat(filepath.Join(tree, ".env")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if all, _ := os.ReadDir(outside); len(all) != 0 {
		t.Errorf("written through a link: %v", all)
	}
	if all, _ := os.ReadDir(filepath.Join(tree, "elsewhere")); len(all) != 0 {
		t.Errorf("written through a link within the worktree: %v", all)
	}

	write(t, dir, Include, strings.Repeat("#", maxIncludeFile+1))
	if _, _, err := CopyIncluded(dir, tree, quick); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	write(t, dir, Include, "data/huge\n")
	write(t, dir, "data/huge", "")
	if err := os.Truncate(filepath.Join(dir, "data/huge"), maxIncludedSum+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := CopyIncluded(dir, tree, quick); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, Include)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".gitignore", filepath.Join(dir, Include)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := CopyIncluded(dir, tree, quick); err == nil || n != 0 {
		t.Errorf("a link names them: %d", n)
	}
}
