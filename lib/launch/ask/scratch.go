package ask

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gt/lib/client/agent"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// scratchPrefix begins the name of a client's folder for one question. The name continues
// with the PID, start time and, if there is one, PID namespace of the process that made it.
const scratchPrefix = "gt-ask-"

// MakeScratch makes such a folder below dir, with mode 0700, and removes those whose process
// was killed.
func MakeScratch(dir string) (string, error) {
	self, err := process.Find(os.Getpid())
	if err != nil {
		return "", err
	}
	sweepScratch(dir, self.Boot)
	name := fmt.Sprintf("%s%d-%s", scratchPrefix, self.PID, self.Start)
	if self.NS != "" {
		name += "-" + self.NS
	}
	path, err := os.MkdirTemp(dir, name+"-*")
	if err != nil {
		return "", atomicfile.Error("make a folder in", dir, err)
	}
	return path, nil
}

// OwnFolder makes a folder in scratch with links to the files of the client's account that
// it needs to answer, and nothing else. It returns "" if the client needs no such folder.
func OwnFolder(client agent.Client, getenv func(string) string, scratch string) (string, error) {
	if len(client.Ask.Links) == 0 {
		return "", nil
	}
	dir := filepath.Join(scratch, "account")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", atomicfile.Error("create", dir, err)
	}
	folder, _ := client.Folder(getenv)
	for _, name := range client.Ask.Links {
		from := filepath.Join(folder, name)
		if _, err := os.Stat(from); err != nil || !filepath.IsAbs(from) {
			continue
		}
		if err := os.Symlink(from, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// maxUnseenAge is the age at which a folder of another PID namespace, whose process cannot be
// checked, is removed. No question takes that long.
const maxUnseenAge = 24 * time.Hour

// sweepScratch removes the folders of this user whose process has ended.
func sweepScratch(dir, boot string) {
	found, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"*"))
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		// The words are PID, start, the namespace if there is one, and what MkdirTemp adds.
		words := strings.Split(strings.TrimPrefix(filepath.Base(path), scratchPrefix), "-")
		pid, err := strconv.Atoi(words[0])
		if err != nil || len(words) < 3 {
			continue
		}
		ns := ""
		if len(words) > 3 {
			ns = words[2]
		}
		switch process.ProcFromRecord(pid, words[1], boot, ns).Presence() {
		case process.Unseen:
			if time.Since(info.ModTime()).Abs() < maxUnseenAge {
				continue
			}
		case process.Alive:
			continue
		}
		_ = os.RemoveAll(path) // it does no harm there
	}
}

// maxSeed bounds the bytes that are copied for a client. The folder may be in memory.
const maxSeed = 256 << 20

// seedDatabases copies the SQLite databases that match the patterns, with their write-ahead logs. It
// leaves out a database that is written to meanwhile; the client works without it.
func seedDatabases(from string, patterns []string, to string) {
	bytesLeft := int64(maxSeed)
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(from, pattern))
		for _, path := range found {
			before := probe(path)
			if before.size > bytesLeft {
				continue
			}
			copied := filepath.Join(to, filepath.Base(path))
			if copyFile(path, copied) && (before.logSize == 0 || copyFile(path+"-wal", copied+"-wal")) && probe(path) == before {
				bytesLeft -= before.size
				continue
			}
			_ = os.Remove(copied)
			_ = os.Remove(copied + "-wal")
		}
	}
}

type database struct {
	size, logSize           int64 // of the write-ahead log, which size includes
	changedAt, logChangedAt int64
}

// probe returns the sizes and times by which seedDatabases notices a write, zero without a file.
func probe(path string) database {
	var d database
	if info, err := os.Lstat(path); err == nil {
		d.size, d.changedAt = info.Size(), info.ModTime().UnixNano()
	}
	if info, err := os.Lstat(path + "-wal"); err == nil {
		d.logSize, d.logChangedAt = info.Size(), info.ModTime().UnixNano()
		d.size += d.logSize
	}
	return d
}

// copyFile reports whether it made a copy. If it did not, the caller removes what there is of it.
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
	return atomicfile.Close(out) == nil && err == nil
}
