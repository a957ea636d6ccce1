package claude

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// Resets returns when the last limit ends. The client writes it after the turn that the
// limit ended: "You've hit your session limit · resets 3pm (Europe/Berlin)".
func (Reader) Resets(path string, after time.Time) (until time.Time) {
	conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		if !v.Get("isApiErrorMessage").Bool() {
			kind := v.Get("type").Str
			return false, kind == "assistant" || kind == "user"
		}
		at, err := time.Parse(time.RFC3339, v.Get("timestamp").Str)
		if err == nil {
			until = resets(v.Get("message.content.0.text").Str, at)
		}
		return true, false
	})
	return until
}

// forms are the client's formats of a time: within a day, in this year, in another year.
var forms = [...]struct {
	layout      string
	dated, full bool
}{
	{"3pm", false, false}, {"3:04pm", false, false},
	{"Jan 2, 3pm", true, false}, {"Jan 2, 3:04pm", true, false},
	{"Jan 2, 2006, 3pm", true, true}, {"Jan 2, 2006, 3:04pm", true, true},
}

// resets parses the end of a limit from a text that the client wrote at said, or returns
// the zero time.
func resets(text string, said time.Time) time.Time {
	_, rest, _ := strings.Cut(text, "resets ")
	when, zone, ok := strings.Cut(rest, " (")
	zone, _, closed := strings.Cut(zone, ")")
	place, err := time.LoadLocation(zone)
	if !ok || !closed || zone == "" || zone == "Local" || err != nil {
		return time.Time{}
	}
	when = strings.ToLower(strings.NewReplacer(" AM", "am", " PM", "pm", "\u202fAM", "am", "\u202fPM", "pm").Replace(when))
	said = said.In(place)
	for _, f := range forms {
		t, err := time.ParseInLocation(f.layout, when, place)
		switch {
		case err != nil:
			continue
		case f.full:
		case f.dated:
			if t = t.AddDate(said.Year(), 0, 0); t.Before(said.AddDate(0, 0, -1)) {
				t = t.AddDate(1, 0, 0)
			}
		default:
			t = time.Date(said.Year(), said.Month(), said.Day(), t.Hour(), t.Minute(), 0, 0, place)
			if !t.After(said) {
				t = t.AddDate(0, 0, 1)
			}
		}
		return t
	}
	return time.Time{}
}
