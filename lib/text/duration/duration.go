// Package duration reads and writes durations as people write them: 24h, 7d,
// 2w, 1d12h, 90m.
package duration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// days matches what Go's own durations lack: weeks and days, before the rest.
var days = regexp.MustCompile(`^(?:(\d{1,4})w)?(?:(\d{1,4})d)?(.*)$`)

// Parse reads a duration that is not negative: weeks (w), days (d) of 24
// hours, and what time.ParseDuration reads, in this order.
func Parse(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	if s == "" || m == nil {
		return 0, wrong(s)
	}
	weeks, _ := strconv.Atoi(m[1])
	number, _ := strconv.Atoi(m[2])
	d := time.Duration(weeks)*week + time.Duration(number)*day
	if m[3] != "" {
		rest, err := time.ParseDuration(m[3])
		if err != nil || rest < 0 || d+rest < d {
			return 0, wrong(s)
		}
		d += rest
	}
	return d, nil
}

func wrong(s string) error {
	return fmt.Errorf("invalid duration '%s' (try 90m or 7d)", s)
}

// Format writes a duration in days, hours, minutes and seconds, leaving
// out what is zero: 7d, 1d12h, 90s as 1m30s. Below a second it is 0s.
func Format(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	d = d.Truncate(time.Second)
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / unit.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.name)
			d -= n * unit.size
		}
	}
	return sign + b.String()
}
