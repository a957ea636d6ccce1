// Package tick decides how to bring sessions to the state that their templates describe. It
// is a pure function from facts to an ordered list of changes, without I/O or a clock.
//
// The caller reads each session again before it makes a change, and skips one whose
// generation or token differs from the facts.
package tick

import (
	"time"

	"gt/lib/state/lifecycle"
	"gt/lib/text/count"
)

// Liveness is whether a runtime runs. Unknown causes no action.
type Liveness int8

const (
	Unknown Liveness = iota
	Dead
	Alive
)

func (l Liveness) String() string { return [...]string{"unknown", "no", "yes"}[l] }

// WakeMode is what a reactivated session begins with.
type WakeMode string

const (
	Fresh  WakeMode = "fresh"  // a new conversation; a new session is made instead
	Resume WakeMode = "resume" // its old conversation
)

// Orders of sessions.
const (
	LIFO      = "lifo"       // newest first
	FIFO      = "fifo"       // oldest first
	IdleFirst = "idle-first" // longest idle first, then newest
)

// Template holds what the tick needs of a template.
type Template struct {
	Name        string
	Pool        *Pool    // nil for a template that is not scaled
	DependsOn   []string // templates that need an active session first
	Account     string   // a usage limit of one session holds all of its account
	WakeMode    WakeMode
	IdleTimeout time.Duration // 0: never

	MaxRestarts     int // more within RestartWindow is a crash loop
	RestartWindow   time.Duration
	CreationTimeout time.Duration

	QuarantineAttempts int // returns from quarantine without becoming healthy
	QuarantineCap      time.Duration
	QuarantineHealthy  time.Duration
}

// Pool bounds how many sessions a template has.
type Pool struct {
	Min, Max          int
	DrainTimeout      time.Duration
	ArchiveOrder      string
	ReactivateOrder   string
	MaxArchived       int
	MaxUnavailable    int
	MaxReplaced       int // for drift, in driftWindow
	ArchivedSecretTTL time.Duration
}

// Defaults returns the defaults of a template and its pool.
func Defaults() (Template, Pool) {
	return Template{
			WakeMode: Fresh, MaxRestarts: 5, RestartWindow: time.Hour, CreationTimeout: time.Minute,
			QuarantineAttempts: 3, QuarantineCap: 5 * time.Minute, QuarantineHealthy: 5 * time.Minute,
		}, Pool{
			Max: 1, DrainTimeout: 30 * time.Second, ArchiveOrder: LIFO, ReactivateOrder: LIFO,
			MaxArchived: 10, MaxUnavailable: 1, MaxReplaced: 3, ArchivedSecretTTL: 24 * time.Hour,
		}
}

// Session is a session's record and what was observed of it.
type Session struct {
	lifecycle.Session
	Alive  Liveness
	Routed bool
	Claims int // claimed pieces of work that are not done

	// Wanted is the hash of the configuration that a start would use now; "" if unknown.
	// Differs names the fields that changed.
	Wanted  string
	Differs []string
	// Renews says that its next start begins a conversation, with another client.
	Renews bool

	Idle          time.Time // since when; zero while it works
	Attached      bool      // a person looks at it
	Asks          bool      // it waits for a person's answer
	Busy          string    // what an end would cut off: a turn, or what runs in the background
	EndedByPerson bool      // a person ended it: no crash, and not undone
	Started       bool      // its runtime has started before
	Ended         string    // how its runtime ended, if known
	Unseen        string    // why its runtime's state is unknown
	Limited       bool      // its runtime ended at a usage limit: no crash
	Worktree      bool      // it has a worktree of its own; making that is no part of CreationTimeout
	Making        bool      // its worktree is being made now
}

// unfinished returns what a session would leave undone if it ended now: its turn, what it runs in
// the background, and the work that it has claimed. It is "" if that is nothing.
func (s *Session) unfinished() string {
	if s.Claims == 0 {
		return s.Busy
	}
	claimed := count.Plural(s.Claims, "piece") + " of its work not done"
	if s.Busy == "" {
		return claimed
	}
	return s.Busy + ", and " + claimed
}

// Demand is the result of a template's check.
type Demand struct {
	Wanted int
	Err    error // if set, the pool is not scaled
}

// Memory is what a tick leaves for the next one.
type Memory struct {
	// Wanted is the wanted size of each pool. A pool shrinks only if two ticks agree. A
	// template that is gone wants none.
	Wanted map[string]int `json:"wanted,omitempty"`
	// Drifted holds the times of the latest drains for drift, by template.
	Drifted map[string][]time.Time `json:"drifted,omitempty"`
	Failing map[string]Failing     `json:"failing,omitempty"`
}

// Failing is a template whose sessions do not stay alive. It begins with the first one that
// is quarantined or given up, and ends when one is healthy.
type Failing struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"` // of the latest one
	// Times is how many sessions were given up. Until Until, none is made to replace them.
	Times int       `json:"times,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// Facts are the input of a tick. If something cannot be read there are no Facts, and the
// tick changes nothing.
type Facts struct {
	Now       time.Time
	Tick      string // its id, a part of each Intent
	Templates []Template
	Sessions  []Session // archived and closed ones only if they have a marker or a runtime, or could be reactivated
	Demand    map[string]Demand
	Open      map[string]int       // work that no session has, by template
	Held      map[string]time.Time // accounts at a limit, and until when
	Before    Memory
	Force     bool // allows a shrink of most sessions
	// MaxChanges bounds how many sessions are started, drained and suspended; 0 for no
	// bound.
	MaxChanges int
}

// Action is a change of one session.
type Action struct {
	Change lifecycle.Change
	// Session is the record after the change. The caller fills in the id and token of a
	// created session and the new token of a reactivated one.
	Session lifecycle.Session
	Before  lifecycle.Session // the record before; zero for a created session
	// Failed is written instead if the runtime does not start; may be nil.
	Failed *lifecycle.Session
	Block  string // reason to mark the session's work with; may be ""
	Event  string // extra event; may be ""
	Why    string
}

// Note is an observation that caused no change, or not the whole one.
type Note struct {
	Template string
	Session  string
	Event    string // event to log; "" for none
	// Detail is compared with the note of the tick before. Event is logged again if it
	// changed.
	Detail string
	Text   string
}

// Plan is the result of a tick.
type Plan struct {
	Actions []Action // in the order in which to make them
	Notes   []Note
	After   Memory
}
