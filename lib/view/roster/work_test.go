package roster

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// ReadChanges asks git for the first folders first, which have their changes if the time is over.
func TestReadChangesInOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one call of git after the other
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", "")
	asked := filepath.Join(dir, "asked")
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "bin", "git"), []byte("#!/bin/sh\npwd >>"+asked+"\nexit 1\n")))
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	var folders []string
	for i := range 8 {
		top := filepath.Join(dir, fmt.Sprint(8-i))
		for _, name := range []string{"objects", "refs"} {
			testenv.NoError(t, os.MkdirAll(filepath.Join(top, ".git", name), 0o700))
		}
		testenv.NoError(t, os.WriteFile(filepath.Join(top, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
		folders = append(folders, top)
	}
	ReadChanges(folders, time.Minute)
	data, err := os.ReadFile(asked)
	testenv.NoError(t, err)
	if got := slices.Compact(strings.Fields(string(data))); !slices.Equal(got, folders) {
		t.Errorf("asked %v of %v", got, folders)
	}
}
