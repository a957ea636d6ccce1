package process

import (
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"
)

// A program is looked up on the PATH that it is run with, and never in a working
// directory that stands there only as ".".
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	for _, d := range []string{first, second, filepath.Join(first, "folder")} {
		testenv.NoError(t, os.MkdirAll(d, 0o700))
	}
	write := func(path string, mode os.FileMode) {
		t.Helper()
		testenv.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), mode))
	}
	write(filepath.Join(first, "plain"), 0o600)
	write(filepath.Join(second, "plain"), 0o700)
	write(filepath.Join(second, "folder"), 0o700)
	t.Chdir(second)
	for path, want := range map[string]string{
		"PATH=" + first + ":" + second: second,
		"PATH=" + first:                "",
		"PATH=.:":                      "",
		"NOPATH=" + second:             "",
	} {
		for _, name := range []string{"plain", "folder"} {
			got, err := LookPath(name, "", []string{"PATH=/nowhere", path})
			if want == "" && err == nil || want != "" && got != filepath.Join(want, name) {
				t.Errorf("with %s, %s is %q, %v", path, name, got, err)
			}
		}
	}
	if got, err := LookPath("./plain", "", nil); err != nil || got != filepath.Join(second, "plain") {
		t.Error(got, err)
	}
	if err := Exec(second, []string{"nothing-of-that-name"}, nil); err == nil {
		t.Error("it became nothing")
	}
}
