package codex

import (
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
)

// tooMany is the HTTP status of a model's refusal at a limit.
const tooMany = 429

// Stopped looks for a task_complete with an error, which Codex 0.169 writes when the
// model refused or was unreachable and the client has given up. At a limit the error is
// "exceeded retry limit, last status: 429 Too Many Requests", or the account's limit.
func (*Reader) Stopped(path string, after time.Time) (time.Time, activity.Reason) {
	why := activity.Failed
	at := conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		p := v.Get("payload")
		kind := p.Get("type").Str
		if v.Get("type").Str != "event_msg" || kind != "task_complete" {
			return false, v.Get("type").Str == "response_item" || kind == "task_started"
		}
		err := p.Get("error")
		if info := err.Get("codex_error_info"); info.Str == "usage_limit_exceeded" || info.Get("*.http_status_code").Int() == tooMany {
			why = activity.Spent
		}
		return err.IsObject(), !err.IsObject()
	})
	return at, why
}
