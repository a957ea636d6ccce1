package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// plain is what a git says that is run as a person runs it.
func plain(t *testing.T, dir string) State {
	t.Helper()
	cmd := exec.Command("git", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--renames", "--ignore-submodules=dirty")
	cmd.Dir = dir
	out, err := cmd.Output()
	testenv.NoError(t, err)
	return parseStatus(out)
}

// Git that is not shown the repository's configuration says what it says
// otherwise.
func TestStatusIsThatOfGit(t *testing.T) {
	changed := func(t *testing.T, dir string) string {
		write(t, dir, "a", "changed\n")
		write(t, dir, "new/file", "new\n")
		run(t, dir, "mv", "b", "c")
		return dir
	}
	for name, build := range map[string]func(t *testing.T, dir string) string{
		"plain": changed,
		"detached": func(t *testing.T, dir string) string {
			run(t, dir, "checkout", "-q", "--detach")
			return changed(t, dir)
		},
		"HEAD is a link": func(t *testing.T, dir string) string {
			testenv.NoError(t, os.Remove(filepath.Join(dir, ".git", "HEAD")))
			testenv.NoError(t, os.Symlink("refs/heads/main", filepath.Join(dir, ".git", "HEAD")))
			return changed(t, dir)
		},
		"packed": func(t *testing.T, dir string) string {
			run(t, dir, "gc", "-q")
			return changed(t, dir)
		},
		"upstream": func(t *testing.T, dir string) string {
			clone := filepath.Join(t.TempDir(), "clone")
			run(t, dir, "clone", "-q", "-o", "there", dir, clone)
			run(t, clone, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "ahead")
			return changed(t, clone)
		},
		"shallow": func(t *testing.T, dir string) string {
			run(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
			clone := filepath.Join(t.TempDir(), "clone")
			run(t, dir, "clone", "-q", "--depth=1", "file://"+dir, clone)
			run(t, dir, "commit", "-q", "--allow-empty", "-m", "third")
			run(t, clone, "fetch", "-q", "--depth=1")
			return changed(t, clone)
		},
		"sha256": func(t *testing.T, _ string) string {
			dir := filepath.Join(t.TempDir(), "sha256")
			run(t, ".", "init", "-q", "--object-format=sha256", dir)
			write(t, dir, "a", "a\n")
			run(t, dir, "add", ".")
			run(t, dir, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first")
			write(t, dir, "a", "b\n")
			return dir
		},
		"modes are not kept": func(t *testing.T, dir string) string {
			run(t, dir, "config", "core.fileMode", "false")
			testenv.NoError(t, os.Chmod(filepath.Join(dir, "b"), 0o700))
			return dir
		},
		"line ends by an included file": func(t *testing.T, dir string) string {
			write(t, dir, "shared.conf", "[core]\n\tautocrlf = true\n")
			run(t, dir, "config", "include.path", "../shared.conf")
			for _, name := range []string{"a", "b"} {
				os.Remove(filepath.Join(dir, name))
			}
			run(t, dir, "checkout", "-q", "-f")
			later := time.Now().Add(time.Hour)
			testenv.NoError(t, os.Chtimes(filepath.Join(dir, "a"), later, later))
			return dir
		},
		"ignored by a file of its own": func(t *testing.T, dir string) string {
			write(t, dir, ".git/more", "new\n")
			run(t, dir, "config", "core.excludesFile", ".git/more")
			return changed(t, dir)
		},
		"a linked worktree with its own settings": func(t *testing.T, dir string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, dir, "worktree", "add", "-q", "-b", "side", linked)
			run(t, dir, "config", "extensions.worktreeConfig", "true")
			run(t, linked, "config", "--worktree", "core.fileMode", "false")
			testenv.NoError(t, os.Chmod(filepath.Join(linked, "a"), 0o700))
			run(t, linked, "mv", "b", "c")
			return linked
		},
		"a sparse index": func(t *testing.T, dir string) string {
			write(t, dir, "far/away/x", "x\n")
			write(t, dir, "near/y", "y\n")
			run(t, dir, "add", ".")
			run(t, dir, "commit", "-q", "-m", "folders")
			run(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "near")
			return changed(t, dir)
		},
		"an empty .git below": func(t *testing.T, dir string) string {
			changed(t, dir)
			testenv.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", ".git"), 0o700))
			return filepath.Join(dir, "sub")
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			testenv.Sample(t, 4)
			dir := build(t, repository(t, "a", "b"))
			if got, want := status(t, dir), plain(t, dir); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// The git directory of ours lies where no project can write, follows what
// changes in the repository, and one of long ago is removed.
func TestScratch(t *testing.T) {
	dir := repository(t, "a")
	state := filepath.Join(os.Getenv("HOME"), ".local", "state", "gt", "git")
	write(t, state, "old/config", "")
	write(t, state, "young/config", "")
	past := time.Now().Add(-2 * forgottenAge)
	testenv.NoError(t, os.Chtimes(filepath.Join(state, "old"), past, past))
	status(t, dir)
	left := readNames(state)
	if len(left) != 2 || !slices.Contains(left, "young") {
		t.Errorf("left is %s", left)
	}
	run(t, dir, "checkout", "-q", "-b", "side")
	run(t, dir, "config", "core.fileMode", "false")
	testenv.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0o700))
	if s := status(t, dir); s.Branch != "side" || len(s.Changes) > 0 || len(readNames(state)) != 2 {
		t.Errorf("what changed is not seen: %+v", s)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	if _, err := Status(dir, time.Minute); err == nil || !strings.Contains(err.Error(), "lies in the project") {
		t.Errorf("a state in the project: %v", err)
	}
}
