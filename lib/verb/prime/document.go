package prime

import (
	"fmt"
	"strings"

	"gt/lib/hook"
)

// section is one part of what a session is told. A section that does not fit
// is cut at a line, and names the command that prints all of it.
type section struct {
	title string // without the "##"; empty for text that needs no heading
	body  string
	all   string // the command that prints the whole; empty where there is none
}

// pointerRoom is kept free for each section that is still to come, so that
// every one of them is at least named.
const pointerRoom = 160

// document puts the sections, the most needed first, into a text of at most
// limit UTF-16 code units. The same sections give the same text.
func document(limit int, sections []section) string {
	var kept []section
	for _, s := range sections {
		if s.body = strings.Trim(s.body, "\n"); s.body != "" {
			kept = append(kept, s)
		}
	}
	var b strings.Builder
	left := limit
	for i, s := range kept {
		head := ""
		if b.Len() > 0 {
			head = "\n"
		}
		if s.title != "" {
			head += "## " + s.title + "\n\n"
		}
		room := left - hook.Units(head) - pointerRoom*(len(kept)-1-i)
		part := head + fit(s, room)
		left -= hook.Units(part)
		if left < 0 { // not even the pointers have room
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

// fit returns the section's body, or as many of its lines as have room, with a
// last line that says what is missing.
func fit(s section, room int) string {
	whole := s.body + "\n"
	if hook.Units(whole) <= room {
		return whole
	}
	lines := strings.SplitAfter(whole, "\n")
	rest := func(n int) string {
		left := 0
		for _, l := range lines[n:] {
			if l != "" {
				left++
			}
		}
		more := fmt.Sprintf("[%d more lines are left out", left)
		if left == 1 {
			more = "[1 more line is left out"
		}
		if s.all != "" {
			more += ": " + s.all + " prints all]\n"
		} else {
			more += "]\n"
		}
		return more
	}
	// The last line names a number that only gets shorter, so this is enough.
	room -= hook.Units(rest(0))
	used, n := 0, 0
	for n < len(lines) && used+hook.Units(lines[n]) <= room {
		used += hook.Units(lines[n])
		n++
	}
	text := strings.Join(lines[:n], "")
	if n == 0 && room > 80 { // one long line: better its beginning than nothing
		text = cutUnits(lines[0], room-2) + "…\n"
		n = 1
		if len(lines) <= 2 {
			n = 0 // it is the line that is cut which is left out
		}
	}
	return text + rest(n)
}

// cutUnits returns the longest beginning of s that has at most n UTF-16 code
// units.
func cutUnits(s string, n int) string {
	for i, r := range s {
		if n -= hook.Units(string(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}
