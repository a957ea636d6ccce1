// Package term prepares text that came from elsewhere for a terminal: it
// takes out what a terminal would obey, measures what is left, and lays it
// out in columns.
package term

import (
	"strings"
	"unicode/utf8"
)

// replacement stands where something was taken out, so that a reader sees
// that the text was not clean.
const replacement = '\uFFFD'

// Clean returns s as one line that a terminal prints and does not obey:
// control characters (C0, DEL, C1), line and paragraph separators, bidi
// controls and bytes that are no UTF-8 each become U+FFFD; tabs and line ends
// become a space.
func Clean(s string) string { return clean(s, false) }

// CleanText is Clean for a text of several lines: it keeps line feeds and
// tabs, and drops the carriage return of a CR LF.
func CleanText(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	if lines {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if isClean(s, lines) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(replacement)
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unsafe(r):
			b.WriteRune(replacement)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func isClean(s string, lines bool) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return false
		}
		if unsafe(r) && !(lines && (r == '\n' || r == '\t')) {
			return false
		}
		i += n
	}
	return true
}

// unsafe says whether a terminal might act on r instead of showing it.
func unsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r == 0x2028, r == 0x2029: // line and paragraph separators
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, // bidi marks
		r >= 0x202a && r <= 0x202e, // bidi embeddings and overrides
		r >= 0x2066 && r <= 0x2069: // bidi isolates
		return true
	}
	return false
}

// OneLine returns s with every run of white space, line ends among it, as one
// space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Quote makes s one word of a POSIX shell's command line, whatever it holds.
// A word that needs no quotes gets none.
func Quote(s string) string {
	plain := s != ""
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_", r)) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
