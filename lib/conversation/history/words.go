package history

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// moment reads a record's time; what is none, or of no year in which there were
// agents, is the zero time.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1980 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}

// count is a number of tokens: none where it is no such number.
func count(v gjson.Result) int64 {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num < math.MaxInt64/1024) {
		return 0
	}
	return int64(v.Num)
}

// keep takes what was said first, in memory of its own: what a reader gives is
// only valid until the next record.
func keep(to *string, value string) {
	if *to == "" {
		*to = strings.Clone(value)
	}
}

// first is the first of all that says something.
func first(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// beginning is what a list shows of a text: its first titleLength characters, in
// one line, without the secrets that have a form of their own: those are taken out
// before it is cut, for half a secret is not known for one.
func beginning(s string) string {
	const (
		enough = 4 * titleLength * utf8.UTFMax // however many blanks are in it
		torn   = 512                           // of a secret that the end cuts
	)
	cut := len(s) > enough+torn
	if cut {
		s = s[:enough+torn]
	}
	s = term.Clean(redact.Text(strings.ToValidUTF8(s, "\uFFFD"), nil))
	if cut {
		s = strings.ToValidUTF8(s[:max(0, len(s)-torn)], "")
	}
	s = term.OneLine(s)
	n := 0
	for i := range s {
		if n == titleLength {
			return strings.Clone(s[:i])
		}
		n++
	}
	return strings.Clone(s)
}

// arguments are what a tool was called with, as a person would write it: the
// one argument by itself, several as "name: value" in lines.
func arguments(input gjson.Result) string {
	if !input.IsObject() {
		return input.String()
	}
	var lines []string
	input.ForEach(func(key, v gjson.Result) bool {
		value := v.String()
		if v.Type == gjson.Number {
			value = v.Raw // as it stands in the file
		}
		lines = append(lines, key.Str+": "+value)
		return true
	})
	if len(lines) == 1 {
		_, value, _ := strings.Cut(lines[0], ": ")
		return value
	}
	return strings.Join(lines, "\n")
}
