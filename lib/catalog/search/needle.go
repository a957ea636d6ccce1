package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
)

// needle is a word that is in a file's bytes wherever it is in the conversation's text.
type needle struct {
	word string // in lower case if fold is set
	fold bool   // ignore case

	rare, second int // the positions of its rarest bytes in word
}

// needles returns words of which every match has at least one, or nil if there are none.
func needles(re *syntax.Regexp) []needle { return rarestNeedles(requiredNeedles(re)) }

// requiredNeedles returns lists of words: every match has at least one word of each list.
func requiredNeedles(re *syntax.Regexp) (all [][]needle) {
	switch re.Op {
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0
		for _, word := range plainWords(re.Rune, fold) {
			all = append(all, []needle{newNeedle(word, fold)})
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredNeedles(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredNeedles(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			all = append(all, requiredNeedles(sub)...)
		}
	case syntax.OpAlternate:
		var either []needle
		for _, sub := range re.Sub {
			one := rarestNeedles(requiredNeedles(sub))
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

// maxNeedles is the largest number of words for which a search in the bytes is faster
// than reading everything.
const maxNeedles = 16

// rarestNeedles returns the list whose most frequent word is the rarest, so that few records have
// one of its words. A short list is better.
func rarestNeedles(all [][]needle) []needle {
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

// plainWords returns the parts of a literal that every JSON encoder leaves unchanged and that
// no reader joins from several: no blanks, and only signs that nobody escapes.
func plainWords(literal []rune, fold bool) (all []string) {
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

// plainRune reports whether a needle may have a character: its bytes are the same in every file.
func plainRune(r rune, fold bool) bool {
	switch {
	case r == 'K' || fold && (r == 'k' || r == 's' || r == 'S'):
		return false // K (Kelvin) and ſ become these letters, but have other bytes
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r < 0x80 && strings.ContainsRune("!#$%()*,-.?@[]^_{|}~", r)
}

// frequent are the bytes of transcripts, most frequent first.
const frequent = ` e"tsanroi,:dclup-fmh10.24g_5b(){}/wy36879k=vTxSI[]|EUqj\!RCBDFAP;N&O'%Z<+*ML>WHGJKz#XV?Y@Q$~^`

// rareness returns the position of a byte in frequent. A byte that is not there is the
// rarest.
func rareness(c byte) int {
	if i := strings.IndexByte(frequent, c); i >= 0 {
		return i
	}
	return len(frequent)
}

// newNeedle returns a needle. Its second rare byte is not next to the first, if possible.
func newNeedle(word string, fold bool) needle {
	n := needle{word: word, fold: fold}
	for i := range len(word) {
		if rareness(word[i]) > rareness(word[n.rare]) {
			n.rare = i
		}
	}
	// Neighbouring letters, such as q and u, often occur together. So the second is the rarest byte
	// that is not next to the first, or if there is none, the one farthest away.
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

// rarity is higher for a needle that probably has fewer matches.
func (n needle) rarity() int { return 12*len(n.word) + rareness(n.word[n.rare]) }

// index returns where the needle begins in b, or -1. It searches for the rarest byte, for
// which the processor has an instruction. If that byte is too frequent, it searches for
// the two rarest at once.
func (n needle) index(b []byte) int {
	c := n.word[n.rare]
	capital := c
	if n.fold && c >= 'a' && c <= 'z' {
		capital = c &^ 0x20
	}
	next := func(c byte, from int) int {
		if i := bytes.IndexByte(b[from:], c); i >= 0 {
			return from + i
		}
		return len(b)
	}
	rest := len(n.word) - n.rare
	at := n.rare           // of the rarest byte
	small, large := -1, -1 // where the next lower-case and upper-case one is
	for seen := 0; at+rest <= len(b); seen++ {
		if seen*maxFrequentDistance > at+maxFrequentDistance*3 { // too often, beyond the first three
			return n.indexByPair(b, at-n.rare)
		}
		if small < at {
			small = next(c, at)
		}
		if capital == c {
			large = len(b)
		} else if large < at {
			large = next(capital, at)
		}
		if at = min(small, large); at == len(b) {
			return -1
		}
		if j := at + n.second - n.rare; j < len(b) && b[j]|0x20 == n.word[n.second]|0x20 && n.matchesAt(b, at-n.rare) {
			return at - n.rare
		}
		at++
	}
	return -1
}

// maxFrequentDistance is the distance of the rarest byte's occurrences, in bytes, below which a search
// for two bytes is cheaper.
const maxFrequentDistance = 96

// indexByPair returns where the needle begins in b from an offset on, or -1. It searches for both rare
// bytes at once.
func (n needle) indexByPair(b []byte, at int) int {
	var small uint64
	if n.fold {
		small = onesMask * 0x20
	}
	one, two := onesMask*uint64(n.word[n.rare])|small, onesMask*uint64(n.word[n.second])|small
	for at+len(n.word)+stride <= len(b) {
		x := b[at+n.rare : len(b)-len(n.word)+n.rare]
		y := b[at+n.second : len(b)-len(n.word)+n.second]
		at += pair(x, y, one, two, small)
		// A set bit may be wrong: a zero byte makes the byte above it look like zero.
		for end := min(at+stride, len(b)-len(n.word)-7); at < end; at += 8 {
			v := ((binary.LittleEndian.Uint64(b[at+n.rare:]) | small) ^ one) | ((binary.LittleEndian.Uint64(b[at+n.second:]) | small) ^ two)
			for z := (v - onesMask) &^ v & highs; z != 0; z &= z - 1 {
				if from := at + bits.TrailingZeros64(z)/8; n.matchesAt(b, from) {
					return from
				}
			}
		}
	}
	for ; at+len(n.word) <= len(b); at++ {
		if n.matchesAt(b, at) {
			return at
		}
	}
	return -1
}

const (
	onesMask = 0x0101010101010101
	highs    = 0x8080808080808080
	stride   = 32
)

// pair returns how many bytes of x and y can be skipped, in strides, until both bytes may
// be at the same place. It compares eight places at once: a byte of the combined word is
// zero where both match. one and two repeat the needle's rare bytes eight times, and small the bit
// of a lower-case letter, or 0 if case matters.
func pair(x, y []byte, one, two, small uint64) int {
	all := len(x)
	for len(x) >= stride && len(y) >= stride {
		v0 := ((binary.LittleEndian.Uint64(x) | small) ^ one) | ((binary.LittleEndian.Uint64(y) | small) ^ two)
		v1 := ((binary.LittleEndian.Uint64(x[8:]) | small) ^ one) | ((binary.LittleEndian.Uint64(y[8:]) | small) ^ two)
		v2 := ((binary.LittleEndian.Uint64(x[16:]) | small) ^ one) | ((binary.LittleEndian.Uint64(y[16:]) | small) ^ two)
		v3 := ((binary.LittleEndian.Uint64(x[24:]) | small) ^ one) | ((binary.LittleEndian.Uint64(y[24:]) | small) ^ two)
		if ((v0-onesMask)&^v0|(v1-onesMask)&^v1|(v2-onesMask)&^v2|(v3-onesMask)&^v3)&highs != 0 {
			break
		}
		x, y = x[stride:], y[stride:]
	}
	return all - len(x)
}

func (n needle) matchesAt(b []byte, from int) bool {
	if from+len(n.word) > len(b) {
		return false
	}
	found := b[from : from+len(n.word)]
	return string(found) == n.word || n.fold && strings.EqualFold(string(found), n.word)
}

func longestNeedle(all []needle) (length int) {
	for _, n := range all {
		length = max(length, len(n.word))
	}
	return length
}
