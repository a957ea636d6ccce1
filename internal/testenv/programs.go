// Package testenv is what the suites of tests have in common: the programs under
// test, and how they come to stand on PATH.
package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Built is the environment variable that names a folder with programs which were built for
// all suites. test.sh sets it; a suite that runs alone builds its own.
const Built = "GT_TEST_PROGRAMS"

// Programs puts the programs of the tree that is tested into the folder dir. It takes those
// of the folder Built if that is set.
func Programs(dir string) error {
	if built := os.Getenv(Built); built != "" {
		return link(built, dir)
	}
	return Build(dir, "gt/cmd/...")
}

// Build builds programs into the folder dir as install.sh does.
func Build(dir string, packages ...string) error {
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", dir + "/"}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the programs: %w\n%s", err, out)
	}
	return nil
}

// link makes the files of a folder appear in another: under a second name, or as
// a copy where that is on another file system.
func link(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		old, name := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if os.Link(old, name) == nil {
			continue
		}
		data, err := os.ReadFile(old)
		if err == nil {
			err = WriteProgram(name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteProgram writes a file that is executed afterwards. A program that another part of
// the tests starts in the meantime does not inherit the open file, which the kernel would
// refuse to execute ("text file busy") for as long as it is open for writing.
func WriteProgram(name string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, data, 0o755); err != nil {
		return err
	}
	return os.Chmod(name, 0o755) // whatever the umask is
}
