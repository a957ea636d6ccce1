package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that git keeps is told from one that lies beside it, also below the top,
// in another case, and with a name that would be a pattern.
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
	if err := os.Symlink(filepath.Join(dir, "sub"), link); err != nil {
		t.Fatal(err)
	}
	want(link, "own", true)

	none := t.TempDir()
	write(t, none, "top", "x")
	want(none, "top", false)
}
