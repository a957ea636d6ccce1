package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// A program of a project is not found by its name, whichever way leads there,
// and what stands behind it on the PATH is.
func TestLookPathOutsideProject(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	at := func(path string) string { return filepath.Join(root, path) }
	put := func(path string) {
		t.Helper()
		testenv.NoError(t, os.MkdirAll(filepath.Dir(at(path)), 0o700))
		testenv.NoError(t, os.WriteFile(at(path), []byte("#!/bin/sh\n"), 0o700))
	}
	link := func(to, path string) {
		t.Helper()
		testenv.NoError(t, os.MkdirAll(filepath.Dir(at(path)), 0o700))
		testenv.NoError(t, os.Symlink(to, at(path)))
	}
	put("project/.git/HEAD")
	put("project/bin/tool")
	put("project/sub/x")
	put("real/tool")
	link("../project/bin", "home/folder")
	link("../../project/bin/tool", "home/single/tool")
	link("../real", "project/out")
	link("project", "alias")
	link("loop", "loop")
	link("project/out", "chain")
	put("projects/tool") // beside, with a name that begins so
	put("home/dotfiles")
	environ := func(path string) []string {
		return []string{"HOME=" + at("home"), "PATH=" + at(path) + ":" + at("loop") + ":" + at("real")}
	}
	for _, path := range []string{"project/bin", "home/folder", "home/single", "project/out", "alias/bin", "chain"} {
		for _, dir := range []string{"project", "project/sub", "alias/sub"} {
			if got, err := LookPath("tool", at(dir), environ(path)); got != at("real/tool") {
				t.Errorf("%s for %s: %s, %v", path, dir, got, err)
			}
			if got := SearchPath(at(dir), environ(path)); path != "home/single" && got != at("real") {
				t.Errorf("%s for %s: PATH=%s", path, dir, got)
			}
		}
	}
	for path, dir := range map[string]string{"projects": "project", "project/bin": "real", "real": ""} {
		if got, err := LookPath("tool", at(dir), environ(path)); got != at(path+"/tool") {
			t.Errorf("%s for %s: %s, %v", path, dir, got, err)
		}
	}
	if got, err := LookPath("tool", root, environ("project/bin")); got != at("project/bin/tool") {
		t.Errorf("a folder that holds the home folder is no project: %s, %v", got, err)
	}
	if got, err := LookPath("sh", "/usr/bin", []string{"HOME=/x", "PATH=/usr/bin:/bin"}); err != nil {
		t.Errorf("nor is the system's: %s, %v", got, err)
	}
	var only *InProjectError
	if _, err := LookPath("tool", at("project"), []string{"PATH=" + at("project/bin")}); !errors.As(err, &only) || only.Hint() == "" ||
		!strings.Contains(err.Error(), "in the project") {
		t.Errorf("%v", err)
	}
	if got, err := LookPath("tool", "", environ("project/bin")); got != at("project/bin/tool") {
		t.Errorf("of no project: %s, %v", got, err)
	}
	Distrust(at("project/sub"))
	Distrust("relative")
	if got, err := LookPath("tool", "", environ("project/bin")); got != at("real/tool") {
		t.Errorf("of one that is known: %s, %v", got, err)
	}
}

func TestPersonEnviron(t *testing.T) {
	got := PersonEnviron([]string{"HOME=/a", "GIT_DIR=/x", "HOME=/b", "LD_PRELOAD=/x", "XDG_CONFIG_HOME=/c", "PATH=/x", "BASH_ENV=/x", "USER="})
	if want := "HOME=/b XDG_CONFIG_HOME=/c"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
