package duration

import (
	"fmt"
	"strings"
	"time"
)

// Moment is a point in time, given as such or relative to now.
type Moment struct {
	at   time.Time
	ago  time.Duration
	days int // and the midnight that many days, less one, before now
}

// UnmarshalText parses 24h, 7d, 2w, 2 weeks ago, today, yesterday, a date (in local time),
// or an RFC 3339 time.
func (m *Moment) UnmarshalText(text []byte) error {
	word := strings.Join(strings.Fields(strings.ToLower(string(text))), " ")
	switch word {
	case "today":
		m.days = 1
		return nil
	case "yesterday":
		m.days = 2
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, strings.ToUpper(word), time.Local); err == nil {
			m.at = t
			return nil
		}
	}
	if d, err := Parse(strings.TrimSuffix(word, " ago")); err == nil {
		m.ago = max(d, 1) // 0d counts too
		return nil
	}
	return fmt.Errorf("invalid time '%s' (try 24h, 7d, yesterday, 2026-01-17 or 2026-01-17T15:04:05Z)", text)
}

// Before returns the point in time, or zero if none was given.
func (m Moment) Before(now time.Time) time.Time {
	if m.days > 0 {
		year, month, day := now.Local().Date()
		return time.Date(year, month, day+1-m.days, 0, 0, 0, 0, time.Local)
	}
	if m.ago > 0 {
		return now.Add(-m.ago)
	}
	return m.at
}
