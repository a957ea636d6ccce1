package search

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/text/fold"
)

// minMisspelt is the length of the shortest word that is corrected, in letters. A shorter one
// still stands for one that differs in its accents.
const minMisspelt = 5

// maxWord is the length of the longest word that is looked at, in bytes. Text without blanks
// is no word.
const maxWord = 64

// maxRespelt is how many words of a term are corrected. Each is a pass over all conversations.
const maxRespelt = 4

// correctSpelling returns a term in which each word that conversations do not have is exchanged for the
// nearest one that they have, or "" if none is, and whether they have all words.
func correctSpelling(t *term, all []conversation.Conversation) (typed string, there bool) {
	if len(t.parts) > 1 && isLetters(foldText(t.typed)) { // an identifier, which can also stand there as one word
		if near, _ := nearestWord(strings.Join(t.parts, ""), all); near != "" {
			return near, false
		}
	}
	near := slices.Clone(t.parts)
	there = true
	for i := range near[:min(len(near), maxRespelt)] {
		word, exact := nearestWord(near[i], all)
		there = there && exact
		if word != "" {
			near[i] = word
		}
	}
	if slices.Equal(near, t.parts) {
		return "", there
	}
	return strings.Join(near, "_"), there
}

// isUnspaced reports whether a word is in a script that has no blanks between words.
func isUnspaced(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// splitPairs returns terms in which a word that no conversation has is exchanged for its pairs of
// neighbouring letters, if its script has no blanks between words: it can be several words.
func splitPairs(all []term) (apart []term) {
	for _, t := range all {
		letters := []rune(t.parts[0])
		if !t.isNowhere || len(t.parts) > 1 || len(letters) < 3 || len(letters) > maxWord || !isUnspaced(t.parts[0]) {
			apart = append(apart, t)
			continue
		}
		for i := range letters[1:] {
			apart = append(apart, newTerm(string(letters[i:i+2])))
		}
	}
	return apart
}

// nearestWord returns the most frequent word of conversations that differs from a word in
// accents, in one letter, in the order of two, or by a sign or blank within it; "" if there is
// none. If they have the word itself, or a longer one that begins with it, it returns "", true.
// It passes over files in whose bytes the text does not stand as it is.
func nearestWord(word string, all []conversation.Conversation) (near string, exact bool) {
	if utf8.RuneCountInString(word) < 3 {
		return "", false
	}
	var needles []needle // of ASCII words
	if len(word) >= minMisspelt && isLetters(word) {
		// One of the halves is right, unless the two letters in the middle changed places.
		m := len(word) / 2
		swapped := word[:m-1] + word[m:m+1] + word[m-1:m] + word[m+1:]
		needles = []needle{newNeedle(word[:m], true), newNeedle(word[m:], true), newNeedle(swapped, true)}
	}
	plain := fold.WithoutAccents(word)
	unspaced := isUnspaced(word)
	var mu sync.Mutex
	counts := map[string]int{}
	cli.Parallel(all, func(c conversation.Conversation) {
		r := scan.ReaderOf(c.File.Client)
		if r == nil {
			return
		}
		quiet := quietIn(r, c.File, true)
		if quiet == nil { // results are kept aside: search without them
			quiet = quietIn(r, c.File, false)
		}
		if quiet == nil {
			return
		}
		seen, checked, isThere := map[string]bool{}, map[string]bool{}, false
		// check takes each word in run, a run of letters of a record, that is like the word.
		check := func(run []byte) {
			isThere = isThere || unspaced && strings.Contains(foldText(string(run)), word)
			if len(run) > maxWord || checked[string(run)] {
				return
			}
			checked[string(run)] = true
			for _, there := range strings.FieldsFunc(foldText(string(run)), func(r rune) bool { return !isWordRune(r) }) {
				isThere = isThere || strings.HasPrefix(there, word)
				if isAlike(word, plain, there) {
					seen[there] = true
				}
			}
		}
		for _, part := range c.File.Files() {
			// What cannot be read was reported by the search.
			_, _ = conversation.Lines(part.Path, 0, func(record []byte, _ int64) bool {
				other := nextNonASCII(record, 0)
				if other == len(record) && firstNeedle(needles, record) < 0 || quiet(record) {
					return true
				}
				for _, n := range needles { // the words that have a half of an ASCII word
					for rest := record; ; {
						i := n.index(rest)
						if i < 0 {
							break
						}
						from, to := letterRun(rest, i, i+len(n.word))
						check(rest[from:to])
						if two := joinDivided(word, rest, from, to); two != "" {
							seen[two] = true
						}
						rest = rest[to:]
					}
				}
				for other < len(record) { // the words with letters that are not ASCII
					from, to := letterRun(record, other, other+1)
					if first, _ := utf8.DecodeRune(record[from:]); first >= utf8.RuneSelf || first|0x20 == rune(plain[0]) {
						check(record[from:to])
					}
					other = nextNonASCII(record, to)
				}
				return true
			})
		}
		mu.Lock()
		defer mu.Unlock()
		exact = exact || isThere
		for w := range seen {
			counts[w]++
		}
	})
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	if len(words) == 0 || exact {
		return "", exact
	}
	return words[0], false
}

// nextNonASCII returns where the first byte from a place on is that is not ASCII, or the length.
func nextNonASCII(b []byte, from int) int {
	for ; from+8 <= len(b) && binary.LittleEndian.Uint64(b[from:])&0x8080808080808080 == 0; from += 8 {
	}
	for from < len(b) && b[from] < utf8.RuneSelf {
		from++
	}
	return from
}

// letterRun returns where the letters around a place in a record of JSON begin and end.
func letterRun(record []byte, from, to int) (int, int) {
	isLetter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }
	for from > 0 && isLetter(record[from-1]) {
		from--
	}
	for to < len(record) && isLetter(record[to]) {
		to++
	}
	if from > 0 && record[from-1] == '\\' && from+1 < to { // \n
		from++
	}
	return from, to
}

