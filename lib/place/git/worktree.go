package git

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"gt/lib/sys/bounded"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
)

// Worktree is a worktree of a repository.
type Worktree struct {
	Path   string
	Head   string // its commit, or ""
	Branch string // "" if no branch is checked out
	Lock   string // why it is locked; "" if it is not
	// Submodule reports that it is the checkout of a submodule.
	Submodule bool
}

// quickWait bounds commands that only read or write a few small files.
const quickWait = 30 * time.Second

// initializing is git's lock reason while it makes a worktree.
const initializing = "initializing"

// Worktrees returns the worktrees of dir's repository, the main one first.
func Worktrees(dir string) ([]Worktree, error) {
	r, err := findRepository(dir)
	if err != nil {
		return nil, err
	}
	return r.worktrees()
}

// findRepository returns the repository that contains dir, or that dir is if it is bare.
func findRepository(dir string) (checkout, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return checkout{}, atomicfile.Error("read", dir, err)
	}
	if IsBare(real) {
		info, err := os.Stat(real)
		if err != nil {
			return checkout{}, atomicfile.Error("read", dir, err)
		}
		if !place.HasTrustedOwner(info, real) && !place.IsSafe(real) {
			return checkout{}, ErrOthers
		}
		said, err := readHead(real)
		return checkout{real, real, real, said}, err
	}
	r, err := locate(real)
	if !errors.Is(err, ErrNotRepository) {
		return r, err
	}
	for at := real; ; at = filepath.Dir(at) { // a .git above that cannot be used is an error
		if _, terr := os.Lstat(filepath.Join(at, ".git")); terr == nil {
			if r, terr = repositoryAt(at); terr == nil {
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

// isolateRepository finds dir's repository and prepares a private git directory for it. vars make
// git use that. The caller must call done when git has ended.
func isolateRepository(dir string) (r checkout, vars []string, done func(), err error) {
	if r, err = findRepository(dir); err == nil {
		vars, done, err = r.isolate()
	}
	return r, vars, done, err
}

// IsBare reports whether a folder is a bare repository, by git's own criteria.
func IsBare(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := readHead(dir)
	return err == nil && filepath.Base(dir) != ".git"
}

// worktrees returns the worktrees, the main one first. Head is "" before the first commit.
func (r checkout) worktrees() ([]Worktree, error) {
	out, err := r.runInPlace("worktree", "list", "--porcelain", "-z")
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
		case "HEAD":
			if strings.Trim(value, "0") != "" {
				w.Head = value
			}
		case "branch":
			w.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "locked":
			if w.Lock = value; value == "" {
				w.Lock = "no reason given"
			}
		}
	}
	if len(all) > 0 && all[0].Path == r.common { // git prints this for a submodule
		if i := slices.IndexFunc(r.settings(), func(s setting) bool { return s.name() == "core.worktree" }); i >= 0 {
			all[0].Path = r.settings()[i].value
			if !filepath.IsAbs(all[0].Path) {
				all[0].Path = filepath.Join(r.common, all[0].Path)
			}
			all[0].Submodule = true
		}
	}
	return all, nil
}

// runInPlace runs git on the repository with its own configuration. It is only for commands that run
// no program that the configuration can name: without checkout, diff, fetch and hooks.
func (r checkout) runInPlace(args ...string) (string, error) {
	out, err := r.run(nil, r.top, r.gitDirVars(), quickWait, args...)
	if err != nil {
		return "", err
	}
	return string(out.Data), nil
}

// gitDirVars returns the variable that names a bare repository, which git may be told not to discover.
func (r checkout) gitDirVars() []string {
	if r.top == r.dir {
		return []string{"GIT_DIR=" + r.dir}
	}
	return nil
}

// ErrNoCommit reports a repository in which no branch can begin.
var ErrNoCommit = errors.New("the repository has no commit yet")

var ErrBranch = errors.New("invalid branch name")

// CheckBranch returns an error for an invalid branch name.
func CheckBranch(dir, branch string) error {
	r, err := findRepository(dir)
	if err != nil {
		return err
	}
	if strings.HasPrefix(branch, "-") || branch == "HEAD" {
		return fmt.Errorf("%w '%s'", ErrBranch, branch)
	}
	var exit *exec.ExitError
	if _, err := r.runInPlace("check-ref-format", "refs/heads/"+branch); errors.As(err, &exit) {
		return fmt.Errorf("%w '%s'", ErrBranch, branch)
	} else if err != nil {
		return err
	}
	return nil
}

// CheckNewBranch is CheckBranch for a name that a person gives. It also returns an error for one by
// which git knows a remote's branch, such as origin/fix: nobody means a new branch of that name.
func CheckNewBranch(dir, branch string) error {
	if err := CheckBranch(dir, branch); err != nil {
		return err
	}
	r, err := findRepository(dir)
	if err != nil {
		return err
	}
	out, err := r.runInPlace("for-each-ref", "--format=%(refname)", "refs/heads/"+branch, "refs/remotes/"+branch)
	if out == "refs/remotes/"+branch+"\n" {
		return fmt.Errorf("%w '%s': it is a remote's branch; git branch --track NAME %[2]s makes one that follows it", ErrBranch, branch)
	}
	return err
}

// AddWorktree adds a worktree to dir's repository and checks out a branch: the existing one, else a
// new one that follows the remote's branch of that name (ErrSeveralRemotes if several remotes have
// it), else a new one at the commit start, or at the HEAD of dir's main worktree if that is "". It
// completes an interrupted call. If it fails, it leaves no worktree and no new branch.
func AddWorktree(dir, path, branch, start string, wait time.Duration) error {
	r, own, unlock, err := lockRefs(dir, path, branch)
	if err != nil {
		return err
	}
	defer unlock()
	switch {
	case own == nil:
	case own.Lock == initializing: // git itself was interrupted
		if err := r.removeUnused(path); err != nil {
			return err
		}
		own = nil
	case own.Branch != branch:
		return &CheckedOutError{own.Branch, path, own.Lock}
	}
	undo := func() error { return nil }
	if own == nil {
		add := []string{"worktree", "add", "--no-checkout"}
		here, from, err := r.findBranch(branch)
		if err != nil {
			return err
		}
		switch {
		case here:
			add = append(add, "--", path, branch)
		case from != "":
			add = append(add, "--track", "-b", branch, "--", path, from)
		case r.isUnborn():
			return ErrNoCommit
		default:
			add = append(add, "--no-track", "-b", branch, "--", path, cmp.Or(start, "HEAD"))
		}
		if _, err := r.runInPlace(add...); err != nil {
			if slices.Contains(add, "-b") && !strings.Contains(err.Error(), "already exists") {
				_, _ = r.runInPlace("branch", "-D", "--", branch) // git makes it before the folder
			}
			return err
		}
		undo = func() error {
			err := r.removeUnused(path)
			if slices.Contains(add, "-b") && err == nil {
				_, err = r.runInPlace("branch", "-D", "--", branch)
			}
			return err
		}
	}
	unlock() // checking out a large repository takes long
	if err := FillIndex(path, "HEAD", wait); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// AddOwnWorktree is AddWorktree for a worktree with a new branch at the commit start, whose path
// and branch have names that nobody else uses. It overwrites nothing: what an interrupted call has
// left it completes if every file that is there is as the commit has it, and returns an ErrUnsaved
// if not. If it fails, what it has begun stays for the next call.
func AddOwnWorktree(dir, path, branch, start string, wait time.Duration) error {
	r, own, unlock, err := lockRefs(dir, path, branch)
	if err != nil {
		return err
	}
	defer unlock()
	switch {
	case own == nil:
	case own.Lock != initializing:
		unlock()
		return completeCheckout(path, wait)
	default: // git itself was interrupted
		// git writes .git first. Any other file may be somebody's.
		if entries, err := os.ReadDir(path); len(entries) > 1 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: git was interrupted while it made it", ErrUnsaved)
		}
		if err := r.removeUnused(path); err != nil {
			return err
		}
	}
	add := []string{"worktree", "add", "--no-checkout"}
	at, err := r.branchAt(branch)
	if err != nil {
		return err
	}
	aliases, err := r.symbolicRefs()
	switch {
	case err != nil:
		return err
	case at == "":
		add = append(add, "--no-track", "-b", branch, "--", path, start)
	case at != start || aliases["refs/heads/"+branch] != "":
		return fmt.Errorf("%w: the branch '%s' is there already", ErrUnsaved, branch)
	default: // git makes it before the folder
		add = append(add, "--", path, branch)
	}
	if _, err := r.runInPlace(add...); err != nil {
		return err
	}
	unlock()
	return FillIndex(path, "HEAD", wait)
}

// completeCheckout fills a worktree whose checkout was interrupted, unless it differs from its commit.
func completeCheckout(path string, wait time.Duration) error {
	r, err := worktreeAt(path)
	if err != nil {
		return err
	}
	if there, err := atomicfile.IsPresent(filepath.Join(r.dir, "index")); err != nil {
		return err
	} else if !there { // git writes it last
		if err := os.Remove(filepath.Join(r.dir, "index.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := runInWorktree(path, wait, "read-tree", "HEAD"); err != nil {
			return err
		}
	}
	s, err := Status(path, wait)
	if err != nil {
		return err
	}
	changed, _, err := findHidden(path, wait)
	if err != nil {
		return err
	}
	for _, c := range s.Changes {
		if c.XY != ".D" || s.Truncated { // only a missing file was just not written yet
			changed = c.Path
		}
	}
	if changed != "" {
		return fmt.Errorf("%w: it was half made, and %s is not as its commit has it", ErrUnsaved, Quote(changed))
	}
	if len(s.Changes) > 0 {
		return FillIndex(path, "HEAD", wait)
	}
	return nil
}

// otherRefs returns arguments of git rev-list that leave out the commits of all branches but the
// given one, all remotes and all tags. Symbolic refs do not count: they go with their ref.
func (r checkout) otherRefs(branch string) ([]string, error) {
	aliases, err := r.symbolicRefs()
	args := []string{"--not", "--exclude=" + branch}
	for _, kind := range [][2]string{{"refs/heads/", "--branches"}, {"refs/remotes/", "--remotes"}, {"refs/tags/", "--tags"}} {
		for name := range aliases {
			if within, ok := strings.CutPrefix(name, kind[0]); ok {
				args = append(args, "--exclude="+within)
			}
		}
		args = append(args, kind[1])
	}
	return args, err
}

// HeadCommit returns the commit of HEAD where dir is. It returns ErrNoCommit if there is none.
func HeadCommit(dir string) (string, error) {
	r, err := findRepository(dir)
	if err != nil {
		return "", err
	}
	if r.isUnborn() {
		return "", ErrNoCommit
	}
	out, err := r.runInPlace("rev-parse", "--verify", "HEAD^{commit}")
	return strings.TrimSpace(out), err
}

// symbolicRefs returns the refs that are other names of refs, with the ref that each stands for.
func (r checkout) symbolicRefs() (map[string]string, error) {
	out, err := r.run(nil, r.top, r.gitDirVars(), quickWait, "for-each-ref", "--format=%(if)%(symref)%(then)%(refname) %(symref)%(end)")
	if err != nil {
		return nil, err
	}
	if out.Truncated {
		return nil, fmt.Errorf("'%s' has too many refs to check each", r.top)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out.Data)) {
		if name, target, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[name] = target
		}
	}
	return all, nil
}

