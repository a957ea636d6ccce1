package ask

import (
	"fmt"
	"io"
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

// maxSeed bounds what is copied for a client, in bytes; a folder for the time of a
// question may lie in memory.
const maxSeed = 256 << 20

// seed copies SQLite databases that fit the patterns, each with the log that
// belongs to it, as far as nobody writes to them meanwhile. A client goes on
// without those that are missing.
func seed(from string, patterns []string, to string) {
	left := int64(maxSeed)
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(from, pattern))
		for _, path := range found {
			before := look(path)
			if before.size > left {
				continue
			}
			copied := filepath.Join(to, filepath.Base(path))
			if copyFile(path, copied) && (before.log == 0 || copyFile(path+"-wal", copied+"-wal")) && look(path) == before {
				left -= before.size
				continue
			}
			_ = os.Remove(copied)
			_ = os.Remove(copied + "-wal")
		}
	}
}

// database is what shows that a database has changed.
type database struct {
	size, log       int64 // log is that of its write-ahead log, which size counts too
	changed, logged int64
}

func look(path string) database {
	var d database
	if info, err := os.Lstat(path); err == nil {
		d.size, d.changed = info.Size(), info.ModTime().UnixNano()
	}
	if info, err := os.Lstat(path + "-wal"); err == nil {
		d.log, d.logged = info.Size(), info.ModTime().UnixNano()
		d.size += d.log
	}
	return d
}

func copyFile(from, to string) bool {
	in, err := atomicfile.Open(from)
	if err != nil {
		return false
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_, err = io.Copy(out, in)
	return out.Close() == nil && err == nil
}
