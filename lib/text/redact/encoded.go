package redact

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"gt/lib/text/plain"
)

// A text can contain another text in encoded form: JSON in JSON, a query in a URL, XML in
// HTML, quoted-printable mail, the colours of a terminal in a log. Secrets are searched
// for in the decoded text and removed from the encoded one.

// maxLevels bounds how often a text is decoded: JSON in JSON in a URL.
const maxLevels = 3

type decodedText struct {
	text   string
	from   []int32 // for each byte of text, the beginning of its encoded form
	to     []int32 // and the end
	seams  []int   // offsets where something invisible was removed
	change bool    // whether text differs from the encoded form
}

// findEncoded finds secrets in text with escapes, line by line, at every level of encoding.
func findEncoded(s string, values []string) []span {
	var found []span
	for start := 0; start < len(s); {
		end, escapes := encodedLine(s, start)
		if escapes {
			for _, sp := range findInDecoded(s[start:end], values) {
				found = append(found, span{start + sp.from, start + sp.to})
			}
		}
		start = end
	}
	return found
}

// escaping are the characters that can begin an escape, and the line feed.
var escaping = [1 << 8]bool{'"': true, '\'': true, '`': true, '\\': true, '%': true, '&': true, '=': true, '^': true, '\n': true}

// encodedLine returns the end of the line that begins at s[i], and whether it has an
// escape. Lines that quoted-printable has split count as one.
func encodedLine(s string, i int) (end int, escapes bool) {
	for start := i; i < len(s); i++ {
		if !escaping[s[i]] {
			continue
		}
		switch s[i] {
		case '\n': // quoted-printable splits only longer lines
			if i-start < 60 || s[i-1] != '=' && (s[i-1] != '\r' || s[i-2] != '=') {
				return i + 1, escapes
			}
			start = i + 1
		case '"', '\'', '`':
			if n := skipJoint(s, i); n > 0 { // which can go on to the next line
				escapes = true
				i += n - 1
			}
		case '\\', '%', '&', '=', '^':
			if !escapes && i+1 < len(s) && s[i+1] != ' ' {
				_, n := unescape(s, i)
				escapes = n > 0
			}
		}
	}
	return i, escapes
}

// findInDecoded finds secrets in the decoded forms of a piece of text.
func findInDecoded(piece string, values []string) []span {
	var all []span
	r := decodeEscapes(piece)
	for level := 1; r.change; level++ {
		for _, sp := range findSecrets(r.text, values, r.seams) {
			if sp.from < sp.to {
				all = append(all, span{int(r.from[sp.from]), int(r.to[sp.to-1])})
			}
		}
		if level == maxLevels {
			break
		}
		next := decodeEscapes(r.text) // its offsets are those of r.text, and become those of piece
		for i := range next.from {
			next.from[i], next.to[i] = r.from[next.from[i]], r.to[next.to[i]-1]
		}
		r = next
	}
	return all
}

// decodeEscapes decodes one level of escapes in s. It removes soft line breaks, and leaves a seam
// where it removes an invisible character.
func decodeEscapes(s string) decodedText {
	r := decodedText{from: make([]int32, 0, len(s)), to: make([]int32, 0, len(s))}
	var b strings.Builder
	b.Grow(len(s))
	put := func(text string, from, to int) {
		b.WriteString(text)
		for range len(text) {
			r.from, r.to = append(r.from, int32(from)), append(r.to, int32(to))
		}
	}
	for i := 0; i < len(s); {
		c, n := unescape(s, i)
		if n == 0 {
			b.WriteByte(s[i])
			r.from, r.to = append(r.from, int32(i)), append(r.to, int32(i+1))
			i++
			continue
		}
		r.change = true
		end := i + n
		switch {
		case c == softBreak:
		case c == 0x1b:
			end = skipColour(s, end)
			fallthrough
		case c != '\n' && c != '\t' && c != '\r' && plain.Hidden(c):
			if at := b.Len(); len(r.seams) == 0 || r.seams[len(r.seams)-1] < at {
				r.seams = append(r.seams, at)
			}
		default:
			put(string(c), i, end)
		}
		i = end
	}
	r.text = b.String()
	return r
}

// skipColour returns the end of a terminal's escape sequence whose first character was encoded
// before s[i].
func skipColour(s string, i int) int {
	if i == len(s) || s[i] != '[' {
		return i
	}
	p := skipChars(s, i+1, "0123456789;:?", 23)
	if p < len(s) && isAlnum(s[p]) && !isDigit(s[p]) {
		return p + 1
	}
	return i
}

// softBreak is the decoded form of a soft line break of quoted-printable.
const softBreak = -1