// isUnborn reports whether HEAD has no commit.
func (r checkout) isUnborn() bool {
	_, err := r.runInPlace("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return errors.As(err, new(*exec.ExitError))
}

// checkLinks returns an error for a link where git or Git LFS writes in the repository to make a
// worktree. The repository's author or an agent can have made it, and git follows it.
func (r checkout) checkLinks(branch string) error {
	for _, path := range []string{"refs/heads/" + branch, "logs/refs/heads/" + branch, "worktrees", "packed-refs", "config", "lfs/objects", "lfs/tmp"} {
		at := r.common
		for part := range strings.SplitSeq(path, "/") {
			at = filepath.Join(at, part)
			info, err := os.Lstat(at)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // git reports it
				break
			}
			if err != nil {
				return atomicfile.Error("look at", at, err)
			}
			if info.Mode()&fs.ModeSymlink != 0 { // mutant never: TestAddWorktreeFollowsNoLink
				return fmt.Errorf("'%s' is a link, and git would write where it leads", at)
			}
		}
	}
	return nil
}

// CheckedOutError reports that a branch is checked out in another worktree, and why that is locked.
type CheckedOutError struct{ Branch, Path, Lock string }

func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("the branch '%s' is checked out in '%s'", e.Branch, e.Path)
}

// removeUnused removes a worktree in which nothing was done, also if it is locked: adding it was
// interrupted or is undone.
func (r checkout) removeUnused(path string) error {
	_ = os.Remove(path) // git refuses the empty folder that it leaves if it was interrupted early
	_, err := r.runInPlace("worktree", "remove", "--force", "--force", path)
	return err
}

