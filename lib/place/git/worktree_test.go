package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"
)

// hostile has each program that a repository can name leave a trace.
func hostile(t *testing.T, dir string) (canary string) {
	t.Helper()
	canary = filepath.Join(t.TempDir(), "canary")
	trap := "sh -c 'echo ran >>" + canary + "; cat'"
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		write(t, dir, "hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+canary+"\n")
		testenv.NoError(t, os.Chmod(filepath.Join(dir, "hooks", hook), 0o700))
	}
	run(t, dir, "config", "core.hooksPath", filepath.Join(dir, "hooks"))
	run(t, dir, "config", "filter.trap.smudge", trap)
	run(t, dir, "config", "filter.trap.clean", trap)
	run(t, dir, "config", "core.fsmonitor", trap)
	return canary
}

// What git says of a failure is the reason, and not what it was about to do. Nothing is left.
func TestAddWorktreeSaysWhy(t *testing.T) {
	dir := repository(t, "a")
	run(t, dir, "branch", "fix")
	beside := t.TempDir()
	write(t, beside, "file", "")
	for branch, c := range map[string]struct{ path, want string }{
		"fix/parser": {filepath.Join(beside, "parser"), "cannot lock ref 'refs/heads/fix/parser'"},
		"other":      {filepath.Join(beside, "file", "other"), "could not create leading directories"},
	} {
		err := AddWorktree(dir, c.path, branch, "", time.Minute)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Preparing") {
			t.Errorf("%s: %v", branch, err)
		}
		if got := run(t, dir, "branch", "--list", branch); got != "" {
			t.Errorf("the branch %s is left", got)
		}
		if _, err := os.Lstat(c.path); err == nil {
			t.Errorf("%s is left", c.path)
		}
	}
}

// git follows no link that a repository has where git writes, out of the repository.
func TestAddWorktreeFollowsNoLink(t *testing.T) {
	for _, name := range []string{"logs", "logs/refs", "refs/heads/a", "worktrees", "packed-refs", "config", "lfs/objects"} {
		dir, beside := repository(t, "a"), t.TempDir()
		at, outside := filepath.Join(dir, ".git", name), filepath.Join(beside, "outside")
		run(t, dir, "pack-refs", "--all")
		testenv.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		if os.Rename(at, outside) != nil && os.Mkdir(outside, 0o700) != nil {
			t.Fatal("nothing is outside")
		}
		testenv.NoError(t, os.Symlink(outside, at))
		before := readTree(t, outside)
		err := AddWorktree(dir, filepath.Join(beside, "x"), "a/b", "", time.Minute)
		if err == nil || !strings.HasSuffix(err.Error(), "/.git/"+name+"' is a link, and git would write where it leads") {
			t.Errorf("%s: %v", name, err)
		}
		if after := readTree(t, outside); after != before {
			t.Errorf("%s: outside is\n%s, was\n%s", name, after, before)
		}
	}
}

// readTree has each file below a path, with what it holds.
func readTree(t *testing.T, path string) string {
	var b strings.Builder
	err := filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
		data, _ := os.ReadFile(path) // a folder has none
		fmt.Fprintf(&b, "%s %q\n", path, data)
		return err
	})
	testenv.NoError(t, err)
	return b.String()
}

