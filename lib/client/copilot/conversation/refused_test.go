package copilot

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Refused finds a failed submission, whatever the concurrent turn writes afterwards.
// Another error does not concern a prompt.
func TestRefused(t *testing.T) {
	const (
		dropped = `{"type":"session.error","data":{"message":"Submission failed: Error: data did not match any variant of untagged enum Attachment","errorType":"execution"},"id":"2","timestamp":"2026-11-23T12:41:56.898Z"}`
		other   = `{"type":"session.error","data":{"message":"Execution failed","errorType":"query"},"id":"2","timestamp":"2026-11-23T12:41:56.898Z"}`
		goesOn  = `{"type":"assistant.turn_end","data":{"turnId":"0"},"id":"3","timestamp":"2026-11-23T12:41:56.972Z"}`
	)
	at := time.Date(2026, 11, 23, 12, 41, 56, 898e6, time.UTC)
	for _, c := range []struct {
		line  string
		after time.Time
		want  time.Time
	}{
		{dropped, at.Add(-time.Second), at},
		{dropped, at, time.Time{}},
		{other, at.Add(-time.Second), time.Time{}},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(c.line+"\n"+goesOn+"\n"), 0o600))
		if got := (Reader{}).PromptDropped(path, c.after); !got.Equal(c.want) {
			t.Errorf("after %v: %v, not %v\n%s", c.after, got, c.want, c.line)
		}
	}
}
