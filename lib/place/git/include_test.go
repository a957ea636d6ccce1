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
	if _, _, err := CopyIncluded(dir, tree, quick); err == nil {
		t.Error("read all of it")
	}
	write(t, dir, Include, "*")
	if err := os.Remove(filepath.Join(tree, ".env")); err != nil {
		t.Fatal(err)
	}
	sparse := func(name string, size int64) {
		t.Helper()
		write(t, dir, name, "")
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
	}
	sparse("data/huge", maxIncludedSum+1)
	write(t, dir, "data/small", "text of data/small")
	n, left, err = CopyIncluded(dir, tree, quick)
	if said := errors.Join(left...).Error(); err != nil || n < 3 || !strings.Contains(said, "data/huge: 2048 MiB are too large (at most 2048 MiB are copied)") {
		t.Errorf("copied %d, left %q, %v", n, left, err)
	}
	for _, name := range []string{".env", "data/small"} {
		if data, _ := os.ReadFile(filepath.Join(tree, name)); string(data) != "text of "+name {
			t.Errorf("%s: %q", name, data)
		}
	}
	sparse("data/huge", maxIncludedSum/4*3)
	sparse("data/fixtures/large", maxIncludedSum/4*3)
	write(t, dir, ".env.more", "more")
	_, left, err = CopyIncluded(dir, tree, quick)
	if said := errors.Join(left...).Error(); err != nil || !strings.Contains(said, "data: 6 files of 3072 MiB are too much (at most 20000 of 2048 MiB are copied)") {
		t.Errorf("left %q, %v", left, err)
	}
	if data, _ := os.ReadFile(filepath.Join(tree, ".env.more")); string(data) != "more" {
		t.Errorf(".env.more: %q", data)
	}
	if _, err := os.Lstat(filepath.Join(tree, "data/fixtures/large")); err == nil {
		t.Error("a part of a folder was copied")
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
