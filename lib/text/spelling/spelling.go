package spelling

import "strings"

// Distance returns the number of bytes to insert, delete or change to turn one word into
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

// Near returns the words that a mistyped word may have meant: the nearest of those that
// differ in few letters or that it abbreviates.
func Near(word string, words []string) (near []string) {
	least := (len(word) + 2) / 3 // one letter in two, two in five may be wrong
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

// abbreviates reports whether short has the first letter and, in order, only letters of
// word.
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
