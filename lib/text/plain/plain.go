// Package plain removes from text what a terminal would obey, what reorders text, and what
// a model reads but a person does not see.
//
// It removes escape sequences (CSI, OSC, DCS and the like), control characters, bidi
// controls, Unicode's tag characters and everything without width: zero-width spaces,
// joiners, fillers, soft hyphens, variation selectors. Joiners, selectors and tags stay
// where scripts and emoji need them, one selector per emoji. Stacked accents stay up to
// what a language can have. Private-use characters stay: a reader sees a box, or an icon of
// the terminal's font.
//
// lib/text/redact searches the Visible form of a text, so that nothing hides a secret. Text
// is redacted first and made plain afterwards: see Env.Text and Env.Line in lib/cli.
package plain

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// replacement shows a reader that something was removed that does not belong into text.
const replacement = '\uFFFD'

// Line returns s as one plain line. It drops complete escape sequences and invisible
// characters. Control characters, bidi controls and invalid UTF-8 become U+FFFD, tabs and
// line ends a space.
func Line(s string) string { return clean(s, forLine) }

// Text is Line for several lines: it keeps line feeds and tabs, and turns CR LF and
// Unicode's other line ends into line feeds.
func Text(s string) string { return clean(s, forText) }

// Cut shortens s to most characters, including an ellipsis. It counts characters and not
// columns: a line could contain any number of characters without width.
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

// Visible returns the visible part of s, and the offsets in it where something was removed.
// Of an escape sequence, what look recognizes stays: the final letter if a word begins
// there, or the text that it carries.
func Visible(s string, look Keep) (shown string, seams []int) {
	c := cleaner{s: s, how: asShown, keep: look}
	return c.cleanAll(), c.seams
}

// Keep recognizes what must not be lost in an escape sequence.
type Keep struct {
	Begins func(string) bool // reports whether something begins at the text's start
	Holds  func(string) bool // reports whether the text contains something
}

// IsLine reports whether Line returns s unchanged.
func IsLine(s string) bool { return isClean(s, forLine) }

// IsText reports whether Text returns s unchanged.
func IsText(s string) bool { return isClean(s, forText) }

// Hidden reports whether r alone is invisible, or obeyed by a terminal.
func Hidden(r rune) bool { k := kindOf(r); return k != visible && k != mark }

// Heaps reports whether r is one mark too many on a character with n marks.
func Heaps(r rune, n int) bool { return kindOf(r) == mark && !stands(r, n) }

// IsMark reports whether r combines with the character before it.
func IsMark(r rune) bool { return kindOf(r) == mark }

type cleanMode int

const (
	forLine cleanMode = iota
	forText
	asShown
)

// kind is the effect of a character on a reader.
type kind int

const (
	visible   kind = iota
	control        // C0, DEL, C1, bidi
	lineEnd        // a line end other than line feed
	invisible      // has no width
	joiner         // invisible, but needed by some scripts and emoji
	selector       // invisible, but may be needed by the character before
	sign           // combines with the digits or letters after it
	tag            // invisible, but three flags consist of them
	blank          // has width but shows nothing
	mark           // combines with the character before it
)

