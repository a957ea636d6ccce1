package copilot

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
)

// Stopped looks for the event "abort", which 1.0.102 writes when the person presses Esc,
// denies permission or stops a tool.
func (Reader) Stopped(path string, after time.Time) (time.Time, activity.Reason) {
	return conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		kind := v.Get("type").Str
		return kind == "abort", strings.HasPrefix(kind, "assistant.") || kind == "user.message"
	}), activity.Done
}
