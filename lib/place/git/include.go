package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// Include is the file at the top of a repository that names, in the syntax of .gitignore,
// ignored files that a new worktree gets copies of, as Claude Code and others read it.
const Include = ".worktreeinclude"

// Bounds of a copy. What does not fit is left.
const (
	maxIncludeFile = 64 << 10
	maxIncluded    = 20_000
	maxIncludedSum = 2 << 30  // bytes
	maxNamed       = 64 << 20 // bytes of all names
)

// CopyIncluded copies the files that from's Include names and that git ignores there, from
// the checkout with the top from into the worktree with the top to. It returns their number,
// and those that it leaves, with the reason: links, what is behind one, no regular files,
// what cannot be copied, and of more than 20,000 or over 2 GiB the largest. It overwrites
// nothing. It stops where no other file could be written either, as on a full disk.
func CopyIncluded(from, to string, wait time.Duration) (n int, left []error, err error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return 0, nil, err
	}
	defer source.Close()
	list, err := atomicfile.OpenIn(source, Include)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	} else if err != nil {
		return 0, nil, atomicfile.Error("read", filepath.Join(from, Include), err)
	}
	defer list.Close()
	if info, err := list.Stat(); err != nil {
		return 0, nil, err
	} else if info.Size() > maxIncludeFile {
		return 0, nil, fmt.Errorf("'%s' is over %d KiB", filepath.Join(from, Include), maxIncludeFile>>10)
	}
	names, left, err := findIncluded(from, list, wait)
	if err != nil {
		return 0, nil, err
	}
	names, more, err := selectFitting(source, names, wait)
	left = append(left, more...)
	if err != nil {
		return 0, left, err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return 0, left, err
	}
	defer target.Close()
	for _, name := range names {
		switch err := copyInto(target, source, name); {
		case err == nil:
			n++
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // there already, or gone
		case errors.Is(err, atomicfile.ErrLink), errors.Is(err, atomicfile.ErrNotRegular):
			left = append(left, fmt.Errorf("%s: links are not followed", Quote(name)))
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
			return n, left, atomicfile.Error("copy", filepath.Join(from, name), err)
		default:
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			left = append(left, fmt.Errorf("%s: %w", Quote(name), err))
		}
	}
	return n, left, nil
}

// findIncluded returns the untracked files of a checkout that match the patterns in list, which
// must be a file of the file system, and that git ignores. gt's own are none of them. It names
// in left the last of more names than it keeps.
func findIncluded(top string, list *os.File, wait time.Duration) (names []string, left []error, err error) {
	match, cut, err := runForNames(list, top, wait, "ls-files", "-z", "--others", "--ignored", "--exclude-from=/dev/stdin")
	if err != nil || len(match) == 0 {
		return nil, nil, err
	}
	if cut {
		left = append(left, fmt.Errorf("what follows %s: the names are over %d MiB", Quote(match[len(match)-1]), maxNamed>>20))
	}
	found, _, err := runForNames(strings.NewReader(strings.Join(match, "\x00")+"\x00"), top, wait, "check-ignore", "-z", "--stdin")
	for _, name := range found {
		isRepository, isWorktree := strings.HasSuffix(name, "/"), false
		if isRepository {
			isWorktree, _ = IsWorktreeOf(filepath.Join(top, name), top) // one that cannot be read is named
		}
		switch {
		case isOwnFile(name), isWorktree: // left without being named
		case isRepository:
			left = append(left, fmt.Errorf("%s: it is another repository", Quote(name)))
		default:
			names = append(names, name)
		}
	}
	return names, left, noneIgnored(err)
}

// copiedPart is a file, or a folder without tracked files: part of one would be of no use.
type copiedPart struct {
	name  string // a folder's ends in a slash
	files int
	size  int64
}

func (p copiedPart) sizeShare() float64 {
	return max(float64(p.files)/maxIncluded, float64(p.size)/maxIncludedSum)
}

