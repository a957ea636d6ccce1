package conversation

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/state/session"
	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// ParseTime returns a record's time, or the zero time if s is not a time or not between
// 1980 and 2200.
func ParseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1980 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}

// TimeOfMillis returns a time in milliseconds since 1970, or the zero time if it is not
// between 1980 and 2200.
func TimeOfMillis(n int64) time.Time {
	t := time.UnixMilli(n).UTC()
	if t.Year() < 1980 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}

// TokenCount returns a number of tokens, or 0 if v cannot be one.
func TokenCount(v gjson.Result) int64 {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num < math.MaxInt64/1024) {
		return 0
	}
	return int64(v.Num)
}

// UsageOf returns the numbers of tokens that a record has under these keys.
func UsageOf(v gjson.Result, input, cacheRead, cacheWrite, output string) Usage {
	return Usage{
		Input: TokenCount(v.Get(input)), CacheRead: TokenCount(v.Get(cacheRead)),
		CacheWrite: TokenCount(v.Get(cacheWrite)), Output: TokenCount(v.Get(output)),
	}
}

// SetIfEmpty sets *to to value if it is empty, so that the first value stays. It copies the
// value, because what a reader gives is valid only until the next record.
func SetIfEmpty(to *string, value string) {
	if *to == "" {
		*to = strings.Clone(value)
	}
}

// SetTimeIfZero sets *to to a time if it is zero, so that the first time stays.
func SetTimeIfZero(to *time.Time, at time.Time) {
	if to.IsZero() {
		*to = at
	}
}

// IDOf returns the session's id that a record holds, or "" if v is none. It copies the id, because
// what a reader gives is valid only until the next record.
func IDOf(v gjson.Result) session.ID {
	id, err := session.ParseID(strings.Clone(v.Str))
	if err != nil {
		return ""
	}
	return id
}

// MaxExcerpt is the length of an Excerpt in characters.
const MaxExcerpt = 200

// Excerpt returns the first MaxExcerpt characters of a text in one line, without secrets
// that have a form of their own. It removes them before it cuts, because half a secret is
// not recognised.
func Excerpt(s string) string {
	const (
		enough = 4 * MaxExcerpt * utf8.UTFMax // even if it has many blanks
		torn   = 512                          // the longest secret that the end can cut
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

// Arguments returns a tool's arguments as a person would write them: a single one by
// itself, several as lines of "name: value".
func Arguments(input gjson.Result) string {
	if !input.IsObject() {
		return input.String()
	}
	var lines []string
	input.ForEach(func(key, v gjson.Result) bool {
		value := v.String()
		if v.Type == gjson.Number {
			value = v.Raw // as it is in the file
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

// CallText returns a shell's command alone, or the Arguments of another tool. An editor's input has
// a "command", too, but with a "path".
func CallText(input gjson.Result) string {
	if command := input.Get("command"); input.IsObject() && command.Type == gjson.String && !input.Get("path").Exists() {
		return command.Str
	}
	return Arguments(input)
}

// ContentText returns the text of a message's content, which is a text or a list of parts.
func ContentText(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var parts []string
	for _, part := range content.Array() {
		switch part.Get("type").Str {
		case "text":
			parts = append(parts, part.Get("text").Str)
		case "image", "image_url":
			parts = append(parts, "[image]")
		}
	}
	return strings.Join(parts, "\n")
}
