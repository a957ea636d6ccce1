package duration

import (
	"fmt"
	"time"
)

// Moment is a point in time, given as such or relative to now.
type Moment struct {
	at  time.Time
	ago time.Duration
}

// UnmarshalText parses 24h, 7d, 2w, a date (in local time), or an RFC 3339 time.
func (m *Moment) UnmarshalText(text []byte) error {
	word := string(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, word, time.Local); err == nil {
			m.at = t
			return nil
		}
	}
	if d, err := Parse(word); err == nil {
		m.ago = max(d, 1) // 0d counts too
		return nil
	}
	return fmt.Errorf("invalid time '%s' (try 24h, 7d, 2026-01-17 or 2026-01-17T15:04:05Z)", word)
}

// Before returns the point in time, or zero if none was given.
func (m Moment) Before(now time.Time) time.Time {
	if m.ago > 0 {
		return now.Add(-m.ago)
	}
	return m.at
}
