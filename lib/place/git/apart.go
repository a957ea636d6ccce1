package git

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// A repository's configuration names programs: filters, a file system monitor,
// hooks, transports, and whatever a later git adds. It may have come with an
// archive, or have been written by an agent in its sandbox a moment ago, and
// git reads it anew at every run, so that to look at it first would not do.
//
// So git is never shown it. It is run on a git directory of ours, in the folder
// that only the person can write: with a HEAD
// of the same content, the repository's objects, index and refs by their
// paths, and a configuration of what is harmless in the repository's own (see
// harmless). The person's own configuration counts as ever, and their filters
// (Git LFS) run; these ask git for more, and are not shown the repository's
// either. Nested repositories are not entered: of a submodule it is told that
// another commit is checked out, and not what is changed in it.

// checkout is where the parts of a repository lie, with all links followed.
type checkout struct {
	top    string // of the worktree
	dir    string // the git directory of this worktree
	common string // the one that all worktrees share
	head   string // what HEAD says, see head
}

// locate finds the repository that a folder is in, whose links are followed.
func locate(dir string) (checkout, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil && !place.Counts(info, dir) && !safe(at) {
			return checkout{}, ErrOthers
		}
		if r, ok := repositoryAt(at); ok {
			return r, nil
		}
		if at == filepath.Dir(at) {
			return checkout{}, ErrNotRepository
		}
	}
}

// repositoryAt is the one whose worktree's top is that folder. A .git that is
// none is passed over.
func repositoryAt(top string) (checkout, bool) {
	dir, err := Dir(top)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && !place.Counts(info, top) && !safe(top) {
			err = ErrOthers
		}
	}
	if err != nil {
		return checkout{}, false
	}
	said, err := head(dir)
	if err != nil {
		return checkout{}, false
	}
	return checkout{top, dir, shared(dir), said}, true
}

// shared is the git directory that all worktrees share with that one.
func shared(gitDir string) string {
	data, err := atomicfile.Read(filepath.Join(gitDir, "commondir"), maxHead)
	if err != nil {
		return gitDir // no linked worktree
	}
	common := strings.TrimSpace(string(data))
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return common
}

// head is what HEAD says: the branch, or the commit where none is checked out.
// It was a link once.
func head(gitDir string) (string, error) {
	path := filepath.Join(gitDir, "HEAD")
	if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "refs/") {
		return "ref: " + to, nil
	}
	data, err := atomicfile.Read(path, maxHead)
	return strings.TrimSpace(string(data)), err
}

// settings are those of the repository and of this worktree.
func (r checkout) settings() []setting {
	all := settings(filepath.Join(r.common, "config"))
	for _, s := range all {
		if s.name() == "extensions.worktreeconfig" && s.value != "false" {
			return append(all, settings(filepath.Join(r.dir, "config.worktree"))...)
		}
	}
	return all
}

// apart returns a git directory of ours for the repository, with the variables
// by which git finds the rest. done is called when git has ended.
func (r checkout) apart() (vars []string, done func(), err error) {
	branch := strings.TrimPrefix(r.head, "ref: refs/heads/")
	all := r.settings()
	if r.dir != r.common && slices.ContainsFunc(all, func(s setting) bool { return s.name() == "extensions.refstorage" && s.value != "files" }) {
		return nil, nil, errors.New("the refs of a linked worktree are read from files only")
	}
	links := map[string]string{"refs": r.common, "packed-refs": r.common, "info": r.common}
	for _, there := range slices.Compact([]string{r.common, r.dir}) {
		for _, name := range readNames(there) {
			if strings.HasPrefix(name, "sharedindex.") || name == "reftable" {
				links[name] = there
			}
		}
	}
	dir, done, err := r.ours()
	if err != nil {
		return nil, nil, err
	}
	for name, data := range map[string]string{"HEAD": r.head + "\n", "config": string(harmless(all, branch))} {
		path := filepath.Join(dir, name)
		if is, err := atomicfile.Read(path, maxConfig); err == nil && string(is) == data {
			continue // as nearly always
		}
		if err := atomicfile.Write(path, []byte(data), atomicfile.Unsynced); err != nil {
			done()
			return nil, nil, err
		}
	}
	for name, there := range links {
		path, to := filepath.Join(dir, name), filepath.Join(there, name)
		is, err := os.Readlink(path)
		if err == nil && is == to {
			continue
		}
		if err := os.Symlink(to, path); err != nil && !errors.Is(err, fs.ErrExist) { // another was faster
			done()
			return nil, nil, err
		}
	}
	return []string{
		"GIT_DIR=" + dir,
		"GIT_WORK_TREE=" + r.top,
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects"),
		"GIT_INDEX_FILE=" + filepath.Join(r.dir, "index"),
		"GIT_SHALLOW_FILE=" + filepath.Join(r.common, "shallow"),
	}, done, nil
}

// readNames returns what is in a folder, as far as a folder is long.
func readNames(dir string) []string {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0) // waits for no FIFO
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(4096)
	return names
}

// forgotten is after which time a git directory of ours that did not change is
// made anew.
const forgotten = 30 * 24 * time.Hour

// ours is the folder of the git directory of ours, in the person's own state. It
// stays for the next question: to make one costs more than to look whether it is
// still right. Its name says which repository's it is, so what its links lead to
// is always the same. What a filter left there (Git LFS keeps what it converts
// beside what it is told is the repository) is removed by done.
func (r checkout) ours() (dir string, done func(), err error) {
	all := filepath.Join(string(place.StateOf(os.Getenv)), "git")
	dir = filepath.Join(all, fmt.Sprintf("%x", sha256.Sum256([]byte(r.dir+"\x00"+r.common))))
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		sweep(all)
		err = atomicfile.EnsurePrivateDir(dir)
	case !info.IsDir():
		return "", nil, atomicfile.Error("use", dir, errors.New("not a folder"))
	}
	if (err != nil || syscall.Access(dir, writable) != nil) && process.InSandbox() {
		// A command in a sandbox cannot write there. What git runs for it stays
		// in the sandbox, and so does this.
		dir, err = os.MkdirTemp("", "gt-git-")
		return dir, func() { os.RemoveAll(dir) }, err
	}
	switch {
	case err != nil:
		return "", nil, err
	case process.Within(dir, r.top, os.Environ()):
		return "", nil, fmt.Errorf("'%s' lies in the project", dir)
	}
	return dir, func() {
		os.RemoveAll(filepath.Join(dir, "lfs"))
		atomicfile.Sweep(dir, time.Now())
	}, nil
}

// writable asks access(2) whether a file can be written.
const writable = 2

// sweep removes those that have not changed for long.
func sweep(all string) {
	for _, name := range readNames(all) {
		old := filepath.Join(all, name)
		if info, err := os.Lstat(old); err == nil && time.Since(info.ModTime()) > forgotten {
			os.RemoveAll(old)
		}
	}
}
