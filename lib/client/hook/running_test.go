package hook

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Running returns one line for each running task, in the form of Claude Code and Qwen
// Code. It skips other forms, and cuts a long list.
func TestRunning(t *testing.T) {
	many := "[" + strings.Repeat(`{"type":"shell","description":"x"},`, 100) + `{"type":"shell","description":"x"}]`
	for in, want := range map[string][]string{
		`{}`: nil,
		`{"background_tasks":[],"session_crons":[]}`: nil,
		`{"background_tasks":"none"}`:                nil,
		`{"background_tasks":[{"id":"1","status":"running","agent_type":"general-purpose","description":"a child"}]}`:                   {"task general-purpose: a child"},
		`{"background_tasks":[{"id":"1","status":"completed","agent_type":"general-purpose","description":"a child"}]}`:                 nil,
		`{"background_tasks":[{"id":"b","type":"shell","status":"running","description":"Rebuild","command":"make watch"}]}`:            {"shell: make watch (Rebuild)"},
		`{"background_tasks":[],"session_crons":[{"id":"c","schedule":"0 9 * * 1-5","recurring":true,"prompt":"look at the nightly"}]}`: {"planned for 0 9 * * 1-5: look at the nightly"},
		`{"background_tasks":` + many + `}`: slices.Repeat([]string{"shell: x"}, maxRunning),
	} {
		read := Read(strings.NewReader(in), time.Minute)
		if got := read.RunningLines(); !slices.Equal(got, want) {
			t.Errorf("%.100s: %q, not %q", in, got, want)
		}
		if runs := len(want) > 0 && !strings.Contains(in, "schedule"); read.RunsBackground() != runs {
			t.Errorf("%.100s: something runs: %v", in, !runs)
		}
	}
}
