package seancecmd

import (
	"slices"
	"testing"
	"time"
)

// A block begins with the hour of the first request after the block before.
func TestIntoBlocks(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local)
	spent := make([]spending, 7)
	for i, hour := range []int{9, 4, 8, 14, 13, 30, -1} {
		at := time.Time{}
		if hour >= 0 {
			at = day.Add(time.Duration(hour) * time.Hour)
		}
		spent[i].date(at)
	}
	intoBlocks(spent)
	var got []string
	for _, s := range spent {
		got = append(got, s.Block)
	}
	first, second, third := "2026-11-20 04:00", "2026-11-20 09:00", "2026-11-20 14:00"
	if want := []string{second, first, first, third, second, "2026-11-21 06:00", unknown}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s := spent[0]; s.Week != "2026-11-16" || s.Month != "2026-11" || s.Day != "2026-11-20" {
		t.Errorf("%+v", s)
	}
	sunday := spending{}
	if sunday.date(day.AddDate(0, 0, 2)); sunday.Week != "2026-11-16" {
		t.Errorf("%+v", sunday)
	}
}

func TestCompact(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 12_345: "12.3k", 999_949: "999.9k", 999_950: "1.0M", 4_560_000_000: "4.6G"} {
		if got := compact(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
