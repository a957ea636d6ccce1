// Package keepalive keeps the sign of life of whoever works in a home:
// keepalive.json, rewritten at every prompt and tool call. In a trusted town it
// stands in .runtime of the role's folder as well, where Gas Town reads its first
// two fields.
//
//	{"last_command":"Bash","timestamp":"2026-01-17T01:00:00.123Z",
//	 "state":"running","session_id":"…"}
package keepalive

import (
	"encoding/json"
	"time"

	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// State is what the agent is doing.
type State string

const (
	Running State = "running" // it works
	Waiting State = "waiting" // its turn is over, a person is awaited
	Ended   State = "ended"   // its session is over
)

// Idle is the age from which on an agent counts as idle.
const Idle = 5 * time.Minute

// never is the age of a sign that was never given.
const never = 365 * 24 * time.Hour

// ahead is how far in the future a sign may be that a clock was set back after.
// What is further ahead was written under a clock that was wrong, and would be
// new for years.
const ahead = 24 * time.Hour

// file is the sign's name in the state of the home; maxSize is far over what it has.
const (
	file    = "keepalive.json"
	maxSize = 64 << 10
)

// Heartbeat is a sign of life.
type Heartbeat struct {
	LastCommand string     `json:"last_command"`
	Timestamp   time.Time  `json:"timestamp"`
	State       State      `json:"state,omitempty"`
	SessionID   session.ID `json:"session_id,omitempty"`
}

// Touch gives a sign. It is whole for every reader; a loss of power may take
// it. The home's state is made where it is missing.
func Touch(h home.Home, s Heartbeat) error {
	if err := h.Prepare(); err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := atomicfile.Write(h.Path(file), data, atomicfile.Unsynced); err != nil {
		return err
	}
	return h.Mirror().Write(file, data)
}

// Read returns the home's last sign of life, nil when there is none or it
// cannot be understood.
func Read(h home.Home) *Heartbeat {
	data, err := atomicfile.Read(h.Path(file), maxSize)
	if err != nil {
		return nil
	}
	return parse(data)
}

func parse(data []byte) *Heartbeat {
	var s Heartbeat
	if json.Unmarshal(data, &s) != nil || s.Timestamp.IsZero() {
		return nil
	}
	return &s
}

// Age is how long ago the sign was given; a year where there is none, so that
// whoever compares needs no case for it. A sign from the future is new, for a
// clock was set back; but see ahead.
func (s *Heartbeat) Age(now time.Time) time.Duration {
	if s == nil {
		return never
	}
	age := now.Sub(s.Timestamp)
	if age < -ahead {
		return never
	}
	return max(age, 0)
}
