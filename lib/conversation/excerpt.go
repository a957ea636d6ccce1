package conversation

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// ParseTime returns a record's time. What is not a time, or lies in a year without
// agents, is the zero time.
func ParseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1980 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}

// TokenCount returns a number of tokens: 0 where v cannot be one.
func TokenCount(v gjson.Result) int64 {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num < math.MaxInt64/1024) {
		return 0
	}
	return int64(v.Num)
}

// Keep sets to where it is empty, so that what was said first stays. It copies the
// value: what a reader gives is valid only until the next record.
func Keep(to *string, value string) {
	if *to == "" {
		*to = strings.Clone(value)
	}
}

// MaxExcerpt is how many characters of a title or a first prompt are kept.
const MaxExcerpt = 200

// Excerpt returns what a list shows of a text: its first MaxExcerpt characters in
// one line, without the secrets that have a form of their own. Those are taken out
// before the text is cut, for half a secret is not recognised.
func Excerpt(s string) string {
	const (
		enough = 4 * MaxExcerpt * utf8.UTFMax // however many blanks are in it
		torn   = 512                          // of a secret that the end cuts
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
		if n == MaxExcerpt {
			return strings.Clone(s[:i])
		}
		n++
	}
	return strings.Clone(s)
}

// Arguments returns what a tool was called with, as a person would write it: the
// one argument by itself, several as "name: value" in lines.
func Arguments(input gjson.Result) string {
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

// CallText returns what a tool was called with: of a shell only the command, of
// another tool its Arguments.
func CallText(input gjson.Result) string {
	if command := input.Get("command"); input.IsObject() && command.Type == gjson.String {
		return command.Str
	}
	return Arguments(input)
}
