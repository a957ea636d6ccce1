// Package status derives what an agent is doing from observations: its hooks, its
// client's session registry, the end of its conversation, its screen, its process and
// its tmux pane. A status is computed when it is needed, and never stored.
package status

import (
	"time"

	"gt/lib/state/activity"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
)

// Status is what an agent is doing.
type Status string

const (
	Running  Status = "running"
	Waiting  Status = "waiting"  // it stopped or is blocked, and nobody has acknowledged that
	Idle     Status = "idle"     // it waits, and somebody has acknowledged that
	Starting Status = "starting" // its process is new, and there is no observation yet
	Error    Status = "error"    // it should be running, but its tmux session is gone
	Stopped  Status = "stopped"  // it ended
	Unknown  Status = "unknown"  // there is no observation
)

// Reason is why an agent waits, or "" if that is unknown.
type Reason = activity.Reason

const (
	Permission = activity.Permission
	Question   = activity.Question
	Done       = activity.Done
	Limited    = activity.Spent
	Failed     = activity.Failed
)

// Source is where an observation comes from. If two observations are equally new, the
// one with the greater source wins.
type Source int

const (
	Screen       Source = iota // what the pane shows; only where no hook tells
	Conversation               // the end of the conversation
	Registry                   // the client's records of its own sessions
	Hook                       // an event that the client sent to a hook
)

// Observation is what a source says about an agent at a time.
type Observation struct {
	Source Source
	At     time.Time // when what it says began
	Status Status    // Running, Waiting or Stopped
	Reason Reason
	Event  string // of a Hook, the event that told, where that is known
	// Background is whether something of it runs in the background while it waits.
	Background bool
}

// Asks reports whether the agent waits in the middle of a turn.
func (o Observation) Asks() bool { return o.Reason == Permission || o.Reason == Question }

// agrees reports whether o says what other says, and how: both are of an agent that
// waits, in the middle of a turn or after it.
func (o Observation) agrees(other Observation) bool {
	return o.Status == Waiting && other.Status == Waiting && o.Reason != "" && other.Reason != "" && o.Asks() == other.Asks()
}

// Presence says whether a process or pane exists. The zero value means unknown.
type Presence int

const (
	NoAnswer Presence = iota
	Alive
	Dead
)

// Facts is all that is known about an agent.
type Facts struct {
	Now     time.Time
	Desired bool      // it should be running: somebody started it and nobody stopped it
	Hooks   bool      // its hooks tell, so its screen is ignored
	Started time.Time // when its process began; older observations are ignored
	Process Presence
	Pane    Presence // according to tmux
	// Acknowledged is when a person last saw that it waits.
	Acknowledged time.Time
	// MaxAge is the maximum age of an observation; 0 means no limit. It does not
	// apply to Stopped.
	MaxAge time.Duration
	Seen   []Observation
}

// Result is a status and the observation that it is based on.
type Result struct {
	Status Status
	Reason Reason
	// Background is whether something of it runs in the background while it waits.
	Background bool
	By         Observation // the zero value if the status is not based on one
}

// Asks reports whether the agent waits in the middle of a turn.
func (r Result) Asks() bool { return r.Reason == Permission || r.Reason == Question }

// starting is how long a process without observations counts as starting.
const starting = 5 * time.Second

// ahead is how far in the future an observation can be, because the clock was set back
// since. One that is further ahead is ignored: the clock was wrong when it was made.
const ahead = 24 * time.Hour

// Of derives the status. A dead process or pane overrides all observations. Otherwise
// the newest observation wins. An unknown presence changes nothing. While an agent is new
// and nothing tells of it, it is starting, whatever tmux says: its pane may not be made yet.
//
// A client's registry, and the end of a conversation, tell that a turn is over, or that
// the person is asked, and the hooks tell how and what: where both say the same, the
// hook's words hold, though they are a moment older. What runs in the background comes to
// its end without a hook, so of that the newest source tells.
func Of(f Facts) Result {
	newest, found := f.newest(Screen)
	begins := !found && (f.Desired || f.Process == Alive) && !f.Started.IsZero() && f.Now.Sub(f.Started).Abs() < starting
	switch {
	case f.Process == Dead && f.Pane != Dead:
		return Result{Status: Stopped}
	case begins:
		return Result{Status: Starting}
	case f.Pane == Dead && f.Desired:
		return Result{Status: Error}
	case f.Pane == Dead:
		return Result{Status: Stopped}
	}
	background := newest.Background && newest.Status == Waiting
	if hook, told := f.newest(Hook); told && hook.agrees(newest) {
		newest = hook
	}
	switch {
	case !found:
		return Result{Status: Unknown}
	case newest.Status == Waiting && !f.Acknowledged.Before(newest.At):
		return Result{Status: Idle, Reason: newest.Reason, Background: background, By: newest}
	}
	return Result{Status: newest.Status, Reason: newest.Reason, Background: background, By: newest}
}

// newest returns the newest valid observation of a source that is at least so great.
func (f Facts) newest(least Source) (newest Observation, found bool) {
	for _, o := range f.Seen {
		age := f.Now.Sub(o.At)
		switch {
		case o.Source < least:
			continue
		case o.Status == "" || o.Status == Unknown || o.At.IsZero():
			continue
		case o.Source == Screen && f.Hooks:
			continue
		case o.At.Before(f.Started), age < -ahead, f.MaxAge > 0 && age > f.MaxAge && o.Status != Stopped:
			continue
		case age < 0:
			o.At = f.Now
		}
		if !found || o.At.After(newest.At) || o.At.Equal(newest.At) && o.Source > newest.Source {
			newest, found = o, true
		}
	}
	return newest, found
}

// OfActivity returns what a session's own hooks told last, or what its client notes of
// it: the zero value if that is nothing.
func OfActivity(by Source, s activity.State) Observation {
	o := Observation{Source: by, At: s.Since, Reason: s.Reason, Event: s.Source, Background: s.Background}
	switch s.Status {
	case activity.Busy:
		o.Status = Running
	case activity.NeedsInput, activity.Idle, activity.Limited:
		o.Status = Waiting
	case activity.Ended:
		o.Status = Stopped
	default:
		return Observation{}
	}
	return o
}

// OfHeartbeat returns the observation of a home's last heartbeat. A heartbeat without a
// state, such as another program's, means that the agent was running.
func OfHeartbeat(h *keepalive.Heartbeat) Observation {
	if h == nil {
		return Observation{}
	}
	o := Observation{Source: Hook, At: h.Timestamp, Status: Running}
	switch h.State {
	case keepalive.Waiting:
		o.Status = Waiting
		switch h.LastCommand { // the event that told
		case "Stop":
			o.Reason = Done
		case "StopFailure":
			o.Reason = Failed
		}
	case keepalive.Ended:
		o.Status = Stopped
	}
	return o
}

// OfRecord returns the observation that a session has ended, according to its record, or
// the zero value if it has not.
func OfRecord(r *session.Record) Observation {
	if r == nil || !r.Ended() {
		return Observation{}
	}
	return Observation{Source: Hook, At: r.EndedAt, Status: Stopped}
}

// OfStart returns the observation that a session began, or went on after an end: its
// agent waits for what it is to do, until another hook says that it was told.
func OfStart(r *session.Record) Observation {
	if r == nil {
		return Observation{}
	}
	return Observation{Source: Hook, At: r.Began(), Status: Waiting, Reason: Done}
}
