package git

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Tracks says whether git keeps a file, so that it may have come with a
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
