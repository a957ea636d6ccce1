// Package plain makes text that came from elsewhere plain: nothing is in it
// that a terminal would obey, that turns text around, or that a model reads and
// a person does not see.
//
// Out go escape sequences (CSI, OSC, DCS and their like), control characters,
// bidi controls, Unicode's tag characters and all that takes no place: spaces
// of no width, joiners, fillers, soft hyphens, variation selectors. Joiners and
// selectors stay where scripts and emoji need them.
//
// lib/redact looks for secrets in what is Shown of a text, so that nothing of
// this hides one from it. A text is redacted as it came, and made plain for
// whoever reads it after that: see Env.Text and Env.Line in lib/cli.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// replacement stands where something was taken out that has no place in a text,
// so that a reader sees that it was not clean.
const replacement = '\uFFFD'

// Line returns s as one plain line. Escape sequences that are whole, and
// characters that nobody sees, are left out; control characters, bidi controls
// and bytes that are no UTF-8 each become U+FFFD; tabs and line ends become a
// space.
func Line(s string) string { return clean(s, forLine) }

// Text is Line for a text of several lines: it keeps line feeds and tabs, drops
// the carriage return of a CR LF, and what Unicode knows for an end of a line
// becomes one.
func Text(s string) string { return clean(s, forText) }

// Cut shortens s to at most most characters, counted as they are and not by the
// columns that they take: of those that take none, a line of a terminal would hold
// any number. What is cut ends in an ellipsis.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n, end := 0, 0
	for i := range s {
		if n == most-1 {
			end = i
		}
		if n == most {
			return s[:end] + "…"
		}
		n++
	}
	return s
}

// Shown returns what a reader is shown of s, where nothing stands for what was
// left out, and the places in it where something was, in their order. Of an escape
// sequence more than its first characters stays where look sees something in it:
// the letter that ends it, where a word begins there, or the text that it carries.
func Shown(s string, look Look) (shown string, seams []int) {
	c := cleaner{s: s, how: asShown, look: look}
	return c.all(), c.seams
}

// Look is what must not be lost in an escape sequence.
type Look struct {
	Begins func(string) bool // reports whether something begins the text
	Holds  func(string) bool // reports whether something stands in it
}

// IsLine reports whether Line leaves s as it is.
func IsLine(s string) bool { return isClean(s, forLine) }

// IsText reports whether Text leaves s as it is.
func IsText(s string) bool { return isClean(s, forText) }

// Hidden reports whether r, on its own, is nothing that a reader sees, or
// something that a terminal obeys.
func Hidden(r rune) bool { return kindOf(r) != visible }

// how is what becomes of what is not plain.
type how int

const (
	forLine how = iota
	forText
	asShown
)

// kind is what a character is to a reader.
type kind int

const (
	visible   kind = iota
	control        // C0, DEL, C1, bidi
	lineEnd        // what ends a line and is no line feed
	invisible      // takes no place
	joiner         // invisible, but some scripts and emoji need it
	selector       // invisible, but what is before it can need it
)

// kindOf sorts a character. A line feed and a tab are control characters here.
func kindOf(r rune) kind {
	switch {
	case r < 0x20:
		if r == '\v' || r == '\f' {
			return lineEnd
		}
		return control
	case r < 0x7f:
		return visible
	case r < 0xa0:
		if r == 0x85 {
			return lineEnd
		}
		return control
	case r == 0xad: // a hyphen that is only seen at the end of a line
		return invisible
	case r < 0x34f:
		return visible
	}
	switch {
	case r == 0x2028, r == 0x2029:
		return lineEnd
	case r == 0x061c, r == 0x200e, r == 0x200f, // bidi marks
		r >= 0x202a && r <= 0x202e, // bidi embeddings and overrides
		r >= 0x2066 && r <= 0x2069: // bidi isolates
		return control
	case r == 0x200c, r == 0x200d:
		return joiner
	case r >= 0xfe00 && r <= 0xfe0f, // variation selectors
		r >= 0x180b && r <= 0x180f: // Mongolian ones
		return selector
	case r == 0x34f, // joins graphemes
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer vowels that are not written
		r == 0x200b,                // a space of no width
		r >= 0x2060 && r <= 0x206f, // word joiner, invisible operators, old format controls
		r == 0xfeff,                // byte order mark
		r >= 0xfff0 && r <= 0xfffb, // interlinear annotation
		r == 0xfffe, r == 0xffff, r >= 0xfdd0 && r <= 0xfdef,
		r >= 0x13430 && r <= 0x1345f, // how hieroglyphs are put together
		r >= 0x1bca0 && r <= 0x1bca3, // of shorthands
		r >= 0x1d173 && r <= 0x1d17a, // of music
		r >= 0xe0000 && r <= 0xe0fff: // tags, and more variation selectors
		return invisible
	}
	return visible
}

