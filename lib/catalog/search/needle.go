package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
)

// needle is a word that stands in the bytes of a file wherever it stands in the
// words of the conversation.
type needle struct {
	word string // in small letters, where they do not matter
	fold bool   // small and capital letters are the same

	rare, second int // where in word its rarest bytes are
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
	// Letters that stand together go together: q and u.
	away := func(i int) int { return max(i-n.rare, n.rare-i) }
	n.second = n.rare
	for i := range len(word) {
		better := rareness(word[i]) > rareness(word[n.second])
		if away(i) > 1 && (away(n.second) < 2 || better) || away(n.second) < 2 && away(i) > away(n.second) {
			n.second = i
		}
	}
	return n
}

// rarity is the greater, the fewer places there will be that hold the needle.
func (n needle) rarity() int { return 12*len(n.word) + rareness(n.word[n.rare]) }

// index is where the needle begins in b, -1 where it does not. It goes from one
// of its rarest byte to the next, which the processor finds by itself, unless they
// come too often: then it looks for its two rarest.
func (n needle) index(b []byte) int {
	c := n.word[n.rare]
	capital := c
	if n.fold && c >= 'a' && c <= 'z' {
		capital = c &^ 0x20
	}
	rest := len(n.word) - n.rare
	at := n.rare           // of the rarest byte
	small, large := -1, -1 // where the next of each is
	for seen := 0; at+rest <= len(b); seen++ {
		if seen*often > at+often*8 {
			return n.pairs(b, at-n.rare)
		}
		if small < at {
			if small = bytes.IndexByte(b[at:], c); small < 0 {
				small = len(b)
			} else {
				small += at
			}
		}
		next := small
		if capital != c {
			if large < at {
				if large = bytes.IndexByte(b[at:], capital); large < 0 {
					large = len(b)
				} else {
					large += at
				}
			}
			next = min(small, large)
		}
		if next == len(b) {
			return -1
		}
		at = next
		if j := at + n.second - n.rare; j < len(b) && b[j]|0x20 == n.word[n.second]|0x20 && n.at(b, at-n.rare) {
			return at - n.rare
		}
		at++
	}
	return -1
}

// often is in how many bytes the rarest has to be for looking at each to cost more
// than looking for two.
const often = 96

// pairs is index from a place on.
func (n needle) pairs(b []byte, at int) int {
	var small uint64
	if n.fold {
		small = ones * 0x20
	}
	one, two := ones*uint64(n.word[n.rare])|small, ones*uint64(n.word[n.second])|small
	for at+len(n.word)+stride <= len(b) {
		x := b[at+n.rare : len(b)-len(n.word)+n.rare]
		y := b[at+n.second : len(b)-len(n.word)+n.second]
		if n.fold {
			at += pair(x, y, one, two, small)
		} else {
			at += exactPair(x, y, one, two)
		}
		// Where one seems to be, it need not be: a zero makes the byte above it look
		// like one.
		for end := min(at+stride, len(b)-len(n.word)-7); at < end; at += 8 {
			v := ((binary.LittleEndian.Uint64(b[at+n.rare:]) | small) ^ one) | ((binary.LittleEndian.Uint64(b[at+n.second:]) | small) ^ two)
			for z := (v - ones) &^ v & highs; z != 0; z &= z - 1 {
				if from := at + bits.TrailingZeros64(z)/8; n.at(b, from) {
					return from
				}
			}
		}
	}
	for ; at+len(n.word) <= len(b); at++ {
		if n.at(b, at) {
			return at
		}
	}
	return -1
}

const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	stride = 32
)

// pair is how many bytes of x and y can be passed over, in strides, until one
// comes that may be the one in x and the other in y at the same place. It looks
// at eight places at once: a byte of a number is zero where both are.
func pair(x, y []byte, one, two, small uint64) int {
	all := len(x)
	for len(x) >= stride && len(y) >= stride {
		v0 := ((binary.LittleEndian.Uint64(x) | small) ^ one) | ((binary.LittleEndian.Uint64(y) | small) ^ two)
		v1 := ((binary.LittleEndian.Uint64(x[8:]) | small) ^ one) | ((binary.LittleEndian.Uint64(y[8:]) | small) ^ two)
		v2 := ((binary.LittleEndian.Uint64(x[16:]) | small) ^ one) | ((binary.LittleEndian.Uint64(y[16:]) | small) ^ two)
		v3 := ((binary.LittleEndian.Uint64(x[24:]) | small) ^ one) | ((binary.LittleEndian.Uint64(y[24:]) | small) ^ two)
		if ((v0-ones)&^v0|(v1-ones)&^v1|(v2-ones)&^v2|(v3-ones)&^v3)&highs != 0 {
			break
		}
		x, y = x[stride:], y[stride:]
	}
	return all - len(x)
}

// exactPair is pair where small and capital letters are told apart, for a fifth less.
func exactPair(x, y []byte, one, two uint64) int {
	all := len(x)
	for len(x) >= stride && len(y) >= stride {
		v0 := (binary.LittleEndian.Uint64(x) ^ one) | (binary.LittleEndian.Uint64(y) ^ two)
		v1 := (binary.LittleEndian.Uint64(x[8:]) ^ one) | (binary.LittleEndian.Uint64(y[8:]) ^ two)
		v2 := (binary.LittleEndian.Uint64(x[16:]) ^ one) | (binary.LittleEndian.Uint64(y[16:]) ^ two)
		v3 := (binary.LittleEndian.Uint64(x[24:]) ^ one) | (binary.LittleEndian.Uint64(y[24:]) ^ two)
		if ((v0-ones)&^v0|(v1-ones)&^v1|(v2-ones)&^v2|(v3-ones)&^v3)&highs != 0 {
			break
		}
		x, y = x[stride:], y[stride:]
	}
	return all - len(x)
}

// at reports whether b holds the needle at a place.
func (n needle) at(b []byte, from int) bool {
	if from+len(n.word) > len(b) {
		return false
	}
	return n.is(b[from : from+len(n.word)])
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

// longest is the length of the longest of them.
func longest(all []needle) (length int) {
	for _, n := range all {
		length = max(length, len(n.word))
	}
	return length
}

// lastLine is where the last line of b begins, and 0 where b has only one.
func lastLine(b []byte) int {
	const feeds = ones * '\n'
	for len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b[len(b)-8:]) ^ feeds
		if (v-ones)&^v&highs != 0 {
			break
		}
		b = b[:len(b)-8]
	}
	return bytes.LastIndexByte(b, '\n') + 1
}
