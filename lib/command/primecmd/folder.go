package primecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/place/git"
)

const (
	maxChanges = 15        // lines about HEAD, and as many about files
	maxNamed   = 200       // names that are looked up
	maxRead    = 128 << 10 // how much is searched for names, in bytes
	maxName    = 300       // a longer word is no file's name
	maxMeant   = 3         // files that differ and that one name can mean

	// differWait limits git, which runs at most twice, and only if HEAD moved or a file was written,
	// where a client waits for its hook, and personWait where a person does.
	differWait = 500 * time.Millisecond
	personWait = 30 * time.Second
)

// folderChanges returns what happened in the folder after what is told was written, which can be
// wrong by now: what HEAD was moved to and by whom, and which files were changed again or are
// gone, of those that the session before changed or that the told words name.
func (p *page) folderChanges(at time.Time, told []section) section {
	s := section{title: "Since that was written, in this folder"}
	if at.IsZero() || p.home.Dir == "" {
		return section{}
	}
	moves, from := git.HeadMoves(p.home.Dir, at)
	lines := moves
	if n := len(lines) - maxChanges; n > 0 {
		lines = append([]string{fmt.Sprintf("%d earlier moves of HEAD", n)}, lines[n:]...)
	}
	c := comparison{page: p, at: at, known: map[string]bool{}}
	if p.thread != nil {
		for _, file := range p.thread.FilesChanged() {
			c.compare(file, p.absolute(file))
		}
	}
	if p.checkpoint != nil {
		told = append(slices.Clone(told), section{}.frame("the checkpoint", p.checkpointText()))
	}
	known := c.compareNamed(told, moves, from)
	lines = append(lines, c.lines...)
	switch {
	case len(lines) == 0 && !p.inGit && len(c.known) == 0:
		return section{} // nothing is known
	case len(lines) == 0 && !known:
		s.body = "Nothing changed: no commit, and the same branch."
		return s
	case len(lines) == 0:
		s.body = "Nothing changed: no commit, the same branch, and the files as they were."
		return s
	}
	for i, line := range lines {
		lines[i] = "- " + p.line(line)
	}
	return s.frame("the folder", strings.Join(lines, "\n"))
}

// absolute returns the path of a file that a person or an agent named.
func (p *page) absolute(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(p.env.Getenv("HOME"), rest)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.home.Dir, name)
}

// comparison compares files with what they were at a time.
type comparison struct {
	*page
	at    time.Time
	known map[string]bool // the files that were compared, by path
	lines []string        // what differs
}

// compare adds a line if a file that the session had changed, or that no git knows, differs.
func (c *comparison) compare(name, path string) {
	switch {
	case !exists(path):
		c.addFile(path, name+" is gone")
	case c.written(path):
		c.addFile(path, name+" was changed")
	}
	c.known[path] = true
}

// addFile adds a line about a file, unless the file was compared before, or there are too many.
func (c *comparison) addFile(path, line string) {
	if !c.known[path] && len(c.lines) < maxChanges {
		c.lines = append(c.lines, line)
	}
	c.known[path] = true
}

// written reports whether a file was written since, or the deepest folder of its path if it is
// not there: a removal writes the folder.
func (c *comparison) written(path string) bool {
	for {
		info, err := os.Lstat(path)
		if err == nil {
			return info.ModTime().Truncate(time.Second).After(c.at)
		}
		if path == filepath.Dir(path) {
			return false
		}
		path = filepath.Dir(path)
	}
}

// compareNamed compares the files that the words of told name. It returns false if git did not
// answer. moves and from are of git.HeadMoves. In git a file's time alone says nothing, because a
// checkout writes files as they were. So it asks git, if HEAD moved, or the index or a named file
// was written. Without git there are only the times, and what is not there may never have been.
func (c *comparison) compareNamed(told []section, moves []string, from string) bool {
	dir := c.home.Dir
	var names []string
	gitDir, err := git.Dir(dir)
	ask := len(moves) > 0 || err == nil && c.written(filepath.Join(gitDir, "index"))
	for _, name := range namedFiles(told) {
		path := c.absolute(name)
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		names = append(names, rel)
		info, err := os.Lstat(path)
		if !c.inGit && err == nil && !info.IsDir() {
			c.compare(git.Quote(rel), path)
		}
		ask = ask || c.written(path)
	}
	if !c.inGit || !ask || len(names) == 0 {
		return true
	}
	wait := differWait
	if !c.byHook {
		wait = personWait
	}
	differing, err := git.DifferingFiles(dir, from, wait)
	if err != nil {
		return false
	}
	// A stash takes what is not committed away, and gives it back with new times.
	stashed := slices.ContainsFunc(moves, func(line string) bool { return strings.Contains(line, " reset: moving to HEAD (") })
	ends := map[string][]git.Difference{} // the files whose paths end in a name
	for _, d := range differing {
		if d.Uncommitted && (stashed || !c.written(filepath.Join(dir, d.Path))) {
			continue // it may have been so before
		}
		for end, ok := d.Path, true; ok; _, end, ok = strings.Cut(end, "/") { // a/b/c, b/c, c
			ends[end] = append(ends[end], d)
		}
	}
	for _, name := range names {
		there := exists(filepath.Join(dir, name))
		for _, d := range ends[name] {
			if d.Path != name && (there || len(ends[name]) > maxMeant) {
				continue // another one is meant, or too many can be
			}
			path, what := filepath.Join(dir, d.Path), " was changed"
			if !exists(path) {
				what = " is no longer there"
			}
			c.addFile(path, git.Quote(d.Path)+what)
		}
	}
	return true
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// namedFiles returns what can be the names of files in the words of others, each once: words
// with a slash or an extension, and whatever stands in backticks or double quotes.
func namedFiles(told []section) []string {
	var names []string
	add := func(word string, quoted bool) {
		name := fileName(word)
		if name == "" || len(names) == maxNamed || !quoted && !looksLikeFile(name) || slices.Contains(names, name) {
			return
		}
		names = append(names, name)
	}
	left := maxRead
	for _, s := range told {
		if s.begin == "" { // gt's own words
			continue
		}
		body := s.body[:min(left, len(s.body))]
		left -= len(body)
		for line := range strings.Lines(body) {
			for _, mark := range []string{"`", `"`} {
				for i, part := range strings.Split(line, mark) {
					if i%2 == 1 { // between two marks
						add(part, true)
					}
				}
			}
			for word := range strings.FieldsFuncSeq(line, partsNames) {
				add(word, false)
			}
		}
	}
	return names
}

func partsNames(r rune) bool {
	return r <= ' ' || strings.ContainsRune("`\"'()[]{}<>,;|*“”„«»「」、。，：；", r)
}

// fileName returns a word without what is written around a file's name: the end of a sentence,
// a line (":12", "#L12"), "@" and "./". It returns "" for what is none.
func fileName(word string) string {
	name := strings.TrimRight(strings.TrimSpace(word), ".,:;!?…")
	if strings.Contains(name, "://") || len(name) > maxName {
		return ""
	}
	if at := strings.LastIndex(name, "#L"); at > 0 {
		name = name[:at]
	}
	for {
		at := strings.LastIndexByte(name, ':')
		if at < 0 || strings.Trim(name[at+1:], "0123456789-") != "" {
			break
		}
		name = name[:at]
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "@"), "./")
}

// looksLikeFile reports whether a word has a slash or an extension, which no number has.
func looksLikeFile(name string) bool {
	if strings.Contains(strings.Trim(name, "/"), "/") {
		return true
	}
	ext := filepath.Ext(name)
	return len(ext) > 1 && (ext[1] < '0' || ext[1] > '9')
}
