package history

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
)

// needle is a word that stands in the bytes of a file wherever it stands in the
// words of the conversation.
type needle struct {
	word string // in small letters, where they do not matter
	fold bool   // small and capital letters are the same
	rare int    // where in word its rarest byte is
}

// needles returns words of which every text that the pattern matches holds one;
// none where there is no such thing to say.
func needles(re *syntax.Regexp) []needle {
	return best(required(re))
}

// required returns what every match holds: of each of the alternatives that are
// returned, one.
func required(re *syntax.Regexp) (all [][]needle) {
	switch re.Op {
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0
		for _, word := range words(re.Rune, fold) {
			all = append(all, []needle{newNeedle(word, fold)})
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			all = append(all, required(sub)...)
		}
	case syntax.OpAlternate:
		var either []needle
		for _, sub := range re.Sub {
			one := best(required(sub))
			if one == nil {
				return nil
			}
			either = append(either, one...)
		}
		if len(either) <= maxNeedles {
			return [][]needle{either}
		}
	}
	return all
}

// maxNeedles is up to how many words looking for each of them is faster than to
// read everything.
const maxNeedles = 16

// best is what is the rarest of all.
func best(all [][]needle) []needle {
	rank := func(either []needle) int {
		worst := either[0].rarity()
		for _, n := range either {
			worst = min(worst, n.rarity())
		}
		return worst - len(either)
	}
	var found []needle
	for _, either := range all {
		if found == nil || rank(either) > rank(found) {
			found = either
		}
	}
	return found
}

// words returns the parts of a literal that every encoder of JSON writes as they
// are, and that no reader puts together of several: no blanks, and of the signs
// only those that nobody escapes.
func words(literal []rune, fold bool) (all []string) {
	var b strings.Builder
	for _, r := range append(slices.Clone(literal), ' ') {
		if plainRune(r, fold) {
			if fold && r >= 'A' && r <= 'Z' {
				r |= 0x20
			}
			b.WriteRune(r)
		} else if b.Len() > 0 {
			all = append(all, b.String())
			b.Reset()
		}
	}
	return all
}

func plainRune(r rune, fold bool) bool {
	switch {
	case fold && (r == 'k' || r == 'K' || r == 's' || r == 'S'):
		return false // K (Kelvin) and ſ are the same letters, and other bytes
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r < 0x80 && strings.ContainsRune("!#$%()*,-.;?@[]^_{|}~", r)
}

// frequent are the bytes of transcripts, the most frequent ones first.
const frequent = ` e"tsanroi,:dclup-fmh10.24g_5b(){}/wy36879k=vTxSI[]|EUqj\!RCBDFAP;N&O'%Z<+*ML>WHGJKz#XV?Y@Q$~^`

// rareness is the place of a byte in frequent; what is not in it is the rarest.
func rareness(c byte) int {
	if i := strings.IndexByte(frequent, c); i >= 0 {
		return i
	}
	return len(frequent)
}

func newNeedle(word string, fold bool) needle {
	n := needle{word: word, fold: fold}
	for i := range len(word) {
		if rareness(word[i]) > rareness(word[n.rare]) {
			n.rare = i
		}
	}
	return n
}

// rarity is the greater, the fewer places there will be that hold the needle.
func (n needle) rarity() int { return 12*len(n.word) + rareness(n.word[n.rare]) }

// in says whether b holds the needle.
func (n needle) in(b []byte) bool { return n.index(b) >= 0 }

// index is where the needle begins in b, -1 where it does not. It goes from one
// of its rarest byte to the next, which the processor finds by itself.
func (n needle) index(b []byte) int {
	rest := len(n.word) - n.rare // from the rarest byte on
	c := n.word[n.rare]
	capital := c
	if n.fold && c >= 'a' && c <= 'z' {
		capital = c &^ 0x20
	}
	for at := n.rare; at+rest <= len(b); at++ {
		i := bytes.IndexByte(b[at:], c)
		if capital != c {
			end := len(b)
			if i >= 0 {
				end = at + i
			}
			if j := bytes.IndexByte(b[at:end], capital); j >= 0 {
				i = j
			}
		}
		if i < 0 {
			return -1
		}
		at += i
		if from := at - n.rare; from+len(n.word) <= len(b) && n.is(b[from:from+len(n.word)]) {
			return from
		}
	}
	return -1
}

func (n needle) is(b []byte) bool {
	if !n.fold {
		return string(b) == n.word
	}
	for i := range len(n.word) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != n.word[i] {
			return false
		}
	}
	return true
}
