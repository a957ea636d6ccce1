package mail

import (
	"fmt"
	"time"
)

// StaleReason reports whether a note is older than the session that reads it, so that a
// predecessor may have dealt with it, and shows both times. It is false if a time is zero.
func StaleReason(note, sessionCreated time.Time) (bool, string) {
	if note.IsZero() || sessionCreated.IsZero() || !note.Before(sessionCreated) {
		return false, ""
	}
	return true, fmt.Sprintf("message=%s session_started=%s",
		note.UTC().Format(time.RFC3339), sessionCreated.UTC().Format(time.RFC3339))
}
