package count_test

import (
	"testing"

	"gt/lib/text/count"
)

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", 1000: "1000 files"} {
		if got := count.Plural(n, "file"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCompact(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 12_345: "12.3k", 999_949: "999.9k", 999_950: "1.0M", 4_560_000_000: "4.6G"} {
		if got := count.Compact(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
