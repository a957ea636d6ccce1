// Package status derives what an agent does from observations: its hooks, its client's
// session registry, the end of its conversation, its screen, its process and its tmux pane.
// A status is computed when it is needed and never stored.
package status

import (
	"time"

	"gt/lib/state/activity"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// Status is what an agent does.
type Status string

const (
	Running  Status = "running"
	Waiting  Status = "waiting"  // stopped or blocked, and not acknowledged
	Idle     Status = "idle"     // waiting, and acknowledged
	Starting Status = "starting" // its process is new and nothing was observed yet
	Error    Status = "error"    // should run, but its tmux session is gone
	Stopped  Status = "stopped"  // ended
	Unknown  Status = "unknown"  // nothing was observed
)

// Reason is why an agent waits, "" if unknown.
type Reason = activity.Reason

const (
	Permission = activity.Permission
	Question   = activity.Question
	Done       = activity.Done
	Limited    = activity.Spent
	Failed     = activity.Failed
	// Interrupted is the reason of an agent that was started again and had not ended its turn.
	Interrupted = activity.Interrupted
	Suspended   = activity.Suspended
)

// Source is the origin of an observation. Of two observations from the same time, the one
// with the greater source wins.
type Source int

const (
	Screen       Source = iota // the text of the pane; only for agents without hooks
	Conversation               // the end of the conversation
	Registry                   // the client's registry of its sessions
	Hook                       // an event of a hook
)

// Observation is what a source reports about an agent.
type Observation struct {
	Source Source
	At     time.Time // when the status began
	Status Status    // Running, Waiting or Stopped
	Reason Reason
	// Background reports whether a background task of it runs while it waits.
	Background bool
	// Login reports that its account has to log in anew.
	Login bool
}

// agreesWith reports whether two observations are of an agent that waits in the same way,
// either in the middle of a turn or after it.
func (o Observation) agreesWith(other Observation) bool {
	return o.Status == Waiting && other.Status == Waiting && o.Reason != "" && other.Reason != "" && o.Reason.Asks() == other.Reason.Asks()
}

// Facts is all that is known about an agent.
type Facts struct {
	Now     time.Time
	Desired bool      // somebody started it and nobody stopped it
	Hooks   bool      // its hooks report, so its screen is ignored
	Started time.Time // start of its process; older observations are ignored
	Process process.Presence
	Pane    process.Presence // according to tmux
	// Acknowledged is when a person last saw that it waits.
	Acknowledged time.Time
	// MaxAge limits the age of observations, except of Stopped; 0 is no limit.
	MaxAge time.Duration
	Seen   []Observation
}

// Result is a status and the observation from which it was derived.
type Result struct {
	Status Status
	Reason Reason
	// Background reports whether a background task of it runs while it waits.
	Background bool
	// Quiet is since when it waits and no background task of it runs; zero while it works.
	Quiet       time.Time
	DerivedFrom Observation // the zero value if derived from none
}

// WhyBusy returns what an agent with a status would be cut off in if it ended, in a person's
// words, or "".
func WhyBusy(s Status, why Reason, background bool) string {
	switch {
	case s == Running:
		return "its turn runs"
	case why == Suspended:
		return "it is suspended"
	case why.Asks():
		return "its turn waits for an answer"
	case background:
		return "its background commands or subagents run"
	}
	return ""
}

// startingTime is how long a process without observations counts as starting.
const startingTime = 5 * time.Second

// maxClockSkew is how far in the future an observation can be, because the clock was set back
// since. One further ahead was made with a wrong clock and is ignored.
const maxClockSkew = 24 * time.Hour

// DeriveStatus derives the status. A dead process or pane overrides all observations; otherwise the
// newest observation wins. An unknown presence changes nothing. A new agent without
// observations is starting even if tmux has no pane yet.
//
// A registry or a conversation reports that a turn ended or a question was asked, but only
// hooks report the reason. If a hook agrees with a newer observation of these, the hook's
// wins. Background tasks end without a hook, so for them the newest observation counts.
func DeriveStatus(f Facts) Result {
	newest, found := f.newestFrom(Screen)
	begins := !found && (f.Desired || f.Process == process.Alive) && !f.Started.IsZero() && f.Now.Sub(f.Started).Abs() < startingTime
	switch {
	case f.Process == process.Dead && f.Pane != process.Dead:
		return Result{Status: Stopped}
	case begins:
		return Result{Status: Starting}
	case f.Pane == process.Dead && f.Desired:
		return Result{Status: Error}
	case f.Pane == process.Dead:
		return Result{Status: Stopped}
	}
	if !found {
		return Result{Status: Unknown}
	}
	r := Result{Background: newest.Background && newest.Status == Waiting}
	quiet := newest.At
	if hook, told := f.newestFrom(Hook); told && hook.agreesWith(newest) {
		if newest = hook; !hook.Background {
			quiet = hook.At
		}
	}
	r.Status, r.Reason, r.DerivedFrom = newest.Status, newest.Reason, newest
	if newest.Status == Waiting && !newest.Reason.Asks() && !r.Background {
		r.Quiet = quiet
	}
	if newest.Status == Waiting && !f.Acknowledged.Before(newest.At) {
		r.Status = Idle
	}
	return r
}

// newestFrom returns the newest valid observation of a source of at least least.
func (f Facts) newestFrom(least Source) (newest Observation, found bool) {
	for _, o := range f.Seen {
		age := f.Now.Sub(o.At)
		switch {
		case o.Source < least:
			continue
		case o.Status == "" || o.Status == Unknown || o.At.IsZero():
			continue
		case o.Source == Screen && f.Hooks:
			continue
		case o.At.Before(f.Started), age < -maxClockSkew, f.MaxAge > 0 && age > f.MaxAge && o.Status != Stopped:
			continue
		case age < 0: // the clock was set back since
			o.At = f.Now
		}
		if !found || o.At.After(newest.At) || o.At.Equal(newest.At) && o.Source > newest.Source {
			newest, found = o, true
		}
	}
	return newest, found
}

// OfActivity returns the observation in a session's stored state, from its hooks or its
// client's registry. It is zero if the state is.
func OfActivity(by Source, s activity.State) Observation {
	o := Observation{Source: by, At: s.Since, Reason: s.Reason, Background: s.Background, Login: s.Login}
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

// OfHeartbeat returns the observation in a home's keepalive file. Other programs may write
// one without a state, which means running.
func OfHeartbeat(h *keepalive.Heartbeat) Observation {
	if h == nil {
		return Observation{}
	}
	o := Observation{Source: Hook, At: h.Timestamp, Status: Running}
	switch h.State {
	case keepalive.Waiting:
		o.Status = Waiting
		switch h.LastCommand { // the event of the hook
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

// OfRecord returns the observation that a session has ended, by its record. It is zero if
// it has not.
func OfRecord(r *session.Record) Observation {
	if r == nil || !r.Ended() {
		return Observation{}
	}
	return Observation{Source: Hook, At: r.EndedAt, Status: Stopped}
}

// OfStart returns the observation that a session began or was resumed. Its agent waits
// until a hook reports a prompt.
func OfStart(r *session.Record) Observation {
	if r == nil {
		return Observation{}
	}
	return Observation{Source: Hook, At: r.Began(), Status: Waiting, Reason: Done}
}