func isClean(s string, how how) bool {
	prev := rune(-1)
	for i := 0; i < len(s); {
		if from := i; s[i] < utf8.RuneSelf {
			for i < len(s) && s[i]-' ' < 0x7f-' ' {
				i++
			}
			if i < len(s) && s[i] < utf8.RuneSelf {
				if how != forText || s[i] != '\n' && s[i] != '\t' {
					return false
				}
				i++
			}
			if i > from {
				prev = rune(s[i-1])
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return false
		}
		switch kindOf(r) {
		case visible:
		case joiner, selector:
			if !needed(prev, r, s[i+n:]) {
				return false
			}
		default:
			return false
		}
		prev = r
		i += n
	}
	return true
}

// needed reports whether a joiner or selector is a part of what stands around
// it: prev is what is before it, rest what follows.
func needed(prev, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == 0x200c || r == 0x200d: // ZWNJ, ZWJ
		return shapes(prev) || r == 0x200d && pictures(next) && (pictures(prev) || prev == 0xfe0f)
	case r >= 0x180b && r <= 0x180f:
		return prev >= 0x1800 && prev < 0x18b0 && kindOf(prev) == visible
	case prev >= '0' && prev <= '9' || prev == '#' || prev == '*': // 1️⃣
		return r == 0xfe0f && next == 0x20e3
	}
	if r == 0xfe0e || r == 0xfe0f { // ☎︎ and ☎️, ©️
		return pictures(prev) || prev == 0xa9 || prev == 0xae || prev == 0x203c || prev == 0x2049 || prev == 0x2122 || prev == 0x2139
	}
	// Other forms of ideographs and of operators. Behind anything else, of which each
	// could have one of sixteen, they would be words that nobody sees.
	return r <= 0xfe02 && (prev >= 0x3400 && prev <= 0x9fff || prev >= 0x2200 && prev <= 0x2aff)
}

// pictures reports whether r can be an emoji.
func pictures(r rune) bool { return r >= 0x2190 && r != replacement && kindOf(r) == visible }

// shapes reports whether r is of a script in which a joiner changes how its
// letters are written: Arabic and its neighbours, those of India and further
// Asia, Mongolian.
func shapes(r rune) bool {
	return (r >= 0x600 && r < 0x1100 || r >= 0x1700 && r < 0x18b0 || r >= 0xa800 && r < 0xac00) &&
		kindOf(r) == visible && (unicode.IsLetter(r) || unicode.IsMark(r))
}

func clean(s string, how how) string {
	if isClean(s, how) {
		return s
	}
	c := cleaner{s: s, how: how}
	return c.all()
}

// cleaner goes once through a text.
type cleaner struct {
	s     string
	how   how
	look  Look // nil functions for a text that was looked through
	b     strings.Builder
	prev  rune  // what was put last, -1 for nothing
	seams []int // where something was left out

	doubted int // how often doubts was asked
}

func (c *cleaner) put(r rune) {
	c.b.WriteRune(r)
	c.prev = r
}

func (c *cleaner) all() string {
	s := c.s
	c.prev = -1
	c.b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && n == 1
		if bad && s[i] == 0x9b { // it introduces a sequence where text is no UTF-8
			r = 0x9b
		}
		switch k := kindOf(r); {
		case introduces(r):
			if end := c.sequence(i, n, r); end > i {
				c.leaveOut()
				i = end
				continue
			}
			c.odd()
		case bad, r == utf8.RuneError && c.how == asShown: // or it was bad once
			c.odd()
		case k == visible:
			c.put(r)
		case r == '\r' && c.how != forLine && strings.HasPrefix(s[i+n:], "\n"): // the first half of a line's end
		case r == '\r', c.how == forLine && (r == '\n' || r == '\t' || k == lineEnd):
			c.put(' ')
		case r == '\n', r == '\t':
			c.put(r)
		case k == lineEnd:
			c.put('\n')
		case k == control:
			c.odd()
		case k != invisible && needed(c.prev, r, s[i+n:]):
			c.put(r)
		default:
			c.leaveOut()
		}
		i += n
	}
	return c.b.String()
}

