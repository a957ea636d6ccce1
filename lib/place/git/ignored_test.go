package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gt/internal/testenv"
)

// What a rule excludes is hidden, unless git keeps it all the same or a later rule
// takes it in again.
func TestIgnored(t *testing.T) {
	dir := t.TempDir()
	if _, err := IgnoredPaths(dir, time.Minute, "a"); !errors.Is(err, ErrNotRepository) {
		t.Errorf("outside a worktree: %v", err)
	}
	run(t, dir, "init", "-q")
	if got, err := IgnoredPaths(dir, time.Minute, "a", ".runtime/b"); err != nil || len(got) > 0 {
		t.Errorf("without a rule: %v, %v", got, err)
	}
	for name, text := range map[string]string{
		".git/info/exclude": ".runtime/\na\nkept\nback\n", ".gitignore": "!back\n", "kept": "",
	} {
		testenv.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run(t, dir, "add", "-f", "kept")
	got, err := IgnoredPaths(dir, time.Minute, "a", ".runtime/b", "kept", "back", "plain", ".gitignore")
	if want := []string{"a", ".runtime/b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	testenv.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "link")))
	if got, err := IgnoredPaths(dir, time.Minute, "a", "link/b"); err == nil {
		t.Errorf("beyond a link: %v", got)
	}
}