// kindOf classifies a character. Line feed and tab are control characters here.
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
	case r == 0xad: // only visible at the end of a line
		return invisible
	case r < 0x300:
		return visible
	case r < 0x34f:
		return mark
	case r >= 0x370 && r < 0x483, r >= 0x48a && r < 0x591, r >= 0x1e00 && r < 0x200b, r >= 0x2010 && r < 0x2028,
		r >= 0x2100 && r < 0x2800, r >= 0x3100 && r < 0x3164, r >= 0x3165 && r < 0xa66f, r >= 0xac00 && r < 0xfb1e: // most of what stands in texts
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
	case r >= 0x600 && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2, r == 0x110bd, r == 0x110cd:
		return sign
	case r == 0x2800: // a pattern of no dots
		return blank
	case r >= 0xfe00 && r <= 0xfe0f, // variation selectors
		r >= 0x180b && r <= 0x180f: // Mongolian ones
		return selector
	case r == 0x34f, // joins graphemes
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer vowels that are not written
		r == 0x200b,                                    // a space of no width
		r >= 0x2060 && r <= 0x206f,                     // word joiner, invisible operators, old format controls
		r == 0xfeff,                                    // byte order mark
		r >= 0xfff0 && r <= 0xfffb,                     // interlinear annotation
		r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef, // no characters
		r >= 0x13430 && r <= 0x1345f,                              // how hieroglyphs are put together
		r >= 0x1bca0 && r <= 0x1bca3,                              // of shorthands
		r >= 0x1d173 && r <= 0x1d17a,                              // of music
		r >= 0xe0000 && r < 0xe0020, r >= 0xe0080 && r <= 0xe0fff: // more variation selectors
		return invisible
	case r >= 0xe0020 && r < 0xe0080:
		return tag
	case r >= 0x1f000 && r < 0x1fb00, r >= 0x20000:
		return visible
	case unicode.In(r, unicode.Mn, unicode.Me):
		return mark
	}
	return visible
}

// maxMarks and maxAccents bound the marks on a letter. Tibetan and biblical Hebrew need
// more than most. More than a few marks that belong to no script only cover the lines
// around.
const (
	maxMarks   = 8
	maxAccents = 4
)

// stands reports whether a mark fits on a character with n marks.
func stands(r rune, n int) bool {
	return n < maxAccents || n < maxMarks && !unicode.Is(unicode.Inherited, r)
}

// flags are the only tag sequences that turn a black flag into another: England's,
// Scotland's and Wales's.
var flags = []string{
	"\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
	"\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
}

// flag returns the tags at the beginning of s that make a flag of prev.
func flag(prev rune, s string) string {
	if prev == 0x1f3f4 {
		for _, f := range flags {
			if strings.HasPrefix(s, f) {
				return f
			}
		}
	}
	return ""
}

// isClean reports whether cleanAll would change nothing. Most texts are clean, and need no copy.
func isClean(s string, how cleanMode) bool {
	prev, marks := rune(-1), 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n := cleanASCII(s[i:], how)
			if n == 0 {
				return false
			}
			i += n
			prev, marks = rune(s[i-1]), 0
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return false
		}
		switch kindOf(r) {
		case visible:
			marks = 0
		case mark:
			if !stands(r, marks) {
				return false
			}
			marks++
		case joiner, selector, sign:
			if !needed(prev, r, s[i+n:]) {
				return false
			}
		case tag:
			f := flag(prev, s[i:])
			if f == "" {
				return false
			}
			n = len(f)
		default:
			return false
		}
		prev = r
		i += n
	}
	return true
}

// cleanASCII returns the length of the printable ASCII that s begins with, in a text also with one
// line feed or tab behind it.
func cleanASCII(s string, how cleanMode) int {
	n := 0
	for n < len(s) && s[n]-' ' < 0x7f-' ' { // a byte below ' ' wraps to a large one
		n++
	}
	if n < len(s) && how == forText && (s[n] == '\n' || s[n] == '\t') {
		n++
	}
	return n
}

// needed reports whether the characters around a joiner, selector or sign need it.
func needed(prev, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == 0x200c || r == 0x200d: // ZWNJ, ZWJ
		return shapes(prev) || r == 0x200d && pictures(next) && (pictures(prev) || prev == 0xfe0f)
	case r >= 0x180b && r <= 0x180f:
		return prev >= 0x1800 && prev < 0x18b0 && kindOf(prev) == visible
	case r == 0x70f: // over a Syriac word
		return next >= 0x710 && next < 0x750 && kindOf(next) == visible
	case r >= 0x110bd: // Kaithi
		return next >= 0x11080 && next < 0x110d0 && kindOf(next) == visible
	case r < 0x900: // Arabic
		return next >= '0' && next <= '9' || next >= 0x606 && next < 0x900 && kindOf(next) == visible
	case prev >= '0' && prev <= '9' || prev == '#' || prev == '*': // 1️⃣
		return r == 0xfe0f && next == 0x20e3
	}
	// ☎︎ and ☎️, ©️. After anything else, selectors could spell words that nobody sees.
	// Ideographs and operators are readable without their variants.
	return (r == 0xfe0e || r == 0xfe0f) && pictures(prev)
}

