package summary

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("ä", 100), strings.Repeat("😀 word ", 40), strings.Repeat("\xff", 200), strings.Repeat(" ", 200)} {
		for length := 21; length < 120; length++ {
			got := Cut(s, length)
			n := utf8.RuneCountInString(got)
			switch {
			case utf8.RuneCountInString(s) <= length:
				if got != s {
					t.Errorf("Cut(%q, %d) = %q", s, length, got)
				}
			case n > length || !strings.Contains(got, cutMark) || utf8.ValidString(s) && !utf8.ValidString(got):
				t.Errorf("Cut(%q, %d) = %q", s, length, got)
			}
			if end := cutEnd(s, length); utf8.RuneCountInString(end) > length {
				t.Errorf("cutEnd(%q, %d) = %q", s, length, end)
			}
		}
	}
}

// A text is cut between words, and Middle is what is missing.
func TestCutBetweenWords(t *testing.T) {
	text := strings.Repeat("transfer ledger settlement ", 20)
	for length := 60; length < 200; length++ {
		front, back, _ := strings.Cut(Cut(text, length), cutMark)
		for _, w := range append(strings.Fields(front), strings.Fields(back)...) {
			if !strings.Contains("transfer ledger settlement", w) || len(w) < 6 {
				t.Errorf("%d: %q is cut", length, w)
			}
		}
		if all := strings.Fields(front + " " + CutMiddle(text, length) + " " + back); strings.Join(all, " ") != strings.TrimSpace(text) {
			t.Errorf("%d: something is lost: %q", length, all)
		}
	}
}
