package codex

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
	"gt/lib/text/lazyregexp"
)

// tooManyRequests is the HTTP status of a model's refusal at a limit.
const tooManyRequests = 429

// TurnStopped looks for a task_complete with an error, which Codex 0.169 writes when the
// model refused or was unreachable and the client has given up. At a limit the error is
// "exceeded retry limit, last status: 429 Too Many Requests", or the account's limit.
func (*Reader) TurnStopped(path string, after time.Time) (time.Time, activity.Reason) {
	why := activity.Failed
	at := conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		p := v.Get("payload")
		kind := p.Get("type").Str
		if v.Get("type").Str != "event_msg" || kind != "task_complete" {
			return false, v.Get("type").Str == "response_item" || kind == "task_started"
		}
		err := p.Get("error")
		if info := err.Get("codex_error_info"); info.Str == "usage_limit_exceeded" || info.Get("*.http_status_code").Int() == tooManyRequests {
			why = activity.Spent
		}
		return err.IsObject(), !err.IsObject()
	})
	return at, why
}

// LimitEnd returns when the usage limit ends at which the last turn stopped. Codex 0.169 writes
// the account's windows before the end of the turn; the turn's error has the time as a person
// reads it, which counts if no window is full. The lines come from the last one back.
func (*Reader) LimitEnd(path string, after time.Time) time.Time {
	var said, windows time.Time
	limited := false
	conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		p := v.Get("payload")
		switch kind := p.Get("type").Str; {
		case v.Get("type").Str == "response_item", kind == "task_started":
			return limited, !limited // either ends the search
		case kind == "task_complete" && p.Get("error.codex_error_info").Str != "usage_limit_exceeded":
			return limited, !limited
		case kind == "task_complete":
			limited = true
			if at, err := time.Parse(time.RFC3339, v.Get("timestamp").Str); err == nil {
				said = parseReset(p.Get("error.message").Str, at.Local())
			}
		case kind == "token_count" && limited:
			for _, name := range []string{"primary", "secondary"} {
				w := p.Get("rate_limits." + name)
				if at := time.Unix(w.Get("resets_at").Int(), 0); w.Get("used_percent").Num >= 100 && at.After(windows) {
					windows = at
				}
			}
			return true, false
		}
		return false, false
	})
	if !windows.IsZero() {
		return windows
	}
	return said
}

// tryAgainTime is the time in "try again at 6:44 PM." and "Try again at Nov 27th, 2026 6:44 PM."
var tryAgainTime = lazyregexp.New(`(?i)try again at (?:([A-Z][a-z]{2} \d{1,2})[a-z]{2}, (\d{4}) )?(\d{1,2}:\d{2} [AP]M)`)

// parseReset parses the end of a limit from an error that the client wrote at said, in the zone
// of said. A time without a day is one of said's day. The result is zero if there is none.
func parseReset(text string, said time.Time) time.Time {
	m := tryAgainTime().FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	day := m[1] + " " + m[2]
	if m[1] == "" {
		day = said.Format("Jan 2 2006")
	}
	at, err := time.ParseInLocation("Jan 2 2006 3:04 PM", day+" "+strings.ToUpper(m[3]), said.Location())
	if err != nil {
		return time.Time{}
	}
	return at
}
