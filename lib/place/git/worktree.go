package git

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
)

// Worktree is one of the worktrees of a repository.
type Worktree struct {
	Path   string
	Branch string // "" if no branch is checked out
	Lock   string // why it is locked; "" where it is not
	Bare   bool
}

// quick bounds what only reads or writes a few small files.
const quick = 30 * time.Second

// initializing is why git locks a worktree while it makes it.
const initializing = "initializing"

// Worktrees lists the worktrees of the repository that contains dir, the main one first.
func Worktrees(dir string) ([]Worktree, error) {
	r, err := around(dir)
	if err != nil {
		return nil, err
	}
	return r.worktrees()
}

// around locates the repository that contains dir, or that dir is where it is bare.
func around(dir string) (checkout, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return checkout{}, atomicfile.Error("read", dir, err)
	}
	if IsBare(real) {
		info, err := os.Stat(real)
		if err != nil {
			return checkout{}, atomicfile.Error("read", dir, err)
		}
		if !place.Counts(info, real) && !safe(real) {
			return checkout{}, ErrOthers
		}
		return checkout{top: real, dir: real, common: real}, nil
	}
	r, err := locate(real)
	if !errors.Is(err, ErrNotRepository) {
		return r, err
	}
	for at := real; ; at = filepath.Dir(at) { // one that cannot be looked at is not none
		if _, terr := os.Lstat(filepath.Join(at, ".git")); terr == nil {
			if r, terr = topOf(at); terr == nil {
				return r, nil
			}
			return r, atomicfile.Error("read the repository in", at, terr)
		} else if !errors.Is(terr, fs.ErrNotExist) {
			return r, atomicfile.Error("read", filepath.Join(at, ".git"), terr)
		}
		if at == filepath.Dir(at) {
			return r, err
		}
	}
}

// IsBare reports whether a folder is a repository without a worktree of its own, by what
// git goes by.
func IsBare(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := head(dir)
	return err == nil && filepath.Base(dir) != ".git"
}

func (r checkout) worktrees() ([]Worktree, error) {
	out, err := r.inPlace("worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var all []Worktree
	for line := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(line, " ")
		if key == "worktree" {
			all = append(all, Worktree{Path: value})
			continue
		}
		if len(all) == 0 {
			continue
		}
		switch w := &all[len(all)-1]; key {
		case "branch":
			w.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			w.Bare = true
		case "locked":
			if w.Lock = value; value == "" {
				w.Lock = "no reason given"
			}
		}
	}
	return all, nil
}

// inPlace runs git on the repository itself, with its own configuration. Only for what
// runs no program that the configuration can name: nothing is checked out, compared or
// fetched, and there are no hooks.
func (r checkout) inPlace(args ...string) (string, error) {
	var vars []string
	if r.top == r.dir { // a bare one, which git need not be allowed to find by itself
		vars = []string{"GIT_DIR=" + r.dir}
	}
	out, err := r.run(nil, r.top, vars, quick, args...)
	if err != nil {
		return "", err
	}
	return out.buf.String(), nil
}

// ErrBranch says that a branch cannot have a name.
var ErrBranch = errors.New("invalid branch name")

// CheckBranch reports what is wrong with the name of a branch.
func CheckBranch(dir, branch string) error {
	r, err := around(dir)
	if err != nil {
		return err
	}
	if strings.HasPrefix(branch, "-") || branch == "HEAD" {
		return fmt.Errorf("%w '%s'", ErrBranch, branch)
	}
	var exit *exec.ExitError
	if _, err := r.inPlace("check-ref-format", "refs/heads/"+branch); errors.As(err, &exit) {
		return fmt.Errorf("%w '%s'", ErrBranch, branch)
	} else if err != nil {
		return err
	}
	return nil
}

