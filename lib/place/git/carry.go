package git

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// Carried is the state of a worktree, as another machine needs it to make the same one: a bundle
// with the commits that no remote has and the index, and the names of the files that differ from
// the index. The files themselves are the caller's to carry, byte by byte: no filter has seen them.
type Carried struct {
	Roots   []string // the commits without a parent that Head has
	Head    string
	Branch  string // "" if HEAD is detached
	Index   string // a commit, with the index as its tree and Head as its parent
	Remotes []Remote

	Changed   []string // files and links, relative to the top, that differ from the index
	Untracked []string
	Intended  []string // those of Changed that git add -N put into the index
	Deleted   []string // files of the index that are not there, or are folders now
	Left      []Nested // what stays: nested repositories
	Held      []string // secret files that are staged here, and in Index as they are in Head
	Stashed   bool     // the repository has a stash, which stays
}

// Remote is a remote of a repository. The URL has no password.
type Remote struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// carriedRef is the only ref of a bundle.
const carriedRef = "refs/gt/index"

// Carry writes the bundle of the worktree that contains dir to a new file, in a folder that is the
// caller's alone. It changes nothing in the repository. secret reports which files stay, even if
// they are staged. Carry fails if an operation such as a merge is under way.
func Carry(dir, bundle string, secret func(path string) bool, wait time.Duration) (c Carried, err error) {
	r, vars, done, err := isolateSettled(dir)
	if err != nil {
		return c, err
	}
	defer done()
	staged, err := r.findChanges(&c, vars, wait)
	if err != nil {
		return c, err
	}
	scratch := bundle + ".git"
	if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o700)); err != nil {
		return c, err
	}
	defer os.RemoveAll(scratch)
	p := packing{r, scratch, append(slices.Clip(vars), r.objectsIn(filepath.Join(scratch, "objects"))...), wait}
	c.Held = slices.DeleteFunc(staged, func(path string) bool { return !secret(path) })
	if c.Index, err = p.commitIndex(c.Head, c.Held); err != nil {
		return c, err
	}
	roots, err := p.runGit(nil, "rev-list", "--max-parents=0", c.Head)
	if err != nil {
		return c, err
	}
	c.Roots, c.Remotes = strings.Fields(roots), r.remotes()
	return c, p.writeBundle(bundle, c.Index)
}

// isolateSettled returns the repository of the worktree that contains dir, with a private git
// directory. It fails if an operation such as a merge is under way.
func isolateSettled(dir string) (r checkout, vars []string, done func(), err error) {
	if r, _, err = locateIn(dir); err != nil {
		return r, nil, nil, err
	}
	if what, err := r.underWay(); err != nil || what != "" {
		return r, nil, nil, cmp.Or(err, errors.New(what))
	}
	vars, done, err = r.isolate()
	return r, vars, done, err
}

// underWay returns what is under way during a merge, rebase or the like, whose state is in
// files of git's own, or "".
func (r checkout) underWay() (string, error) {
	for _, name := range []string{"rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"} {
		if there, err := atomicfile.IsPresent(filepath.Join(r.dir, name)); err != nil {
			return "", err
		} else if there {
			return fmt.Sprintf("a rebase, merge or the like is under way (%s)", name), nil
		}
	}
	return "", nil
}

// CheckPortable returns an error if Carry would refuse the worktree that contains dir as it is.
// What is in no worktree is carried by nobody, and is no error.
func CheckPortable(dir string, wait time.Duration) error {
	r, vars, done, err := isolateSettled(dir)
	if errors.Is(err, ErrNotRepository) {
		return nil
	} else if err != nil {
		return err
	}
	defer done()
	var c Carried
	_, err = r.findChanges(&c, vars, wait)
	return err
}