// A worktree is made with the branch that is there, on a remote or new, and runs no
// program that the repository names.
func TestAddWorktree(t *testing.T) {
	dir := repository(t, "a", "sub/b", ".gitattributes")
	write(t, dir, ".gitattributes", "* filter=trap\n")
	run(t, dir, "commit", "-q", "-a", "-m", "attributes")
	run(t, dir, "branch", "here")
	run(t, dir, "update-ref", "refs/remotes/origin/theirs", "HEAD")
	run(t, dir, "branch", "origin/theirs", "HEAD~1")
	run(t, dir, "update-ref", "refs/remotes/origin/only/there", "HEAD")
	run(t, dir, "config", "remote.origin.url", dir)
	run(t, dir, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	canary := hostile(t, dir)
	beside := t.TempDir()
	for _, branch := range []string{"here", "theirs", "all/new"} {
		path := filepath.Join(beside, strings.ReplaceAll(branch, "/", "-"))
		testenv.NoError(t, AddWorktree(dir, path, branch, "", time.Minute))
		if data, err := os.ReadFile(filepath.Join(path, "sub", "b")); err != nil || len(data) == 0 {
			t.Errorf("%s: %v", branch, err)
		}
		if got := Branch(path); got != branch {
			t.Errorf("the branch is %s, not %s", got, branch)
		}
		if err := CheckSaved(path, time.Minute); err != nil {
			t.Errorf("%s: %v", branch, err)
		}
	}
	if data, err := os.ReadFile(canary); err == nil {
		t.Errorf("programs of the repository's ran: %s", data)
	}
	if up := run(t, dir, "-c", "core.fsmonitor=false", "rev-parse", "--symbolic-full-name", "theirs@{upstream}"); up != "refs/remotes/origin/theirs" {
		t.Errorf("it follows %s", up)
	}
	var checked *CheckedOutError
	if err := AddWorktree(dir, filepath.Join(beside, "x"), "here", "", time.Minute); !errors.As(err, &checked) || checked.Path != filepath.Join(beside, "here") {
		t.Errorf("a branch that is checked out: %v", err)
	}
	if err := AddWorktree(dir, filepath.Join(beside, "x"), "main", "", time.Minute); !errors.As(err, &checked) || checked.Path != dir {
		t.Errorf("a branch that is checked out: %v", err)
	}
	for _, name := range []string{"-b", "a..b", "", "HEAD", "a b", "origin/only/there"} {
		if CheckNewBranch(dir, name) == nil {
			t.Errorf("%q is a branch", name)
		}
	}
	for _, name := range []string{"origin", "only/there", "origin/only", "origin/theirs"} {
		testenv.NoError(t, CheckNewBranch(dir, name))
	}
	testenv.NoError(t, CheckBranch(dir, "origin/only/there")) // of an agent that comes with a branch of this name
}

// git that lists worktrees fails where another git is in the middle of adding one.
func TestAddWorktreesAtOnce(t *testing.T) {
	testenv.Sample(t, 3)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := repository(t, "a")
	beside := t.TempDir()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			branch := fmt.Sprint("b", i)
			if err := AddWorktree(dir, filepath.Join(beside, branch), branch, "", time.Minute); err != nil {
				t.Errorf("%s: %v", branch, err)
			}
		})
	}
	all.Wait()
}

// What was cut off while it was made is finished, whatever was there already.
func TestAddWorktreeAgain(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, dir, path, admin string){
		"the branch only": func(t *testing.T, dir, path, _ string) { run(t, dir, "worktree", "remove", "-f", path) },
		"git was making it": func(t *testing.T, _, path, admin string) {
			write(t, admin, "locked", "initializing")
			write(t, admin, "HEAD", strings.Repeat("0", 40)+"\n")
			for _, f := range []string{"a", "sub/b", "sub", ".git"} {
				testenv.NoError(t, os.Remove(filepath.Join(path, f)))
			}
		},
		"no files": func(t *testing.T, dir, path, admin string) {
			for _, f := range []string{filepath.Join(path, "a"), filepath.Join(admin, "index")} {
				testenv.NoError(t, os.Remove(f))
			}
		},
		"half of a file, and a lock": func(t *testing.T, _, path, admin string) {
			write(t, path, "a", "a\n")
			write(t, admin, "index.lock", "")
		},
		"all": func(*testing.T, string, string, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t, "a", "sub/b")
			path := filepath.Join(t.TempDir(), "wt")
			testenv.NoError(t, AddWorktree(dir, path, "new", "", time.Minute))
			cut(t, dir, path, filepath.Join(dir, ".git", "worktrees", "wt"))
			testenv.NoError(t, AddWorktree(dir, path, "new", "", time.Minute))
			if err := CheckSaved(path, time.Minute); err != nil {
				t.Error(err)
			}
			if out := run(t, path, "status", "--porcelain"); out != "" {
				t.Errorf("git says %s", out)
			}
			if out := run(t, dir, "worktree", "list", "--porcelain"); strings.Contains(out, "locked") || strings.Count(out, "worktree ") != 2 {
				t.Errorf("git says %s", out)
			}
		})
	}
}

