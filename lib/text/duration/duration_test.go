package duration

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"24h": 24 * time.Hour, "7d": 7 * day, "2w": 2 * week, "1w1d1h": week + day + time.Hour, "1d12h30m": 36*time.Hour + 30*time.Minute,
		"0": 0, "0d": 0, "90s": 90 * time.Second, "1.5h": 90 * time.Minute, "2 weeks": 14 * day, "1 day": day, "3 months": 90 * day,
	} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "d", "7", "-1h", "-1d", "1d-2h", "1h1d", "1d1w", "1 d", "999999d", "9999999h", "1dx", "soon", "1D", "2 moons", "-1 day", "two days", "1 day 2"} {
		if got, err := Parse(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Millisecond: "0s", 90 * time.Second: "1m30s", 7 * day: "7d", 36 * time.Hour: "1d12h", time.Hour: "1h",
		400*day + time.Second: "400d1s", -time.Hour: "-1h",
	} {
		if got := Format(d); got != want {
			t.Errorf("%v: %s, not %s", d, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1w2d3h4m5s")
	f.Add("9999w9999d2562047h")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("%q is %v", s, d)
		}
		if again, err := Parse(Format(d)); err != nil && d < 9999*day || err == nil && again != d.Truncate(time.Second) {
			t.Fatalf("%q is %v, and that again %v, %v", s, d, again, err)
		}
	})
}

func TestMoment(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 30, 0, 0, time.Local)
	for s, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "2 weeks ago": now.Add(-14 * day), "1 hour": now.Add(-time.Hour), "3d ago": now.Add(-3 * day),
		"today": time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local), "Yesterday": time.Date(2026, 2, 28, 0, 0, 0, 0, time.Local),
		"2026-01-17": time.Date(2026, 1, 17, 0, 0, 0, 0, time.Local), "2026-01-17T15:04:05Z": time.Date(2026, 1, 17, 15, 4, 5, 0, time.UTC),
		"2026-01-17 15:04": time.Date(2026, 1, 17, 15, 4, 0, 0, time.Local),
	} {
		var m Moment
		if err := m.UnmarshalText([]byte(s)); err != nil || !m.Before(now).Equal(want) {
			t.Errorf("%q is %v, %v; want %v", s, m.Before(now), err, want)
		}
	}
	for _, s := range []string{"", "ago", "last week", "tomorrow", "2 weeks from now"} {
		if err := new(Moment).UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%q is a time", s)
		}
	}
}