// findChanges fills c with HEAD and with what differs from the index, and returns the paths that
// differ between HEAD and index. A change that cannot be made anew elsewhere is an error.
func (r checkout) findChanges(c *Carried, vars []string, wait time.Duration) (staged []string, err error) {
	name, sparse, err := findHidden(r.top, wait)
	switch {
	case err != nil:
		return nil, err
	case name != "":
		return nil, fmt.Errorf("git is told not to look at %s", Quote(name))
	case sparse != "":
		return nil, fmt.Errorf("git leaves out %s and perhaps others here (git sparse-checkout disable brings them)", Quote(sparse))
	}
	out, err := r.run(nil, r.top, vars, wait, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames")
	if err != nil {
		return nil, atomicfile.Error("read the git state of", r.top, err)
	}
	s := parseStatus(out.Data)
	if out.Truncated {
		return nil, errors.New("it has too many changes")
	}
	if c.Head, c.Branch = s.Head, s.Branch; s.Head == "" {
		return nil, errors.New("its branch has no commit")
	}
	if c.Branch == "HEAD" {
		c.Branch = ""
	}
	for _, change := range s.Changes {
		if change.Conflict {
			return nil, fmt.Errorf("it has a conflict in %s", Quote(change.Path))
		}
		if change.Staged {
			staged = append(staged, change.Path)
		}
		if err := r.sortChange(c, change); err != nil {
			return nil, err
		}
	}
	if c.Left, err = FindNested(r.top, wait); err != nil {
		return nil, err
	}
	for _, n := range c.Left {
		entry, err := r.run(nil, r.top, vars, wait, "--literal-pathspecs", "ls-files", "--stage", "--", n.Path)
		if err != nil || strings.HasPrefix(string(entry.Data), "160000 ") {
			return nil, cmp.Or(err, fmt.Errorf("the submodule %s, and submodules do not go along", n))
		}
	}
	if err := r.checkLFS(vars, c.Head, wait); err != nil {
		return nil, err
	}
	c.Stashed, err = r.hasStash(wait)
	return staged, err
}

// sortChange sorts one change of the worktree into c. The second letter of XY compares worktree and
// index: D is a file that is gone, A one of git add -N, which is in both Intended and Changed.
func (r checkout) sortChange(c *Carried, change Change) error {
	if !change.Unstaged && !change.Untracked {
		return nil
	}
	info, err := os.Lstat(filepath.Join(r.top, change.Path))
	switch {
	case change.Untracked && strings.HasSuffix(change.Path, "/"): // a nested repository, see FindNested
		return nil
	case change.Submodule:
		if change.XY[1] == 'D' {
			c.Deleted = append(c.Deleted, change.Path)
			return nil
		}
		return fmt.Errorf("the submodule %s is at another commit or has changes (commit them there and git add %[1]s)", Quote(change.Path))
	case change.XY[1] == 'D', errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if change.Untracked {
			return nil // gone meanwhile
		}
		c.Deleted = append(c.Deleted, change.Path) // also if a folder has its name, or a link leads there
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("%s is neither a file nor a link", Quote(change.Path))
	case change.Untracked:
		c.Untracked = append(c.Untracked, change.Path)
		return nil
	case change.XY[1] == 'A':
		c.Intended = append(c.Intended, change.Path)
	}
	c.Changed = append(c.Changed, change.Path)
	return nil
}

// lfsPrefix are the first bytes of what Git LFS keeps in a file's place.
const lfsPrefix = "version https://git-lfs.github.com/spec/"

// checkLFS returns an error if the index, or a commit that no remote has, has a file in
// Git LFS whose content is in this repository: a bundle has only the pointer to it.
func (r checkout) checkLFS(vars []string, head string, wait time.Duration) error {
	objects := filepath.Join(r.common, "lfs", "objects")
	if !atomicfile.Exists(objects) {
		return nil
	}
	new, err := r.run(nil, r.top, vars, wait, "rev-list", "--objects", head, "--not", "--remotes")
	if err != nil {
		return err
	}
	staged, err := r.run(nil, r.top, vars, wait, "diff-index", "--cached", "--no-renames", "-r", head)
	if err != nil {
		return err
	}
	paths := map[string]string{} // by blob
	for line := range strings.Lines(string(new.Data)) {
		if id, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && path != "" {
			paths[id] = path
		}
	}
	for line := range strings.Lines(string(staged.Data)) { // :mode mode blob blob state TAB path
		meta, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if f := strings.Fields(meta); len(f) > 3 {
			paths[f[3]] = path
		}
	}
	names := strings.NewReader(strings.Join(slices.Sorted(maps.Keys(paths)), "\n") + "\n")
	sized, err := r.run(names, r.top, vars, wait, "cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)")
	if err != nil {
		return err
	}
	var small []string
	for line := range strings.Lines(string(sized.Data)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "blob" {
			continue
		}
		// Git LFS takes no file of 1024 bytes or more for a pointer.
		if n, err := strconv.Atoi(f[1]); err == nil && n > len(lfsPrefix) && n < 1024 {
			small = append(small, f[2])
		}
	}
	out, err := r.run(strings.NewReader(strings.Join(small, "\n")+"\n"), r.top, vars, wait, "cat-file", "--batch")
	if err != nil {
		return err
	}
	if new.Truncated || staged.Truncated || sized.Truncated || out.Truncated {
		return errors.New("it has too many commits that no remote has to look for files in Git LFS")
	}
	path, is := "", false // the file whose content the lines are, and whether it is a pointer
	for line := range strings.Lines(string(out.Data)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[1] == "blob" && paths[f[0]] != "":
			path, is = paths[f[0]], false
		case strings.HasPrefix(line, lfsPrefix):
			is = true
		case is && len(f) == 2 && f[0] == "oid":
			digest := strings.TrimPrefix(f[1], "sha256:")
			if len(digest) == 64 && atomicfile.Exists(filepath.Join(objects, digest[:2], digest[2:4], digest)) {
				return fmt.Errorf("%s is in Git LFS and on no remote (push it first)", Quote(path))
			}
		}
	}
	return nil
}

