// Package term prepares text from elsewhere for a terminal: it removes what a terminal
// would obey, measures the rest, and lays it out in columns.
package term

import (
	"fmt"
	"strings"

	"gt/lib/text/plain"
)

// Clean returns s as one line that a terminal does not obey (see plain.Line).
func Clean(s string) string { return plain.Line(s) }

// CleanText is Clean for several lines (see plain.Text).
func CleanText(s string) string { return plain.Text(s) }

// OneLine replaces every run of white space, including line ends, by a space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Quote quotes s as one word of a POSIX shell, if necessary.
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

// Typed is Quote for a word that a person types. A word with control or invisible
// characters is written such that bash, zsh and ksh read the same bytes, so that what is
// shown is what is meant.
func Typed(s string) string {
	if plain.IsLine(s) {
		return Quote(s)
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range []byte(s) {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r > '~':
			fmt.Fprintf(&b, `\%03o`, r)
		default:
			b.WriteByte(r)
		}
	}
	return b.String() + "'"
}
