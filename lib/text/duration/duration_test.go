package duration

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"24h": 24 * time.Hour, "7d": 7 * day, "2w": 2 * week, "1w1d1h": week + day + time.Hour, "1d12h30m": 36*time.Hour + 30*time.Minute,
		"0": 0, "0d": 0, "90s": 90 * time.Second, "1.5h": 90 * time.Minute,
	} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "d", "7", "-1h", "-1d", "1d-2h", "1h1d", "1d1w", "1 d", "999999d", "9999999h", "1dx", "soon", "1D"} {
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
