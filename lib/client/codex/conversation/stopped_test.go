package codex

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/lib/state/activity"
)

// A turn whose model refused has stopped once the client gives up. A turn that goes on,
// was answered, or is followed by another has not.
func TestStopped(t *testing.T) {
	const (
		begun    = `{"timestamp":"2026-11-23T18:16:27.223Z","ordinal":12,"type":"event_msg","payload":{"type":"task_started","turn_id":"t","started_at":1795457787}}`
		asked    = `{"timestamp":"2026-11-23T18:16:27.230Z","ordinal":14,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"please limit it"}]}}`
		limited  = `{"timestamp":"2026-11-23T18:16:27.451Z","ordinal":20,"type":"event_msg","payload":{"type":"task_complete","root_turn_id":"t","turn_id":"t","last_agent_message":null,"error":{"message":"exceeded retry limit, last status: 429 Too Many Requests","codex_error_info":{"response_too_many_failed_attempts":{"http_status_code":429}}},"started_at":1795457787,"completed_at":1795457787,"duration_ms":228}}`
		spent    = `{"timestamp":"2026-11-23T18:16:27.451Z","ordinal":20,"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","error":{"message":"You've hit your usage limit.","codex_error_info":"usage_limit_exceeded"}}}`
		failed   = `{"timestamp":"2026-11-23T18:16:27.451Z","ordinal":20,"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","error":{"message":"unexpected status 500","codex_error_info":{"response_too_many_failed_attempts":{"http_status_code":500}}}}}`
		answered = `{"timestamp":"2026-11-23T18:16:27.451Z","ordinal":20,"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":"It is done."}}`
		again    = `{"timestamp":"2026-11-23T18:16:29.000Z","ordinal":21,"type":"event_msg","payload":{"type":"task_started","turn_id":"u"}}`
		counted  = `{"timestamp":"2026-11-23T18:16:27.500Z","ordinal":21,"type":"event_msg","payload":{"type":"token_count","info":null}}`
	)
	before := time.Date(2026, 11, 23, 18, 16, 27, 0, time.UTC)
	at := time.Date(2026, 11, 23, 18, 16, 27, 451e6, time.UTC)
	for _, c := range []struct {
		lines string
		after time.Time
		want  time.Time
		why   activity.Reason
	}{
		{asked, before, time.Time{}, ""},
		{asked + "\n" + limited, before, at, activity.Spent},
		{asked + "\n" + limited + "\n" + counted, before, at, activity.Spent},
		{asked + "\n" + spent, before, at, activity.Spent},
		{asked + "\n" + failed, before, at, activity.Failed},
		{asked + "\n" + answered, before, time.Time{}, ""},
		{asked + "\n" + limited + "\n" + again, before, time.Time{}, ""},
		{asked + "\n" + limited, at, time.Time{}, ""},
	} {
		path := filepath.Join(t.TempDir(), "rollout.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(begun+"\n"+c.lines+"\n"), 0o600))
		got, why := (&Reader{}).TurnStopped(path, c.after)
		if !got.Equal(c.want) || !got.IsZero() && why != c.why {
			t.Errorf("after %v: %v %s, not %v %s\n%s", c.after, got, why, c.want, c.why, c.lines)
		}
	}
}
