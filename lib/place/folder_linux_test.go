package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"golang.org/x/sys/unix"
)

// A folder of a container's image gets a new time of birth when it is first written to,
// which an agent does after gt has recorded it.
func TestFolderOfAnImage(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"lower/proj", "upper", "work", "merged", "state"} {
		testenv.NoError(t, os.MkdirAll(filepath.Join(base, name), 0o700))
	}
	merged := filepath.Join(base, "merged")
	options := "lowerdir=" + filepath.Join(base, "lower") + ",upperdir=" + filepath.Join(base, "upper") + ",workdir=" + filepath.Join(base, "work")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) {
		t.Skip("cannot mount an overlay:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(merged, 0)

	s, dir := State(filepath.Join(base, "state")), filepath.Join(merged, "proj")
	at := s.Home(dir, false).At
	testenv.NoError(t, s.MakeHome(s.Home(dir, false), dir, "proj"))
	before, _ := Identify(dir)
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	after, _ := Identify(dir)
	if before.SameFolder(after) {
		t.Skip("this kernel keeps the time of birth")
	}
	if now := s.Home(dir, false).At; now != at {
		t.Errorf("the folder's place was %s and is now %s", at, now)
	}

	// Another folder at the same path is still told apart.
	testenv.NoError(t, os.RemoveAll(dir))
	for _, name := range []string{"other", "proj"} { // other has the inode that was free
		testenv.NoError(t, os.Mkdir(filepath.Join(merged, name), 0o700))
	}
	if again, _ := Identify(dir); again.Inode != before.Inode && s.Home(dir, false).At == at {
		t.Error("another folder got the state of the first")
	}
}
