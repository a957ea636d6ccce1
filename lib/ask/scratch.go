package ask

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"gt/lib/atomicfile"
	"gt/lib/process"
)

// scratchPrefix begins the name of a folder that a client has for the time of a
// question. Behind it stand the process that made it and when that started.
const scratchPrefix = "gt-ask-"

// scratch makes such a folder below dir, that only its user can read, and
// removes those that were left by a process that was killed.
func scratch(dir string) (string, error) {
	sweep(dir)
	self, err := process.Find(os.Getpid())
	if err != nil {
		return "", err
	}
	path, err := os.MkdirTemp(dir, fmt.Sprintf("%s%d-%s-*", scratchPrefix, self.PID, strings.ReplaceAll(self.Start, "/", "_")))
	if err != nil {
		return "", atomicfile.Error("make a folder in", dir, err)
	}
	return path, nil
}

// sweep removes the folders of processes that are no more: ours, and no link.
func sweep(dir string) {
	found, err := filepath.Glob(filepath.Join(dir, scratchPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		name, start, ok := strings.Cut(strings.TrimPrefix(filepath.Base(path), scratchPrefix), "-")
		pid, err := strconv.Atoi(name)
		if !ok || err != nil {
			continue
		}
		if p, err := process.Find(pid); err == nil && strings.HasPrefix(start, strings.ReplaceAll(p.Start, "/", "_")+"-") {
			continue
		}
		_ = os.RemoveAll(path) // what cannot be removed hurts nobody
	}
}
