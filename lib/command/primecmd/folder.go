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

	// differWait limits git, which is asked only if a name that was told is not where it was told.
	differWait = 500 * time.Millisecond
)

// folderChanges returns what happened in the folder after what is told was written, which can be
// wrong by now: what HEAD was moved to and by whom, and which files were changed again or are
// gone, of those that the session before changed or that the told words name.
func (p *page) folderChanges(at time.Time, told []section) section {
	s := section{title: "Since that was written, in this folder"}
	if at.IsZero() || p.home.Dir == "" {
		return section{}
	}
	lines := git.Moves(p.home.Dir, at)
	if n := len(lines) - maxChanges; n > 0 {
		lines = append([]string{fmt.Sprintf("%d earlier moves of HEAD", n)}, lines[n:]...)
	}
	c := comparison{page: p, at: at, known: map[string]bool{}}
	if p.thread != nil {
		for _, file := range p.thread.FilesChanged() {
			c.compare(file, p.absolute(file), true)
		}
	}
	if p.checkpoint != nil {
		told = append(slices.Clone(told), section{}.frame("the checkpoint", p.checkpointText()))
	}
	c.compareNamed(told)
	lines = append(lines, c.lines...)
	switch {
	case len(lines) == 0 && !p.inGit && len(c.known) == 0:
		return section{} // nothing is known
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

// compare adds a line if a file was changed or is gone. It reports whether the path is that of a
// file, or of one that existed.
func (c *comparison) compare(name, path string, existed bool) bool {
	info, err := os.Lstat(path)
	gone := errors.Is(err, fs.ErrNotExist)
	if gone && !existed || !gone && (err != nil || info.IsDir()) {
		return false
	}
	if c.known[path] || len(c.lines) == maxChanges {
		return true
	}
	c.known[path] = true
	switch {
	case gone:
		c.lines = append(c.lines, name+" is gone")
	case info.ModTime().Truncate(time.Second).After(c.at):
		c.lines = append(c.lines, name+" was changed")
	}
	return true
}

// compareNamed compares the files that words name. What is not where it was named can be
// gone, or be another folder's: git tells, if it knew it.
func (c *comparison) compareNamed(told []section) {
	var missing []string
	for _, name := range namedFiles(told) {
		rel, err := filepath.Rel(c.home.Dir, c.absolute(name))
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		if !c.compare(git.Quote(rel), c.absolute(name), false) && c.canBeGone(rel) {
			missing = append(missing, rel)
		}
	}
	if len(missing) == 0 || !c.inGit {
		return
	}
	// Without an answer the text is shorter.
	differing, _ := git.Differing(c.home.Dir, git.HeadAt(c.home.Dir, c.at), differWait)
	ends := map[string][]string{} // the paths that end in a name
	for _, path := range differing {
		for end, ok := path, true; ok; _, end, ok = strings.Cut(end, "/") {
			ends[end] = append(ends[end], path)
		}
	}
	for _, name := range missing {
		if len(ends[name]) > maxMeant {
			continue
		}
		for _, path := range ends[name] {
			c.compare(git.Quote(path), filepath.Join(c.home.Dir, path), c.canBeGone(path))
		}
	}
}

// canBeGone reports whether a file that is not there can have been removed since: a removal
// changes the folder. Of a name whose folder is not known it is not known either.
func (c *comparison) canBeGone(rel string) bool {
	first, _, inFolder := strings.Cut(rel, "/")
	if _, err := os.Lstat(filepath.Join(c.home.Dir, first)); err != nil || !inFolder {
		return true
	}
	for dir := filepath.Dir(rel); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(filepath.Join(c.home.Dir, dir))
		if err == nil {
			return info.IsDir() && !info.ModTime().Before(c.at.Truncate(time.Second))
		}
		if dir == "." {
			return false
		}
	}
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
					if i%2 == 1 {
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