// isLeftBefore reports whether p is left before q: the larger one, and of equal ones the deeper,
// so that an .env at the top comes last, and then that with the longer name.
func (p copiedPart) isLeftBefore(q copiedPart) bool {
	if p.sizeShare() != q.sizeShare() {
		return p.sizeShare() > q.sizeShare()
	}
	if mine, other := strings.Count(p.name, "/"), strings.Count(q.name, "/"); mine != other {
		return mine > other
	}
	return len(p.name) > len(q.name)
}

// selectFitting returns the files that a copy can have. Of too many or too large ones it leaves
// those that are too large by themselves, and then the largest parts.
func selectFitting(source *os.Root, names []string, wait time.Duration) (fit []string, left []error, err error) {
	sizes := map[string]int64{}
	all := copiedPart{}
	for _, name := range names {
		if info, err := source.Lstat(name); err == nil && info.Mode().IsRegular() {
			sizes[name] = info.Size()
		}
		if sizes[name] > maxIncludedSum {
			left = append(left, fmt.Errorf("%s: %d MiB are too large (at most %d MiB are copied)", Quote(name), sizes[name]>>20, maxIncludedSum>>20))
			continue
		}
		fit = append(fit, name)
		all.files++
		all.size += sizes[name]
	}
	if all.sizeShare() <= 1 {
		return fit, left, nil
	}
	tracked, err := trackedFolders(source.Name(), wait)
	if err != nil {
		return nil, left, err
	}
	byName := map[string]*copiedPart{}
	var parts []*copiedPart
	for _, name := range fit {
		of := partOf(name, tracked)
		p := byName[of]
		if p == nil {
			p = &copiedPart{name: of}
			byName[of] = p
			parts = append(parts, p)
		}
		p.files++
		p.size += sizes[name]
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].isLeftBefore(*parts[j]) })
	leaves := map[string]bool{}
	for _, p := range parts {
		if all.sizeShare() <= 1 {
			break
		}
		leaves[p.name] = true
		all.files -= p.files
		all.size -= p.size
		left = append(left, fmt.Errorf("%s: %d files of %d MiB are too much (at most %d of %d MiB are copied)", Quote(p.name), p.files, p.size>>20, maxIncluded, maxIncludedSum>>20))
	}
	return slices.DeleteFunc(fit, func(name string) bool { return leaves[partOf(name, tracked)] }), left, nil
}

// trackedFolders returns the folders of a checkout that hold tracked files, at any depth. If
// their names are over maxNamed, the last folders are missing, and count as without.
func trackedFolders(top string, wait time.Duration) (map[string]bool, error) {
	names, _, err := runForNames(nil, top, wait, "ls-files", "-z")
	folders := map[string]bool{}
	for _, name := range names {
		for dir := filepath.Dir(name); dir != "." && !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	return folders, err
}

// partOf returns the part that an untracked file is copied with: the topmost folder above it that
// has no tracked files, or the file alone. tracked has each folder with tracked files.
func partOf(name string, tracked map[string]bool) string {
	for i, c := range name {
		if c == '/' && !tracked[name[:i]] {
			return name[:i+1]
		}
	}
	return name
}

// copyInto copies a file with its permissions. It returns fs.ErrExist if the name is taken.
func copyInto(target, source *os.Root, name string) error {
	dir := filepath.Dir(name)
	if err := atomicfile.CheckLinksIn(source, dir, false); err != nil {
		return err
	}
	from, err := atomicfile.OpenIn(source, name)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := atomicfile.CheckLinksIn(target, dir, true); err != nil { // mutant never: TestCopyIncluded
		return err
	}
	if _, err := target.Lstat(name); err == nil { // mutant never: TestCopyIncluded
		return fs.ErrExist
	}
	return atomicfile.MakeIn(target, name, func(to *os.File) error {
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		return to.Chmod(info.Mode().Perm())
	})
}
