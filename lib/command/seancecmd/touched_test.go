package seancecmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gt/internal/testenv"
	"gt/lib/cli"
)

// A file of another repository has its paths there, also if its name is a pattern of git's.
func TestPathsOfFileElsewhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	testenv.NoError(t, os.MkdirAll(filepath.Join(there, "sub"), 0o700))
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", there, "-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q", here)
	git("init", "-q")
	testenv.NoError(t, os.WriteFile(filepath.Join(there, "page.tsx"), []byte("page\n"), 0o600))
	testenv.NoError(t, os.WriteFile(filepath.Join(there, "sub", ":x"), []byte("x\n"), 0o600))
	git("add", "-A")
	git("commit", "-qm", "one")
	git("mv", "page.tsx", "[id].tsx")
	git("commit", "-qm", "two")
	env := &cli.Env{Dir: here}
	for name, want := range map[string][]string{
		filepath.Join(there, "[id].tsx"):  {filepath.Join(there, "[id].tsx"), filepath.Join(there, "[id].tsx"), filepath.Join(there, "page.tsx")},
		filepath.Join(there, "sub", ":x"): {"sub/:x", "sub/:x"},
		"../there/sub/:x":                 {"sub/:x", "sub/:x"},
		"nowhere.go":                      {"nowhere.go"},
	} {
		if got := pathsOf(env, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
