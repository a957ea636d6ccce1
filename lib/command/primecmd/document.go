package primecmd

import (
	"fmt"
	"strings"

	"gt/lib/text/frame"
)

// section is one part of what a session is told. A section that does not fit
// is cut at a line, and names the command that prints all of it.
type section struct {
	title string // without the "##"; empty for text that needs no heading
	body  string
	all   string // the command that prints the whole; empty where there is none
	begin string // the line before somebody else's words, and
	end   string // the one behind them, which are told whenever any of those is
	most  int    // what its body may take, 0 for all the room there is
}

// frame sets the section's body to what from wrote, a plain line.
func (s section) frame(from, words string) section {
	if s.body = frame.Inside(words); s.body != "" {
		s.begin, s.end = frame.Begin(from)+"\n", frame.End+"\n"
	}
	return s
}

// document puts the sections, the most needed first, into a text of at most
// limit, as size counts it. The same sections give the same text.
//
// Every section that cannot be told in full is at least named, and so much
// room is kept free for it. Of a great many, those at the end are only
// counted, for the names of all must not crowd out what is needed most.
func document(limit int, size func(string) int, sections []section) string {
	var kept []section
	for _, s := range sections {
		if s.body = strings.Trim(s.body, "\n"); s.body != "" {
			kept = append(kept, s)
		}
	}
	named, names := 0, 0 // how many sections are named, and the room for it
	for named < len(kept) && (named == 0 || names+kept[named].least(size) <= limit/2-countRoom) {
		names += kept[named].least(size)
		named++
	}
	room := limit
	if named < len(kept) {
		room -= countRoom
	}
	var b strings.Builder
	for _, s := range kept[:named] {
		names -= s.least(size)
		head := s.head(b.Len() > 0)
		space := room - names - size(head)
		if s.most > 0 {
			space = min(space, s.most)
		}
		part := head + fit(s, space, size)
		if room -= size(part); room < 0 { // not even a name has room
			return b.String()
		}
		b.WriteString(part)
	}
	if more := len(kept) - named; more > 0 {
		fmt.Fprintf(&b, "\n[%d more sections are left out]\n", more)
	}
	return b.String()
}

// countRoom is kept free for the line that counts what is not even named.
const countRoom = 50

// head is the section's heading, with a blank line before it where something
// stands there.
func (s section) head(after bool) string {
	head := ""
	if after {
		head = "\n"
	}
	if s.title != "" {
		head += "## " + s.title + "\n\n"
	}
	return head
}

// least is what the section needs to be named: its heading and the line that
// says how to print it, or less where it is short.
func (s section) least(size func(string) int) int {
	body := s.body + "\n"
	return size(s.head(true)) + min(size(s.begin)+size(body)+size(s.end), size(s.leftOut(body, 0)))
}

// leftOut is the line that says what is missing of the body after its first n
// lines.
func (s section) leftOut(body string, n int) string {
	left := strings.Count(body, "\n") - n
	more := fmt.Sprintf("[%d more lines are left out", left)
	if left == 1 {
		more = "[1 more line is left out"
	}
	if s.all != "" {
		more += ": " + s.all + " prints all"
	}
	return more + "]\n"
}

// fit returns the section's body, or as many of its lines as have room, with a
// last line that says what is missing.
func fit(s section, room int, size func(string) int) string {
	whole := s.body + "\n"
	framed := size(s.begin) + size(s.end)
	if size(whole)+framed <= room {
		return s.begin + whole + s.end
	}
	lines := strings.SplitAfter(whole, "\n")
	// The number in the last line only gets shorter, so this is enough.
	room -= size(s.leftOut(whole, 0)) + framed
	used, n := 0, 0
	for n < len(lines) && used+size(lines[n]) <= room {
		used += size(lines[n])
		n++
	}
	text := strings.Join(lines[:n], "")
	if n == 0 && room > 80 { // one long line: better its beginning than nothing
		text = cut(lines[0], room-size("…\n"), size) + "…\n"
		n = 1
		if len(lines) <= 2 {
			n = 0 // it is the line that is cut which is left out
		}
	}
	if text != "" {
		text = s.begin + text + s.end
	}
	return text + s.leftOut(whole, n)
}

// cut returns the longest beginning of s, in whole characters, that has at most
// the size n.
func cut(s string, n int, size func(string) int) string {
	for i, r := range s {
		if n -= size(string(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}
