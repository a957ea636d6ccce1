package copilot

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// Refused looks for a failed submission. While a prompt is pending, Copilot 1.0.102
// appends the next one to it, and drops one that names a file with @: "Submission failed:
// Error: data did not match any variant of untagged enum Attachment".
func (Reader) Refused(path string, after time.Time) time.Time {
	return conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		return v.Get("type").Str == "session.error" && strings.HasPrefix(v.Get("data.message").Str, "Submission failed"), false
	})
}
