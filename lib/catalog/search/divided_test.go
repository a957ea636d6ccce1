package search

import "testing"

func TestDivided(t *testing.T) {
	for record, want := range map[string]string{
		`{"text":"a rate-limiter"}`:    "rate_limiter",
		`{"text":"Rate limiter, two"}`: "rate_limiter",
		`{"text":"x.rate_LIMITER()"}`:  "rate_limiter",
		`{"text":"curate limiter"}`:    "",
		`{"text":"rate","x":"limiter"`: "",
		`limiter`:                      "",
		`-limiter`:                     "",
	} {
		got := ""
		for from := 0; from < len(record) && got == ""; from++ {
			if begin, end := letterRun([]byte(record), from, from+1); begin < end {
				got = joinDivided("ratelimiter", []byte(record), begin, end)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", record, got, want)
		}
	}
}
