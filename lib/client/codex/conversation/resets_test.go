package codex

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The end of a usage limit is what the client wrote of the account's windows, otherwise what
// it told the person. A turn that goes on has no limit.
func TestResets(t *testing.T) {
	const (
		asked   = `{"timestamp":"2026-11-26T16:44:24.956Z","ordinal":7,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"say hello"}]}}`
		windows = `{"timestamp":"2026-11-26T16:44:25.110Z","ordinal":9,"type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"limit_id":"codex","limit_name":null,"primary":{"used_percent":100.0,"window_minutes":300,"resets_at":1795718665},"secondary":{"used_percent":40.0,"window_minutes":10080,"resets_at":1796000000},"credits":null}}}`
		spent   = `{"timestamp":"2026-11-26T16:44:25.115Z","ordinal":10,"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":null,"error":{"message":"You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 6:44 PM.","codex_error_info":"usage_limit_exceeded"}}}`
		failed  = `{"timestamp":"2026-11-26T16:44:25.115Z","ordinal":10,"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","error":{"message":"try again at 6:44 PM.","codex_error_info":"other"}}}`
		again   = `{"timestamp":"2026-11-26T16:45:25.115Z","ordinal":11,"type":"event_msg","payload":{"type":"task_started","turn_id":"u"}}`
	)
	said := time.Date(2026, 11, 26, 16, 44, 25, 0, time.UTC).Local()
	read := time.Date(said.Year(), said.Month(), said.Day(), 18, 44, 0, 0, time.Local)
	for _, c := range []struct {
		lines []string
		want  time.Time
	}{
		{[]string{asked, windows, spent}, time.Unix(1795718665, 0)},
		{[]string{asked, spent}, read},
		{[]string{asked, windows, failed}, time.Time{}},
		{[]string{asked, windows, spent, again}, time.Time{}},
		{[]string{asked, windows}, time.Time{}},
	} {
		path := filepath.Join(t.TempDir(), "rollout.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600))
		if got := (&Reader{}).LimitEnd(path, said.Add(-time.Minute)); !got.Equal(c.want) {
			t.Errorf("%v, not %v:\n%s", got, c.want, strings.Join(c.lines, "\n"))
		}
	}
	said = time.Date(2026, 11, 26, 16, 44, 25, 0, time.UTC)
	for text, want := range map[string]string{
		"or try again at 6:44 PM.":                "2026-11-26T18:44:00Z",
		"Try again at Dec 3rd, 2026 9:05 AM.":     "2026-12-03T09:05:00Z",
		"try again at 25:00 PM.":                  "0001-01-01T00:00:00Z",
		"You’ve hit your usage limit. Try later.": "0001-01-01T00:00:00Z",
	} {
		if got := parseReset(text, said).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
