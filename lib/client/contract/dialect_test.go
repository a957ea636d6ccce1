package contract

import (
	"strings"
	"testing"
	"unicode/utf16"
)

func TestUnits(t *testing.T) {
	for _, s := range []string{
		"", "plain", "äöü", "日本語", "𝄞𝄞", "e\u0301", "👩‍👩‍👧‍👦", "\x00\n", "\ufeff", strings.Repeat("𝄞a", 1000),
	} {
		if got, want := UTF16Units(s), len(utf16.Encode([]rune(s))); got != want {
			t.Errorf("%.20q: %d, not %d", s, got, want)
		}
	}
}

func FuzzUnits(f *testing.F) {
	f.Add("a𝄞\xff\xed\xa0\x80é")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := UTF16Units(s), len(utf16.Encode([]rune(s))); got != want {
			t.Errorf("%q: %d, not %d", s, got, want)
		}
	})
}
