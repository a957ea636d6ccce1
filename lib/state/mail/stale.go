package mail

import (
	"fmt"
	"time"
)

// StaleReason shows both times if a note is older than the session that reads it, so that a
// predecessor may have dealt with it. Otherwise, and if a time is zero, it is "".
func StaleReason(note, sessionCreated time.Time) string {
	if note.IsZero() || sessionCreated.IsZero() || !note.Before(sessionCreated) {
		return ""
	}
	return fmt.Sprintf("message=%s session_started=%s",
		note.UTC().Format(time.RFC3339), sessionCreated.UTC().Format(time.RFC3339))
}
