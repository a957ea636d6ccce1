package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gt/lib/atomicfile"
)

// LookPath finds a program on the PATH of an environment ("NAME=value"); a name
// with a slash in it is a path itself. What lies in the working directory only
// because PATH says so ("." or an empty word) does not count.
func LookPath(name string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err == nil && !runnable(path) {
			err = fmt.Errorf("cannot run '%s': it is no program", name)
		}
		return path, err
	}
	search := ""
	for _, kv := range environ {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = path
		}
	}
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if runnable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot run '%s': it is not on the PATH", name)
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && syscall.Access(path, 1) == nil
}

// Become turns this process into a program, the first of args, in a folder. It
// returns only when that fails.
func Become(dir string, args, environ []string) error {
	path, err := LookPath(args[0], environ)
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return atomicfile.Error("change to", dir, err)
	}
	err = syscall.Exec(path, args, environ)
	return fmt.Errorf("cannot run '%s': %w", path, err)
}
