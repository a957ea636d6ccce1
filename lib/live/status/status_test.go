package status

import (
	"testing"
	"time"

	"gt/lib/state/activity"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

var testTime = time.Date(2026, 1, 17, 12, 0, 0, 0, time.UTC)

func timeAgo(d time.Duration) time.Time { return testTime.Add(-d) }

func saw(by Source, d time.Duration, s Status, why Reason) Observation {
	return Observation{Source: by, At: timeAgo(d), Status: s, Reason: why}
}

// The status for all combinations of observations.
func TestOf(t *testing.T) {
	minute := time.Minute
	for _, c := range []struct {
		name  string
		facts Facts
		want  Status
		why   Reason
	}{
		{"nothing is known", Facts{}, Unknown, ""},
		{"it runs, and nothing tells what it does", Facts{Process: process.Alive, Pane: process.Alive, Started: timeAgo(minute)}, Unknown, ""},
		{"it has just been started", Facts{Process: process.Alive, Started: timeAgo(4 * time.Second)}, Starting, ""},
		{"it had its time to start", Facts{Process: process.Alive, Started: timeAgo(5 * time.Second)}, Unknown, ""},
		{"it was started by a clock that was wrong", Facts{Process: process.Alive, Started: testTime.AddDate(1, 0, 0)}, Unknown, ""},
		{"it was started, and whether it runs nobody knows", Facts{Started: timeAgo(time.Second)}, Unknown, ""},
		{"it is being started, and tmux has no pane yet", Facts{Desired: true, Pane: process.Dead, Started: timeAgo(4 * time.Second)}, Starting, ""},
		{"it is being started, and tmux does not answer", Facts{Desired: true, Pane: process.Unseen, Started: timeAgo(4 * time.Second)}, Starting, ""},
		{"it had its time to start, and tmux has no pane", Facts{Desired: true, Pane: process.Dead, Started: timeAgo(5 * time.Second)}, Error, ""},
		{"it began, and its pane is gone", Facts{Desired: true, Pane: process.Dead, Started: timeAgo(4 * time.Second), Seen: []Observation{saw(Hook, 3*time.Second, Waiting, Done)}}, Error, ""},
		{"it was stopped as it began", Facts{Pane: process.Dead, Started: timeAgo(time.Second)}, Stopped, ""},
		{"it tells what it does before its start is over", Facts{Process: process.Alive, Started: timeAgo(2 * time.Second), Seen: []Observation{saw(Hook, time.Second, Running, "")}}, Running, ""},

		{"a hook says that it works", Facts{Process: process.Alive, Seen: []Observation{saw(Hook, minute, Running, "")}}, Running, ""},
		{"it asks for permission", Facts{Process: process.Alive, Seen: []Observation{saw(Hook, minute, Waiting, Permission)}}, Waiting, Permission},
		{"its turn is over", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Done)}}, Waiting, Done},
		{"a person saw that", Facts{Acknowledged: timeAgo(time.Second), Seen: []Observation{saw(Hook, minute, Waiting, Done)}}, Idle, Done},
		{"a person saw that at the same moment", Facts{Acknowledged: timeAgo(minute), Seen: []Observation{saw(Hook, minute, Waiting, Done)}}, Idle, Done},
		{"a person saw an earlier wait", Facts{Acknowledged: timeAgo(time.Hour), Seen: []Observation{saw(Hook, minute, Waiting, Done)}}, Waiting, Done},
		{"what works is not idle", Facts{Acknowledged: testTime, Seen: []Observation{saw(Hook, minute, Running, "")}}, Running, ""},

		{"the newest holds", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Permission), saw(Conversation, time.Second, Running, "")}}, Running, ""},
		{"in whatever order", Facts{Seen: []Observation{saw(Conversation, time.Second, Running, ""), saw(Hook, minute, Waiting, Permission)}}, Running, ""},
		{"of two as new, the hook", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Limited), saw(Registry, minute, Running, "")}}, Waiting, Limited},
		{"then the registry", Facts{Seen: []Observation{saw(Conversation, minute, Running, ""), saw(Registry, minute, Waiting, Question)}}, Waiting, Question},
		{"then the conversation", Facts{Seen: []Observation{saw(Screen, minute, Running, ""), saw(Conversation, minute, Waiting, Failed)}}, Waiting, Failed},
		{"it asks, and its registry says that it waits", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Question), saw(Registry, 59*time.Second, Waiting, Permission)}}, Waiting, Question},
		{"a person saw the one before the other", Facts{Acknowledged: timeAgo(minute), Seen: []Observation{saw(Hook, minute, Waiting, Permission), saw(Registry, 59*time.Second, Waiting, Permission)}}, Idle, Permission},
		{"it was answered", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Permission), saw(Registry, 50*time.Second, Running, "")}}, Running, ""},
		{"it was denied, or Esc was pressed", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Permission), saw(Registry, 50*time.Second, Waiting, Done)}}, Waiting, Done},
		{"Esc was pressed while it worked", Facts{Seen: []Observation{saw(Hook, minute, Running, ""), saw(Registry, 50*time.Second, Waiting, Done)}}, Waiting, Done},
		{"it reached a limit, and its registry says that the turn is over", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Limited), saw(Registry, 59*time.Second, Waiting, Done)}}, Waiting, Limited},
		{"its turn was over, and it asks by what no hook tells", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Done), saw(Registry, time.Second, Waiting, Permission)}}, Waiting, Permission},
		{"it works on what the person told it since", Facts{Seen: []Observation{saw(Registry, minute, Waiting, Done), saw(Hook, time.Second, Running, "")}}, Running, ""},
		{"what a screen shows of how is no news to a hook", Facts{Seen: []Observation{saw(Hook, minute, Waiting, Limited), saw(Conversation, time.Second, Waiting, "")}}, Waiting, ""},

		{"the screen of an agent without hooks", Facts{Seen: []Observation{saw(Screen, 0, Running, "")}}, Running, ""},
		{"the screen of an agent with hooks, however new", Facts{Hooks: true, Seen: []Observation{saw(Screen, 0, Running, ""), saw(Hook, time.Hour, Waiting, Done)}}, Waiting, Done},
		{"that alone", Facts{Hooks: true, Seen: []Observation{saw(Screen, 0, Running, "")}}, Unknown, ""},
		{"a source that says nothing", Facts{Seen: []Observation{saw(Registry, 0, Unknown, ""), saw(Screen, 0, "", ""), saw(Hook, minute, Running, "")}}, Running, ""},
		{"a source without a date", Facts{Seen: []Observation{{Source: Registry, Status: Running}}}, Unknown, ""},

		{"of an earlier process", Facts{Process: process.Alive, Started: timeAgo(minute), Seen: []Observation{saw(Hook, time.Hour, Running, "")}}, Unknown, ""},
		{"too old to tell", Facts{MaxAge: minute, Seen: []Observation{saw(Hook, 61*time.Second, Running, "")}}, Unknown, ""},
		{"an end does not get too old", Facts{MaxAge: minute, Seen: []Observation{saw(Hook, time.Hour, Stopped, "")}}, Stopped, ""},
		{"just young enough", Facts{MaxAge: minute, Seen: []Observation{saw(Hook, minute, Running, "")}}, Running, ""},
		{"a clock was set back", Facts{Seen: []Observation{saw(Hook, -time.Hour, Running, "")}}, Running, ""},
		{"and what is seen now is as new", Facts{Seen: []Observation{saw(Registry, -time.Hour, Running, ""), saw(Hook, 0, Waiting, Done)}}, Waiting, Done},
		{"a clock was wrong", Facts{Seen: []Observation{saw(Hook, -25*time.Hour, Running, "")}}, Unknown, ""},

		{"its session ended", Facts{Seen: []Observation{saw(Hook, minute, Stopped, "")}}, Stopped, ""},
		{"and another began in the same process", Facts{Process: process.Alive, Seen: []Observation{saw(Hook, minute, Stopped, ""), saw(Hook, time.Second, Running, "")}}, Running, ""},
		{"its process is gone, whatever it said", Facts{Process: process.Dead, Seen: []Observation{saw(Hook, 0, Running, "")}}, Stopped, ""},
		{"it ended by itself, in a pane that stays", Facts{Process: process.Dead, Pane: process.Alive, Desired: true}, Stopped, ""},
		{"its pane is gone, and nobody wants it", Facts{Pane: process.Dead, Seen: []Observation{saw(Hook, 0, Running, "")}}, Stopped, ""},
		{"its pane is gone, and it should run", Facts{Pane: process.Dead, Process: process.Dead, Desired: true}, Error, ""},
		{"tmux does not answer, and it should run", Facts{Pane: process.Unseen, Desired: true, Seen: []Observation{saw(Hook, minute, Running, "")}}, Running, ""},
		{"tmux does not answer, and nothing else tells", Facts{Pane: process.Unseen, Desired: true}, Unknown, ""},
	} {
		c.facts.Now = testTime
		if got := DeriveStatus(c.facts); got.Status != c.want || got.Reason != c.why {
			t.Errorf("%s: it is %s (%s), not %s (%s)", c.name, got.Status, got.Reason, c.want, c.why)
		}
	}
}