// joinDivided returns the two parts of word, joined by _, if a record has them with a sign or blank
// between. record[from:to] is one of them. It returns "" if the other is not beside it.
func joinDivided(word string, record []byte, from, to int) string {
	const sign = "-_ ./:"
	one := strings.ToLower(string(record[from:to]))
	if other, ok := strings.CutSuffix(word, one); ok && other != "" && from > len(other) && strings.IndexByte(sign, record[from-1]) >= 0 {
		if begin, end := letterRun(record, from-2, from-1); strings.EqualFold(string(record[begin:end]), other) {
			return other + "_" + one
		}
	}
	if other, ok := strings.CutPrefix(word, one); ok && other != "" && to+len(other) < len(record) && strings.IndexByte(sign, record[to]) >= 0 {
		if begin, end := letterRun(record, to+1, to+2); strings.EqualFold(string(record[begin:end]), other) {
			return one + "_" + other
		}
	}
	return ""
}

// isAlike reports whether a folded word differs from another in its accents, or without them
// in one letter or in the order of two. plain is the word without accents.
func isAlike(word, plain, other string) bool {
	if word == other {
		return false
	}
	b, german := fold.WithoutAccents(other), germanPlain(other)
	if plain == b || plain == german || germanPlain(word) == b {
		return true
	}
	a := []rune(plain)
	return utf8.RuneCountInString(word) >= minMisspelt && (isNear(a, []rune(b)) || isNear(a, []rune(german)))
}

// germanPlain returns a word as it is written without umlauts.
func germanPlain(word string) string { return fold.WithoutAccents(umlauts.Replace(word)) }

var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa")

// isNear reports whether a word differs from another in one letter, or in the order of two.
func isNear(a, b []rune) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch len(a) - len(b) {
	case 0:
		return len(a) > 0 && slices.Equal(a[1:], b[1:]) || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && slices.Equal(a[2:], b[2:])
	case 1:
		return slices.Equal(a[1:], b)
	case -1:
		return slices.Equal(a, b[1:])
	}
	return false
}