// remotes returns the remotes of the repository's own configuration.
func (r checkout) remotes() (all []Remote) {
	for _, s := range r.settings() {
		if s.section == "remote" && s.key == "url" && s.sub != "" {
			all = append(all, Remote{s.sub, withoutPassword(s.value)})
		}
	}
	return all
}

// withoutPassword returns a URL without a user and password for http, and without a
// password for the others.
func withoutPassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, _, _ := strings.Cut(host[:i], ":")
		if host = host[i+1:]; !strings.HasPrefix(scheme, "http") {
			host = user + "@" + host
		}
	}
	return scheme + "://" + host + "/" + path
}

// packing runs git on a repository with new objects in a folder of its own.
type packing struct {
	checkout
	scratch string   // temporary git directory
	vars    []string // environment that isolates git
	wait    time.Duration
}

// objectsIn returns the variables with which git writes new objects into dir.
func (r checkout) objectsIn(dir string) []string {
	of := filepath.Join(r.common, "objects")
	if strings.ContainsAny(of, ":\"\n") {
		of = strconv.Quote(of)
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + of}
}

func (p packing) runGit(stdin io.Reader, args ...string) (string, error) {
	out, err := p.run(stdin, p.top, p.vars, p.wait, args...)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out.Data)), nil
}

// commitIndex makes the commit of the index, in which the secret files are as in head. It works
// on a copy of the index.
func (p packing) commitIndex(head string, secret []string) (string, error) {
	if err := os.MkdirAll(filepath.Join(p.scratch, "objects"), 0o700); err != nil {
		return "", err
	}
	index := filepath.Join(p.scratch, "index")
	if err := copyFile(filepath.Join(p.dir, "index"), index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	p.vars = append(p.vars, "GIT_INDEX_FILE="+index)
	for _, path := range secret {
		out, err := p.run(nil, p.top, p.vars, p.wait, "ls-tree", "-z", head, "--", path)
		if err != nil {
			return "", err
		}
		line := strings.TrimSuffix(string(out.Data), "\x00")
		if line == "" { // head has no such file: mode 0 takes it out of the index
			line = "0 " + strings.Repeat("0", len(head)) + "\t" + path
		}
		if _, err := p.runGit(strings.NewReader(line+"\x00"), "update-index", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	tree, err := p.runGit(nil, "write-tree")
	if err != nil {
		return "", err
	}
	// The same state gives the same commit.
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		p.vars = append(p.vars, "GIT_"+who+"_NAME=gt", "GIT_"+who+"_EMAIL=gt@localhost", "GIT_"+who+"_DATE=1700000000 +0000")
	}
	return p.runGit(strings.NewReader("the index of a session that moves\n"), "commit-tree", "--no-gpg-sign", tree, "-p", head)
}

func copyFile(from, to string) error {
	f, err := atomicfile.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return atomicfile.Copy(to, f)
}

// writeBundle writes the bundle. git takes its refs from a git directory of its own.
func (p packing) writeBundle(path, commit string) error {
	have, err := p.run(nil, p.top, p.vars, p.wait, "for-each-ref", "--format=^%(objectname)", "refs/remotes")
	if err != nil {
		return err
	}
	if have.Truncated { // keep whole lines; without the others the bundle is only larger
		have.Data = have.Data[:bytes.LastIndexByte(have.Data, '\n')+1]
	}
	dir := filepath.Join(p.scratch, "git")
	all := slices.DeleteFunc(p.settings(), func(s setting) bool { return s.name() == "extensions.refstorage" })
	for _, file := range [][2]string{{"HEAD", "ref: refs/heads/gt\n"}, {"config", string(harmlessConfig(all, ""))}, {carriedRef, commit + "\n"}} {
		name := filepath.Join(dir, file[0])
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := atomicfile.Write(name, []byte(file[1]), atomicfile.Unsynced); err != nil {
			return err
		}
	}
	p.vars = append(p.vars, "GIT_DIR="+dir)
	_, err = p.runGit(bytes.NewReader(have.Data), "bundle", "create", "--quiet", path, carriedRef, "--stdin")
	return err
}

// ErrLacks reports that a repository has not all commits that a bundle builds on.
var ErrLacks = errors.New("the repository lacks commits that it builds on")

// ErrBundle reports a bundle that is not Carry's.
var ErrBundle = errors.New("not a bundle that gt made")

// maxHeader bounds the lines before a bundle's pack: one for each commit that it builds on.
const maxHeader = 8 << 20

// TakeBundle adds the objects of a bundle to dir's repository and checks that they are those
// of c. It adds no ref, so git forgets them after some weeks unless a branch has them. The
// bundle's author may be hostile: git checks each object, and refuses a .git in a tree. most
// bounds the files of the commit together, in bytes.
func TakeBundle(dir, bundle string, c Carried, most int64, wait time.Duration) error {
	r, vars, done, err := isolateRepository(dir)
	if err != nil {
		return err
	}
	defer done()
	f, err := atomicfile.Open(bundle)
	if err != nil {
		return err
	}
	defer f.Close()
	// git gets the rest of the file from the reader, not from the descriptor.
	rest := bufio.NewReader(f)
	needs, err := bundleHeader(rest, c.Index)
	if err != nil {
		return err
	}
	if err := r.checkCommits(vars, needs, wait); err != nil {
		return err
	}
	_, err = r.run(rest, r.top, vars, wait, "-c", "core.protectNTFS=true", "-c", "core.protectHFS=true",
		"index-pack", "--stdin", "--fix-thin", "--fsck-objects", fmt.Sprintf("--max-input-size=%d", most))
	if err != nil {
		return fmt.Errorf("cannot take its commits: %w", err)
	}
	out, err := r.run(nil, r.top, vars, wait, "rev-list", "--parents", "-n", "1", c.Index, "--")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBundle, err)
	}
	if strings.TrimSpace(string(out.Data)) != c.Index+" "+c.Head {
		return fmt.Errorf("%w: its index does not follow its head", ErrBundle)
	}
	return r.checkSize(vars, c.Index, most, wait)
}

