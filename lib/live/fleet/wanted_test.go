package fleet

import (
	"testing"
	"time"

	"gt/lib/state/instance"
	"gt/lib/state/session"
)

// An agent that the person left is not wanted any more. A late end of the previous agent
// does not count.
func TestWanted(t *testing.T) {
	started := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	in := &instance.Instance{Desired: instance.Running, StartedAt: started}
	for _, c := range []struct {
		name           string
		began, resumed time.Duration // since the start; 0 is no resume
		ended          time.Duration
		outcome        session.Outcome
		wanted         bool
	}{
		{"left", time.Second, 0, time.Minute, session.Done, false},
		{"crashed", time.Second, 0, time.Minute, session.Crash, true},
		{"left before it was started", -time.Minute, 0, -time.Second, session.Done, true},
		{"the end of the one before, told late", -time.Minute, 0, time.Second, session.Done, true},
		{"resumed and left", -time.Minute, time.Second, time.Minute, session.Done, false},
	} {
		r := &session.Record{StartedAt: started.Add(c.began), EndedAt: started.Add(c.ended), Outcome: c.outcome}
		if c.resumed != 0 {
			r.ResumedAt = started.Add(c.resumed)
		}
		if m := (&Member{Instance: in, Record: r}); m.IsWanted() != c.wanted {
			t.Errorf("%s: wanted %v", c.name, !c.wanted)
		}
	}
}

// A server behind the client reports a left and a killed agent in the same way. The agent
// counts as left if its pane reported that.
func TestWantedBehindAServer(t *testing.T) {
	started := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	in := &instance.Instance{Desired: instance.Running, StartedAt: started}
	for reason, wanted := range map[string]bool{"other": true, LeftReason: false} {
		r := &session.Record{StartedAt: started, EndedAt: started.Add(time.Minute), Outcome: session.Done, Reason: reason, ServerPID: 7, ServerStart: "1"}
		if m := (&Member{Instance: in, Record: r}); m.IsWanted() != wanted {
			t.Errorf("%s: wanted %v", reason, !wanted)
		}
	}
}