// FillIndex makes index and files of a worktree those of a commit, also over those of an
// interrupted checkout. HEAD stays.
func FillIndex(path, commit string, wait time.Duration) error {
	r, err := worktreeAt(path)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.dir, "index.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Git LFS keeps what it has fetched in the repository.
	_, err = runInWorktree(path, wait, "-c", "lfs.storage="+filepath.Join(r.common, "lfs"), "read-tree", "--reset", "-u", commit)
	return err
}

// ErrSeveralRemotes reports a branch that is not here, and that more than one remote has.
var ErrSeveralRemotes = errors.New("several remotes have the branch")

// findBranch reports whether a branch exists, and otherwise returns the ref of the remote branch of that
// name. Of several it takes none, as git does without checkout.defaultRemote.
func (r checkout) findBranch(branch string) (here bool, from string, err error) {
	out, err := r.runInPlace("for-each-ref", "--format=%(refname)", "refs/heads/"+branch, "refs/remotes/*/"+branch)
	remotes := 0
	for _, ref := range strings.Fields(out) {
		if ref == "refs/heads/"+branch {
			here = true
		} else if remote, ok := strings.CutPrefix(ref, "refs/remotes/"); ok && strings.HasSuffix(remote, "/"+branch) {
			remotes++
			from = ref // its short name may be that of a tag or of another branch, too
		}
	}
	if err == nil && remotes > 1 && !here {
		err = ErrSeveralRemotes
	}
	return here, from, err
}

