package conversation

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Ends gives the lines of both ends of a file, whatever their lengths, and no line twice.
func TestEnds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		lines       string
		first, last []int // the lengths of the lines, -1 for a first line that is cut off
	}{
		"short":                {"a\nbb\nccc\n", []int{1, 2, 3}, []int{3, 2, 1}},
		"no line feed":         {"a\nbb", []int{1}, []int{1}},
		"over the first read":  {"a\n" + long(frontSize) + "\nbb\n", []int{1, frontSize, 2}, []int{2, frontSize, 1}},
		"at its border":        {long(frontSize-1) + "\nbb\n", []int{frontSize - 1, 2}, []int{2, frontSize - 1}},
		"longer than it":       {long(2*frontSize) + "\nbb\n", []int{2 * frontSize, 2}, []int{2, 2 * frontSize}},
		"both ends":            {"a\n" + long(2*EndSize) + "\nbb\n", []int{1}, []int{2}},
		"longer than an end":   {long(2*EndSize) + "\nbb\n", []int{-1}, []int{2}},
		"one that has no feed": {long(EndSize), nil, nil},
	} {
		path := filepath.Join(t.TempDir(), "lines")
		testenv.NoError(t, os.WriteFile(path, []byte(c.lines), 0o600))
		for most := range len(c.first) + 1 {
			var first, last []int
			err := Ends(path, func(line []byte, whole bool) bool {
				if !whole && len(line) == EndSize {
					first = append(first, -1)
				} else {
					first = append(first, len(line))
				}
				return len(first) <= most
			}, func(line []byte) bool {
				last = append(last, len(line))
				return true
			})
			if want := c.first[:min(most+1, len(c.first))]; err != nil || !slices.Equal(first, want) || !slices.Equal(last, c.last) {
				t.Errorf("%s, %d: %v %v %v", name, most, first, last, err)
			}
		}
	}
}
