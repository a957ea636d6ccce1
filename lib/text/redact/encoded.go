package redact

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"gt/lib/text/plain"
)

// A text can hold another one, written in the way of what holds it: JSON within
// JSON, a query within a URL, XML within HTML, a mail in quoted-printable, the
// colours of a terminal in a log. What is there is looked for in what such a line
// says, and taken out where it stands.

// maxLevels is how often a text is taken out of another: JSON within JSON, and
// that in a URL.
const maxLevels = 3

// reading is what a piece of a text says where it is written with escapes.
type reading struct {
	text   string
	from   []int32 // where in the piece each byte of the text begins to be written
	to     []int32 // and where that ends
	seams  []int   // where something that takes no place was left out
	change bool    // whether it says anything else than it is
}

// encoded finds what is secret in what is written with escapes: line by line, and of
// each as deep as there is anything to be read.
func encoded(s string, values []string) []span {
	var found []span
	for start := 0; start < len(s); {
		end, escapes := encodedLine(s, start)
		if escapes {
			for _, sp := range inReadings(s[start:end], values) {
				found = append(found, span{start + sp.from, start + sp.to})
			}
		}
		start = end
	}
	return found
}

// escaping are the characters with which an escape begins, and the end of a line.
var escaping = [1 << 8]bool{'\\': true, '%': true, '&': true, '=': true, '^': true, '\n': true}

// encodedLine returns where the line ends that begins at s[i], and whether there is
// an escape in it. Lines that quoted-printable has cut are one.
func encodedLine(s string, i int) (end int, escapes bool) {
	for start := i; i < len(s); i++ {
		if !escaping[s[i]] {
			continue
		}
		switch s[i] {
		case '\n':
			if i-start < 60 || s[i-1] != '=' && (s[i-1] != '\r' || s[i-2] != '=') {
				return i + 1, escapes
			}
			start = i + 1
		case '\\', '%', '&', '=', '^':
			if !escapes && i+1 < len(s) && s[i+1] != ' ' {
				_, n := unescape(s, i)
				escapes = n > 0
			}
		}
	}
	return i, escapes
}

// inReadings finds what is secret in what a piece of a text says.
func inReadings(piece string, values []string) []span {
	var all []span
	r := read(piece)
	for level := 1; r.change; level++ {
		for _, sp := range find(r.text, values, r.seams) {
			if sp.from < sp.to {
				all = append(all, span{int(r.from[sp.from]), int(r.to[sp.to-1])})
			}
		}
		if level == maxLevels {
			break
		}
		next := read(r.text)
		for i := range next.from {
			next.from[i], next.to[i] = r.from[next.from[i]], r.to[next.to[i]-1]
		}
		r = next
	}
	return all
}

// read returns what s says.
func read(s string) reading {
	r := reading{from: make([]int32, 0, len(s)), to: make([]int32, 0, len(s))}
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
			end = colour(s, end)
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

// colour returns where the rest of an escape sequence ends whose first character
// was written as an escape before s[i].
func colour(s string, i int) int {
	if i == len(s) || s[i] != '[' {
		return i
	}
	p := i + 1
	for p < len(s) && p-i < 24 && (isDigit(s[p]) || s[p] == ';' || s[p] == ':' || s[p] == '?') {
		p++
	}
	if p < len(s) && isAlnum(s[p]) && !isDigit(s[p]) {
		return p + 1
	}
	return i
}

// softBreak is what an end of a line says that quoted-printable has put in.
const softBreak = -1

// unescape returns what the escape says that begins at s[i], and how long it is; 0
// where none does.
func unescape(s string, i int) (c rune, n int) {
	if i+1 >= len(s) {
		return 0, 0
	}
	next := s[i+1]
	switch s[i] {
	case '\\':
		return backslash(s[i:])
	case '%':
		if c, ok := number(s, i+1, 2, 16); ok {
			return c, 3
		}
	case '&':
		if next == '#' || isAlnum(next) {
			return entity(s[i:min(len(s), i+maxEntity)])
		}
	case '=':
		switch c, ok := number(s, i+1, 2, 16); {
		case next == '\n':
			return softBreak, 2
		case next == '\r' && strings.HasPrefix(s[i+2:], "\n"):
			return softBreak, 3
		case ok && strings.ToUpper(s[i+1:i+3]) == s[i+1:i+3] && (c == 0x1b || c >= ' ' && c < 0x7f && !isAlnum(byte(c))):
			return c, 3 // of what has to be written so, and no number
		}
	case '^':
		if next == '[' && strings.HasPrefix(s[i+2:], "[") {
			return 0x1b, 2
		}
	}
	return 0, 0
}

// backslash is unescape for those of programming languages and JSON.
func backslash(s string) (c rune, n int) {
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
		if c, ok := number(s, 2, 2, 16); ok {
			return c, 4
		}
	case 'u':
		if c, ok := number(s, 2, 4, 16); ok {
			return c, 6
		}
		if strings.HasPrefix(s, `\u{`) {
			if end := strings.IndexByte(s[:min(len(s), maxEntity)], '}'); end > 3 {
				if c, ok := number(s, 3, end-3, 16); ok {
					return c, end + 1
				}
			}
		}
	case 'U':
		if c, ok := number(s, 2, 8, 16); ok {
			return c, 10
		}
	case '0', '1':
		if c, ok := number(s, 1, 3, 8); ok {
			return c, 4
		}
	}
	return 0, 0
}

// maxEntity is how long a character's name in HTML is at most.
const maxEntity = 10

// entities are those that stand for what matters in a setting.
var entities = [...]struct {
	name string
	c    rune
}{
	{"quot", '"'}, {"apos", '\''}, {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"nbsp", ' '}, {"equals", '='}, {"colon", ':'}, {"comma", ','},
	{"num", '#'}, {"lbrace", '{'}, {"rbrace", '}'}, {"lcub", '{'}, {"rcub", '}'}, {"lsqb", '['}, {"rsqb", ']'}, {"grave", '`'}, {"dollar", '$'},
	{"excl", '!'}, {"commat", '@'}, {"percnt", '%'}, {"ast", '*'}, {"plus", '+'}, {"sol", '/'}, {"bsol", '\\'}, {"semi", ';'}, {"quest", '?'},
	{"lowbar", '_'}, {"Tab", '\t'}, {"NewLine", '\n'},
}

func entity(s string) (c rune, n int) {
	end := strings.IndexByte(s, ';')
	if end < 0 {
		return 0, 0
	}
	name, ok := s[1:end], false
	switch {
	case strings.HasPrefix(name, "#x"), strings.HasPrefix(name, "#X"):
		c, ok = number(name, 2, len(name)-2, 16)
	case name[0] == '#':
		c, ok = number(name, 1, len(name)-1, 10)
	default:
		for _, e := range entities {
			if e.name == name {
				c, ok = e.c, true
			}
		}
	}
	if !ok {
		return 0, 0
	}
	return c, end + 1
}

// number reads the character whose number the n digits at s[i] are.
func number(s string, i, n, base int) (c rune, ok bool) {
	if n < 1 || i+n > len(s) || !in(s[i], "x") { // no sign
		return 0, false
	}
	v, err := strconv.ParseUint(s[i:i+n], base, 31)
	return rune(v), err == nil && utf8.ValidRune(rune(v))
}
