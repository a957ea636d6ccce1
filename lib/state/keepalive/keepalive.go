// Package keepalive keeps the heartbeat of an agent in a home: keepalive.json, rewritten at
// every prompt and tool call. In a trusted town there is a copy in .runtime of the role's
// folder. Gas Town reads its first two fields.
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

type State string

const (
	Running State = "running"
	Waiting State = "waiting" // its turn is over
	Ended   State = "ended"
)

// noHeartbeatAge is the age of a missing heartbeat.
const noHeartbeatAge = 365 * 24 * time.Hour

// maxClockSkew is how far in the future a heartbeat may be, after a clock was set back. Beyond
// that the clock was wrong, and the heartbeat would look new for years.
const maxClockSkew = 24 * time.Hour

const (
	file    = "keepalive.json"
	maxSize = 64 << 10
)

type Heartbeat struct {
	LastCommand string     `json:"last_command"`
	Timestamp   time.Time  `json:"timestamp"`
	State       State      `json:"state,omitempty"`
	SessionID   session.ID `json:"session_id,omitempty"`
	// Awake is process.Awake at Timestamp.
	Awake int64 `json:"awake,omitempty"`
}

// Touch writes a heartbeat, and its copy in a trusted town (Mirror): atomically, without sync. It
// creates the home's state if necessary.
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

// Read returns the home's last heartbeat, or nil if it is missing or invalid.
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

// Age returns how long ago the heartbeat was, a year for nil. One from the future counts as
// new if it is at most maxClockSkew ahead, else as nil.
func (s *Heartbeat) Age(now time.Time) time.Duration {
	if s == nil {
		return noHeartbeatAge
	}
	age := now.Sub(s.Timestamp)
	if age < -maxClockSkew {
		return noHeartbeatAge
	}
	return max(age, 0)
}
