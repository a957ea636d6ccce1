package git

import (
	"errors"
	"os"
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
	out, err := answer(dir, wait, "ls-files", "-z", "--", ":(icase,literal)"+filepath.Base(file))
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
	out, err := answer(dir, wait, args...)
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
