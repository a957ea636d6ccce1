// Package duration parses and formats durations such as 24h, 7d, 2w, 1d12h and 90m.
package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Parse parses a non-negative duration: weeks (w), days (d) of 24 hours, then
// time.ParseDuration's units; or a number and a unit in words, such as "2 weeks".
func Parse(s string) (time.Duration, error) {
	if number, unit, ok := strings.Cut(s, " "); ok {
		size := units[strings.TrimSuffix(unit, "s")]
		if n, err := strconv.ParseUint(number, 10, 15); err == nil && size > 0 && time.Duration(n) <= math.MaxInt64/size {
			return time.Duration(n) * size, nil
		}
		return 0, invalid(s)
	}
	weeks, rest := cutUnit(s, 'w')
	number, rest := cutUnit(rest, 'd')
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

// units are those that have a name. A month has thirty days.
var units = map[string]time.Duration{"sec": time.Second, "min": time.Minute, "hr": time.Hour, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "week": week, "month": 30 * day, "year": 365 * day}

// cutUnit removes a number of up to four digits with its unit.
func cutUnit(s string, unit byte) (n int, rest string) {
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

type Flag time.Duration

func (f *Flag) UnmarshalText(text []byte) error {
	d, err := Parse(string(text))
	*f = Flag(d)
	return err
}

func invalid(s string) error {
	return fmt.Errorf("invalid duration '%s' (try 90m or 7d)", s)
}

// Rough drops the smaller units of a long duration. A negative one is 0.
func Rough(d time.Duration) time.Duration {
	switch d = max(d, 0); {
	case d >= day:
		return d.Truncate(time.Hour)
	case d >= time.Hour:
		return d.Truncate(time.Minute)
	}
	return d
}

// Format formats a duration in days, hours, minutes and seconds without zero units: 7d,
// 1d12h, 1m30s. Below a second it returns 0s.
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