// unescape decodes the escape that begins at s[i]. n is its length, 0 if there is none.
func unescape(s string, i int) (c rune, n int) {
	if i+1 >= len(s) {
		return 0, 0
	}
	next := s[i+1]
	switch s[i] {
	case '"', '\'', '`':
		if n := skipJoint(s, i); n > 0 {
			return softBreak, n
		}
	case '\\':
		return unescapeBackslash(s[i:])
	case '%':
		return characterOf(s[i:], 1, 2, 16)
	case '&':
		if next == '#' || isAlnum(next) {
			return unescapeEntity(s[i:min(len(s), i+maxEntity)])
		}
	case '=':
		switch c, end := characterOf(s, i+1, 2, 16); {
		case next == '\n':
			return softBreak, 2
		case next == '\r' && strings.HasPrefix(s[i+2:], "\n"):
			return softBreak, 3
		case end > 0 && strings.ToUpper(s[i+1:i+3]) == s[i+1:i+3] && (c == 0x1b || c >= ' ' && c < 0x7f && !isAlnum(byte(c))):
			return c, 3 // a character that is usually encoded; otherwise =3D may be a number
		}
	case '^':
		if next == '[' && strings.HasPrefix(s[i+2:], "[") {
			return 0x1b, 2
		}
	}
	return 0, 0
}

// skipJoint returns the length of what is between two parts of one text that begins with a quote
// at s[i]: abc""def and 'abc'"def" in a shell, "abc" + "def" and "abc" . "def" in programs,
// also over the end of a line; "abc" "def" if the first part begins like a token. 0 if there
// is none.
func skipJoint(s string, i int) int {
	part := func(c byte) bool { return isWord(c) || strings.IndexByte("-./+=~$", c) >= 0 }
	p := i + 1
	if i == 0 || !part(s[i-1]) || p == len(s) || isAlnum(s[p]) {
		return 0
	}
	space := func() (lines int) {
		for n := p; p < len(s) && p-n < maxName; p++ {
			switch {
			case s[p] == '\n':
				lines++
			case strings.HasPrefix(s[p:], "\\\n"):
				lines, p = lines+1, p+1
			case s[p] != ' ' && s[p] != '\t' && s[p] != '\r':
				return lines
			}
		}
		return lines
	}
	lines, sign := space(), 0
	for sign < 3 && p < len(s) && strings.IndexByte("+.&|<>^~", s[p]) >= 0 {
		p, sign = p+1, sign+1
	}
	if sign > 0 {
		if strings.HasPrefix(s[p:], " _") { // of Visual Basic
			p += len(" _")
		}
		lines += space()
	}
	if lines > 1 || p+1 >= len(s) || strings.IndexByte("\"'`", s[p]) < 0 || !part(s[p+1]) {
		return 0
	}
	// Parts that only blanks join are one text if the first begins like a token.
	if sign == 0 && p > i+1 && !strings.HasPrefix(s[i+1:], "\\\n") {
		begin := i
		for begin > 0 && i-begin < maxName && inClass(s[begin-1], "w-.") {
			begin--
		}
		if i-begin < minValue || !beginsShape(s[begin:i]) {
			return 0
		}
	}
	return p + 1 - i
}

// unescapeBackslash is unescape for the escapes of programming languages and JSON.
func unescapeBackslash(s string) (c rune, n int) {
	switch s[1] {
	case '"', '\'', '/', '\\', '`':
		return rune(s[1]), 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'e', 'E':
		if strings.HasPrefix(s[2:], "[") {
			return 0x1b, 2
		}
	case 'x':
		return characterOf(s, 2, 2, 16)
	case 'u':
		if !strings.HasPrefix(s, `\u{`) {
			return characterOf(s, 2, 4, 16)
		}
		if c, n = characterOf(s, 3, strings.IndexByte(s[:min(len(s), maxEntity)], '}')-3, 16); n > 0 {
			return c, n + 1
		}
	case 'U':
		return characterOf(s, 2, 8, 16)
	case '0', '1': // octal: \033
		return characterOf(s, 1, 3, 8)
	}
	return 0, 0
}

// maxEntity bounds the length of an HTML entity.
const maxEntity = 10

// entities are the HTML entities for characters that matter in settings.
var entities = map[string]rune{
	"quot": '"', "apos": '\'', "amp": '&', "lt": '<', "gt": '>', "nbsp": ' ', "equals": '=', "colon": ':', "comma": ',',
	"num": '#', "lbrace": '{', "rbrace": '}', "lcub": '{', "rcub": '}', "lsqb": '[', "rsqb": ']', "grave": '`', "dollar": '$',
	"excl": '!', "commat": '@', "percnt": '%', "ast": '*', "plus": '+', "sol": '/', "bsol": '\\', "semi": ';', "quest": '?',
	"lowbar": '_', "Tab": '\t', "NewLine": '\n',
}

// unescapeEntity is unescape for an entity of HTML at the beginning of s.
func unescapeEntity(s string) (c rune, n int) {
	end := strings.IndexByte(s, ';')
	if end < 0 {
		return 0, 0
	}
	switch name := s[1:end]; {
	case strings.HasPrefix(name, "#x"), strings.HasPrefix(name, "#X"):
		c, n = characterOf(name, 2, len(name)-2, 16)
	case name[0] == '#':
		c, n = characterOf(name, 1, len(name)-1, 10)
	default:
		if c = entities[name]; c != 0 {
			n = end
		}
	}
	if n == 0 {
		return 0, 0
	}
	return c, end + 1
}

// characterOf returns the character whose code is in the n digits at s[i], and their end, which is 0
// if there is none.
func characterOf(s string, i, n, base int) (c rune, end int) {
	if n < 1 || i+n > len(s) || !inClass(s[i], "x") { // no sign
		return 0, 0
	}
	v, err := strconv.ParseUint(s[i:i+n], base, 31)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), i + n
}
