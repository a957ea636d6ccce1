package search

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/text/spelling"
)

// minMisspelt is the length of the shortest word that is corrected.
const minMisspelt = 5

// nearest returns the most frequent word of conversations that differs from a word in one
// letter, or in the order of two; "" if there is none. Only files whose bytes have the text
// are searched.
func nearest(t *term, all []conversation.Conversation) string {
	word := t.parts[0]
	if len(t.parts) > 1 || len(word) < minMisspelt || !isLetters(word) {
		return ""
	}
	// One of the halves is right, unless the two letters in the middle changed places.
	m := len(word) / 2
	swapped := word[:m-1] + word[m:m+1] + word[m-1:m] + word[m+1:]
	needles := []needle{newNeedle(word[:m], true), newNeedle(word[m:], true), newNeedle(swapped, true)}
	var mu sync.Mutex
	counts := map[string]int{}
	cli.Parallel(all, func(c conversation.Conversation) {
		r := scan.ReaderOf(c.File.Client)
		if r == nil {
			return
		}
		quiet := quietIn(r, c.File, true)
		if quiet == nil { // large results are kept aside
			quiet = quietIn(r, c.File, false)
		}
		if quiet == nil {
			return
		}
		seen := map[string]bool{}
		for _, part := range c.File.Files() {
			// What cannot be read was reported by the search.
			_, _ = conversation.Lines(part.Path, 0, func(record []byte, _ int64) bool {
				if index(needles, record) < 0 || quiet(record) {
					return true
				}
				for _, n := range needles {
					for rest := record; ; {
						i := n.index(rest)
						if i < 0 {
							break
						}
						from, to := i, i+len(n.word)
						for from > 0 && isLetter(rest[from-1]) {
							from--
						}
						for to < len(rest) && isLetter(rest[to]) {
							to++
						}
						if there := strings.ToLower(string(bytes.TrimSpace(rest[from:to]))); isNear(word, there) {
							seen[there] = true
						}
						rest = rest[to:]
					}
				}
				return true
			})
		}
		mu.Lock()
		defer mu.Unlock()
		for w := range seen {
			counts[w]++
		}
	})
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isNear reports whether a word differs from another in one letter, or in the order of two.
func isNear(word, other string) bool {
	if len(other)-len(word) > 1 || len(word)-len(other) > 1 {
		return false
	}
	if len(word) == len(other) {
		i := 0
		for i < len(word) && word[i] == other[i] {
			i++
		}
		if i+1 < len(word) && word[i] == other[i+1] && word[i+1] == other[i] && word[i+2:] == other[i+2:] {
			return true
		}
	}
	return word != other && spelling.Distance(word, other) == 1
}
