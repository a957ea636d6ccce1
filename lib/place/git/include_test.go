package git

import (
	"errors"
	"fmt"
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

	n, left, err := CopyIncluded(dir, tree, quickWait)
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
	if _, _, err := CopyIncluded(dir, tree, quickWait); err == nil {
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
	n, left, err = CopyIncluded(dir, tree, quickWait)
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
	_, left, err = CopyIncluded(dir, tree, quickWait)
	if said := errors.Join(left...).Error(); err != nil || !strings.Contains(said, "data/: 6 files of 3072 MiB are too much (at most 20000 of 2048 MiB are copied)") {
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
	if n, _, err := CopyIncluded(dir, tree, quickWait); err == nil || n != 0 {
		t.Errorf("a link names them: %d", n)
	}
}

// Files are left in whole folders however git is told to ignore them, and an .env is left last.
// A file that is not there counts as an empty one.
func TestIncludedFit(t *testing.T) {
	numbered := func(format string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf(format, i))
		}
		return names
	}
	dir := repository(t, "packages/x/main.js", "src/deep/main.c")
	source, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for _, test := range []struct {
		name, ignored string
		names, left   []string
		fit           int
	}{
		{"build", "build/**", append(numbered("build/%d", 22_000), "packages/x/.env"), []string{"build/"}, 2},
		{"modules", "node_modules/*", append(numbered("node_modules/p1/%d", 11_000), numbered("node_modules/p2/%d", 11_000)...), []string{"node_modules/"}, 1},
		{"logs", "*.log", append(numbered("logs/%d.log", 21_000), numbered("packages/x/node_modules/%d", 100)...), []string{"logs/"}, 101},
		{"loose", "*.o", append(numbered("src/%05d.o", maxIncluded-2), "src/deep/main.o", "a/b", "src/longer.o"), []string{"src/deep/main.o", "src/longer.o"}, maxIncluded},
		{"top", "*.log", append(numbered("%05d.log", maxIncluded-1), "a/b"), []string{"a/"}, maxIncluded},
	} {
		t.Run(test.name, func(t *testing.T) {
			write(t, dir, ".gitignore", ".env\n"+test.ignored+"\n")
			fit, left, err := selectFitting(source, append([]string{".env"}, test.names...), quickWait)
			var names []string
			for _, err := range left {
				name, _, _ := strings.Cut(err.Error(), ":")
				names = append(names, name)
			}
			if err != nil || len(fit) != test.fit || fit[0] != ".env" || !slices.Equal(names, test.left) {
				t.Errorf("%d files fit, left %q, %v", len(fit), names[:min(len(names), 5)], err)
			}
		})
	}
}