// pictures reports whether r is in a block that contains emoji.
func pictures(r rune) bool {
	switch {
	case r < 0x2190:
		return r == 0xa9 || r == 0xae || r == 0x203c || r == 0x2049 || r == 0x2122 || r == 0x2139
	case r < 0x2200, r >= 0x2300 && r < 0x2400, r >= 0x25a0 && r < 0x27c0, r >= 0x2b00 && r < 0x2c00, r >= 0x1f000 && r < 0x1fb00:
		return true
	}
	return r == 0x24c2 || r == 0x2934 || r == 0x2935 || r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299
}

// shapes reports whether r is of a script whose letters change with a joiner: Arabic and
// related scripts, those of India and Southeast Asia, Mongolian.
func shapes(r rune) bool {
	if r < 0x600 || r >= 0x1100 && r < 0x1700 || r >= 0x18b0 && r < 0xa800 || r >= 0xac00 {
		return false
	}
	k := kindOf(r)
	return k == mark || k == visible && (unicode.IsLetter(r) || unicode.IsMark(r))
}

func clean(s string, how cleanMode) string {
	if isClean(s, how) { // mutant always: TestPlain
		return s
	}
	c := cleaner{s: s, how: how}
	return c.cleanAll()
}

// cleaner makes one pass over a text.
type cleaner struct {
	s     string
	how   cleanMode
	keep  Keep // nil functions for a text that was looked through
	b     strings.Builder
	prev  rune  // last rune written; -1 for none
	marks int   // on prev
	seams []int // offsets where something was removed

	doubted int // how often the text behind an introducer was examined
}

func (c *cleaner) putRune(r rune) {
	c.add(r)
	c.marks = 0
}

// add writes a rune that combines with the one before.
func (c *cleaner) add(r rune) {
	c.b.WriteRune(r)
	c.prev = r
}

// cleanAll returns the text without what how does not allow (see Line, Text and Visible).
func (c *cleaner) cleanAll() string {
	s := c.s
	c.prev = -1
	c.b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && n == 1
		if bad && s[i] == 0x9b { // CSI where text is not UTF-8
			r = 0x9b
		}
		switch k := kindOf(r); {
		case introduces(r):
			if end := c.sequenceEnd(i, n, r); end > i {
				c.leaveOut()
				i = end
				continue
			}
			c.replaceOdd()
		case bad, r == utf8.RuneError && c.how == asShown: // U+FFFD may have been invalid before
			c.replaceOdd()
		case k == visible:
			c.putRune(r)
		case k == mark && stands(r, c.marks):
			c.add(r)
			c.marks++
		case k == blank:
			c.putRune(' ')
		case k == tag && flag(c.prev, s[i:]) != "":
			f := flag(c.prev, s[i:])
			c.b.WriteString(f)
			c.prev, n = 0xe007f, len(f)
		case r == '\r' && c.how != forLine && strings.HasPrefix(s[i+n:], "\n"): // the first half of a line end
		case r == '\r', c.how == forLine && (r == '\n' || r == '\t' || k == lineEnd):
			c.putRune(' ')
		case r == '\n', r == '\t':
			c.putRune(r)
		case k == lineEnd:
			c.putRune('\n')
		case k == control:
			c.replaceOdd()
		case (k == joiner || k == selector || k == sign) && needed(c.prev, r, s[i+n:]):
			c.add(r)
		default:
			c.leaveOut()
		}
		i += n
	}
	return c.b.String()
}

// replaceOdd handles a character that does not belong into any text.
func (c *cleaner) replaceOdd() {
	if c.how == asShown {
		c.leaveOut()
	} else {
		c.putRune(replacement)
	}
}

// leaveOut records that something was removed here.
func (c *cleaner) leaveOut() {
	if at := c.b.Len(); c.how == asShown && (len(c.seams) == 0 || c.seams[len(c.seams)-1] < at) {
		c.seams = append(c.seams, at)
	}
}

