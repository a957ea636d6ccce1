package term

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// CutFront shortens s to width columns and keeps its end, which distinguishes paths and
// addresses. It begins with an ellipsis.
func CutFront(s string, width int) string {
	if fits(s, width) {
		return s
	}
	if width < 1 {
		return ""
	}
	if most := bytesPerColumn * width; len(s) > most {
		s = s[len(s)-most:]
		for s != "" && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	over := uniseg.StringWidth(s) - width
	for state := -1; over >= 0 && s != ""; { // one more, for the ellipsis
		var w int
		_, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		over -= w
	}
	return "…" + s
}

// Pad cuts s to width columns (see Cut), or pads it with blanks.
func Pad(s string, width int) string {
	s = Cut(s, width)
	return s + strings.Repeat(" ", max(width-uniseg.StringWidth(s), 0))
}

// Columns returns the columns that s takes.
func Columns(s string) int { return uniseg.StringWidth(s) }

// LastCluster returns what a person sees as the last character of s: with its accents, or
// all parts of a joined emoji.
func LastCluster(s string) (last string) {
	for state := -1; s != ""; {
		last, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
	}
	return last
}

// FormatDay formats a time in a column's width, like ls: with the hour if it is recent, else with
// the year; "" for zero.
func FormatDay(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	if age := now.Sub(t); age > 180*24*time.Hour || age < -24*time.Hour {
		return t.Format("Jan _2  2006")
	}
	return t.Format("Jan _2 15:04")
}

// Fill breaks a line wider than width at spaces and indents the rest. Width 0 breaks
// nothing, and a word wider than a line stays whole.
func Fill(s string, width, indent int) string {
	var b strings.Builder
	for width > indent && Columns(s) > width {
		at := -1
		for i := range s {
			if s[i] != ' ' || i < indent {
				continue
			}
			if at >= 0 && Columns(s[:i]) > width {
				break
			}
			at = i
		}
		if at < 0 {
			break
		}
		b.WriteString(s[:at] + "\n")
		s = strings.Repeat(" ", indent) + strings.TrimLeft(s[at:], " ")
	}
	return b.String() + s
}

// Margin precedes each line of somebody else's text. Lines without it are gt's own.
const Margin = "  "

// Indent puts Margin before each line of a text, and breaks lines wider than width, at
// spaces if possible, so that no terminal breaks them. Width 0 breaks nothing.
func Indent(text string, width int) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		for {
			part := line
			if width > len(Margin)+1 {
				part = cutWidth(line, width-len(Margin))
			}
			rest := line[len(part):]
			// Break at the last blank, unless only blanks would be left before it.
			if i := strings.LastIndexByte(line[:min(len(part)+1, len(line))], ' '); rest != "" && i > 0 && strings.TrimSpace(part[:i]) != "" {
				part, rest = part[:i], line[i+1:]
			}
			line = rest
			if part != "" {
				b.WriteString(Margin + part)
			}
			if line == "" {
				break
			}
			b.WriteByte('\n')
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

const tabStop = 8

// cutWidth returns the beginning of a line that takes at most width columns, but at least one
// grapheme.
func cutWidth(line string, width int) string {
	n, state := 0, -1
	for rest := line; rest != ""; {
		cluster, next, w, s := uniseg.FirstGraphemeClusterInString(rest, state)
		if cluster == "\t" {
			w = tabStop
		}
		if width -= w; width < 0 && n > 0 {
			break
		}
		n += len(cluster)
		rest, state = next, s
	}
	return line[:n]
}
