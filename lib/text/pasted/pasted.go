// Package pasted shortens what a person pasted into a message: blocks of code, logs, files,
// a program's output. What they typed stays word for word.
//
// It tells the two apart by rule, line by line. If it takes typed lines for a paste, it
// leaves out only the middle of a long block of them.
package pasted

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gt/lib/text/term"
)

const (
	ends     = 3        // lines that are kept at each end of a paste
	minPaste = 10       // lines; a shorter paste is kept whole
	minSize  = 1 << 10  // bytes; less is not left out, because a person may have typed it
	maxSaid  = 3        // typed lines that are kept in a paste; more of them are a part of it
	maxLine  = 8 << 10  // bytes of one pasted line; both ends of a longer one are kept
	lineEnds = 200      // bytes of each
	maxText  = 64 << 10 // bytes of a whole text; of a longer one only both ends are looked at
	maxTyped = 8 << 10  // bytes of whole lines that Typed looks at
)

// Shorten returns a text with the middle of each long paste replaced by its size, as in
// "[… 40 lines, 3.1 KB …]". The same text gives the same result.
func Shorten(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if len(text) <= maxLine && strings.Count(text, "\n") < minPaste-1 {
		return text
	}
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); {
		n := max(pasteLength(lines[i:]), 1)
		block := lines[i : i+n]
		if n >= minPaste && size(block[ends:n-ends]) >= minSize {
			block = slices.Concat(block[:ends], keepRemarks(block[ends:n-ends]), block[n-ends:])
		}
		for _, line := range block {
			if len(line) > maxLine && !isTyped(line) { // such as a file without line feeds
				line = middleCut(line, lineEnds)
			}
			out = append(out, line)
		}
		i += n
	}
	short := strings.Join(out, "\n")
	if len(short) > maxText { // however it was written
		short = middleCut(short, maxText/2)
	}
	return short
}

// Typed returns the lines that the person typed, and in place of each paste with several
// lines what mark returns for them, "" for nothing. A list of values, "Port: 7443", is typed.
func Typed(text string, mark func(lines []string) string) string {
	const fewLines, fewBytes = 6, 400 // a shorter paste stays
	if len(text) < fewBytes && strings.Count(text, "\n") < fewLines-1 {
		return text
	}
	kept := text
	if len(text) > maxTyped { // whole lines of that size, but at least the first
		if kept, _, _ = strings.Cut(text, "\n"); len(kept) < maxTyped {
			kept = text[:strings.LastIndexByte(text[:maxTyped+1], '\n')]
		}
	}
	lines := strings.Split(kept, "\n")
	var out []string
	for i := 0; i < len(lines); {
		n := max(pasteLength(lines[i:]), 1)
		block := lines[i : i+n]
		if n >= fewLines || n > 2 && size(block) >= fewBytes {
			said := slices.DeleteFunc(slices.Clone(block), func(line string) bool { return !isRemark(line) && !isEntry(line) })
			if len(said) > maxSaid && 2*len(said) < n { // they are a part of the paste
				said = nil
			}
			if len(said) < n {
				if marked := mark(block); marked != "" {
					said = append([]string{marked}, said...)
				}
				block = said
			}
		}
		out = append(out, block...)
		i += n
	}
	typed := strings.Join(out, "\n")
	if len(kept) < len(text) && strings.TrimSpace(typed) != "" {
		typed += "\n…"
	}
	return typed
}

// isEntry reports whether a line gives something a value: "Deadline: 2027-03-04".
func isEntry(line string) bool {
	name, value, found := strings.Cut(line, ": ")
	first, _ := utf8.DecodeRuneInString(name)
	return found && value != "" && len(line) < 100 && unicode.IsUpper(first) && isTyped(name) && !outputStart().MatchString(line)
}

// Mark returns a mark for Typed, for where there is little room: how many lines a paste had, with
// those that Shorten has left out, and the beginning of the first, cleaned before it is cut.
func Mark(clean func(string) string) func(lines []string) string {
	return func(lines []string) string {
		const most = 60
		first := lines[0]
		if strings.Trim(first, "`~ ") == "" && len(lines) > 1 {
			first = lines[1]
		}
		first = strings.Join(strings.Fields(clean(first)), " ")
		if r := []rune(first); len(r) > most {
			first = string(r[:most-1])
		}
		all := len(lines)
		for _, line := range lines {
			if n := 0; strings.HasPrefix(line, leftOutMark) {
				fmt.Sscanf(line, leftOutMark+"%d lines,", &n)
				all += max(0, n-1)
			}
		}
		return fmt.Sprintf("[%d lines: %s…]", all, first)
	}
}

