// Package git reads the state of a worktree: what git itself reports (Status), and what
// can be read from git's small files without starting a process (Branch, Commits).
package git

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// maxHead bounds the size of HEAD and of .git files, which are one line.
const maxHead = 4096

// Branch returns the name of the branch that is checked out in the worktree whose top is
// dir, by reading its HEAD. It returns "HEAD" if HEAD is detached, and "" outside git.
func Branch(dir string) string {
	gitDir, err := Dir(dir)
	if err != nil {
		return ""
	}
	head, err := atomicfile.Read(filepath.Join(gitDir, "HEAD"), maxHead)
	if err != nil {
		return ""
	}
	if ref, ok := bytes.CutPrefix(bytes.TrimSpace(head), []byte("ref: refs/heads/")); ok {
		return string(ref)
	}
	return "HEAD"
}

// Top returns the top of the worktree that dir is in (see place.Top), or dir itself
// outside git.
func Top(dir string) string { return place.Top(dir, "/") }

// ErrOthers is returned for a repository that belongs to neither this user nor root, and
// that is not a safe.directory of the person's.
var ErrOthers = errors.New("the repository belongs to another user")

// Dir returns the git directory of the worktree whose top is dir: .git itself, or the
// directory that a .git file names in a linked worktree or submodule.
func Dir(dir string) (string, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	if err != nil {
		return "", err
	}
	if named, err := os.Lstat(dot); err != nil || (!place.Counts(named, dir) || !place.Counts(info, dir)) && !safe(dir) {
		return "", cmp.Or(err, ErrOthers)
	}
	if info.IsDir() {
		return dot, nil
	}
	data, err := atomicfile.Read(dot, maxHead)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", errors.New("not a git worktree")
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return to, nil
}

// Commit is one commit that was made in a worktree.
type Commit struct {
	Hash    string
	Subject string
	At      time.Time
}

const (
	// recent is how many bytes of the reflog's end Commits reads. It runs in hooks.
	recent = 256 << 10
	// maxReflog is how many bytes CommitsBetween reads.
	maxReflog = 64 << 20
)

// Commits returns the commits that were made in the worktree dir since then, the oldest
// first. It reads the end of the reflog; an amended commit counts again.
func Commits(dir string, since time.Time) []Commit { return reflog(dir, since, recent) }

// CommitsBetween returns the commits that were made between two times, which can be long
// ago, as far as the reflog goes back.
func CommitsBetween(dir string, from, to time.Time) []Commit {
	return slices.DeleteFunc(reflog(dir, from, maxReflog), func(c Commit) bool { return c.At.After(to) })
}

// reflog returns the commits since then in the last most bytes of the reflog.
func reflog(dir string, since time.Time, most int64) []Commit {
	gitDir, err := Dir(dir)
	if err != nil {
		return nil
	}
	f, err := atomicfile.Open(filepath.Join(gitDir, "logs", "HEAD"))
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return nil
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	var commits []Commit
	for line := range strings.Lines(string(data)) {
		// <old> <new> <name> <<mail>> <seconds> <zone>\t<what>: <subject>
		meta, what, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) < 4 || !strings.HasPrefix(what, "commit") {
			continue
		}
		seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
		// The reflog has whole seconds, so a commit in the same second as since counts.
		if err != nil || seconds < since.Unix() {
			continue
		}
		_, subject, _ := strings.Cut(what, ": ")
		commits = append(commits, Commit{Hash: fields[1], Subject: subject, At: time.Unix(seconds, 0)})
	}
	return commits
}