// bundleHeader reads the lines of a bundle before its pack, and returns the commits that it
// builds on. It accepts one ref only, which must be the commit.
func bundleHeader(r *bufio.Reader, commit string) (needs []string, err error) {
	refs, size := 0, 0
	for n := 0; ; n++ {
		line, err := r.ReadString('\n')
		if size += len(line); err != nil || size > maxHeader {
			return nil, fmt.Errorf("%w: its header has no end", ErrBundle)
		}
		line = strings.TrimSuffix(line, "\n")
		id, name, _ := strings.Cut(strings.TrimPrefix(line, "-"), " ")
		switch {
		case n == 0 && (line == "# v2 git bundle" || line == "# v3 git bundle"):
		case n == 0:
			return nil, ErrBundle
		case line == "" && refs == 1:
			return needs, nil
		case line == "@object-format=sha1", line == "@object-format=sha256":
		case strings.HasPrefix(line, "-") && IsHash(id):
			needs = append(needs, id)
		case refs == 0 && id == commit && name == carriedRef && line[0] != '-': // mutant always: ./lib/launch/parcel TestHostile
			refs++
		default:
			return nil, fmt.Errorf("%w: its header has %.80q", ErrBundle, line)
		}
	}
}

// IsHash reports whether a text is a whole object name.
func IsHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && (len(b) == 20 || len(b) == 32) && strings.ToLower(s) == s
}

