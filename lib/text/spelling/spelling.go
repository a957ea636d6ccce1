// Package spelling finds the word that a mistyped one was meant to be.
package spelling

import "strings"

// Distance is how many bytes have to be put in, left out or changed to make one word of
// another.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Near returns those of some words that a word may have been meant to be: which differ from
// it by few letters, or which it abbreviates. Of words that differ, the nearest are returned.
func Near(word string, words []string) (near []string) {
	least := (len(word) + 2) / 3 // of two letters one, of five two may be wrong
	for _, w := range words {
		d := Distance(word, w)
		switch {
		case abbreviates(word, w):
			d = min(d, 1)
		case !strings.HasPrefix(w, word[:min(1, len(word))]): // the first letter is seldom wrong
			d++
		}
		switch {
		case d < least:
			near, least = []string{w}, d
		case d == least && d < len(w):
			near = append(near, w)
		}
	}
	return near
}

// abbreviates reports whether a word begins as another, and has only letters of it, in their order.
func abbreviates(short, word string) bool {
	if short == "" || word == "" || short[0] != word[0] {
		return false
	}
	for _, r := range short {
		_, rest, ok := strings.Cut(word, string(r))
		if !ok {
			return false
		}
		word = rest
	}
	return true
}
