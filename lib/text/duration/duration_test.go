package duration

import (
	"testing"
	"time"
	_ "time/tzdata"
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
	for _, s := range []string{"", "d", "7", "-1h", "-1d", "1d-2h", "1h1d", "1d1w", "1 d", "999999d", "9999999h", "1dx", "soon", "1D", "2 moons", "-1 day", "two days", "1 day 2", "300 years", "4000 months", "20000 weeks"} {
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
	now := time.Date(2026, 3, 1, 0, 30, 0, 0, time.Local) // a Sunday
	at := func(year, month, day int, clock ...int) time.Time {
		clock = append(clock, 0, 0)
		return time.Date(year, time.Month(month), day, clock[0], clock[1], 0, 0, time.Local)
	}
	for s, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "2 weeks ago": now.Add(-14 * day), "1 hour": now.Add(-time.Hour), "3d ago": now.Add(-3 * day),
		"two weeks ago": now.Add(-14 * day), "a week ago": now.Add(-7 * day), "90 mins ago": now.Add(-90 * time.Minute), "0d": now.Add(-1),
		"today": at(2026, 3, 1), "Yesterday": at(2026, 2, 28), "yesterday 15:04": at(2026, 2, 28, 15, 4), "yesterday at 15:04": at(2026, 2, 28, 15, 4),
		"yesterday 3pm": at(2026, 2, 28, 15), "yesterday at 3:04 PM": at(2026, 2, 28, 15, 4),
		"last monday": at(2026, 2, 23), "Sat": at(2026, 2, 28), "sunday": at(2026, 2, 22), "last sunday 9:30": at(2026, 2, 22, 9, 30),
		"this week": at(2026, 2, 23), "last week": at(2026, 2, 16), "this month": at(2026, 3, 1), "last month": at(2026, 2, 1), "last year": at(2025, 1, 1),
		"2026-11": at(2026, 11, 1), "2025": at(2025, 1, 1), "2026-1-7": at(2026, 1, 7), "2026/01/07": at(2026, 1, 7), "17.1.2026": at(2026, 1, 17),
		"Nov 3": at(2025, 11, 3), "3 november": at(2025, 11, 3), "Nov 3, 2024": at(2024, 11, 3), "february": at(2026, 2, 1), "may 2025": at(2025, 5, 1),
		"00:15": at(2026, 3, 1, 0, 15), "3pm": at(2026, 2, 28, 15), "22:00": at(2026, 2, 28, 22),
		"2026-01-17": at(2026, 1, 17), "2026-01-17T15:04:05Z": time.Date(2026, 1, 17, 15, 4, 5, 0, time.UTC), "2026-01-17 15:04": at(2026, 1, 17, 15, 4),
	} {
		var m Moment
		if err := m.UnmarshalText([]byte(s)); err != nil || !m.TimeBefore(now).Equal(want) {
			t.Errorf("%q is %v, %v; want %v", s, m.TimeBefore(now), err, want)
		}
	}
	for _, s := range []string{"", "ago", "tomorrow", "2 weeks from now", "last", "3", "13/12/2026", "yesterday 25:00", "yesterday 13pm", "pm", "an", "last x", "2026-13"} {
		if err := new(Moment).UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%q is a time", s)
		}
	}
}

// A clock's time on a day on which the clocks change is what the clock showed.
func TestMomentAfterClockChange(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	var err error
	if time.Local, err = time.LoadLocation("Europe/Berlin"); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 30, 9, 0, 0, 0, time.Local)
	if got, want := parseMoment("yesterday 15:04", now), time.Date(2026, 3, 29, 15, 4, 0, 0, time.Local); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
