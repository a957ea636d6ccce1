package handoffcmd

import (
	"strings"
	"testing"

	"gt/lib/client/contract"
)

// A summariser receives all, some or none of the essentials, as its client has room.
func TestToKeep(t *testing.T) {
	facts := strings.Repeat("the schema stays 🌱 ", 1000)
	bare := contract.Dialect{}.Size(summaryText(contract.Dialect{}, "n1", ""))
	for _, c := range []struct {
		keep int
		some bool
		all  bool
	}{
		{0, true, true}, // no limit
		{1 << 20, true, true},
		{4000, true, false},
		{bare + 50, false, false}, // smaller than the tags
		{bare, false, false},
		{1, false, false}, // smaller than the rest of the text
	} {
		d := contract.Dialect{MaxCompaction: c.keep}
		text := summaryText(d, "n1", facts)
		if got := strings.Contains(text, "the schema stays"); got != c.some {
			t.Errorf("of %d, some of it is told: %v", c.keep, got)
		}
		if got := strings.Contains(text, strings.TrimSpace(facts)); got != c.all {
			t.Errorf("of %d, all of it is told: %v", c.keep, got)
		}
		if n := d.Size(text); c.keep >= bare && n > c.keep {
			t.Errorf("of %d it takes %d", c.keep, n)
		}
		if !strings.HasPrefix(text, "Keep in the summary") || !strings.HasSuffix(text, "`gt-mail read n1`.\n") {
			t.Errorf("of %d: %s", c.keep, text)
		}
	}
}
