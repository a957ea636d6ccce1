package gemini

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
)

// Stopped looks for what Gemini CLI 0.61 writes when the person presses Esc or denies
// permission: "Request cancelled.", or a cancelled call once its hook has ended.
func (Reader) Stopped(path string, after time.Time) (time.Time, activity.Reason) {
	return conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		stopped = v.Get("type").Str == "info" && v.Get("content").Str == "Request cancelled." ||
			v.Get(`toolCalls.#(status=="cancelled")`).Exists() ||
			strings.HasPrefix(v.Get("content.0.functionResponse.response.error").Str, "[Operation Cancelled]")
		return stopped, v.Get("type").Str == "gemini"
	}), activity.Done
}