// AddWorktree makes a worktree of the repository that contains dir, with a branch checked
// out: the one of that name, else a new one that follows a remote's of that name, else a
// new one that begins where dir is. One that is there half, because making it was cut
// off, is finished. Where it fails, there is no worktree and no new branch.
func AddWorktree(dir, path, branch string, wait time.Duration) error {
	r, err := around(dir)
	if err != nil {
		return err
	}
	if err := r.linkless(branch); err != nil {
		return err
	}
	unlock, err := r.lockWorktrees()
	if err != nil {
		return err
	}
	defer unlock()
	all, err := r.worktrees()
	if err != nil {
		return err
	}
	made := false
	for _, w := range all {
		switch {
		case w.Path != path && w.Branch == branch:
			return &CheckedOutError{branch, w.Path}
		case w.Path != path:
		case w.Lock == initializing: // git itself was cut off
			if err := r.drop(path); err != nil {
				return err
			}
		case w.Branch != branch:
			return &CheckedOutError{w.Branch, path}
		default:
			made = true
		}
	}
	undo := func() error { return nil }
	if !made {
		add := []string{"worktree", "add", "--no-checkout"}
		here, from, err := r.find(branch)
		if err != nil {
			return err
		}
		switch {
		case here:
			add = append(add, "--", path, branch)
		case from != "":
			add = append(add, "--track", "-b", branch, "--", path, from)
		default:
			add = append(add, "--no-track", "-b", branch, "--", path, "HEAD")
		}
		if _, err := r.inPlace(add...); err != nil {
			if slices.Contains(add, "-b") && !strings.Contains(err.Error(), "already exists") {
				_, _ = r.inPlace("branch", "-D", "--", branch) // git makes it before the folder
			}
			return err
		}
		undo = func() error {
			err := r.drop(path)
			if slices.Contains(add, "-b") && err == nil {
				_, err = r.inPlace("branch", "-D", "--", branch)
			}
			return err
		}
	}
	unlock() // the files of a large repository take their time
	if err := fill(path, wait); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// linkless reports a link where git, or Git LFS, writes in the repository to make a
// worktree: a repository's author or an agent can have put it there, and git follows it.
func (r checkout) linkless(branch string) error {
	for _, path := range []string{"refs/heads/" + branch, "logs/refs/heads/" + branch, "worktrees", "packed-refs", "config", "lfs/objects", "lfs/tmp"} {
		at := r.common
		for part := range strings.SplitSeq(path, "/") {
			at = filepath.Join(at, part)
			info, err := os.Lstat(at)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // git says why
				break
			}
			if err != nil {
				return atomicfile.Error("look at", at, err)
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				return fmt.Errorf("'%s' is a link, and git would write where it leads", at)
			}
		}
	}
	return nil
}

// CheckedOutError says that a branch is checked out in another worktree.
type CheckedOutError struct{ Branch, Path string }

func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("the branch '%s' is checked out in '%s'", e.Branch, e.Path)
}

// drop removes a worktree in which nobody has worked.
func (r checkout) drop(path string) error {
	_ = os.Remove(path) // git makes the folder first, and takes one without .git for no worktree
	_, err := r.inPlace("worktree", "remove", "--force", "--force", path)
	return err
}