// Where the files cannot be checked out, nothing is left.
func TestAddWorktreeFails(t *testing.T) {
	dir := repository(t, "a")
	blob := run(t, dir, "rev-parse", "HEAD:a")
	testenv.NoError(t, os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])))
	path := filepath.Join(t.TempDir(), "wt")
	if err := AddWorktree(dir, path, "new", "", time.Minute); err == nil {
		t.Fatal("a file that is not there was checked out")
	}
	if pathExists(path) || run(t, dir, "branch", "--list", "new") != "" || strings.Contains(run(t, dir, "worktree", "list"), "wt") {
		t.Error("something is left")
	}
}

// A worktree stays that holds anything that is nowhere else.
func TestSaved(t *testing.T) {
	commit := func(t *testing.T, path string) {
		run(t, path, "commit", "-q", "--allow-empty", "-m", "mine")
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir, path string)
		want string
	}{
		"nothing":   {func(*testing.T, string, string) {}, ""},
		"changed":   {func(t *testing.T, _, path string) { write(t, path, "a", "x") }, "1 modified"},
		"untracked": {func(t *testing.T, _, path string) { write(t, path, "new/file", "x") }, "1 untracked"},
		"staged":    {func(t *testing.T, _, path string) { run(t, path, "rm", "-q", "--cached", "a") }, "modified"},
		"hidden": {func(t *testing.T, _, path string) {
			run(t, path, "update-index", "--assume-unchanged", "a")
			write(t, path, "a", "x")
		}, "not to look at a"},
		"committed": {func(t *testing.T, _, path string) { commit(t, path) }, "1 commit that is neither pushed nor merged"},
		"two":       {func(t *testing.T, _, path string) { commit(t, path); commit(t, path) }, "2 commits that are"},
		"detached":  {func(t *testing.T, _, path string) { run(t, path, "checkout", "-q", "--detach"); commit(t, path) }, "1 commit"},
		"left by a checkout": {func(t *testing.T, _, path string) {
			run(t, path, "checkout", "-q", "--detach")
			commit(t, path)
			commit(t, path)
			run(t, path, "checkout", "-q", "new")
		}, "2 commits that are neither pushed nor merged, left on a detached HEAD"},
		"left by a checkout on a detached HEAD": {func(t *testing.T, _, path string) {
			run(t, path, "checkout", "-q", "--detach")
			commit(t, path)
			run(t, path, "checkout", "-q", "HEAD~1")
		}, "1 commit that is neither pushed nor merged, left on a detached HEAD"},
		"left and kept by a tag": {func(t *testing.T, _, path string) {
			run(t, path, "checkout", "-q", "--detach")
			commit(t, path)
			run(t, path, "tag", "v1")
			run(t, path, "checkout", "-q", "new")
		}, ""},
		"left and pruned": {func(t *testing.T, dir, path string) {
			run(t, path, "checkout", "-q", "--detach")
			commit(t, path)
			id := run(t, path, "rev-parse", "HEAD")
			run(t, path, "checkout", "-q", "new")
			testenv.NoError(t, os.Remove(filepath.Join(dir, ".git", "objects", id[:2], id[2:])))
		}, ""},
		"squashed by a rebase": {func(t *testing.T, dir, path string) {
			commit(t, path)
			write(t, path, "b", "b")
			run(t, path, "add", "b")
			run(t, path, "commit", "-q", "--fixup", "HEAD")
			run(t, path, "-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "--keep-empty", "HEAD~2")
			run(t, dir, "merge", "-q", "new")
		}, ""},
		"merged": {func(t *testing.T, dir, path string) { commit(t, path); run(t, dir, "merge", "-q", "new") }, ""},
		"pushed": {func(t *testing.T, dir, path string) {
			commit(t, path)
			run(t, path, "update-ref", "refs/remotes/o/new", "HEAD")
		}, ""},
		// Another name of its branch keeps nothing.
		"with an alias": {func(t *testing.T, dir, path string) {
			commit(t, path)
			for _, alias := range []string{"refs/heads/current", "refs/remotes/o/current", "refs/tags/current"} {
				run(t, dir, "symbolic-ref", alias, "refs/heads/new")
			}
			run(t, dir, "symbolic-ref", "refs/heads/again", "refs/heads/current")
			run(t, path, "symbolic-ref", "refs/heads/here", "HEAD")
		}, "1 commit"},
		"merged, with an alias": {func(t *testing.T, dir, path string) {
			commit(t, path)
			run(t, dir, "symbolic-ref", "refs/heads/current", "refs/heads/new")
			run(t, dir, "merge", "-q", "new")
		}, ""},
		"stale remote": {func(t *testing.T, dir, path string) {
			run(t, path, "update-ref", "refs/remotes/o/new", "HEAD")
			commit(t, path)
		}, "1 commit"},
		"bisecting": {func(t *testing.T, _, path string) { run(t, path, "bisect", "start") }, "BISECT_LOG"},
		"locked":    {func(t *testing.T, dir, path string) { run(t, dir, "worktree", "lock", "--reason", "mine", path) }, `locked ("mine")`},
		"moved": {func(t *testing.T, _, path string) {
			write(t, path, "b", "x")
			testenv.NoError(t, os.Rename(path, path+"2"))
		}, "1 untracked"},
		"its own refs": {func(t *testing.T, _, path string) { run(t, path, "update-ref", "refs/worktree/mine", "HEAD") }, "refs of its own"},
		// Below it, in a folder that git ignores.
		"clone": {func(t *testing.T, dir, path string) { run(t, path, "clone", "-q", dir, "ignored/lib") }, ""},
		"changed clone": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/lib")
			write(t, path, "ignored/lib/a", "x")
		}, "ignored/lib has 1 modified"},
		"clone with a commit": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/deep/lib")
			commit(t, filepath.Join(path, "ignored/deep/lib"))
		}, "ignored/deep/lib has 1 commit"},
		"clone with a branch": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/lib")
			lib := filepath.Join(path, "ignored/lib")
			run(t, lib, "checkout", "-q", "-b", "aside")
			commit(t, lib)
			run(t, lib, "checkout", "-q", "-")
		}, "ignored/lib has 1 commit"},
		"clone with a commit left by a checkout": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/lib")
			lib := filepath.Join(path, "ignored/lib")
			run(t, lib, "checkout", "-q", "--detach")
			commit(t, lib)
			run(t, lib, "checkout", "-q", "-")
		}, "ignored/lib has 1 commit that is neither pushed nor merged, left on a detached HEAD"},
		"clone with a tag": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/lib")
			lib := filepath.Join(path, "ignored/lib")
			run(t, lib, "checkout", "-q", "--detach")
			commit(t, lib)
			run(t, lib, "tag", "v1")
			run(t, lib, "checkout", "-q", "-")
		}, "ignored/lib has 1 commit"},
		"clone of a tag": {func(t *testing.T, dir, path string) {
			commit(t, path)
			run(t, path, "tag", "v1")
			run(t, path, "reset", "-q", "--hard", "HEAD~1")
			run(t, path, "clone", "-q", "--branch", "v1", "--depth", "1", "file://"+dir, "ignored/lib")
		}, ""},
		"stash": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/lib")
			write(t, path, "ignored/lib/a", "x")
			run(t, filepath.Join(path, "ignored/lib"), "stash", "-q")
		}, "ignored/lib has a stash"},
		"new repository": {func(t *testing.T, _, path string) {
			run(t, path, "init", "-q", "ignored/one")
			commit(t, filepath.Join(path, "ignored/one"))
		}, "ignored/one has 1 commit"},
		"two new repositories": {func(t *testing.T, _, path string) {
			for _, name := range []string{"ignored/one", "ignored/two"} {
				run(t, path, "init", "-q", name)
				commit(t, filepath.Join(path, name))
			}
		}, "ignored/one has 1 commit that is neither pushed nor merged (and 1 more)"},
		"empty repository": {func(t *testing.T, _, path string) { run(t, path, "init", "-q", "ignored/one") }, ""},
		"bare repository":  {func(t *testing.T, dir, path string) { run(t, path, "clone", "-q", "--bare", dir, "ignored/one") }, "ignored/one has 1 commit"},
		"worktree": {func(t *testing.T, _, path string) {
			run(t, path, "worktree", "add", "-q", "-b", "sub", "ignored/sub")
			write(t, path, "ignored/sub/new", "x")
		}, "ignored/sub has 1 untracked"},
		"clean worktree": {func(t *testing.T, _, path string) {
			run(t, path, "worktree", "add", "-q", "-b", "sub", "ignored/sub")
			commit(t, filepath.Join(path, "ignored/sub"))
		}, ""},
		"worktree with a commit left by a checkout": {func(t *testing.T, _, path string) {
			run(t, path, "worktree", "add", "-q", "-b", "sub", "ignored/sub")
			sub := filepath.Join(path, "ignored/sub")
			run(t, sub, "checkout", "-q", "--detach")
			commit(t, sub)
			run(t, sub, "checkout", "-q", "sub")
		}, "ignored/sub has 1 commit that is neither pushed nor merged, left on a detached HEAD"},
		"detached worktree": {func(t *testing.T, _, path string) {
			run(t, path, "worktree", "add", "-q", "--detach", "ignored/sub")
			commit(t, filepath.Join(path, "ignored/sub"))
		}, "ignored/sub has 1 commit"},
		"repository of a worktree elsewhere": {func(t *testing.T, dir, path string) {
			run(t, path, "clone", "-q", dir, "ignored/lib")
			run(t, filepath.Join(path, "ignored/lib"), "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "out"))
		}, "ignored/lib has the repository of the worktree"},
		"submodule of a clone": {func(t *testing.T, dir, path string) {
			run(t, path, "init", "-q", "ignored/lib")
			lib := filepath.Join(path, "ignored/lib")
			run(t, lib, "-c", "protocol.file.allow=always", "submodule", "add", "-q", dir, "sub")
			run(t, lib, "commit", "-q", "-a", "-m", "sub")
			run(t, lib, "update-ref", "refs/remotes/o/main", "HEAD")
			sub := filepath.Join(lib, "sub")
			run(t, sub, "checkout", "-q", "-b", "mine")
			commit(t, sub)
			run(t, lib, "submodule", "deinit", "-q", "-f", "sub")
		}, "ignored/lib/.git/modules/sub has 1 commit"},
		"a repository without its own": {func(t *testing.T, _, path string) {
			write(t, path, "ignored/lib/.git", "gitdir: /nowhere\n")
		}, "ignored/lib has a repository that gt cannot read"},
		"another system": {func(t *testing.T, _, path string) { write(t, path, "ignored/lib/.hg/store", "x") }, "ignored/lib has a repository that gt cannot read (.hg)"},
		"an empty .git": {func(t *testing.T, _, path string) {
			testenv.NoError(t, os.MkdirAll(filepath.Join(path, "ignored/lib/.git"), 0o700))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Sample(t, 3)
			dir := repository(t, "a")
			write(t, os.Getenv("HOME"), ".gitconfig", "[user]\nname = T\nemail = t@example.org\n")
			write(t, dir, ".gitignore", "ignored/\n")
			run(t, dir, "add", "-A")
			run(t, dir, "commit", "-q", "--amend", "-m", "first")
			path := filepath.Join(t.TempDir(), "wt")
			testenv.NoError(t, AddWorktree(dir, path, "new", "", time.Minute))
			c.do(t, dir, path)
			if !pathExists(path) {
				path += "2"
			}
			err := CheckSaved(path, time.Minute)
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrUnsaved) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	moved, beside := repository(t, "a"), filepath.Join(t.TempDir(), "w")
	run(t, moved, "worktree", "add", "-q", "-b", "w", beside)
	testenv.NoError(t, os.Rename(moved, moved+"-moved"))
	if err := CheckSaved(beside, time.Minute); err == nil || !strings.Contains(err.Error(), "its repository is no longer at '"+moved) {
		t.Errorf("of a repository that was moved: %v", err)
	}
	run(t, moved+"-moved", "worktree", "repair", beside)
	testenv.NoError(t, CheckSaved(beside, time.Minute))
	if dir := repository(t, "a"); !errors.Is(CheckSaved(dir, time.Minute), ErrUnsaved) {
		t.Error("a repository counts as a worktree of itself")
	}
}

// What is removed is forgotten by git, and no other worktree with it.
func TestForgetWorktree(t *testing.T) {
	dir, beside := repository(t, "a"), t.TempDir()
	for _, name := range []string{"one", "two"} {
		testenv.NoError(t, AddWorktree(dir, filepath.Join(beside, name), name, "", time.Minute))
	}
	for _, name := range []string{"one", "two"} { // the second only is gone for a while
		testenv.NoError(t, os.Rename(filepath.Join(beside, name), filepath.Join(beside, name+"-away")))
	}
	for range 2 {
		if err := ForgetWorktree(dir, filepath.Join(beside, "one")); err != nil {
			t.Error(err)
		}
	}
	if out := run(t, dir, "worktree", "list"); strings.Contains(out, "/one") || !strings.Contains(out, "/two") {
		t.Errorf("git says %s", out)
	}
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// An own worktree that is there is completed only where nobody loses anything by that.
func TestAddOwnWorktree(t *testing.T) {
	const edited = "edited\n"
	must := testenv.NoError
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir, path, at string) // with a complete worktree, in which a is edited
		want error
		is   string // what a is afterwards; "" for what the commit has
	}{
		"complete and edited":      {func(t *testing.T, dir, path, at string) {}, ErrUnsaved, edited},
		"with its branch switched": {func(t *testing.T, dir, path, at string) { run(t, path, "switch", "-q", "-c", "x") }, ErrUnsaved, edited},
		"half checked out": {func(t *testing.T, dir, path, at string) {
			must(t, errors.Join(os.Remove(filepath.Join(path, "a")), os.Remove(filepath.Join(at, "index"))))
			write(t, at, "index.lock", "half")
		}, nil, ""},
		"half of a file": {func(t *testing.T, dir, path, at string) {
			write(t, path, "a", "hal")
			must(t, errors.Join(os.Remove(filepath.Join(path, "sub", "b")), os.Remove(filepath.Join(at, "index"))))
		}, ErrUnsaved, "hal"},
		"half checked out, and added to": {func(t *testing.T, dir, path, at string) {
			must(t, errors.Join(os.Remove(filepath.Join(path, "sub", "b")), os.Remove(filepath.Join(at, "index"))))
			run(t, path, "add", "a")
		}, ErrUnsaved, edited},
		"half checked out, with an edit of a file that gt's are called like": {func(t *testing.T, dir, path, at string) {
			must(t, errors.Join(os.Remove(filepath.Join(path, "sub", "b")), os.Remove(filepath.Join(at, "index"))))
			run(t, path, "checkout", "-q", "HEAD", "--", "a")
			must(t, os.Remove(filepath.Join(at, "index")))
			write(t, path, ".runtime/conf", "mine")
		}, ErrUnsaved, ""},
		"half checked out, and repaired by a person": {func(t *testing.T, dir, path, at string) { run(t, path, "reset", "-q", "--hard") }, nil, ""},
		"killed before the checkout": {func(t *testing.T, dir, path, at string) {
			must(t, errors.Join(os.Remove(filepath.Join(at, "index")), os.Remove(filepath.Join(path, "a")), os.RemoveAll(filepath.Join(path, "sub"))))
		}, nil, ""},
		"killed while git adds it": {func(t *testing.T, dir, path, at string) {
			write(t, at, "locked", initializing)
			must(t, errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)))
		}, nil, ""},
		"killed while git adds it, and used by a person": {func(t *testing.T, dir, path, at string) { write(t, at, "locked", initializing) }, ErrUnsaved, edited},
		"killed after git made the branch":               {func(t *testing.T, dir, path, at string) { run(t, dir, "worktree", "remove", "--force", path) }, nil, ""},
		"a branch of that name is a person's": {func(t *testing.T, dir, path, at string) {
			run(t, path, "commit", "-q", "--allow-empty", "-m", "theirs")
			run(t, dir, "worktree", "remove", "--force", path)
		}, ErrUnsaved, "-"},
		"a branch of that name stands for another": {func(t *testing.T, dir, path, at string) {
			run(t, dir, "worktree", "remove", "--force", path)
			run(t, dir, "branch", "-D", "new")
			run(t, dir, "branch", "theirs")
			run(t, dir, "symbolic-ref", "refs/heads/new", "refs/heads/theirs")
		}, ErrUnsaved, "-"},
		"its branch is checked out elsewhere": {func(t *testing.T, dir, path, at string) {
			run(t, dir, "worktree", "remove", "--force", path)
			run(t, dir, "worktree", "add", "-q", filepath.Join(t.TempDir(), "other"), "new")
		}, new(CheckedOutError), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Sample(t, 4)
			dir := repository(t, "a", "sub/b", ".runtime/conf")
			path := filepath.Join(t.TempDir(), "wt")
			start := run(t, dir, "rev-parse", "HEAD")
			must(t, AddOwnWorktree(dir, path, "new", start, time.Minute))
			was := readFile(t, path, "a")
			write(t, path, "a", edited)
			c.do(t, dir, path, filepath.Join(dir, ".git", "worktrees", "wt"))
			head := run(t, dir, "rev-parse", "new")
			err := AddOwnWorktree(dir, path, "new", start, time.Minute)
			if checkedOut := new(CheckedOutError); !errors.Is(err, c.want) && !(errors.As(c.want, &checkedOut) && errors.As(err, &checkedOut)) {
				t.Error(err)
			}
			if c.is == "" {
				c.is = was
			}
			if c.want == nil {
				must(t, CheckSaved(path, time.Minute))
			}
			if is := readFile(t, path, "a"); is != c.is {
				t.Errorf("it is %q", is)
			}
			if at := run(t, dir, "rev-parse", "new"); at != head {
				t.Error("the branch has moved")
			}
		})
	}
}

// What fails stays as it was begun, and the next call completes it.
func TestAddOwnWorktreeFails(t *testing.T) {
	dir := repository(t, "a", "b")
	path := filepath.Join(t.TempDir(), "wt")
	blob := run(t, dir, "rev-parse", "HEAD:b")
	at := filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])
	testenv.NoError(t, os.Rename(at, at+"-away"))
	start := run(t, dir, "rev-parse", "HEAD")
	for range 2 {
		if err := AddOwnWorktree(dir, path, "new", start, time.Minute); err == nil {
			t.Fatal("a file that is not there was checked out")
		}
	}
	testenv.NoError(t, os.Rename(at+"-away", at))
	testenv.NoError(t, errors.Join(AddOwnWorktree(dir, path, "new", start, time.Minute), CheckSaved(path, time.Minute)))
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	testenv.NoError(t, err)
	return string(data)
}
