package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/process"
	"gt/lib/town"
)

// A repository's configuration names programs: filters, a file system monitor,
// hooks, transports, and whatever a later git adds. It may have come with an
// archive, or have been written by an agent in its sandbox a moment ago, and
// git reads it anew at every run, so that to look at it first would not do.
//
// So git is never shown it. It is run on a git directory of ours, which is made
// for one question, in the folder that only the person can write: with a HEAD
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
	all := settings(filepath.Join(r.common, "config"), 0)
	for _, s := range all {
		if s.name() == "extensions.worktreeconfig" && s.value != "false" {
			return append(all, settings(filepath.Join(r.dir, "config.worktree"), 0)...)
		}
	}
	return all
}

// apart makes a git directory of ours for the repository, and returns it with
// the variables by which git finds the rest.
func (r checkout) apart() (dir string, vars []string, err error) {
	branch := strings.TrimPrefix(r.head, "ref: refs/heads/")
	all := r.settings()
	if r.dir != r.common && slices.ContainsFunc(all, func(s setting) bool { return s.name() == "extensions.refstorage" && s.value != "files" }) {
		return "", nil, errors.New("the refs of a linked worktree are read from files only")
	}
	if dir, err = scratch(r.top); err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	for name, data := range map[string][]byte{"HEAD": []byte(r.head + "\n"), "config": harmless(all, branch)} {
		if err := fill(filepath.Join(dir, name), data); err != nil {
			return "", nil, err
		}
	}
	links := map[string]string{"refs": r.common, "packed-refs": r.common, "info": r.common}
	for _, there := range slices.Compact([]string{r.common, r.dir}) {
		for _, name := range readNames(there) {
			if strings.HasPrefix(name, "sharedindex.") || name == "reftable" {
				links[name] = there
			}
		}
	}
	for name, there := range links {
		if err := os.Symlink(filepath.Join(there, name), filepath.Join(dir, name)); err != nil {
			return "", nil, err
		}
	}
	return dir, []string{
		"GIT_DIR=" + dir,
		"GIT_WORK_TREE=" + r.top,
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects"),
		"GIT_INDEX_FILE=" + filepath.Join(r.dir, "index"),
		"GIT_SHALLOW_FILE=" + filepath.Join(r.common, "shallow"),
	}, nil
}

// readNames returns what is in a folder, as far as a folder is long.
func readNames(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(4096)
	return names
}

// fill writes a file in a folder that nobody else knows of.
func fill(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// forgotten is after which time a git directory of ours is nobody's any more.
const forgotten = 10 * time.Minute

// scratch makes an empty folder in the person's own state. Those that killed
// processes left there are removed.
func scratch(top string) (string, error) {
	all := filepath.Join(town.Personal(os.Getenv).Root, "git")
	err := atomicfile.Private(all)
	if err != nil && process.Boxed() {
		// A command in a sandbox cannot write there. What git runs for it stays
		// in the sandbox, and so does this.
		return os.MkdirTemp("", "gt-git-")
	}
	switch {
	case err != nil:
		return "", err
	case process.Within(all, top, os.Environ()):
		return "", fmt.Errorf("'%s' lies in the project", all)
	}
	for _, name := range readNames(all) {
		old := filepath.Join(all, name)
		if info, err := os.Lstat(old); err == nil && time.Since(info.ModTime()) > forgotten {
			os.RemoveAll(old)
		}
	}
	return os.MkdirTemp(all, "")
}