// keepRemarks returns what is kept of a paste's middle: its size, and the few lines that the
// person seems to have typed into it.
func keepRemarks(lines []string) []string {
	var out []string
	from, said := 0, 0
	for i, line := range lines {
		if !isRemark(line) {
			continue
		}
		if said++; said > maxSaid {
			return []string{leftOut(lines)}
		}
		if i > from {
			out = append(out, leftOut(lines[from:i]))
		}
		out, from = append(out, line), i+1
	}
	if from < len(lines) {
		out = append(out, leftOut(lines[from:]))
	}
	return out
}

// isRemark reports whether a line between a program's lines looks like a person's sentence.
func isRemark(line string) bool {
	return strings.Count(strings.TrimSpace(line), " ") >= 3 && !isOutput(line)
}

// leftOutMark begins the line that stands for a paste's middle.
const leftOutMark = "[… "

func leftOut(lines []string) string {
	return fmt.Sprintf(leftOutMark+"%d lines, %s …]", len(lines), term.FormatSize(int64(size(lines))))
}

// size returns the number of bytes of lines with their line feeds.
func size(lines []string) int {
	n := len(lines)
	for _, line := range lines {
		n += len(line)
	}
	return n
}

// middleCut keeps both ends of a text, of about n bytes each.
func middleCut(text string, n int) string {
	front, back := n, len(text)-n
	for front > 0 && !utf8.RuneStart(text[front]) {
		front--
	}
	for back < len(text) && !utf8.RuneStart(text[back]) {
		back++
	}
	return text[:front] + fmt.Sprintf(" [… %s …] ", term.FormatSize(int64(back-front))) + text[back:]
}

// pasteLength returns how many of the first lines are one paste, 0 if the first was typed by the person.
func pasteLength(lines []string) int {
	if strings.TrimSpace(lines[0]) == "" {
		return 0
	}
	if mark := fence(lines[0]); mark != "" {
		for i, line := range lines[1:] {
			if strings.HasPrefix(strings.TrimSpace(line), mark) {
				return i + 2
			}
		}
	}
	// A typed line ends a paste. One such line right behind output can belong to it, such as the
	// message of an error or a comment in code: it does if more output follows.
	n := 0
	for i, line := range lines {
		switch {
		case isOutput(line):
			n = i + 1
		case strings.TrimSpace(line) == "" || i-n < 1 && i > 0: // blank, or right behind output
			continue
		default:
			return n
		}
	}
	return n
}

// fence returns the mark that opens a block of code and will close it.
func fence(line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) && !strings.Contains(line[len(mark):], mark) {
			return mark
		}
	}
	return ""
}

// outputStart matches how lines of logs, traces, diffs, listings and terminals begin. It is not
// compiled at the start of every program.
var outputStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\[?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|\w*(?:Error|Exception): |at \S+[(:]|File "|Traceback|goroutine \d|@@ |diff --git|index [0-9a-f]{7}|[+-]{3} \S|\$ |❯ |[\w./@-]+:\d+[:\s]|[d-][rwx-]{9}|={3,}|-{3,}|\||--- (PASS|FAIL)|(PASS|FAIL|ok)\s)`)
})

// isOutput reports whether a line is code or a program's output.
func isOutput(line string) bool {
	bare := strings.TrimSpace(line)
	switch {
	case bare == "":
		return false
	case outputStart().MatchString(line):
		return true
	case isPath(strings.TrimLeft(bare, "-*• ")):
		return true
	case isItem(bare):
		return false
	case strings.HasPrefix(line, "    "), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "+"), strings.HasPrefix(line, "-"):
		return true
	}
	return !isTyped(bare)
}

// isItem reports whether a line is an item of a list or a heading, as people type them.
func isItem(line string) bool {
	mark, text, _ := strings.Cut(line, " ")
	switch mark {
	case "-", "*", "•":
		return text != "" && text[0] != ' ' // a removed line of code is indented
	case "#", "##", "###":
		return isTyped(text)
	}
	digits := strings.TrimLeft(line, "0123456789")
	return len(digits) < len(line) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// isPath reports whether a line is one path or name of a file, as in a list of them.
func isPath(line string) bool {
	return strings.ContainsAny(line[:max(len(line)-1, 0)], "/.") && !strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf })
}

// isTyped reports whether a line looks like words and not like code: most of it is letters
// and blanks, and it does not end as a line of code does.
func isTyped(line string) bool {
	if strings.HasSuffix(line, "{") || strings.HasSuffix(line, ";") || strings.HasSuffix(line, "}") || strings.HasSuffix(line, "\\") {
		return false
	}
	letters, signs, all := 0, 0, 0
	for _, r := range line {
		all++
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsSpace(r):
			letters++
		case strings.ContainsRune("{}[]<>=|;$\\@#%^~_&*+/", r):
			signs++
		}
	}
	return letters*4 >= all*3 && signs <= 2+all/30 // a sign in 30 characters, and two more
}
