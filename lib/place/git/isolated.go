package git

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// A repository's configuration names programs: filters, a file system monitor, hooks, transports,
// and whatever a later git adds. It may have come with an archive, or an agent in its sandbox may
// just have written it. Checking it first does not help, because git reads it again.
//
// So git never sees it. gt runs git on a private git directory in the person's state. That
// directory has a copy of HEAD, refers to the repository's objects, index and refs by their
// paths, and has only the harmless part of the repository's configuration. The person's own
// configuration and filters (Git LFS) still apply; git calls of a filter do not see the
// repository's configuration either. git does not enter nested repositories: for a
// submodule it reports another commit, but no changes inside.

// checkout has the paths of a repository, without links.
type checkout struct {
	top    string // top of the worktree
	dir    string // git directory of this worktree
	common string // git directory that all worktrees share
	head   string // content of HEAD
}

// locate returns the repository that contains dir, a path without links. It fails at a .git of
// another user that is no safe.directory of git's. One that the system keeps from being read is an
// error, too: the folders above could be in another repository.
func locate(dir string) (checkout, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil && !place.HasTrustedOwner(info, dir) && !place.IsSafe(at) {
			return checkout{}, ErrOthers
		}
		r, err := repositoryAt(at)
		if err == nil {
			return r, nil
		}
		if atomicfile.IsHidden(err) {
			return checkout{}, err
		}
		if at == filepath.Dir(at) {
			return checkout{}, ErrNotRepository
		}
	}
}

// repositoryAt returns the repository whose worktree has this top, if it is usable.
func repositoryAt(top string) (checkout, error) {
	dir, err := Dir(top)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && !place.HasTrustedOwner(info, top) && !place.IsSafe(top) {
			err = ErrOthers
		}
	}
	if err != nil {
		return checkout{}, err
	}
	headText, err := readHead(dir)
	if err != nil {
		return checkout{}, err
	}
	common, err := commonDir(dir)
	if err != nil {
		return checkout{}, err
	}
	return checkout{top, dir, common, headText}, nil
}

// worktreeAt returns the repository of the worktree with this top. Its error is for people, and
// tells where the repository of a linked worktree was, if that is gone.
func worktreeAt(path string) (checkout, error) {
	r, err := repositoryAt(path)
	if dir, derr := Dir(path); derr == nil && errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(dir)) == "worktrees" {
		if common := filepath.Dir(filepath.Dir(dir)); atomicfile.Exists(common) {
			err = fmt.Errorf("the repository '%s' no longer knows it", common)
		} else {
			err = fmt.Errorf("its repository is no longer at '%s'; if it was moved, git worktree repair mends that", common)
		}
	}
	return r, atomicfile.Error("use the worktree", path, err)
}

// CommonDir returns the git directory that the repository of dir shares with its worktrees,
// without links in its path, and dir itself outside git. With an error, which says that the
// repository could not be read, it returns dir, too.
func CommonDir(dir string) (string, error) {
	gitDir, err := Dir(Top(dir))
	var common string
	if err == nil {
		common, err = commonDir(gitDir)
	}
	switch {
	case err == nil:
		return atomicfile.ResolveLinks(common), nil
	case atomicfile.IsHidden(err):
		return dir, err
	}
	return dir, nil
}

// IsWorktreeOf reports whether top is the top of a worktree of the repository of dir. With an
// error, which says that one of them could not be read, it is false.
func IsWorktreeOf(top, dir string) (bool, error) {
	if _, err := Dir(top); err != nil {
		if atomicfile.IsHidden(err) {
			return false, err
		}
		return false, nil
	}
	own, err := CommonDir(top)
	if err != nil {
		return false, err
	}
	others, err := CommonDir(dir)
	return err == nil && own == others, err
}

// KindOfPlace returns what CommonDir's folder belongs to, in a word: a repository, or a folder
// outside of git.
func KindOfPlace(dir string) string {
	if _, err := Dir(Top(dir)); err != nil {
		return "folder"
	}
	return "repository"
}

// commonDir returns the git directory that all worktrees share. An error says that it is hidden.
func commonDir(gitDir string) (string, error) {
	data, err := atomicfile.Read(filepath.Join(gitDir, "commondir"), maxHead)
	switch {
	case atomicfile.IsHidden(err):
		return "", err
	case err != nil:
		return gitDir, nil // not a linked worktree
	}
	common := strings.TrimSpace(string(data))
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return common, nil
}

