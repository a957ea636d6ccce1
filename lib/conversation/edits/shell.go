package edits

import (
	"path/filepath"
	"strings"

	"gt/lib/text/lazyregexp"
)

var (
	// heredoc is the beginning of a text on a command line, up to the word that ends it.
	heredoc = lazyregexp.New(`<<-?\s*(?:'([^']+)'|"([^"]+)"|\\?([A-Za-z_][A-Za-z0-9_]*))`)
	// echoed is a command that writes a quoted text.
	echoed = lazyregexp.New(`^\s*(?:echo(?: -e)?|printf)\s+(?:'([^']*)'|"([^"]*)")`)
	// target is the file that a command writes, and how.
	target = lazyregexp.New(`(?:^|[^0-9&>])(>>?|\btee(?: -a)?)\s*(?:"([^"]+)"|'([^']+)'|([^\s;&|<>()"'` + "`" + `]+))`)
	// folder is the folder in which the rest of a command line runs.
	folder = lazyregexp.New(`^\s*cd\s+(?:"([^"]+)"|'([^']+)'|([^\s;&|"']+))\s*(?:&&|;|\n)`)
)

// writtenByShell returns the files that a shell's command line writes texts into that stand in
// it: cat >file <<EOF, tee, echo. What a program computes is not there.
func writtenByShell(command string) (all []Edit) {
	dir := ""
	if m := folder().FindStringSubmatch(command); m != nil {
		dir = m[1] + m[2] + m[3]
	}
	add := func(line, text string) {
		m := target().FindStringSubmatch(line)
		if m == nil {
			return
		}
		path := m[2] + m[3] + m[4]
		if strings.HasPrefix(path, "/dev/") || strings.ContainsAny(path, "$*") {
			return
		}
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		all = append(all, Edit{Path: path, New: Lines(text), Whole: m[1] == ">" || m[1] == "tee"})
	}
	lines := strings.SplitAfter(command, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		m := heredoc().FindStringSubmatch(line)
		if m == nil {
			for part := range strings.SplitSeq(line, "&&") {
				if m := echoed().FindStringSubmatch(part); m != nil {
					add(part[len(m[0]):], strings.ReplaceAll(m[1]+m[2], `\n`, "\n"))
				}
			}
			continue
		}
		end := m[1] + m[2] + m[3]
		text := ""
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != end; i++ {
			text += lines[i]
		}
		if strings.Contains(line, "cat ") || strings.Contains(line, "tee ") || strings.Contains(line, "cat>") {
			add(line, text)
		}
	}
	return all
}