// ErrUnsaved reports a worktree that must stay.
var ErrUnsaved = errors.New("it holds what is nowhere else")

// lockedError is the ErrUnsaved of a locked worktree, with the reason of who locked it.
type lockedError string

func (e lockedError) Error() string {
	return fmt.Sprintf("it is locked (%.100q); git worktree unlock ends that", string(e))
}

func (lockedError) Unwrap() error { return ErrUnsaved }

// CheckSaved returns an ErrUnsaved if removing a linked worktree would lose something: changes,
// untracked files, an operation in progress, or commits that no other branch, tag or remote has,
// also those that a checkout has left on a detached HEAD; in ignored folders, too, whatever another
// repository there has only here. The worktree may have been moved.
func CheckSaved(path string, wait time.Duration) error {
	r, err := worktreeAt(path)
	if err != nil {
		return err
	}
	if r.dir == r.common {
		return fmt.Errorf("%w: it is the repository itself", ErrUnsaved)
	}
	if there, err := atomicfile.IsPresent(filepath.Join(r.dir, "modules")); err != nil {
		return err
	} else if there {
		return fmt.Errorf("%w: it has submodules", ErrUnsaved)
	}
	if data, err := atomicfile.Read(filepath.Join(r.dir, "locked"), maxHead); err == nil {
		return lockedError(strings.TrimSpace(string(data)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(readNames(filepath.Join(r.dir, "refs", "worktree"))) > 0 {
		return fmt.Errorf("%w: it has refs of its own (refs/worktree)", ErrUnsaved)
	}
	head, what, err := r.findUnsaved(wait)
	switch {
	case err != nil || what != "":
	case head == "":
		what = "its branch has no commit"
	default:
		var elsewhere []string
		if elsewhere, err = r.otherRefs(strings.TrimPrefix(r.head, "ref: refs/heads/")); err == nil {
			what, err = r.countUnmerged(wait, append([]string{"HEAD"}, elsewhere...)...)
		}
		if what == "" && err == nil {
			what, err = r.countLeftBehind(wait, elsewhere)
		}
	}
	if err != nil {
		return err
	}
	if what != "" {
		return fmt.Errorf("%w: %s", ErrUnsaved, what)
	}
	within, err := FindNested(path, wait)
	if err != nil {
		return err
	}
	if len(within) > 1 {
		return fmt.Errorf("%w: %s (and %d more)", ErrUnsaved, within[0], len(within)-1)
	} else if len(within) > 0 {
		return fmt.Errorf("%w: %s", ErrUnsaved, within[0])
	}
	return nil
}

// findUnsaved returns what the files of a worktree have that no commit has, or "". head is its
// commit, "" if there is none.
func (r checkout) findUnsaved(wait time.Duration) (head, what string, err error) {
	if what, err := r.underWay(); err != nil || what != "" {
		return "", what, err
	}
	s, err := Status(r.top, wait)
	switch {
	case err != nil:
		return "", "", err
	case len(s.Changes) > 0 || s.Truncated:
		s.Ahead, s.Behind = 0, 0 // commits are the caller's to count
		return s.Head, s.Summary(), nil
	}
	if hidden, _, err := findHidden(r.top, wait); err != nil || hidden != "" {
		return s.Head, "git is told not to look at " + Quote(hidden), err
	}
	return s.Head, "", nil
}

// countLeftBehind says how many commits a checkout has left on a detached HEAD, unless a ref of
// elsewhere (arguments of git rev-list) reaches them. git warns of them then; later only the
// worktree's reflog names them.
func (r checkout) countLeftBehind(wait time.Duration, elsewhere []string) (string, error) {
	data, err := atomicfile.Read(filepath.Join(r.dir, "logs", "HEAD"), maxReflog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	left := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		_, what, _ := strings.Cut(line, "\t")
		from, ok := strings.CutPrefix(what, "checkout: moving from ")
		if id, _, _ := strings.Cut(from, " "); ok && IsHash(id) {
			left[id] = true
		}
	}
	if len(left) == 0 {
		return "", nil
	}
	args := slices.Concat([]string{"--ignore-missing"}, slices.Sorted(maps.Keys(left)), elsewhere) // git may have pruned them
	what, err := r.countUnmerged(wait, args...)
	if what != "" {
		what += ", left on a detached HEAD (git reflog)"
	}
	return what, err
}

// countUnmerged says in words how many commits git rev-list counts with args, or "" for none.
func (r checkout) countUnmerged(wait time.Duration, args ...string) (string, error) {
	out := &bounded.Front{Most: maxStatus}
	if err := r.runIsolated(nil, out, r.top, wait, append([]string{"rev-list", "--count"}, args...)...); err != nil {
		return "", atomicfile.Error("read the commits of", r.top, err)
	}
	switch n := strings.TrimSpace(string(out.Data)); n {
	case "0":
		return "", nil
	case "1":
		return "1 commit that is neither pushed nor merged", nil
	default:
		return n + " commits that are neither pushed nor merged", nil
	}
}

// findHidden returns an existing file that git is told to ignore changes of (assume-unchanged,
// skip-worktree), because no status shows them, and one that git leaves out (a sparse
// checkout); "" for none.
func findHidden(path string, wait time.Duration) (name, sparse string, err error) {
	out, err := runInWorktree(path, wait, "ls-files", "-v", "-z")
	if err != nil {
		return "", "", err
	}
	if out.Truncated {
		return "", "", fmt.Errorf("'%s' has too many files to check each", path)
	}
	for line := range strings.SplitSeq(string(out.Data), "\x00") {
		tag, name, ok := strings.Cut(line, " ")
		// A small letter means assume-unchanged, S skip-worktree.
		if !ok || tag != "S" && tag == strings.ToUpper(tag) {
			continue
		}
		if there, err := atomicfile.IsPresent(filepath.Join(path, name)); err != nil || there {
			return name, "", err
		}
		if tag == "S" || tag == "s" {
			sparse = name
		}
	}
	return "", sparse, nil
}

// lockWorktrees locks the repository against other gt programs that add a worktree. unlock
// may be called twice. git writes the files of a new worktree one by one, and another git
// that reads them meanwhile fails with "failed to read commondir". In a sandbox that cannot
// write to the state there is no lock.
func (r checkout) lockWorktrees() (unlock func(), err error) {
	dir := privateRoot()
	var lock *flock.Lock
	if err = atomicfile.EnsurePrivateDir(dir); err == nil {
		lock, err = flock.Acquire(filepath.Join(dir, fmt.Sprintf("%x.lock", sha256.Sum256([]byte(r.common)))), addWait)
	}
	switch {
	case err == nil:
		return sync.OnceFunc(lock.Unlock), nil
	case process.InSandbox():
		return func() {}, nil
	}
	return nil, err
}

const addWait = time.Minute

// lockRefs locks the worktrees of dir's repository for one at path with a branch. It fails if git
// would write through a link. own is the worktree that is there, or nil. If only another one has
// the branch, lockRefs returns a CheckedOutError.
func lockRefs(dir, path, branch string) (r checkout, own *Worktree, unlock func(), err error) {
	if r, err = findRepository(dir); err != nil {
		return r, nil, nil, err
	}
	if err = r.checkLinks(branch); err != nil {
		return r, nil, nil, err
	}
	if unlock, err = r.lockWorktrees(); err != nil {
		return r, nil, nil, err
	}
	all, err := r.worktrees()
	var taken *CheckedOutError
	for _, w := range all {
		if w.Path == path {
			own = &w
		} else if w.Branch == branch {
			taken = cmp.Or(taken, &CheckedOutError{branch, w.Path, w.Lock})
		}
	}
	if err == nil && taken != nil && (own == nil || own.Branch != branch) {
		err = taken
	}
	if err != nil {
		unlock()
	}
	return r, own, unlock, err
}

// ForgetWorktree makes the repository of dir forget a worktree whose folder is gone.
func ForgetWorktree(dir, path string) error {
	r, known, err := findWorktree(dir, path)
	if err != nil || !known {
		return err
	}
	if there, err := atomicfile.IsPresent(path); err != nil || there {
		return err
	}
	_, err = r.runInPlace("worktree", "remove", path)
	return err
}

// DropWorktree removes a worktree in which no work was done, if there is one.
func DropWorktree(dir, path string) error {
	r, known, err := findWorktree(dir, path)
	if err != nil || !known {
		return err
	}
	return r.removeUnused(path)
}

// findWorktree returns the repository of dir, and whether it knows a worktree at path.
func findWorktree(dir, path string) (r checkout, known bool, err error) {
	if r, err = findRepository(dir); err != nil {
		return r, false, err
	}
	all, err := r.worktrees()
	return r, slices.ContainsFunc(all, func(w Worktree) bool { return w.Path == path }), err
}
