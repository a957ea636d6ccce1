package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Tracks reports whether git keeps a file, so that it may have come with a
// repository, in whatever case its name is written there. Outside a worktree it
// keeps none, and is not asked.
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

// Kept returns which files, at and below the paths relative to dir, git keeps, so
// that they may have come with the repository, in whatever case their names are
// written there. Outside a worktree it keeps none, and is not asked.
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
		return nil, errors.New("git keeps too many to be named")
	}
	return strings.FieldsFunc(out.buf.String(), func(r rune) bool { return r == 0 }), nil
}