// readHead returns the content of HEAD: a reference or a commit. Old versions of git made HEAD a link.
func readHead(gitDir string) (string, error) {
	path := filepath.Join(gitDir, "HEAD")
	if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "refs/") {
		return "ref: " + to, nil
	}
	data, err := atomicfile.Read(path, maxHead)
	return strings.TrimSpace(string(data)), err
}

// settings returns the shared settings and then those of the worktree alone, if it may have some.
func (r checkout) settings() []setting {
	all := settings(filepath.Join(r.common, "config"))
	for _, s := range all {
		if s.name() == "extensions.worktreeconfig" && s.value != "false" {
			return append(all, settings(filepath.Join(r.dir, "config.worktree"))...)
		}
	}
	return all
}

// isolate prepares a private git directory for the repository and returns the variables
// that make git use it. The caller must call done when git has ended.
func (r checkout) isolate() (vars []string, done func(), err error) {
	branch := strings.TrimPrefix(r.head, "ref: refs/heads/")
	all := r.settings()
	if r.dir != r.common && slices.ContainsFunc(all, func(s setting) bool { return s.name() == "extensions.refstorage" && s.value != "files" }) {
		return nil, nil, errors.New("the refs of a linked worktree are read from files only")
	}
	// links has what git finds through links, as no variable names it, and the folder that has it.
	links := map[string]string{"refs": r.common, "packed-refs": r.common, "info": r.common}
	for _, there := range slices.Compact([]string{r.common, r.dir}) {
		for _, name := range readNames(there) {
			if strings.HasPrefix(name, "sharedindex.") || name == "reftable" {
				links[name] = there
			}
		}
	}
	dir, done, err := r.privateDir()
	if err != nil {
		return nil, nil, err
	}
	for _, file := range [][2]string{{"HEAD", r.head + "\n"}, {"config", string(harmlessConfig(all, branch))}} {
		path := filepath.Join(dir, file[0])
		if is, err := atomicfile.Read(path, maxConfig); err == nil && string(is) == file[1] {
			continue // the usual case
		}
		if err := atomicfile.Write(path, []byte(file[1]), atomicfile.Unsynced); err != nil {
			done()
			return nil, nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		path, to := filepath.Join(dir, name), filepath.Join(links[name], name)
		is, err := os.Readlink(path)
		if err == nil && is == to {
			continue
		}
		if err := os.Symlink(to, path); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
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

// readNames returns the names in a folder, 4096 at most, or nil if it cannot be opened.
func readNames(dir string) []string {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0) // does not block on a FIFO
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(4096)
	return names
}

// forgottenAge is the age at which an unused private git directory is removed.
const forgottenAge = 30 * 24 * time.Hour

// privateDir returns the private git directory of the repository. It is kept for the next call,
// because checking it costs less than making it. Its name is derived from the repository, so that
// its links always lead to the same files. done removes the files that Git LFS has put into it.
func (r checkout) privateDir() (dir string, done func(), err error) {
	all := privateRoot()
	dir = filepath.Join(all, fmt.Sprintf("%x", sha256.Sum256([]byte(r.dir+"\x00"+r.common))))
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		sweepForgotten(all)
		err = atomicfile.EnsurePrivateDir(dir)
	case !info.IsDir():
		return "", nil, atomicfile.Error("use", dir, errors.New("not a folder"))
	}
	if (err != nil || syscall.Access(dir, writable) != nil) && process.InSandbox() {
		// A sandboxed command cannot write there. What git runs for it is in the sandbox
		// too, so a directory in the sandbox is safe.
		dir, err = os.MkdirTemp("", "gt-git-")
		return dir, func() { os.RemoveAll(dir) }, err
	}
	switch {
	case err != nil:
		return "", nil, err
	case process.LeadsThroughProject(dir, r.top, os.Environ()):
		return "", nil, fmt.Errorf("'%s' lies in the project", dir)
	}
	return dir, func() {
		os.RemoveAll(filepath.Join(dir, "lfs"))
		atomicfile.Sweep(dir, time.Now())
	}, nil
}

// privateRoot returns the folder in the person's state for what gt needs of repositories.
func privateRoot() string { return filepath.Join(string(place.StateOf(os.Getenv)), "git") }

// writable is W_OK of access(2).
const writable = 2

// sweepForgotten removes forgotten git directories.
func sweepForgotten(all string) {
	for _, name := range readNames(all) {
		old := filepath.Join(all, name)
		if info, err := os.Lstat(old); err == nil && time.Since(info.ModTime()) > forgottenAge {
			os.RemoveAll(old)
		}
	}
}
