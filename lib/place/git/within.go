package git

import (
	"cmp"
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
	"gt/lib/sys/bounded"
)

// Nested is something in a folder that would be lost with it and that the folder's own
// repository knows nothing of.
type Nested struct {
	Path string // relative to the folder
	What string // what it has that is nowhere else
}

func (n Nested) String() string { return fmt.Sprintf("%s has %s", Quote(n.Path), n.What) }

// otherSystems are the folders of version control systems that gt cannot ask.
var otherSystems = []string{".hg", ".jj", ".sl", ".svn", ".bzr", ".pijul"}

// FindNested returns the repositories and worktrees below dir, in ignored folders, too, that
// hold what is nowhere else: changes, untracked files, stashes, and commits that no remote
// has. It also returns those that gt cannot read, and mounted folders.
func FindNested(dir string, wait time.Duration) (all []Nested, err error) {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, atomicfile.Error("read", dir, err)
	}
	device := func(path string) (uint64, error) {
		info, err := os.Lstat(path)
		if err != nil {
			return 0, err
		}
		return uint64(info.Sys().(*syscall.Stat_t).Dev), nil
	}
	outer, err := worktreeAt(top)
	if err != nil {
		return nil, err
	}
	home, err := device(top)
	if err != nil {
		return nil, atomicfile.Error("read", top, err)
	}
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		} else if err != nil {
			return atomicfile.Error("read", path, err)
		}
		found := func(at, what string) {
			if rel, err := filepath.Rel(top, at); err == nil && what != "" {
				all = append(all, Nested{rel, what})
			}
		}
		name, parent := d.Name(), filepath.Dir(path)
		switch {
		case path == top:
			return nil
		case name == ".git":
			if parent == top {
				break // dir's own: the next switch passes over it
			}
			what, err := findLost(outer, parent, wait)
			if err != nil {
				return err
			}
			if found(parent, what); !d.IsDir() { // of a linked worktree, which has no modules
				return nil
			}
			err = walkModules(path, func(dir string) error {
				said, err := readHead(dir)
				if err != nil {
					return err
				}
				what, err := findLostCommits(outer, checkout{dir, dir, dir, said}, wait)
				found(dir, what)
				return err
			})
			return cmp.Or(err, fs.SkipDir)
		}
		switch {
		case !d.IsDir():
			return nil
		case path == outer.dir, path == outer.common:
			return fs.SkipDir
		case slices.Contains(otherSystems, name):
			found(parent, "a repository that gt cannot read ("+name+")")
			return fs.SkipDir
		}
		if at, err := device(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Error("read", path, err)
		} else if err == nil && at != home {
			found(path, "another file system, which is mounted there")
			return fs.SkipDir
		}
		if IsBare(path) {
			r, err := findRepository(path)
			what := ""
			if err == nil {
				what, err = findLostCommits(outer, r, wait)
			}
			if err != nil {
				what = unreadable(err)
			}
			found(path, what)
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}

func unreadable(err error) string { return fmt.Sprintf("a repository that gt cannot read (%v)", err) }

// findLost returns what the repository or worktree at path has that would be lost with the
// worktree outer, or "".
func findLost(outer checkout, path string, wait time.Duration) (string, error) {
	dot := filepath.Join(path, ".git")
	if names, err := os.ReadDir(dot); err == nil && len(names) == 0 {
		return "", nil // some tools put an empty one where git should look no further
	}
	r, err := repositoryAt(path)
	if err != nil {
		return unreadable(err), nil
	}
	if _, what, err := r.findUnsaved(wait); errors.Is(err, ErrTimeout) {
		return "", err
	} else if err != nil || what != "" {
		return cmp.Or(what, unreadable(err)), nil
	}
	return findLostCommits(outer, r, wait)
}

// findLostCommits returns the commits and stashes of a repository that would be lost with the
// worktree outer, or "". The repository of a linked worktree can lie elsewhere: then only what
// was committed on a detached HEAD can be lost.
func findLostCommits(outer, r checkout, wait time.Duration) (what string, err error) {
	var tips []string
	if IsHash(r.head) { // no branch is checked out
		tips = []string{r.head}
	}
	findElsewhere := func(elsewhere ...string) (string, error) {
		elsewhere = append([]string{"--not"}, elsewhere...)
		if len(tips) > 0 {
			if what, err := r.countUnmerged(wait, slices.Concat(tips, elsewhere)...); err != nil || what != "" {
				return what, err
			}
		}
		return r.countLeftBehind(wait, elsewhere)
	}
	if r.common == outer.common || !place.IsBelow(r.common, outer.top) && !place.IsBelow(r.common, outer.dir) {
		// The repository stays: what a branch, a remote or a tag has is not lost.
		return findElsewhere("--branches", "--remotes", "--tags")
	}
	// The repository goes along: only what a remote has is not lost, and an untouched clone's tags.
	for _, name := range readNames(filepath.Join(r.common, "worktrees")) {
		at, err := atomicfile.Read(filepath.Join(r.common, "worktrees", name, "gitdir"), maxHead)
		if to := filepath.Dir(strings.TrimSpace(string(at))); err == nil && atomicfile.Exists(to) && !place.IsBelow(place.Real(to), outer.top) {
			return fmt.Sprintf("the repository of the worktree '%s'", to), nil
		}
	}
	if stashed, err := r.hasStash(wait); err != nil || stashed {
		return "a stash", err
	}
	if tips = append(tips, "--branches"); r.fetchedOnly() {
		return r.countUnmerged(wait, append(tips, "--not", "--remotes", "--tags")...)
	}
	tips = append(tips, "--tags")
	return findElsewhere("--remotes")
}

// hasStash reports whether a repository has a stash.
func (r checkout) hasStash(wait time.Duration) (bool, error) {
	out := &bounded.Front{Most: maxStatus}
	err := r.runIsolated(nil, out, r.top, wait, "for-each-ref", "refs/stash")
	return err == nil && len(out.Data) > 0, err
}

// fetchedOnly reports whether nothing was committed in a clone, whose tags are then its remote's.
// It is false if the log of HEAD cannot tell.
func (r checkout) fetchedOnly() bool {
	data, err := atomicfile.Read(filepath.Join(r.dir, "logs", "HEAD"), maxReflog)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		_, what, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(what, "clone: ") && !strings.HasPrefix(what, "checkout: ") && !strings.HasPrefix(what, "pull: Fast-forward") {
			return false
		}
	}
	return len(data) > 0
}

// walkModules calls found with each git directory of a submodule in a repository's own git directory.
func walkModules(gitDir string, found func(dir string) error) error {
	root := filepath.Join(gitDir, "modules")
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return atomicfile.Error("read", path, err)
		case !d.IsDir() || !IsBare(path):
			return nil
		}
		if err := found(path); err != nil {
			return err
		}
		if err := walkModules(path, found); err != nil {
			return err
		}
		return fs.SkipDir
	})
}