// checkCommits returns an ErrLacks if the repository lacks one of the commits.
func (r checkout) checkCommits(vars, commits []string, wait time.Duration) error {
	if len(commits) == 0 {
		return nil
	}
	names := strings.NewReader(strings.Join(commits, "\n") + "\n")
	out, err := r.run(names, r.top, vars, wait, "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out.Data)) {
		if line = strings.TrimSpace(line); line != "commit" {
			id, _, _ := strings.Cut(line, " ")
			return fmt.Errorf("%w: %.12s", ErrLacks, id)
		}
	}
	return nil
}

// checkSize returns an error if the files of a commit have more than most bytes together: a
// few kilobytes of a pack can be gigabytes on disk.
func (r checkout) checkSize(vars []string, commit string, most int64, wait time.Duration) error {
	sum := &sizeSum{most: most}
	if err := r.runTo(nil, sum, r.top, vars, wait, "ls-tree", "-r", "-l", "-z", commit); err != nil && sum.total <= most {
		return err
	}
	if sum.total > most {
		return fmt.Errorf("its files have more than %d bytes", most)
	}
	return nil
}

// sizeSum adds up the sizes in the output of git ls-tree -l -z. A submodule has "-".
type sizeSum struct {
	total, most int64
	line        []byte
}

var errTooMuch = errors.New("too much")

// Write adds up the sizes in the output of git ls-tree -l -z. Above the limit it fails, to end git.
func (s *sizeSum) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != 0 {
			s.line = append(s.line, c)
			continue
		}
		meta, _, _ := bytes.Cut(s.line, []byte("\t")) // mode, type, name, size
		if fields := strings.Fields(string(meta)); len(fields) == 4 {
			if n, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
				s.total += n
			}
		}
		if s.line = s.line[:0]; s.total > s.most {
			return 0, errTooMuch
		}
	}
	return len(p), nil
}

// HasCommits reports whether dir's repository has all of the commits, and where its main
// worktree is, or the repository if it is bare.
func HasCommits(dir string, commits []string, wait time.Duration) (main string, ok bool, err error) {
	all, err := Worktrees(dir)
	if err != nil {
		return "", false, err
	}
	r, vars, done, err := isolateRepository(dir)
	if err != nil {
		return "", false, err
	}
	defer done()
	if err = r.checkCommits(vars, commits, wait); errors.Is(err, ErrLacks) {
		return "", false, nil
	}
	return all[0].Path, err == nil, err
}

// ErrBranchTaken reports that a branch exists and is at another commit, or checked out.
var ErrBranchTaken = errors.New("the branch is taken")

// MakeBranch makes a branch at a commit in dir's repository. If the branch exists, it has to be at
// that commit, and checked out in no worktree but path. Otherwise it returns ErrBranchTaken.
func MakeBranch(dir, branch, commit, path string) error {
	if err := CheckBranch(dir, branch); err != nil {
		return err
	}
	r, err := findRepository(dir)
	if err != nil {
		return err
	}
	if err := r.checkLinks(branch); err != nil {
		return err
	}
	all, err := r.worktrees()
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.Branch == branch && w.Path != path {
			return fmt.Errorf("%w: %s", ErrBranchTaken, branch)
		}
	}
	switch at, err := r.branchAt(branch); {
	case err != nil || at == commit:
		return err
	case at != "":
		return fmt.Errorf("%w: %s", ErrBranchTaken, branch)
	}
	_, err = r.runInPlace("branch", "--no-track", "--", branch, commit)
	if err != nil && strings.Contains(err.Error(), "cannot lock ref") {
		return fmt.Errorf("%w: %s", ErrBranchTaken, branch)
	}
	return err
}

