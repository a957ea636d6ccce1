package sessioncmd

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// Only text after the prompt is its answer, and an earlier prompt with the same text does
// not count.
func TestLast(t *testing.T) {
	const said = `{"type":"user","uuid":"a","timestamp":"2026-11-23T10:00:00.500Z","message":{"role":"user","content":"go on"}}
{"type":"assistant","uuid":"b","timestamp":"2026-11-23T10:00:01Z","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"It goes on."}]}}
`
	path := filepath.Join(t.TempDir(), "c.jsonl")
	testenv.NoError(t, os.WriteFile(path, []byte(said), 0o600))
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		asked string
		after time.Time
		want  agentAnswer
	}{
		{"go on", time.Time{}, agentAnswer{hasPrompt: true, text: "It goes on."}},
		{"go on", at, agentAnswer{hasPrompt: true, text: "It goes on."}},
		{"go on", at.Add(time.Second), agentAnswer{text: "It goes on."}},
		{"stop", time.Time{}, agentAnswer{text: "It goes on."}},
	} {
		got, _, err := readLastAnswer(readers.FindReader("claude"), conversation.File{Client: "claude", Path: path}, 0, c.asked, c.after)
		if err != nil || got != c.want {
			t.Errorf("%s after %s: %+v, %v", c.asked, c.after, got, err)
		}
	}
}

// What is waited for after a deadline that several share is looked at once.
func TestWatchAfterDeadline(t *testing.T) {
	looks := 0
	err := pollUntil(time.Minute, time.Now().Add(-time.Hour), func() (bool, error) { looks++; return false, nil })
	if !errors.Is(err, errTimeout) || looks != 1 {
		t.Errorf("%d looks, %v", looks, err)
	}
}