// odd is what becomes of a character that has no place in any text.
func (c *cleaner) odd() {
	if c.how == asShown {
		c.leaveOut()
	} else {
		c.put(replacement)
	}
}

// leaveOut notes that something stood here.
func (c *cleaner) leaveOut() {
	if at := c.b.Len(); c.how == asShown && (len(c.seams) == 0 || c.seams[len(c.seams)-1] < at) {
		c.seams = append(c.seams, at)
	}
}

// introduces reports whether an escape sequence begins with r.
func introduces(r rune) bool {
	switch r {
	case 0x1b, 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f:
		return true
	}
	return false
}

const (
	maxControl = 64   // of a CSI sequence; longer ones are none that a terminal knows
	maxString  = 4096 // of a window's title, a link's address, a picture
)

// sequence returns where the escape sequence ends that begins at s[i] with r, of
// n bytes; i where it is not whole.
//
// Of those that consist of ESC and a letter none is left out but the few that
// programs write, for in most texts where one seems to stand a word follows the
// escape.
func (c *cleaner) sequence(i, n int, r rune) int {
	s, p := c.s, i+n
	if r == 0x1b {
		if p == len(s) {
			return i
		}
		switch s[p] {
		case '[':
			r = 0x9b
		case ']':
			r = 0x9d
		case 'P', 'X', '^', '_':
			r = 0x90
		case '(', ')': // a set of characters
			if p+1 < len(s) && strings.IndexByte("0AB", s[p+1]) >= 0 {
				return p + 2
			}
			return i
		case '7', '8', '=', '>', 'M', 'c', '\\':
			if c.begins(p) || c.doubts(p) {
				return p
			}
			return p + 1
		default:
			return i
		}
		p++
	}
	from := p
	if r == 0x9b {
		end := min(len(s), p+maxControl)
		for p < end && s[p] >= 0x30 && s[p] <= 0x3f {
			p++
		}
		plain := p
		for p < end && s[p] >= 0x20 && s[p] <= 0x2f {
			p++
		}
		switch {
		case p == end || s[p] < 0x40 || s[p] > 0x7e:
			return i
		case c.begins(p):
			return p
		case p == plain && strings.IndexByte("mKJHfhlABCDGsu", s[p]) >= 0 && (s[p] == 'm' || !strings.Contains(s[from:p], ":")):
			return p + 1 // what programs write
		case c.doubts(from):
			return from
		}
		return p + 1
	}
	for end := min(len(s), p+maxString); p < end; p++ {
		last := 0
		switch {
		case s[p] == 0x07:
			last = 1
		case strings.HasPrefix(s[p:], "\x1b\\"), strings.HasPrefix(s[p:], "\u009c"): // ST
			last = 2
		case s[p] == 0x1b, s[p] == '\n': // it was cut off
			return i
		}
		if last > 0 {
			if c.look.Holds != nil && c.look.Holds(s[from:p]) {
				return from
			}
			return p + last
		}
	}
	return i
}

// begins reports whether something that must not be lost begins at s[p].
func (c *cleaner) begins(p int) bool { return c.look.Begins != nil && c.look.Begins(c.s[p:]) }

// doubts reports whether a sequence that hardly any program writes is better taken
// for none: something that must not be lost stands right behind where it begins.
func (c *cleaner) doubts(p int) bool {
	if c.look.Holds == nil {
		return false
	}
	c.doubted++
	return c.doubted > maxDoubts || c.look.Holds(c.s[p:min(len(c.s), p+maxDoubt)])
}

const (
	maxDoubt  = 128  // how much of what follows is looked at
	maxDoubts = 1000 // and how often, so that the time stays linear
)
