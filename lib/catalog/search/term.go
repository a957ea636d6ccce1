package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/conversation"
	"gt/lib/text/fold"
	"gt/lib/text/lazyregexp"
)

// term is a word that a search asks for, or several that stand side by side. Between them
// may be blanks, line breaks and signs.
type term struct {
	typed     string
	parts     []string // folded; one without letters and digits is literal
	stem      string   // of the last part, unless signs divide them: it also counts with another ending
	optional  bool     // a word such as "the", which only adds to the rank
	isCommon  bool     // most conversations have it, see isEnough
	isNowhere bool     // no conversation has it, so it may be several words without blanks
	needles   []needle // one of them is in the bytes of each text that has the term

	// textOf returns the text of an entry in which the term must be; nil for a word, which
	// may be in any text.
	textOf func(conversation.Entry) string
	// matches reports whether that text has the term; nil compares words.
	matches func(text string) bool
}

// foldText returns a text as words are compared: in lower case, and in one Unicode form. İ stays:
// the bytes of a text that has it are searched for no i.
func foldText(s string) string {
	parts := strings.Split(fold.Name(s), "İ")
	for i := range parts {
		parts[i] = strings.ToLower(parts[i])
	}
	return strings.ReplaceAll(strings.Join(parts, "İ"), "ς", "σ")
}

// terms returns the words in what a person typed, each once. What is in double quotes is one term.
func terms(typed string) (all []term) {
	for i, part := range strings.Split(typed, `"`) {
		words := strings.Fields(part)
		if i%2 == 1 && len(words) > 0 {
			words = []string{strings.Join(words, " ")}
		}
		for _, w := range words {
			t := newTerm(w)
			if !slices.ContainsFunc(all, func(o term) bool { return slices.Equal(o.parts, t.parts) }) {
				all = append(all, t)
			}
		}
	}
	// A sign or a word such as "the" has to be found only if there is nothing else to look for.
	common := func(t term) bool {
		return len(t.parts) == 1 && (strings.Contains(stopWords, " "+t.parts[0]+" ") || strings.IndexFunc(t.parts[0], isWordRune) < 0)
	}
	if slices.ContainsFunc(all, func(t term) bool { return !common(t) }) {
		for i := range all {
			all[i].optional = common(all[i])
		}
	}
	return all
}

const stopWords = " a an the of to in on at by for from with as and or but if so is are was were be been am do does did done can could will would should has have had " +
	"it its this that these those there here i we you he she they me us my our your what when where which who why how not no about into than then again "

// newTerm returns the term for a typed word. Its needle, by which texts without the term are
// passed over fast, is the rarest word that all matches have.
func newTerm(typed string) term {
	t := term{typed: typed, parts: strings.FieldsFunc(foldText(splitCamel(typed)), func(r rune) bool { return !isWordRune(r) })}
	if len(t.parts) == 0 {
		t.parts = []string{foldText(typed)}
	}
	last := len(t.parts) - 1
	// The words of an identifier are stemmed as one, and words that a sign divides are not stemmed.
	if whole := strings.Join(t.parts, ""); last == 0 || strings.Contains(foldText(typed), whole) {
		if s, ok := strings.CutPrefix(stem(whole), strings.Join(t.parts[:last], "")); ok {
			t.stem = s
		}
	}
	var found []string
	for i := range t.parts {
		p := t.start(i)
		// Not fold: folded text has no letter that comes from other bytes than its own.
		found = append(found, plainWords([]rune(p), false)...)
	}
	for _, w := range found {
		if n := newNeedle(w, true); t.needles == nil || n.rarity() > t.needles[0].rarity() {
			t.needles = []needle{n}
		}
	}
	return t
}

// start returns the letters that every text with the term has of a part: its stem, or all.
func (t *term) start(i int) string {
	if i == len(t.parts)-1 && t.stem != "" {
		return t.stem
	}
	return t.parts[i]
}

// camel is a place between two words of an identifier, such as deductStock or HTTPServer.
var camel = lazyregexp.New(`([a-z]{2})([A-Z]{2}|[A-Z][a-z])|([A-Z]{2})([A-Z][a-z])`)

// splitCamel puts blanks between the words of identifiers: a term is also found where its words
// stand side by side without a blank.
func splitCamel(typed string) string { return camel().ReplaceAllString(typed, "$1$3 $2$4") }

func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= utf8.RuneSelf && unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// endings are those that a word may have instead of its own. stem removes the first five, and s.
var endings = []string{"ing", "ies", "ied", "es", "ed", "er", "ers", "s", "y", "e", ""}

// stem returns an English word without its ending, or "" if it has none to remove.
func stem(word string) string {
	for _, end := range endings[:5] {
		if s, ok := strings.CutSuffix(word, end); ok && len(s) >= 4 && isLetters(s) {
			return s
		}
	}
	if s, ok := strings.CutSuffix(word, "s"); ok && len(s) >= 4 && isLetters(s) && !strings.HasSuffix(s, "s") {
		return s
	}
	return ""
}

func isLetters(s string) bool { return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" }

// maxGap is the number of bytes that may be between the words of a term.
const maxGap = 12

// find calls each with the places in a folded text that have the term, until it returns
// false. The quality is 1 for whole words and less for parts of words.
func (t *term) find(text string, each func(at, end int, quality float64) bool) {
	head := t.start(0)
	for from := 0; ; {
		i := strings.Index(text[from:], head)
		if i < 0 {
			return
		}
		at := from + i
		from = at + len(head)
		end, quality := t.match(text, at)
		if quality == 0 {
			continue
		}
		if from = max(from, end); !each(at, end, quality) {
			return
		}
	}
}

// match returns where the term ends whose first word or stem begins at a place, and how well it
// fits: 1 for whole words, 0.7 for the beginning of a word or another ending, 0.35 within a word,
// 0 if the term is not there.
func (t *term) match(text string, at int) (end int, quality float64) {
	first := t.parts[0]
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	begins := at == 0 || !isWordRune(before)
	end = at
	for i, part := range t.parts {
		// Blanks and signs may stand between two parts, but no letters.
		start, next := t.start(i), end
		for i > 0 && next < len(text) && next-end <= maxGap && !strings.HasPrefix(text[next:], start) {
			r, size := utf8.DecodeRuneInString(text[next:])
			if isWordRune(r) {
				return 0, 0
			}
			next += size
		}
		if !strings.HasPrefix(text[next:], start) {
			return 0, 0
		}
		if end = next + len(part); strings.HasPrefix(text[next:], part) {
			continue
		}
		from := next + len(start) // only the stem is there: what follows must be another ending
		end = from
		for end < len(text) && text[end] >= 'a' && text[end] <= 'z' {
			end++
		}
		if begins && slices.Contains(endings, text[from:end]) {
			return end, 0.7
		}
		return 0, 0
	}
	after, _ := utf8.DecodeRuneInString(text[end:])
	ends := end == len(text) || !isWordRune(after)
	ascii := first[0] < utf8.RuneSelf && isWordRune(rune(first[0]))
	switch short := len(t.parts) == 1 && ascii; {
	case begins && ends, !ascii: // a sign, or a script that may have no blanks
		return end, 1
	case short && len(first) <= 2, short && len(first) == 3 && !begins:
		return 0, 0 // in too many other words
	case first[0] >= '0' && first[0] <= '9' && !begins && before >= '0' && before <= '9':
		return 0, 0 // of another number
	case begins:
		return end, 0.7
	}
	return end, 0.35
}
