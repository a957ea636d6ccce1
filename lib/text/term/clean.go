// Package term prepares text from elsewhere for a terminal: it removes what a terminal
// would obey, measures the rest, and lays it out in columns.
package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf16"

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
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_", r))
	}
	if s != "" && !strings.ContainsFunc(s, special) {
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

// QuoteWords quotes the words of a command line, and joins them.
func QuoteWords(words []string) string { return joinQuoted(words, Quote) }

// TypedWords is QuoteWords for a line that a person types.
func TypedWords(words []string) string { return joinQuoted(words, Typed) }

func joinQuoted(words []string, quote func(string) string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// Tilde replaces the person's home folder by ~. home may be "".
func Tilde(path, home string) string {
	if home != "" {
		if rest, ok := strings.CutPrefix(path, filepath.Clean(home)+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// WriteJSON writes what JSON returns.
func WriteJSON(w io.Writer, v any) error {
	line, err := JSON(v)
	if err == nil {
		_, err = w.Write(line)
	}
	return err
}

// JSON returns v as one line of JSON that a terminal does not obey: what Clean would remove
// is escaped as \u…. Only invalid UTF-8 is lost.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if plain.IsLine(string(line)) {
		return b.Bytes(), nil
	}
	var safe bytes.Buffer
	marks := 0 // on the current letter
	for _, r := range string(line) {
		if plain.Hidden(r) || plain.Heaps(r, marks) { // inside a string: JSON has such characters nowhere else
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&safe, `\u%04x`, unit)
			}
			marks = 0
			continue
		}
		if marks++; !plain.IsMark(r) {
			marks = 0
		}
		safe.WriteRune(r)
	}
	safe.WriteByte('\n')
	return safe.Bytes(), nil
}

// LastLine returns the last line of a text, without the blanks around it.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
