package git

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Tracks reports whether git tracks a file, ignoring case. Such a file may have come with
// the repository. Outside a worktree Tracks does not run git.
func Tracks(file string, wait time.Duration) (bool, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(filepath.Join(Top(dir), ".git")); err != nil {
		return false, nil
	}
	out, err := runInWorktree(dir, wait, "ls-files", "-z", "--", ":(icase,literal)"+filepath.Base(file))
	if errors.Is(err, ErrNotRepository) {
		return false, nil
	}
	return err == nil && out.buf.Len() > 0, err
}

// Kept returns the tracked files at and below the paths, relative to dir, ignoring case.
// Such files may have come with the repository. Outside a worktree Kept does not run git.
func Kept(dir string, wait time.Duration, paths ...string) ([]string, error) {
	if _, err := os.Lstat(filepath.Join(Top(dir), ".git")); err != nil {
		return nil, nil
	}
	args := []string{"ls-files", "-z", "--"}
	for _, p := range paths {
		args = append(args, ":(icase)"+p)
	}
	out, err := runInWorktree(dir, wait, args...)
	if errors.Is(err, ErrNotRepository) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if out.cut {
		return nil, errors.New("git tracks too many files there to list")
	}
	return strings.FieldsFunc(out.buf.String(), func(r rune) bool { return r == 0 }), nil
}

// Ignored returns the paths, relative to dir, that git does not track and that a rule of
// the repository or the person ignores. It returns ErrNotRepository if dir is not in a
// worktree.
func Ignored(dir string, wait time.Duration, paths ...string) ([]string, error) {
	tracked, err := runInWorktree(dir, wait, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for name := range bytes.SplitSeq(tracked.buf.Bytes(), []byte{0}) {
		kept[string(name)] = true
	}
	// git supports -z only for names on standard input.
	names := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := answerTo(names, dir, wait, "check-ignore", "-z", "--no-index", "--verbose", "--stdin")
	if err != nil {
		return nil, noneIgnored(err)
	}
	fields := bytes.Split(out.buf.Bytes(), []byte{0}) // source, line, pattern, path
	var ignored []string
	for i := 0; i+3 < len(fields); i += 4 {
		pattern, path := string(fields[i+2]), string(fields[i+3])
		if pattern != "" && pattern[0] != '!' && !kept[path] {
			ignored = append(ignored, path)
		}
	}
	return ignored, nil
}

// noneIgnored returns nil for the error with which git check-ignore says that no path is
// ignored.
func noneIgnored(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	return err
}
