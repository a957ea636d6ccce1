// Package term prepares text that came from elsewhere for a terminal: it
// takes out what a terminal would obey, measures what is left, and lays it
// out in columns.
package term

import (
	"fmt"
	"strings"

	"gt/lib/text/plain"
)

// Clean returns s as one line that a terminal prints and does not obey (see
// plain.Line).
func Clean(s string) string { return plain.Line(s) }

// CleanText is Clean for a text of several lines (see plain.Text).
func CleanText(s string) string { return plain.Text(s) }

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

// Typed is Quote for a word that a person types: where it holds what a terminal
// would obey or nobody sees, it is written as bash, zsh and ksh read it back, byte
// for byte, so that what is shown is what is meant.
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
