// Package status says what an agent does now, from what is seen of it: its hooks,
// its client's own registry, the end of its conversation, its screen, its process
// and its pane of tmux. A status is derived whenever it is asked for, and never
// stored.
package status

import (
	"time"

	"gt/lib/state/keepalive"
	"gt/lib/state/session"
)

// Status is what an agent does.
type Status string

const (
	Running  Status = "running"
	Waiting  Status = "waiting"  // it stopped or is blocked, and nobody has acknowledged that
	Idle     Status = "idle"     // the same, acknowledged
	Starting Status = "starting" // its process is new, and nothing tells of it yet
	Error    Status = "error"    // it should run, and its tmux session is not there
	Stopped  Status = "stopped"  // it ended
	Unknown  Status = "unknown"  // nothing tells
)

// Reason is why an agent waits; "" where that is not known.
type Reason string

const (
	Permission Reason = "permission" // it asks whether it may do something
	Question   Reason = "question"   // it asks the person something else
	Done       Reason = "done"       // its turn is over
	Limited    Reason = "limited"    // its account has used up its limit
	Failed     Reason = "failed"     // the model could not be reached
)

// Source is where an observation comes from. Of two that are as new, the greater
// source holds.
type Source int

const (
	Screen       Source = iota // what the pane shows; counts only for agents without hooks
	Conversation               // its end
	Registry                   // what the client notes of its own sessions
	Hook                       // an event that the client told a hook
)

// Observation is what a source says of an agent, and as of when.
type Observation struct {
	Source Source
	At     time.Time
	Status Status // Running, Waiting or Stopped
	Reason Reason
}

// Presence is whether something is there. Its zero value, no answer, says neither.
type Presence int

const (
	NoAnswer Presence = iota
	Alive
	Dead
)

// Facts are all that is known of an agent.
type Facts struct {
	Now     time.Time
	Desired bool      // it should run: somebody started it and nobody stopped it
	Hooks   bool      // its client has hooks, so its screen does not count
	Started time.Time // its process; what was seen before is another's
	Process Presence
	Pane    Presence // what tmux says
	// Acknowledged is when a person last saw that it waits.
	Acknowledged time.Time
	// MaxAge is how old an observation may be to tell what an agent does; 0 sets no
	// bound. That it ended, tells one of any age.
	MaxAge time.Duration
	Seen   []Observation
}

// Result is a status, since when it holds, and by what.
type Result struct {
	Status Status
	Reason Reason
	By     Observation // its zero value where no observation tells
}

// starting is how long a new process has to tell of itself.
const starting = 5 * time.Second

// ahead is how far in the future an observation may be dated, since a clock was set
// back after it was made. What is further ahead was dated by a clock that was wrong.
const ahead = 24 * time.Hour

// Of derives the status. That something is dead holds whatever was seen before; of
// what is seen, the newest holds. An answer that did not come changes nothing.
func Of(f Facts) Result {
	switch {
	case f.Pane == Dead && f.Desired:
		return Result{Status: Error}
	case f.Pane == Dead, f.Process == Dead:
		return Result{Status: Stopped}
	}
	newest, found := f.newest()
	switch {
	case !found && f.Process != NoAnswer && !f.Started.IsZero() && f.Now.Sub(f.Started).Abs() < starting:
		return Result{Status: Starting}
	case !found:
		return Result{Status: Unknown}
	case newest.Status == Waiting && !f.Acknowledged.Before(newest.At):
		return Result{Status: Idle, Reason: newest.Reason, By: newest}
	}
	return Result{Status: newest.Status, Reason: newest.Reason, By: newest}
}

// newest is the observation that holds, if any does.
func (f Facts) newest() (newest Observation, found bool) {
	for _, o := range f.Seen {
		age := f.Now.Sub(o.At)
		switch {
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

// OfHeartbeat is what a home's last sign of life says. One that does not say what
// the agent does, as another program's, says that it ran.
func OfHeartbeat(h *keepalive.Heartbeat) Observation {
	if h == nil {
		return Observation{}
	}
	o := Observation{Source: Hook, At: h.Timestamp, Status: Running}
	switch h.State {
	case keepalive.Waiting:
		o.Status = Waiting
	case keepalive.Ended:
		o.Status = Stopped
	}
	return o
}

// OfRecord is what a session's record says of its end; nothing of one that goes on.
func OfRecord(r *session.Record) Observation {
	if r == nil || !r.Ended() {
		return Observation{}
	}
	return Observation{Source: Hook, At: r.EndedAt, Status: Stopped}
}

// ProcessOf is what a session's record shows of its process. Of one that cannot be
// looked at from here there is no answer.
func ProcessOf(r *session.Record) Presence {
	switch {
	case r == nil || r.Elsewhere():
		return NoAnswer
	case r.Process().Alive(), r.Server().Alive():
		return Alive
	case r.Process().IsSet() && r.Process().Gone(), !r.Process().IsSet() && r.Server().IsSet() && r.Server().Gone():
		return Dead
	}
	return NoAnswer
}
