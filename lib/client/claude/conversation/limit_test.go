package claude

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// resets parses the time in the format of 2.1.197 and in the zone that it names, and
// nothing else.
func TestResets(t *testing.T) {
	said := time.Date(2026, 11, 23, 13, 5, 0, 0, time.UTC)
	for _, c := range []struct{ text, want string }{
		{"You've hit your session limit · resets 3pm (UTC)", "2026-11-23T15:00:00Z"},
		{"You've hit your session limit · resets 3:30pm (UTC)", "2026-11-23T15:30:00Z"},
		{"You've hit your session limit · resets 3 PM (UTC)", "2026-11-23T15:00:00Z"},
		{"You've hit your session limit · resets 3:30\u202fPM (UTC)", "2026-11-23T15:30:00Z"},
		{"You've hit your session limit · resets 3pm (Europe/Berlin) · /upgrade", "2026-11-23T14:00:00Z"},
		{"You've hit your session limit · resets 1am (UTC)", "2026-11-24T01:00:00Z"},
		{"You've hit your session limit · resets 12am (Asia/Kolkata)", "2026-11-23T18:30:00Z"},
		{"You've hit your weekly limit · resets Nov 27, 9am (UTC)", "2026-11-27T09:00:00Z"},
		{"You've hit your weekly limit · resets Jan 2, 9:15am (UTC)", "2027-01-02T09:15:00Z"},
		{"You've hit your weekly limit · resets Jan 2, 2027, 9am (UTC)", "2027-01-02T09:00:00Z"},
		{"resets 3pm", ""}, {"resets 3pm (", ""}, {"resets 3pm ()", ""}, {"resets 3pm (Local)", ""},
		{"resets 3pm (../../etc/passwd)", ""}, {"resets 25pm (UTC)", ""}, {"resets soon (UTC)", ""}, {"", ""},
	} {
		got := parseReset(c.text, said)
		if text := got.UTC().Format(time.RFC3339); (c.want != "" || !got.IsZero()) && text != c.want {
			t.Errorf("%q: %s, not %s", c.text, text, c.want)
		}
	}
}

// Only the last limit in a conversation counts, and none once the turn went on.
func TestResetsOfAConversation(t *testing.T) {
	line := func(minute int, failed bool, text string) string {
		return fmt.Sprintf(`{"type":"assistant","timestamp":"2026-11-23T13:%02d:00Z","isApiErrorMessage":%t,"message":{"role":"assistant","content":[{"type":"text","text":%q}]}}`+"\n", minute, failed, text)
	}
	limit := "You've hit your session limit · resets 3pm (UTC)"
	after := time.Date(2026, 11, 23, 13, 1, 0, 0, time.UTC)
	for _, c := range []struct {
		text  string
		known bool
	}{
		{line(2, true, limit), true},
		{line(2, true, limit) + `{"type":"system","timestamp":"2026-11-23T13:03:00Z"}` + "\n", true},
		{line(2, true, limit) + line(3, false, "Done."), false},
		{line(1, true, limit), false},
		{line(2, true, "API Error: 529 overloaded"), false},
		{line(2, false, "The page says: "+limit), false},
		{"", false},
	} {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		if got := (Reader{}).LimitEnd(path, after); got.IsZero() == c.known {
			t.Errorf("%s: %v", c.text, got)
		}
	}
}