// InTheWay returns the files in a worktree that git does not track there, and that would be
// replaced: by ResetWorktree to the commit index, or by the files comes, which the caller writes.
func InTheWay(path, index string, comes []string, wait time.Duration) (names []string, err error) {
	// Files that index has, and this worktree's index lacks.
	out, err := runInWorktree(path, wait, "diff", "--cached", "--name-only", "--no-renames", "--diff-filter=D", "-z", index)
	if err != nil {
		return nil, err
	}
	if out.Truncated {
		return nil, errors.New("it has too many changes")
	}
	names = splitNames(string(out.Data))
	for some := range slices.Chunk(comes, 256) {
		tracked, err := runInWorktree(path, wait, append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		known := strings.Split(string(tracked.Data), "\x00")
		names = append(names, slices.DeleteFunc(slices.Clone(some), func(name string) bool { return slices.Contains(known, name) })...)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(filepath.Join(path, name))
		return err != nil || info.IsDir()
	}), nil
}

// IntendToAdd puts files of a worktree into its index as git add -N does.
func IntendToAdd(path string, names []string, wait time.Duration) error {
	for some := range slices.Chunk(names, 256) {
		if _, err := runInWorktree(path, wait, append([]string{"--literal-pathspecs", "add", "--intent-to-add", "--force", "--"}, some...)...); err != nil {
			return err
		}
	}
	return nil
}

// ResetWorktree gives a worktree the state that Carry took elsewhere. Its index and files become
// those of the commit index, and HEAD, with the branch that is checked out, moves to head. It keeps
// files that git does not track unless they are InTheWay.
func ResetWorktree(path, head, index string, wait time.Duration) error {
	if err := FillIndex(path, index, wait); err != nil {
		return err
	}
	r, err := worktreeAt(path)
	if err != nil {
		return err
	}
	_, err = r.runInPlace("reset", "--soft", head, "--")
	return err
}

// CheckURL returns an error for a remote that git should not be given: only https, ssh and
// paths, none of which names a program as PROGRAM::ADDRESS does.
func CheckURL(url string) error {
	scheme, _, ok := strings.Cut(url, "://")
	host, path, scp := strings.Cut(url, ":")
	switch {
	case url == "" || strings.HasPrefix(url, "-") || strings.Contains(url, "::") || strings.ContainsFunc(url, func(r rune) bool { return r < ' ' || r == 0x7f }):
	case ok && (scheme == "https" || scheme == "ssh"):
		return nil
	case ok:
	case filepath.IsAbs(url):
		return nil
	case scp && path != "" && !strings.Contains(host, "/"): // HOST:PATH, by ssh
		return nil
	}
	return fmt.Errorf("gt does not clone from %s", Quote(url))
}

// Clone clones a repository into a new folder. It runs no program that the repository
// names, and asks nothing.
func Clone(url, dir string, wait time.Duration) error {
	if err := CheckURL(url); err != nil {
		return err
	}
	// A clone that was killed may be incomplete, so it begins under another name.
	part := dir + ".gt-cloning"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	_, err := checkout{top: dir}.run(nil, filepath.Dir(dir), []string{"GIT_ALLOW_PROTOCOL=https:ssh:file"}, wait, "clone", "--quiet", "--no-recurse-submodules", "--", url, part)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot clone %s: %w", Quote(url), err), os.RemoveAll(part))
	}
	return atomicfile.Rename(part, dir, atomicfile.Synced)
}

// BranchAt returns the commit of a branch of dir's repository, or "".
func BranchAt(dir, branch string) (string, error) {
	r, err := findRepository(dir)
	if err != nil {
		return "", err
	}
	return r.branchAt(branch)
}

// BranchTaken reports whether a branch cannot be made at a commit: it is at another one, or there
// is one above or below it, as x of x/y.
func BranchTaken(dir, branch, commit string) (bool, error) {
	r, err := findRepository(dir)
	if err != nil {
		return false, err
	}
	all, err := r.branches("")
	for name, id := range all {
		if name == branch && id != commit || strings.HasPrefix(name, branch+"/") || strings.HasPrefix(branch, name+"/") { // mutant never: ./lib/launch/parcel TestFields
			return true, nil
		}
	}
	return false, err
}

func (r checkout) branchAt(branch string) (string, error) {
	all, err := r.branches(branch)
	return all[branch], err
}

// branches returns the commits by name: of a branch and those below it, or of all branches for "".
func (r checkout) branches(branch string) (map[string]string, error) {
	out, err := r.runInPlace("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"+branch)
	all := map[string]string{}
	for line := range strings.Lines(out) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " refs/heads/"); ok {
			all[name] = id
		}
	}
	return all, err
}
