package git

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/sys/bounded"
)

// BlamedLine is a line of a file with the commit that it came with.
type BlamedLine struct {
	Number    int // from 1
	Text      string
	Commit    string    // its hash; "" if the line is not committed
	Path      string    // the file's path in that commit, from the top of the worktree
	Committed time.Time // by the committer's clock
	Authored  time.Time
}

// maxBlame bounds what is read of git's answer about the lines of a file or commit, in bytes.
const maxBlame = 64 << 20

// Blame returns the lines from one to another of a file in a worktree's folder dir, counted from 1.
func Blame(dir, file string, from, to int, wait time.Duration) (all []BlamedLine, err error) {
	text, err := gitOutput(dir, wait, "blame", "--line-porcelain", "--no-textconv", "-L", fmt.Sprintf("%d,%d", from, to), "--", file)
	if err != nil {
		return nil, err
	}
	var current BlamedLine
	seconds := func(s string) time.Time { n, _ := strconv.ParseInt(s, 10, 64); return time.Unix(n, 0) }
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if content, ok := strings.CutPrefix(line, "\t"); ok {
			current.Text = content
			all = append(all, current)
			current = BlamedLine{}
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		switch {
		case current.Number == 0 && IsHash(key):
			if strings.Trim(key, "0") != "" { // zeros stand for a line that is not committed
				current.Commit = key
			}
			if fields := strings.Fields(value); len(fields) > 1 {
				current.Number, _ = strconv.Atoi(fields[1])
			}
		case key == "committer-time":
			current.Committed = seconds(value)
		case key == "author-time":
			current.Authored = seconds(value)
		case key == "filename":
			current.Path = unquotePath(value)
		}
	}
	return all, nil
}

// CommitChange is what a commit changed in a file.
type CommitChange struct {
	Path    string       // from the top of the worktree
	Added   []BlamedLine // only Number and Text
	Removed []string
}

// PathsOf returns the paths in its repository that a file in dir has, and had before renames.
func PathsOf(dir, file string, wait time.Duration) ([]string, error) {
	text, err := gitOutput(dir, wait, "log", "--follow", "--format=", "--name-only", "--", ":(literal)"+file)
	var all []string
	for line := range strings.Lines(text) {
		if path := unquotePath(strings.TrimSuffix(line, "\n")); !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all, err
}

// ChangesOf returns the full hash and the times of a commit, and what it changed in the file at
// path, or in all files if path is "".
func ChangesOf(dir, commit, path string, wait time.Duration) (info BlamedLine, all []CommitChange, err error) {
	args := []string{"-c", "core.quotePath=false", "show", "--format=%H %at %ct", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--first-parent", "--end-of-options", commit + "^{commit}", "--"}
	if path != "" {
		args = append(args, ":(top,literal)"+path)
	}
	text, err := gitOutput(dir, wait, args...)
	if err != nil {
		return info, nil, err
	}
	head, text, _ := strings.Cut(text, "\n")
	var author, committer int64
	if _, err := fmt.Sscanf(head, "%s %d %d", &info.Commit, &author, &committer); err != nil {
		return info, nil, fmt.Errorf("'%s' is no commit", commit)
	}
	info.Authored, info.Committed = time.Unix(author, 0), time.Unix(committer, 0)
	var current *CommitChange
	// Whether the line is before a file's first hunk, the file's old path, the next line's number.
	header, from, next := false, "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff --git "):
			header, current = true, nil
		case strings.HasPrefix(line, "@@ "):
			header = false
			_, hunk, _ := strings.Cut(line, " +")
			next, _ = strconv.Atoi(hunk[:strings.IndexAny(hunk+" ", ", ")])
		case header && strings.HasPrefix(line, "--- "):
			from = strings.TrimPrefix(unquotePath(strings.TrimPrefix(line, "--- ")), "a/")
		case header && strings.HasPrefix(line, "+++ "):
			path := strings.TrimPrefix(unquotePath(strings.TrimPrefix(line, "+++ ")), "b/")
			if path == "/dev/null" {
				path = from
			}
			all = append(all, CommitChange{Path: path})
			current = &all[len(all)-1]
		case current == nil || header:
		case strings.HasPrefix(line, "+"):
			current.Added = append(current.Added, BlamedLine{Number: next, Text: line[1:]})
			next++
		case strings.HasPrefix(line, "-"):
			current.Removed = append(current.Removed, line[1:])
		}
	}
	return info, all, nil
}

// LastChange returns the time of the last commit, not after until, that changed a file. It looks at
// commit and all before it. The result is zero if there is none.
func LastChange(dir, commit, path string, until time.Time, wait time.Duration) time.Time {
	text, err := gitOutput(dir, wait, "log", "-1", "--format=%ct", fmt.Sprint("--until=", until.Unix()), "--end-of-options", commit, "--", ":(top,literal)"+path)
	seconds, bad := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || bad != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// unquotePath returns a path that git has quoted without the quotes. Behind one with a blank, a
// diff has a tab.
func unquotePath(path string) string {
	path = strings.TrimSuffix(path, "\t")
	if plain, err := strconv.Unquote(path); err == nil {
		return plain
	}
	return path
}

// gitOutput runs git in dir, which is in a worktree, and returns at most maxBlame bytes.
func gitOutput(dir string, wait time.Duration, args ...string) (string, error) {
	r, err := findRepository(dir)
	if err != nil {
		return "", err
	}
	out := &bounded.Front{Most: maxBlame}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if err := r.runIsolated(nil, out, real, wait, args...); err != nil {
		return "", err
	}
	return string(bytes.ToValidUTF8(out.Data, []byte("\uFFFD"))), nil
}
