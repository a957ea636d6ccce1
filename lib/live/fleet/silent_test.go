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

// What the clock shows while the machine sleeps, or is set by, is no silence.
func TestAsleep(t *testing.T) {
	now := moment{time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), 50_000}
	for _, c := range []struct {
		what  string
		ago   time.Duration // by the clock
		awake int64
		want  time.Duration
	}{
		{"awake all the time", 20 * time.Minute, 50_000 - 1200, 0},
		{"a night", 8 * time.Hour, 50_000 - 300, 8*time.Hour - 5*time.Minute},
		{"the clock was set back", -40 * time.Minute, 50_000 - 1200, -time.Hour},
		{"an older gt, or a hand", 8 * time.Hour, 0, 0},
		{"an earlier start of the machine", 8 * time.Hour, 60_000, 0},
	} {
		if got := (moment{now.at.Add(-c.ago), c.awake}).asleep(now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, got, c.want)
		}
	}
}
