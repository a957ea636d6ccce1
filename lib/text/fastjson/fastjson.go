// Package fastjson reads and writes the JSON that programs write for one another:
// no white space, seldom an escape, no numbers but whole ones. It takes a few times
// less than encoding/json (BenchmarkObject), which counts where a log of a million
// lines is read before a list can be printed.
//
// What Object takes, it reads as encoding/json does. Members and Elements only find
// where the values of a conversation's record stand, so that the long ones, which are
// most of it, are passed over at the speed of a search for a byte (BenchmarkMembers).
// Where a function cannot tell, it says so, and the caller asks a whole parser.
package fastjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Member takes a member of an object. Of a text, value is what stands between its
// quotes; of anything else, what stands in the JSON. It returns false where it
// cannot tell what the member means, which ends the reading.
type Member func(key, value string, text bool) bool

// Plain reports whether a line can be read by Object and means what encoding/json
// would read: it has no escape, no control character, and is valid UTF-8.
func Plain(line []byte) bool {
	return bytes.IndexByte(line, '\\') < 0 && !hasControl(line) && utf8.Valid(line)
}

// Object goes through the members of the JSON object that text begins with, and
// returns what follows it. It knows texts, whole numbers, true, false and null,
// without white space and escapes; and an object for which within, where it is not
// nil, returns what takes its members. ok is false where it meets anything else, or
// a member is refused.
func Object(text string, each Member, within func(key string) Member) (rest string, ok bool) {
	if len(text) < 2 || text[0] != '{' {
		return "", false
	}
	if text[1] == '}' {
		return text[2:], true
	}
	for rest = text[1:]; ; rest = rest[1:] {
		if len(rest) == 0 || rest[0] != '"' {
			return "", false
		}
		rest = rest[1:]
		end := strings.IndexByte(rest, '"')
		if end < 0 || len(rest) < end+3 || rest[end+1] != ':' {
			return "", false
		}
		key := rest[:end]
		rest = rest[end+2:]
		switch rest[0] {
		case '"':
			rest = rest[1:]
			if end = strings.IndexByte(rest, '"'); end < 0 || !each(key, rest[:end], true) {
				return "", false
			}
			rest = rest[end+1:]
		case '{':
			if within == nil {
				return "", false
			}
			inner := within(key)
			if inner == nil {
				return "", false
			}
			if rest, ok = Object(rest, inner, nil); !ok {
				return "", false
			}
		default:
			if end = strings.IndexAny(rest, ",}"); end < 0 || !scalar(rest[:end]) || !each(key, rest[:end], false) {
				return "", false
			}
			rest = rest[end:]
		}
		if rest == "" {
			return "", false
		}
		switch rest[0] {
		case '}':
			return rest[1:], true
		case ',':
		default:
			return "", false
		}
	}
}

// Members calls each for the members of the JSON object that is all of text: the key
// without its quotes, and the value as it stands there, which is not checked to be
// one. It ends early where each returns false. ok is false where it cannot tell what
// the members are, because of white space between them, a key with an escape, or
// because text is no such object; what it has called each for means nothing then.
func Members(text []byte, each func(key, value []byte) bool) (ok bool) {
	if len(text) < 2 || text[0] != '{' {
		return false
	}
	rest := text[1:]
	if len(rest) == 1 && rest[0] == '}' {
		return true
	}
	for {
		if rest[0] != '"' {
			return false
		}
		end := bytes.IndexByte(rest[1:], '"') + 1
		if end == 0 || len(rest) < end+2 || rest[end+1] != ':' || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return false
		}
		key := rest[1:end]
		rest = rest[end+2:]
		size := valueSize(rest)
		if size == 0 || size == len(rest) {
			return false
		}
		value, next := rest[:size], rest[size]
		rest = rest[size+1:]
		switch {
		case next != ',' && next != '}', (next == '}') != (len(rest) == 0):
			return false
		case !each(key, value), next == '}':
			return true
		}
	}
}

// Fields is Members for an object as a person reads it, with white space between what it
// is made of. A value is a whole number, true, false, null, or what begins with a quote
// or a bracket, which is not checked any further.
func Fields(text []byte, each func(key, value []byte) bool) (ok bool) {
	rest := blank(text)
	if len(rest) < 2 || rest[0] != '{' {
		return false
	}
	if rest = blank(rest[1:]); len(rest) > 0 && rest[0] == '}' {
		return len(blank(rest[1:])) == 0
	}
	for {
		if len(rest) == 0 || rest[0] != '"' {
			return false
		}
		end := bytes.IndexByte(rest[1:], '"') + 1
		if end == 0 || bytes.IndexByte(rest[:end], '\\') >= 0 || hasControl(rest[:end]) {
			return false
		}
		key := rest[1:end]
		if rest = blank(rest[end+1:]); len(rest) == 0 || rest[0] != ':' {
			return false
		}
		rest = blank(rest[1:])
		size := fieldSize(rest)
		if size == 0 || !each(key, rest[:size]) {
			return false
		}
		if rest = blank(rest[size:]); len(rest) == 0 {
			return false
		}
		switch rest[0] {
		case '}':
			return len(blank(rest[1:])) == 0
		case ',':
			rest = blank(rest[1:])
		default:
			return false
		}
	}
}

