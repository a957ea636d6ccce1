package primecmd

import (
	"slices"
	"strings"
	"testing"
)

func TestNamedFiles(t *testing.T) {
	for words, want := range map[string]string{
		"look at lib/a.go, then b.go.":                 "lib/a.go|b.go",
		"in `lib/a.go:12` and `lib/a.go:12:5`":         "lib/a.go",
		"a.go:12-20 and b.go#L7":                       "a.go|b.go",
		"`Makefile` is right; \"my notes.txt\" is not": "Makefile|my notes.txt|notes.txt",
		"(see ./x/y.py) and @z.md":                     "x/y.py|z.md",
		"~/w/a.go or /srv/w/a.go":                      "~/w/a.go|/srv/w/a.go",
		"https://example.com/a.go at 10:30, v 1.2":     "",
		"次は「a.go」、b.go。":                               "a.go|b.go",
		strings.Repeat("x/", 200) + "a.go":             "",
	} {
		got := namedFiles([]section{{body: "gt itself names c.go"}, section{}.frame("x", words)})
		if !slices.Equal(got, strings.FieldsFunc(want, func(r rune) bool { return r == '|' })) {
			t.Errorf("%q names %q, want %q", words, got, want)
		}
	}
	if n := len(namedFiles([]section{section{}.frame("x", strings.Repeat("a.go ", 9)+strings.Repeat("é.go ", maxRead))})); n != 2 {
		t.Errorf("%d names", n)
	}
}