// fill checks out the files of a new worktree, over what a checkout that was cut off left.
func fill(path string, wait time.Duration) error {
	r, err := topOf(path)
	if err != nil {
		return atomicfile.Error("use the worktree", path, err)
	}
	if err := os.Remove(filepath.Join(r.dir, "index.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// What Git LFS has fetched before lies where the repository keeps it.
	_, err = answer(path, wait, "-c", "lfs.storage="+filepath.Join(r.common, "lfs"), "read-tree", "--reset", "-u", "HEAD")
	return err
}

// find looks for a branch here, and for the one of that name of the one remote that has it.
func (r checkout) find(branch string) (here bool, from string, err error) {
	out, err := r.inPlace("for-each-ref", "--format=%(refname)", "refs/heads/"+branch, "refs/remotes/*/"+branch)
	remotes := 0
	for _, ref := range strings.Fields(out) {
		if ref == "refs/heads/"+branch {
			here = true
		} else if remote, ok := strings.CutPrefix(ref, "refs/remotes/"); ok && strings.HasSuffix(remote, "/"+branch) {
			remotes++
			from = remote
		}
	}
	if remotes > 1 {
		from = ""
	}
	return here, from, err
}

// exists reports whether there is a file or folder of that name.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, atomicfile.Error("look at", path, err)
}

// ErrUnsaved is a reason for which a worktree has to stay.
var ErrUnsaved = errors.New("it holds what is nowhere else")

// Saved returns an ErrUnsaved that says what a linked worktree holds that its removal
// would lose: changes, files that nobody added, an operation that is under way, commits
// that no other branch, no tag and no remote has. It may have been moved since git knew
// where it is.
func Saved(path string, wait time.Duration) error {
	r, err := topOf(path)
	if err != nil {
		return atomicfile.Error("use the worktree", path, err)
	}
	if r.dir == r.common {
		return fmt.Errorf("%w: it is the repository itself", ErrUnsaved)
	}
	for _, name := range []string{"rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"} {
		if there, err := exists(filepath.Join(r.dir, name)); err != nil {
			return err
		} else if there {
			return fmt.Errorf("%w: a rebase, merge or the like is under way (%s)", ErrUnsaved, name)
		}
	}
	if there, err := exists(filepath.Join(r.dir, "modules")); err != nil {
		return err
	} else if there {
		return fmt.Errorf("%w: it has submodules", ErrUnsaved)
	}
	if data, err := atomicfile.Read(filepath.Join(r.dir, "locked"), maxHead); err == nil {
		return fmt.Errorf("%w: it is locked (%.100q)", ErrUnsaved, strings.TrimSpace(string(data)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := Status(path, wait)
	switch {
	case err != nil:
		return err
	case len(s.Changes) > 0 || s.Truncated:
		s.Ahead, s.Behind = 0, 0
		return fmt.Errorf("%w: %s", ErrUnsaved, s.Summary())
	case s.Head == "":
		return fmt.Errorf("%w: its branch has no commit", ErrUnsaved)
	}
	if hidden, err := hidden(path, wait); err != nil || hidden != "" {
		return cmp.Or(err, fmt.Errorf("%w: git is told not to look at %s", ErrUnsaved, Quote(hidden)))
	}
	args := []string{"rev-list", "--count", s.Head, "--not"}
	if s.Branch != "HEAD" {
		args = append(args, "--exclude="+s.Branch)
	}
	out, err := answer(path, wait, append(args, "--branches", "--remotes", "--tags")...)
	if err != nil {
		return atomicfile.Error("read the commits of", path, err)
	}
	switch n := strings.TrimSpace(out.buf.String()); n {
	case "0":
		return nil
	case "1":
		return fmt.Errorf("%w: 1 commit that is neither pushed nor merged", ErrUnsaved)
	default:
		return fmt.Errorf("%w: %s commits that are neither pushed nor merged", ErrUnsaved, n)
	}
}

// hidden returns a file of a worktree that git is told not to look at (assume-unchanged,
// skip-worktree): its changes are in no status.
func hidden(path string, wait time.Duration) (string, error) {
	out, err := answer(path, wait, "ls-files", "-v", "-z")
	if err != nil {
		return "", err
	}
	if out.cut {
		return "", fmt.Errorf("'%s' has too many files to look at each", path)
	}
	for line := range strings.SplitSeq(out.buf.String(), "\x00") {
		tag, name, ok := strings.Cut(line, " ")
		if !ok || tag != "S" && tag == strings.ToUpper(tag) {
			continue
		}
		if there, err := exists(filepath.Join(path, name)); err != nil || there {
			return name, err
		}
	}
	return "", nil
}

// lockWorktrees keeps other programs of gt from adding a worktree to the repository until
// unlock is called, which may be called twice. git writes the files of a new worktree one
// after the other, and another git that reads them meanwhile fails: "failed to read
// commondir". In a sandbox that cannot write to the person's state there is no lock.
func (r checkout) lockWorktrees() (unlock func(), err error) {
	dir := filepath.Join(string(place.StateOf(os.Getenv)), "git")
	if err := atomicfile.EnsurePrivateDir(dir); err != nil {
		if process.InSandbox() {
			return func() {}, nil
		}
		return nil, err
	}
	lock, err := flock.Acquire(filepath.Join(dir, fmt.Sprintf("%x.lock", sha256.Sum256([]byte(r.common)))), addWait)
	if err != nil {
		if process.InSandbox() {
			return func() {}, nil
		}
		return nil, err
	}
	return sync.OnceFunc(lock.Unlock), nil
}

// addWait is how long another program may take to add a worktree.
const addWait = time.Minute

// ForgetWorktree has the repository that contains dir forget a worktree whose folder is
// gone. That it knows none there is no error.
func ForgetWorktree(dir, path string) error {
	all, err := Worktrees(dir)
	if err != nil {
		return err
	}
	if there, err := exists(path); err != nil {
		return err
	} else if there || !slices.ContainsFunc(all, func(w Worktree) bool { return w.Path == path }) {
		return nil
	}
	r, err := around(dir)
	if err != nil {
		return err
	}
	_, err = r.inPlace("worktree", "remove", path)
	return err
}

// DropWorktree removes a worktree that was begun and in which nobody has worked.
func DropWorktree(dir, path string) error {
	all, err := Worktrees(dir)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(w Worktree) bool { return w.Path == path }) {
		return nil
	}
	r, err := around(dir)
	if err != nil {
		return err
	}
	return r.drop(path)
}