// blank returns text behind the white space that it begins with.
func blank(text []byte) []byte {
	for i, c := range text {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return text[i:]
		}
	}
	return nil
}

// fieldSize is valueSize for a value that white space may follow.
func fieldSize(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if c := text[0]; c == '"' || c == '{' || c == '[' {
		return valueSize(text)
	}
	size := 0
	for size < len(text) && (text[size] >= 'a' && text[size] <= 'z' || text[size] >= '0' && text[size] <= '9' || text[size] == '-') {
		size++
	}
	if digits := bytes.TrimPrefix(text[:size], []byte{'-'}); !scalar(string(digits)) || len(digits) < size && digits[0] > '9' {
		return 0
	}
	return size
}

// Elements is Members for the elements of a JSON array.
func Elements(text []byte, each func(value []byte) bool) (ok bool) {
	if len(text) < 2 || text[0] != '[' {
		return false
	}
	rest := text[1:]
	if len(rest) == 1 && rest[0] == ']' {
		return true
	}
	for {
		size := valueSize(rest)
		if size == 0 || size == len(rest) {
			return false
		}
		value, next := rest[:size], rest[size]
		rest = rest[size+1:]
		switch {
		case next != ',' && next != ']', (next == ']') != (len(rest) == 0):
			return false
		case !each(value), next == ']':
			return true
		}
	}
}

// valueSize returns the size of the value that text begins with, 0 where that cannot be
// told. Of an object or an array it looks at the brackets and the texts only.
func valueSize(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"':
		return textSize(text)
	case '{', '[':
		depth := 0
		for i := 0; i < len(text); i++ {
			switch text[i] {
			case '"':
				size := textSize(text[i:])
				if size == 0 {
					return 0
				}
				i += size - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return 0
	}
	for i, c := range text {
		switch {
		case c == ',' || c == '}' || c == ']':
			return i
		case c <= ' ' || c == '"' || c == '{' || c == '[' || c == ':':
			return 0
		}
	}
	return 0
}

// textSize returns the size of the text that begins with an opening quote, both quotes
// included; 0 where there is no closing one.
func textSize(text []byte) int {
	for end := 1; ; {
		i := bytes.IndexByte(text[end:], '"')
		if i < 0 {
			return 0
		}
		end += i + 1
		escapes := 0 // before the quote: of two, one is the text's own
		for text[end-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
	}
}

// scalar reports whether text is a whole number, true, false or null.
func scalar(text string) bool {
	switch text {
	case "true", "false", "null", "0":
		return true
	}
	if text == "" || text[0] < '1' || text[0] > '9' {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Lower reports whether encoding/json, which does not look at the case of letters,
// can take the key for no other than itself.
func Lower(key string) bool {
	for _, c := range []byte(key) {
		if c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Text cuts what follows an opening quote at the closing one. ok is false where
// there is none, and where a backslash stands before it, for then it may not close
// the text.
func Text(quoted []byte) (value, rest []byte, ok bool) {
	end := bytes.IndexByte(quoted, '"')
	if end < 0 || end > 0 && quoted[end-1] == '\\' {
		return nil, nil, false
	}
	return quoted[:end], quoted[end+1:], true
}

// AppendText appends a text as JSON has it, in quotes.
func AppendText(line []byte, text string) []byte {
	line = append(line, '"')
	begin := len(line)
	line = append(line, text...)
	if as := line[begin:]; hasControl(as) || bytes.IndexByte(as, '"') >= 0 || bytes.IndexByte(as, '\\') >= 0 {
		quoted, _ := json.Marshal(text) // a string cannot fail
		return append(line[:begin-1], quoted...)
	}
	return append(line, '"')
}

// hasControl reports whether there is a control character in the line, which JSON
// forbids. Of eight bytes at once, each below 0x20 leaves its highest bit when
// 0x20 is taken from it; one that has that bit itself does not count.
func hasControl(line []byte) bool {
	for ; len(line) >= 8; line = line[8:] {
		v := binary.LittleEndian.Uint64(line)
		if (v-0x2020202020202020)&^v&0x8080808080808080 != 0 {
			return true
		}
	}
	for _, c := range line {
		if c < 0x20 {
			return true
		}
	}
	return false
}
