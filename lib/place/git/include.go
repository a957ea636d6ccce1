package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// Include is the file at the top of a repository that names, in the syntax of .gitignore,
// ignored files that a new worktree gets copies of, as Claude Code and others read it.
const Include = ".worktreeinclude"

// A copy of more is refused as a whole: of a part nobody would know what is missing.
const (
	maxIncludeFile = 64 << 10
	maxIncluded    = 20_000
	maxIncludedSum = 2 << 30 // bytes
)

// ErrTooMuch reports an Include that names too many files, or too large ones.
var ErrTooMuch = errors.New("too much to copy")

// CopyIncluded copies the files that from's Include names and that git ignores there, from
// the checkout with the top from into the worktree with the top to. It returns their number,
// and those that it leaves, with the reason: links, what is behind one, no regular files, and
// what cannot be copied. It overwrites nothing. It stops where no other file could be written. Nothing is copied if they are more than 20,000 or over 2 GiB.
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
		return 0, nil, fmt.Errorf("%w: '%s' is over %d KiB", ErrTooMuch, filepath.Join(from, Include), maxIncludeFile>>10)
	}
	names, err := included(from, list, wait)
	if err != nil {
		return 0, nil, err
	}
	var sum int64
	for _, name := range names {
		if info, err := source.Lstat(name); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	if sum > maxIncludedSum || len(names) > maxIncluded {
		return 0, nil, fmt.Errorf("%w: %d files of %d MiB (at most %d of %d MiB)", ErrTooMuch, len(names), sum>>20, maxIncluded, maxIncludedSum>>20)
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return 0, nil, err
	}
	defer target.Close()
	for _, name := range names {
		switch err := copyInto(target, source, name); {
		case err == nil:
			n++
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
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

// included returns the untracked files of a checkout that match the patterns in list, which
// must be a file of the file system, and that git ignores. gt's own are none of them.
func included(top string, list *os.File, wait time.Duration) ([]string, error) {
	match, err := answerTo(list, top, wait, "ls-files", "-z", "--others", "--ignored", "--exclude-from=/dev/stdin")
	if err != nil {
		return nil, err
	}
	if match.buf.Len() == 0 {
		return nil, nil
	}
	if match.cut {
		return nil, fmt.Errorf("%w: over %d files", ErrTooMuch, maxIncluded)
	}
	out, err := answerTo(bytes.NewReader(match.buf.Bytes()), top, wait, "check-ignore", "-z", "--stdin")
	if err != nil {
		return nil, noneIgnored(err)
	}
	var names []string
	for name := range strings.SplitSeq(out.buf.String(), "\x00") {
		// The name of another repository ends in '/'.
		if name != "" && !strings.HasSuffix(name, "/") && !ownFile(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// copyInto copies a file with its permissions. It returns fs.ErrExist if the name is taken.
func copyInto(target, source *os.Root, name string) error {
	dir := filepath.Dir(name)
	if err := atomicfile.LinklessIn(source, dir, false); err != nil {
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
	if err := atomicfile.LinklessIn(target, dir, true); err != nil { // mutant never: TestCopyIncluded
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
