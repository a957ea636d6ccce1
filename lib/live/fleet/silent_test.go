package fleet

import (
	"testing"
	"time"
)

// An agent is silent while a program runs that it left in the background, such as a server, and
// is not while a command runs that it began last.
func TestIsCommand(t *testing.T) {
	start := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what        string
		began, last time.Duration // since the start
		is          bool
	}{
		{"a server of its own start", 5 * time.Second, 6 * time.Second, false},
		{"a command, of which its hook told", time.Hour, time.Hour - time.Second, true},
		{"a command whose start is known to the second", time.Hour, time.Hour + 2*time.Second, true},
		{"what was left in the background", time.Hour, time.Hour + time.Minute, false},
	} {
		if is := isCommand(start.Add(c.began), start, start.Add(c.last)); is != c.is {
			t.Errorf("%s: %v", c.what, is)
		}
	}
}
