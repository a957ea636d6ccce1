package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"gt/lib/sys/bounded"
)

// Modes of entries, as git writes them.
const (
	ModeFile   = "100644"
	ModeExec   = "100755"
	ModeLink   = "120000"
	ModeModule = "160000"
)

// Entry is a file, a link or a submodule of a tree or an index.
type Entry struct {
	Mode, ID string
	Path     string // relative to the top
}

// RootCommits returns the commits without a parent from which HEAD of dir's worktree descends.
func RootCommits(dir string, wait time.Duration) ([]string, error) {
	out, err := runInWorktree(dir, wait, "rev-list", "--max-parents=0", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out.Data)), nil
}

// Tree returns the entries of a commit of dir's repository.
func Tree(dir, commit string, wait time.Duration) ([]Entry, error) {
	return listEntries(dir, wait, "ls-tree", "-r", "-z", "--full-tree", commit, "--")
}

// Index returns the entries of the index of the worktree with the top dir.
func Index(dir string, wait time.Duration) ([]Entry, error) {
	return listEntries(dir, wait, "ls-files", "--stage", "-z")
}

// listEntries parses the lines of ls-tree ("mode type id TAB path") and ls-files ("mode id stage TAB
// path").
func listEntries(dir string, wait time.Duration, args ...string) (all []Entry, err error) {
	r, err := findRepository(dir)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := r.runIsolated(nil, &out, r.top, wait, args...); err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(out.String(), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 3 {
			continue
		}
		e := Entry{Mode: fields[0], ID: fields[2], Path: path}
		if IsHash(fields[1]) {
			e.ID = fields[1]
		}
		all = append(all, e)
	}
	return all, nil
}

// Blobs returns the contents of files by their ids, of each file no more than most bytes.
func Blobs(dir string, ids []string, most int, wait time.Duration) (map[string][]byte, error) {
	r, vars, done, err := isolateRepository(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	all := map[string][]byte{}
	for _, id := range ids {
		out := &bounded.Front{Most: most}
		if err := r.runTo(nil, out, r.top, vars, wait, "cat-file", "blob", id); err != nil {
			return nil, err
		}
		all[id] = out.Data
	}
	return all, nil
}

// BlobID returns the id that a file with this content has in a repository whose ids are as long
// as like. No filter has seen the content.
func BlobID(content io.Reader, size int64, like string) (string, error) {
	var sum hash.Hash = sha1.New()
	if len(like) == 2*sha256.Size {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", size)
	if n, err := io.Copy(sum, content); err != nil || n != size {
		return "", errors.Join(err, fmt.Errorf("it has %d bytes, not %d", n, size))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