// An agent is quiet from the end of its turn on, or of what it ran in the background.
func TestQuiet(t *testing.T) {
	turn, later := saw(Hook, time.Hour, Waiting, Done), saw(Registry, time.Minute, Waiting, Done)
	behind, shell := turn, later
	behind.Background, shell.Background = true, true
	for _, c := range []struct {
		name string
		seen []Observation
		want time.Time
	}{
		{"its turn is over", []Observation{turn}, turn.At},
		{"its registry agrees", []Observation{turn, later}, turn.At},
		{"a command runs", []Observation{behind}, time.Time{}},
		{"a command that its registry shows", []Observation{turn, shell}, time.Time{}},
		{"the command has ended", []Observation{behind, later}, later.At},
		{"it works", []Observation{saw(Hook, time.Minute, Running, "")}, time.Time{}},
		{"it asks in a turn", []Observation{saw(Hook, time.Minute, Waiting, Question)}, time.Time{}},
	} {
		if got := DeriveStatus(Facts{Now: testTime, Seen: c.seen}).Quiet; !got.Equal(c.want) {
			t.Errorf("%s: quiet since %v, not %v", c.name, got, c.want)
		}
	}
}

// The observations in gt's own files.
func TestObservations(t *testing.T) {
	for state, want := range map[keepalive.State]Status{
		keepalive.Running: Running, keepalive.Waiting: Waiting, keepalive.Ended: Stopped, "": Running,
	} {
		o := OfHeartbeat(&keepalive.Heartbeat{State: state, Timestamp: timeAgo(time.Minute)})
		if o.Status != want || o.Source != Hook || !o.At.Equal(timeAgo(time.Minute)) {
			t.Errorf("the sign of life %q says %+v", state, o)
		}
	}
	for doing, want := range map[activity.Status]Status{
		activity.Busy: Running, activity.NeedsInput: Waiting, activity.Idle: Waiting, activity.Limited: Waiting,
		activity.Ended: Stopped, "": "", "dreaming": "",
	} {
		o := OfActivity(Hook, activity.State{Status: doing, Since: timeAgo(time.Minute), Reason: Failed, Source: "Stop"})
		if o.Status != want || want != "" && (o.Source != Hook || !o.At.Equal(timeAgo(time.Minute)) || o.Reason != Failed) {
			t.Errorf("a session that is %q says %+v", doing, o)
		}
	}
	over := &session.Record{StartedAt: timeAgo(time.Hour), EndedAt: timeAgo(time.Minute)}
	if o := OfRecord(over); o.Status != Stopped || !o.At.Equal(timeAgo(time.Minute)) {
		t.Errorf("a record says of its end %+v", o)
	}
	for _, o := range []Observation{OfHeartbeat(nil), OfRecord(nil), OfRecord(&session.Record{StartedAt: testTime})} {
		if o != (Observation{}) {
			t.Errorf("of nothing it says %+v", o)
		}
	}
}
