package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/sys/bounded"
)

// Tracks reports whether git tracks a file, ignoring case. Such a file may have come with
// the repository. Outside a worktree Tracks does not run git.
func Tracks(file string, wait time.Duration) (bool, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return false, err
	}
	out, err := listTracked(dir, wait, ":(icase,literal)"+filepath.Base(file))
	return err == nil && len(out.Data) > 0, err
}

// listTracked returns the names of the tracked files that match the patterns, each with a NUL.
func listTracked(dir string, wait time.Duration, patterns ...string) (*bounded.Front, error) {
	if _, err := os.Lstat(filepath.Join(Top(dir), ".git")); err != nil {
		return new(bounded.Front), nil
	}
	out, err := runInWorktree(dir, wait, append([]string{"ls-files", "-z", "--"}, patterns...)...)
	if errors.Is(err, ErrNotRepository) {
		err = nil
	}
	return out, err
}

// TrackedFiles returns the tracked files at and below the paths, relative to dir, ignoring case.
// Such files may have come with the repository. Outside a worktree it does not run git.
func TrackedFiles(dir string, wait time.Duration, paths ...string) ([]string, error) {
	var patterns []string
	for _, p := range paths {
		patterns = append(patterns, ":(icase)"+p)
	}
	out, err := listTracked(dir, wait, patterns...)
	if err != nil {
		return nil, err
	}
	if out.Truncated {
		return nil, errors.New("git tracks too many files there to list")
	}
	return splitNames(string(out.Data)), nil
}

// IgnoredPaths returns the paths, relative to dir, that git does not track and that a rule of the
// repository or the person ignores. It returns ErrNotRepository if dir is not in a worktree.
func IgnoredPaths(dir string, wait time.Duration, paths ...string) ([]string, error) {
	tracked, _, err := runForNames(nil, dir, wait, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	// git supports -z only for names on standard input.
	names := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	fields, _, err := runForNames(names, dir, wait, "check-ignore", "-z", "--no-index", "--verbose", "--stdin")
	var ignored []string
	for rule := range slices.Chunk(fields, 4) { // source, line, pattern, path
		if len(rule) == 4 && rule[2] != "" && rule[2][0] != '!' && !slices.Contains(tracked, rule[3]) {
			ignored = append(ignored, rule[3])
		}
	}
	return ignored, noneIgnored(err)
}

// noneIgnored returns nil for the error with which git check-ignore says that no path is ignored.
func noneIgnored(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	return err
}
