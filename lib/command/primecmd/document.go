package primecmd

import (
	"fmt"
	"strings"

	"gt/lib/text/count"
	"gt/lib/text/frame"
)

// section is one part of the start-up text. A section that does not fit is cut at a line
// and names the command that prints all of it.
type section struct {
	title       string // without "##", empty for no heading
	body        string
	fullCommand string // the command that prints the whole section, empty if there is none
	begin       string // the line before somebody else's words
	end         string // the line after them; both are printed with any part of the words
	most        int    // limit for the body, 0 for none
	whole       bool   // it is not cut: the sections before it leave it the room
	chain       bool   // the place of what no other section tells of the chain
}

// frame sets the body to words, in a frame that names their author.
func (s section) frame(from, words string) section {
	if s.body = frame.InnerText(words); s.body != "" {
		s.begin, s.end = frame.Begin(from)+"\n", frame.End+"\n"
	}
	return s
}

// document joins the sections, most important first, into a text of at most limit as size
// counts it. Equal sections give an equal text.
//
// Room for the heading of every section is reserved, so that one that is cut is at least
// named. If there are too many, the last are only counted, so that headings do not displace
// the most important text.
func document(limit int, size func(string) int, sections []section) string {
	return strings.Join(parts(limit, size, sections), "")
}

// parts returns the text of each section, "" for one that is empty or left out, and behind the last
// the line that counts those that are left out (see document).
func parts(limit int, size func(string) int, sections []section) []string {
	all := make([]string, len(sections)+1)
	var kept []section
	var places []int // of kept in sections
	for i, s := range sections {
		if s.body = strings.Trim(s.body, "\n"); s.body != "" {
			kept, places = append(kept, s), append(places, i)
		}
	}
	whole := 0 // the size of the sections that are not cut
	for _, s := range kept {
		if s.whole {
			whole += s.minSize(size)
		}
	}
	named, names := 0, 0 // the number of sections that are named and the size of their headings
	for ; named < len(kept); named++ {
		if kept[named].whole {
			continue
		}
		least := kept[named].minSize(size)
		if named > 0 && names+least > (limit-whole)/2-countRoom {
			break // headings get half of what the uncut sections leave
		}
		names += least
	}
	for _, s := range kept[:named] {
		if s.whole {
			names += s.minSize(size)
		}
	}
	room := limit
	if named < len(kept) {
		room -= countRoom
	}
	for i, s := range kept[:named] {
		names -= s.minSize(size) // the reserve for the sections after this one
		head := s.head(i > 0)
		space := room - names - size(head)
		if s.most > 0 {
			space = min(space, s.most)
		}
		part := head + fitSection(s, space, size)
		if room -= size(part); room < 0 { // not even a heading fits
			return all
		}
		all[places[i]] = part
	}
	if more := len(kept) - named; more > 0 {
		all[len(sections)] = fmt.Sprintf("\n[%d more sections are left out]\n", more)
	}
	return all
}

const countRoom = 50 // reserved for the line that counts the sections without a heading

// head returns the heading, after a blank line unless it is the first.
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

// minSize returns the smallest size of the section: its heading and the line that names the
// command, or all of it if that is less or if it is not cut.
func (s section) minSize(size func(string) int) int {
	body := s.body + "\n"
	if s.whole {
		return s.size(size)
	}
	return size(s.head(true)) + min(size(s.begin)+size(body)+size(s.end), size(s.leftOut(body, 0)))
}

func (s section) size(size func(string) int) int { return size(s.text()) }

// text returns the whole section, or "" if its body is empty.
func (s section) text() string {
	if strings.Trim(s.body, "\n") == "" {
		return ""
	}
	return s.head(true) + s.begin + s.body + "\n" + s.end
}

// leftOut returns the line that replaces the body after its first n lines.
func (s section) leftOut(body string, n int) string {
	left := strings.Count(body, "\n") - n
	more := "[" + count.PluralForm(left, "more line is left out", "more lines are left out")
	if s.fullCommand != "" {
		more += ": " + s.fullCommand + " prints all"
	}
	return more + "]\n"
}

// fitSection returns the body, or as many of its lines as fit and a line that counts the rest. The last
// line of the body that it keeps is neither blank nor a heading.
func fitSection(s section, room int, size func(string) int) string {
	whole := s.body + "\n"
	framed := size(s.begin) + size(s.end)
	if size(whole)+framed <= room {
		return s.begin + whole + s.end
	}
	lines := strings.SplitAfter(whole, "\n")
	// Room for a line that counts all lines, which is the longest that can be needed.
	room -= size(s.leftOut(whole, 0)) + framed
	used, n := 0, 0
	for n < len(lines) && used+size(lines[n]) <= room {
		used += size(lines[n])
		n++
	}
	for n > 0 && (lines[n-1] == "\n" || strings.HasPrefix(lines[n-1], "### ")) { // a heading alone says nothing
		n--
	}
	text := strings.Join(lines[:n], "")
	if used == 0 && room > 80 { // for one long line its beginning is better than nothing
		text = cut(lines[0], room-size("…\n"), size) + "…\n"
		n = 1
		if len(lines) <= 2 {
			n = 0 // the body is one line, and the count must not be 0
		}
	}
	if text != "" {
		text = s.begin + text + s.end
	}
	return text + s.leftOut(whole, n)
}

// cut returns the longest prefix of s, in whole characters, of size n or less.
func cut(s string, n int, size func(string) int) string {
	for i, r := range s {
		if n -= size(string(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}
