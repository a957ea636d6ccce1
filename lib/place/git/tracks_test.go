package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/internal/testenv"
)

// Tracks distinguishes tracked files from others: below the top, in another case, and with
// names that would be patterns.
func TestTracks(t *testing.T) {
	want := func(dir, name string, tracked bool) {
		t.Helper()
		if got, err := Tracks(filepath.Join(dir, name), time.Minute); got != tracked || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	dir := repository(t, "sub/own", "sub/Theirs", "top")
	write(t, dir, "sub/[a-z]wn", "x")
	write(t, dir, "sub/top", "x")
	want(dir, "sub/[a-z]wn", false)
	want(dir, "sub/top", false)
	want(dir, "sub/own", true)
	want(dir, "sub/theirs", true)
	want(dir, "top", true)

	link := filepath.Join(t.TempDir(), "link")
	testenv.NoError(t, os.Symlink(filepath.Join(dir, "sub"), link))
	want(link, "own", true)

	none := t.TempDir()
	write(t, none, "top", "x")
	want(none, "top", false)
}
