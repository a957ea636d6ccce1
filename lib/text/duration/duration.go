// Package duration reads and writes durations as people write them: 24h, 7d,
// 2w, 1d12h, 90m.
package duration

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Parse reads a duration that is not negative: weeks (w), days (d) of 24
// hours, and what time.ParseDuration reads, in this order.
func Parse(s string) (time.Duration, error) {
	weeks, rest := leading(s, 'w')
	number, rest := leading(rest, 'd')
	d := time.Duration(weeks)*week + time.Duration(number)*day
	if rest != "" || s == "" {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || d+more < d {
			return 0, invalid(s)
		}
		d += more
	}
	return d, nil
}

// leading takes a number of at most four digits with its unit off the front.
func leading(s string, unit byte) (n int, rest string) {
	i := 0
	for i < len(s) && i < 4 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 || i == len(s) || s[i] != unit {
		return 0, s
	}
	n, _ = strconv.Atoi(s[:i])
	return n, s[i+1:]
}

// Flag is a duration on a command line.
type Flag time.Duration

// UnmarshalText reads it as Parse does.
func (f *Flag) UnmarshalText(text []byte) error {
	d, err := Parse(string(text))
	*f = Flag(d)
	return err
}

func invalid(s string) error {
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
