// Package git reads the state of a worktree: what git itself reports (Status), and what
// can be read from git's small files without starting a process (Branch, Commits).
package git

import (
	"cmp"
	"errors"
	"fmt"
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

// maxHead bounds HEAD and .git files, which are one line.
const maxHead = 4096

// Branch reads the branch of the worktree whose top is dir. It returns "HEAD" if HEAD is
// detached, and "" outside git.
func Branch(dir string) string {
	branch, _ := readBranch(dir)
	return branch
}

// BranchOrCommit returns the branch for people: of a detached HEAD the beginning of the commit.
func BranchOrCommit(dir string) string {
	branch, commit := readBranch(dir)
	if commit != "" {
		return "detached " + commit[:min(len(commit), 8)]
	}
	return branch
}

// readBranch returns what Branch does, and the commit if HEAD is detached.
func readBranch(dir string) (branch, commit string) {
	gitDir, err := Dir(dir)
	if err != nil {
		return "", ""
	}
	head, err := readHead(gitDir)
	if err != nil {
		return "", ""
	}
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return branch, ""
	}
	if !IsHash(head) {
		head = "" // a reference that is no branch
	}
	return "HEAD", head
}

// Top returns the top of the worktree that dir is in (see place.Top), or dir itself outside git.
func Top(dir string) string { return place.Top(dir, "/") }

// ErrOthers is returned for a repository of neither this user nor root that is no safe.directory.
var ErrOthers = errors.New("the repository belongs to another user")

// Dir returns the git directory of the worktree whose top is dir: .git itself, or the
// folder that a .git file names in a linked worktree or submodule.
func Dir(dir string) (string, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	if err != nil {
		return "", err
	}
	if named, err := os.Lstat(dot); err != nil || (!place.HasTrustedOwner(named, dir) || !place.HasTrustedOwner(info, dir)) && !place.IsSafe(dir) {
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

// Commit is a commit that was made in a worktree.
type Commit struct {
	Hash    string
	Subject string
	At      time.Time

	parent string // HEAD before it
}

const (
	// maxRecentReflog is how many bytes of the reflog's end Commits reads, because it runs in hooks.
	maxRecentReflog = 256 << 10
	maxReflog       = 8 << 20
)

// Commits returns the commits that were made in the worktree dir between two times and
// still exist, oldest first; zero to means no end. It reads the end of the reflog, and
// leaves out commits that were amended, rebased or reset away.
func Commits(dir string, from, to time.Time) []Commit { return reflog(dir, from, to, maxRecentReflog) }

// CommitsBetween is Commits for times long ago. It reads more of the reflog.
func CommitsBetween(dir string, from, to time.Time) []Commit {
	return reflog(dir, from, to, maxReflog)
}

// reflog returns the commits between two times that the last most bytes of the reflog have.
func reflog(dir string, from, to time.Time, most int64) []Commit {
	var all history // from the beginning, to know what a reset removes
	for line := range strings.Lines(readReflog(dir, most)) {
		all.applyLine(strings.TrimSuffix(line, "\n"))
	}
	// The reflog has whole seconds, so a commit in the same second counts.
	return slices.DeleteFunc(all, func(c Commit) bool {
		return c.At.Unix() < from.Unix() || !to.IsZero() && c.At.After(to)
	})
}

// readReflog returns the last most bytes of the reflog, "" if it cannot be read.
func readReflog(dir string, most int64) string {
	gitDir, err := Dir(dir)
	if err != nil {
		return ""
	}
	f, err := atomicfile.Open(filepath.Join(gitDir, "logs", "HEAD"))
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return ""
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(data)
}

// HeadMoves returns what happened to HEAD of the worktree dir after a time, a line each, oldest
// first: the commit that HEAD was moved to, what was done (a commit, pull, checkout, reset) and who
// did it. from is the commit before the first of them, or "HEAD" if that is not known. Moves within
// the same second as since do not count.
func HeadMoves(dir string, since time.Time) (lines []string, from string) {
	from = "HEAD"
	for line := range strings.SplitSeq(readReflog(dir, maxRecentReflog), "\n") {
		meta, what, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) < 5 {
			continue
		}
		seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
		if err != nil || seconds <= since.Unix() {
			continue
		}
		if from == "HEAD" && IsHash(fields[0]) && strings.Trim(fields[0], "0") != "" {
			from = fields[0]
		}
		who, _, _ := strings.Cut(strings.Join(fields[2:len(fields)-2], " "), " <")
		lines = append(lines, fmt.Sprintf("%.10s %s (%s)", fields[1], what, who))
	}
	return lines, from
}

// history are the commits of a reflog.
type history []Commit

// applyLine applies a line of the reflog to the commits so far:
// <old> <new> <name> <<mail>> <seconds> <zone>\t<what>: <subject>
func (h *history) applyLine(line string) {
	meta, what, ok := strings.Cut(line, "\t")
	fields := strings.Fields(meta)
	if !ok || len(fields) < 4 {
		return
	}
	what, subject, _ := strings.Cut(what, ": ")
	from, to := fields[0], fields[1]
	switch {
	case what == "reset":
		gone := commitsLost(*h, from, to)
		*h = slices.DeleteFunc(*h, func(c Commit) bool { return slices.Contains(gone, c.Hash) })
	case strings.HasPrefix(what, "rebase") && strings.HasSuffix(what, "(pick)"):
		for i, c := range *h {
			if c.Subject == subject {
				(*h)[i].Hash, (*h)[i].parent = to, from
			}
		}
	case strings.HasPrefix(what, "commit"):
		if what == "commit (amend)" {
			from = h.removeCommit(from)
		}
		if seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64); err == nil {
			*h = append(*h, Commit{Hash: to, Subject: subject, At: time.Unix(seconds, 0), parent: from})
		}
	}
}

// removeCommit takes a commit that was amended off the list and returns its parent, "" if it is not there.
func (h *history) removeCommit(hash string) (parent string) {
	i := slices.IndexFunc(*h, func(c Commit) bool { return c.Hash == hash })
	if i < 0 {
		return ""
	}
	parent = (*h)[i].parent
	*h = slices.Delete(*h, i, i+1)
	return parent
}

// commitsLost returns the commits that a branch loses when it is reset to an earlier commit; none
// if that is not known to be earlier.
func commitsLost(commits []Commit, from, to string) (gone []string) {
	for at := from; at != to; {
		i := slices.IndexFunc(commits, func(c Commit) bool { return c.Hash == at })
		if i < 0 || len(gone) > len(commits) {
			return nil
		}
		gone, at = append(gone, at), commits[i].parent
	}
	return gone
}
