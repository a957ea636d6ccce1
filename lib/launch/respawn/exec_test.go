package respawn

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
)

// What was judged is what the agent starts in: a folder that is exchanged afterwards is
// refused in the pane.
func TestEnterExchanged(t *testing.T) {
	top := place.Real(t.TempDir())
	t.Chdir(top)
	for _, name := range []string{"api", "other"} {
		testenv.NoError(t, os.Mkdir(name, 0o700))
	}
	r := Run{Dir: filepath.Join(top, "api")}
	var err error
	if r.Folder, err = place.Identify(r.Dir); err != nil {
		t.Fatal(err)
	}
	testenv.NoError(t, os.Rename("api", "aside"))
	testenv.NoError(t, os.Symlink("other", "api"))
	var exchanged *place.ExchangedError
	if err := r.openFolder(); !errors.As(err, &exchanged) {
		t.Errorf("a link in its place: %v", err)
	}
	if dir, _ := os.Getwd(); dir != top {
		t.Errorf("the working directory is %s", dir)
	}
	testenv.NoError(t, errors.Join(os.Remove("api"), os.Symlink("aside", "api")))
	if err := r.openFolder(); err != nil {
		t.Errorf("a link to the same folder: %v", err)
	}
}