func introduces(r rune) bool {
	switch r {
	case 0x1b, 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f:
		return true
	}
	return false
}

const (
	maxControl = 64   // longer CSI sequences are unknown to terminals
	maxString  = 4096 // of a window title, link address or picture
)

// sequenceEnd returns the end of the escape sequence at s[i], which begins with r of n bytes,
// or i if it is incomplete.
func (c *cleaner) sequenceEnd(i, n int, r rune) int {
	p := i + n
	if r == 0x1b {
		if p == len(c.s) {
			return i
		}
		switch c.s[p] {
		case '[': // CSI
			r = 0x9b
		case ']': // OSC
			r = 0x9d
		case 'P', 'X', '^', '_': // DCS, SOS, PM and APC, which end alike
			r = 0x90
		default:
			return cmp.Or(c.escape(p), i)
		}
		p++
	}
	if r == 0x9b {
		return cmp.Or(c.controlSequence(p), i)
	}
	return cmp.Or(c.controlString(p), i)
}

// escape returns the end of a sequence of ESC and the letter s[p], or 0.
//
// It recognizes only the few that programs write. Mostly, an escape that looks like another
// is followed by a word.
func (c *cleaner) escape(p int) int {
	switch c.s[p] {
	case '(', ')': // a character set
		if p+1 < len(c.s) && strings.IndexByte("0AB", c.s[p+1]) >= 0 {
			return p + 2
		}
	case '7', '8', '=', '>', 'M', 'c', '\\':
		if c.protectedBegins(p) || c.isDoubtful(p) {
			return p // the letter stays, because it can be a word's
		}
		return p + 1
	}
	return 0
}

// controlSequence returns the end of the CSI sequence whose introducer ends at s[p], or 0
// if it is incomplete.
func (c *cleaner) controlSequence(p int) int {
	s, from, end := c.s, p, min(len(c.s), p+maxControl)
	for p < end && s[p] >= 0x30 && s[p] <= 0x3f {
		p++
	}
	plain := p
	for p < end && s[p] >= 0x20 && s[p] <= 0x2f {
		p++
	}
	switch {
	case p == end || s[p] < 0x40 || s[p] > 0x7e:
		return 0
	case c.protectedBegins(p):
		return p // the final letter stays
	case p == plain && strings.IndexByte("mKJHfhlABCDGsu", s[p]) >= 0 && (s[p] == 'm' || !strings.Contains(s[from:p], ":")):
		return p + 1 // usual in programs
	case c.isDoubtful(from):
		return from // only the introducer goes
	}
	return p + 1
}

// controlString returns the end of the control string whose introducer ends at s[p], or 0
// if it is incomplete.
func (c *cleaner) controlString(p int) int {
	s, from := c.s, p
	for end := min(len(s), p+maxString); p < end; p++ {
		last := 0
		switch {
		case s[p] == 0x07:
			last = 1
		case strings.HasPrefix(s[p:], "\x1b\\"), strings.HasPrefix(s[p:], "\u009c"): // ST
			last = 2
		case s[p] == 0x1b, s[p] == '\n': // it was cut off
			return 0
		}
		if last > 0 {
			if c.keep.Holds != nil && c.keep.Holds(s[from:p]) {
				return from // its text stays
			}
			return p + last
		}
	}
	return 0
}

// protectedBegins reports whether something that must not be lost begins at s[p].
func (c *cleaner) protectedBegins(p int) bool { return c.keep.Begins != nil && c.keep.Begins(c.s[p:]) }

// isDoubtful reports whether a sequence that programs hardly write should not count as one,
// because something that must not be lost follows its introducer.
func (c *cleaner) isDoubtful(p int) bool {
	if c.keep.Holds == nil {
		return false
	}
	c.doubted++
	return c.doubted > maxDoubts || c.keep.Holds(c.s[p:min(len(c.s), p+maxDoubt)])
}

const (
	maxDoubt  = 128  // bytes that are examined behind an introducer
	maxDoubts = 1000 // bounds the calls, so that the time stays linear
)
