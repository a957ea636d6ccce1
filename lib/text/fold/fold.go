// Package fold compares what a person types with what is there. The same letter has
// several forms in Unicode: é is one character or two, as macOS writes it in names of
// files, and an input method may type letters in full width.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Text returns a text as searches and filters compare it: normalised (NFKC), and in lower
// case.
func Text(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	// In upper case first: ς and σ, or ſ and s, have one capital letter.
	return norm.NFKC.String(strings.ToLower(strings.ToUpper(norm.NFKC.String(s))))
}

// Name returns a name or a word in one form (NFC), so that two that look the same are the
// same. It is another name in upper case.
func Name(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFC.String(s)
}

// letters are those that Unicode does not make of a letter and an accent.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ı", "i")

// WithoutAccents returns a text in lower case without accents, as people type it whose
// keyboard has none.
func WithoutAccents(s string) string {
	if s = strings.ToLower(s); isASCII(s) {
		return s
	}
	return norm.NFC.String(letters.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))))
}

// SameName reports whether two names are the same (see Name).
func SameName(a, b string) bool { return a == b || Name(a) == Name(b) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
