package keepalive

import (
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/text/term"
)

// None is a year old; a sign from the future is new.
func TestAge(t *testing.T) {
	now := time.Now()
	var none *Heartbeat
	if got := none.Age(now); got != 365*24*time.Hour {
		t.Errorf("none is %v old", got)
	}
	if got := (&Heartbeat{Timestamp: now.Add(-time.Minute)}).Age(now); got != time.Minute {
		t.Errorf("got %v", got)
	}
	if got := (&Heartbeat{Timestamp: now.Add(time.Minute)}).Age(now); got != 0 {
		t.Errorf("got %v", got)
	}
	// A clock that was wrong when a sign was given makes no dead agent alive.
	for _, wrong := range []time.Time{now.Add(25 * time.Hour), now.AddDate(80, 0, 0), now.AddDate(7000, 0, 0)} {
		if got := (&Heartbeat{Timestamp: wrong}).Age(now); got != 365*24*time.Hour {
			t.Errorf("%v: got %v", wrong, got)
		}
	}
}

func TestTouch(t *testing.T) {
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	if s := Read(h); s != nil {
		t.Errorf("before: %+v", s)
	}
	want := Heartbeat{LastCommand: "make", Timestamp: time.Now().UTC().Round(0), State: Waiting, SessionID: "s1"}
	for range 2 {
		testenv.NoError(t, Touch(h, want))
		if got := Read(h); got == nil || *got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// FuzzParse holds that a sign always has its time.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"last_command":"Bash","timestamp":"2026-01-17T01:00:00.123Z","state":"running","session_id":"s1"}`,
		`{"last_command":"x","timestamp":"2026-01-17T01:00:00+01:00"}`,
		`{}`, `null`, `[]`, `{"timestamp":0}`, `{"timestamp":"2026-01-17T01:00:00Z","state":"\u001b"}`, ``,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := parse(data)
		if s == nil {
			return
		}
		if s.Timestamp.IsZero() || s.Age(now) < 0 {
			t.Errorf("%q gave %+v", data, s)
		}
		line, err := term.JSON(s)
		testenv.NoError(t, err)
		if again := parse(line); again == nil || !again.Timestamp.Equal(s.Timestamp) || again.State != s.State ||
			again.LastCommand != s.LastCommand || again.SessionID != s.SessionID {
			t.Errorf("%q gave %+v, then %+v", data, s, again)
		}
	})
}
