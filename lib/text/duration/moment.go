package duration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Moment is a point in time as a person types it, given as such or relative to now; "" is
// none. A day, week, month or year stands for its beginning in local time.
type Moment string

// UnmarshalText takes 24h, 7d, 2 weeks ago, today, yesterday 15:04, last monday, this month,
// november, a date, the beginning of one (2026-11), and an RFC 3339 time.
func (m *Moment) UnmarshalText(text []byte) error {
	if parseMoment(string(text), time.Unix(0, 0)).IsZero() {
		return fmt.Errorf("invalid time '%s' (try 24h, 7d, '2 weeks ago', yesterday, 2026-01-17 or 2026-01-17T15:04:05Z)", text)
	}
	*m = Moment(text)
	return nil
}

// TimeBefore returns the point in time, or zero if none was given.
func (m Moment) TimeBefore(now time.Time) time.Time { return parseMoment(string(m), now) }

// layouts are those of dates and times, each with the time that it leaves out: 0 none, 1 the
// year, 2 the date.
var layouts = []struct {
	layout string
	open   int
}{
	{time.RFC3339, 0}, {"2006-01-02", 0}, {"2006-1-2", 0}, {"2006/1/2", 0}, {"2.1.2006", 0}, {"2006-01", 0}, {"2006", 0},
	{"2006-01-02 15:04", 0}, {"2006-01-02T15:04", 0}, {"2006-01-02 15:04:05", 0}, {"2006-01-02T15:04:05", 0},
	{"Jan 2 2006", 0}, {"2 Jan 2006", 0}, {"Jan 2006", 0}, {"Jan 2", 1}, {"2 Jan", 1}, {"Jan", 1},
	{"January 2 2006", 0}, {"2 January 2006", 0}, {"January 2006", 0}, {"January 2", 1}, {"2 January", 1}, {"January", 1},
	{"15:04", 2}, {"3PM", 2}, {"3:04PM", 2},
}

// parseMoment returns the point in time that a text means now, or zero if it means none.
func parseMoment(text string, now time.Time) time.Time {
	now = now.In(time.Local)
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(text, ",", " ")))
	if n := len(words); n > 1 && (words[n-1] == "am" || words[n-1] == "pm") { // 3 pm
		words = append(words[:n-2], words[n-2]+words[n-1])
	}
	word := strings.Join(words, " ")
	for _, l := range layouts {
		t, err := time.ParseInLocation(l.layout, strings.ToUpper(word), time.Local)
		if err != nil {
			continue
		}
		switch l.open {
		case 1:
			t = time.Date(now.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.Local)
			if t.After(now) { // last year's
				t = t.AddDate(-1, 0, 0)
			}
		case 2:
			clock := t
			if t = time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, time.Local); t.After(now) { // yesterday's
				t = time.Date(now.Year(), now.Month(), now.Day()-1, clock.Hour(), clock.Minute(), 0, 0, time.Local)
			}
		}
		return t
	}
	if n := len(words); n > 1 { // yesterday 15:04
		day := parseDay(strings.TrimSuffix(strings.Join(words[:n-1], " "), " at"), now)
		for _, l := range layouts {
			if l.open != 2 || day.IsZero() {
				continue
			}
			if clock, err := time.Parse(l.layout, strings.ToUpper(words[n-1])); err == nil {
				return time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), 0, 0, time.Local)
			}
		}
	}
	if day := parseDay(word, now); !day.IsZero() {
		return day
	}
	word = strings.TrimSuffix(word, " ago")
	number, unit, spelled := strings.Cut(word, " ")
	if number == "an" {
		number = "a"
	}
	if i := slices.Index(numbers, number); spelled && i >= 0 {
		word = strconv.Itoa(max(i, 1)) + " " + unit // "a" is one, too
	}
	d, err := Parse(word)
	if err != nil {
		return time.Time{}
	}
	return now.Add(-max(d, 1)) // 0d is a time as well, a nanosecond ago
}

var numbers = []string{"a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}

// parseDay returns the beginning of the day, week, month or year that a text names.
func parseDay(word string, now time.Time) time.Time {
	year, month, date := now.Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.Local) }
	monday := (int(now.Weekday()) + 6) % 7 // days since the week's Monday
	named := map[string]time.Time{
		"now": now, "today": day(year, month, date), "yesterday": day(year, month, date-1),
		"this week": day(year, month, date-monday), "last week": day(year, month, date-monday-7),
		"this month": day(year, month, 1), "last month": day(year, month-1, 1),
		"this year": day(year, 1, 1), "last year": day(year-1, 1, 1),
	}
	if t, ok := named[word]; ok {
		return t
	}
	name := strings.TrimPrefix(word, "last ")
	for d := time.Sunday; d <= time.Saturday; d++ {
		if full := strings.ToLower(d.String()); name == full || name == full[:3] {
			return day(year, month, date-(int(now.Weekday()-d)+6)%7-1) // the last one before today
		}
	}
	return time.Time{}
}
