// Package tick decides what is done to bring sessions to where their templates want them:
// a pure function from what was read to changes, in order. It reads nothing, does nothing
// and has no clock.
//
// What it decides holds for what it was told. Whoever makes the changes reads each session
// again before, and leaves alone one whose generation or token is another.
package tick

import (
	"time"

	"gt/lib/state/lifecycle"
)

// Liveness is what is known of a runtime. What is not known acts on nothing.
type Liveness int8

const (
	Unknown Liveness = iota
	No
	Yes
)

func (l Liveness) String() string { return [...]string{"unknown", "no", "yes"}[l] }

// WakeMode is what a session begins with when it is taken back.
type WakeMode string

const (
	Fresh  WakeMode = "fresh"  // a new conversation, so a new session is made instead
	Resume WakeMode = "resume" // its conversation
)

// Which of several sessions comes first.
const (
	LIFO      = "lifo"       // the newest
	FIFO      = "fifo"       // the oldest
	IdleFirst = "idle-first" // the one that has been idle for longest, then the newest
)

// Template is what the tick has to know of one.
type Template struct {
	Name        string
	Pool        *Pool    // nil: any number of sessions, and nothing scales them
	DependsOn   []string // templates of which at least one session has to be active before one is started
	Account     string   // a limit of one session of an account holds all of them
	WakeMode    WakeMode
	IdleTimeout time.Duration // 0: never

	MaxRestarts     int // more within RestartWindow are a crash loop
	RestartWindow   time.Duration
	CreationTimeout time.Duration

	QuarantineAttempts int // how often it comes back from quarantine without being healthy
	QuarantineCap      time.Duration
	QuarantineHealthy  time.Duration
}

// Pool is how many sessions of a template there are.
type Pool struct {
	Min, Max          int
	DrainTimeout      time.Duration
	ArchiveOrder      string
	ReactivateOrder   string
	MaxArchived       int
	MaxUnavailable    int
	MaxReplaced       int // because their configuration changed, in ten minutes
	ArchivedSecretTTL time.Duration
}

// Defaults of a template and of its pool.
func Defaults() (Template, Pool) {
	return Template{
			WakeMode: Fresh, MaxRestarts: 5, RestartWindow: time.Hour, CreationTimeout: time.Minute,
			QuarantineAttempts: 3, QuarantineCap: 5 * time.Minute, QuarantineHealthy: 5 * time.Minute,
		}, Pool{
			Max: 1, DrainTimeout: 30 * time.Second, ArchiveOrder: LIFO, ReactivateOrder: LIFO,
			MaxArchived: 10, MaxUnavailable: 1, MaxReplaced: 3, ArchivedSecretTTL: 24 * time.Hour,
		}
}

// Session is a session and what was read of it.
type Session struct {
	lifecycle.Session
	Alive  Liveness
	Routed bool // it has its marker
	Claims int  // pieces of work that it has claimed and not done

	// Wanted is the hash of the configuration that it would be started with now; "" where
	// that cannot be told. Differs names what is not as it was.
	Wanted  string
	Differs []string

	Idle     time.Time // since when it has nothing to do; zero while it works
	Attached bool      // somebody looks at it
	Asks     bool      // it waits for somebody's answer
	Left     bool      // somebody ended it: no crash, and not undone
	Started  bool      // its runtime was started before
	Ended    string    // how its runtime ended, where that is known
	Unseen   string    // why nothing is known of its runtime
	Limited  bool      // its runtime ended at a limit of its account: no crash
}

// Demand is what a template's check said.
type Demand struct {
	Wanted int
	Err    error // why nothing is known; nothing is scaled then
}

// Memory is what one tick leaves for the next.
type Memory struct {
	// Wanted is how many sessions each pool should have. A shrink needs two ticks that
	// agree; a template that is gone wants none.
	Wanted map[string]int `json:"wanted,omitempty"`
	// Drifted are the times at which sessions were last drained because their configuration
	// is another, by template.
	Drifted map[string][]time.Time `json:"drifted,omitempty"`
	// Failing are templates whose sessions do not stay alive.
	Failing map[string]Failing `json:"failing,omitempty"`
}

// Failing is a template whose sessions do not stay alive, from when the first of them is
// quarantined or given up until one is healthy.
type Failing struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"` // of the last one
	// Times is how many sessions were given up. Until then no other is made in their place.
	Times int       `json:"times,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// Facts are what a tick decides on. What could not be read makes no Facts: the tick ends
// with nothing changed.
type Facts struct {
	Now       time.Time
	Tick      string // its id, a part of the names of what it wants made
	Templates []Template
	Sessions  []Session // all but archived and closed ones; of those, the ones that have a marker or a runtime, or could be taken back
	Demand    map[string]Demand
	Held      map[string]time.Time // until when nothing of an account is started
	Before    Memory
	Force     bool // a shrink of most of what there is
	// MaxChanges bounds how many sessions are started, drained and suspended; 0 does not.
	MaxChanges int
}

// Action is a change of one session.
type Action struct {
	Change lifecycle.Change
	// Session is as it is when the change is made. The id and the token of one to be
	// created, and the new token of one that is reactivated, are filled in by who makes it.
	Session lifecycle.Session
	Before  lifecycle.Session // as it was decided on; zero for one to be created
	// Failed is what is written where its runtime does not start; nil for nothing.
	Failed *lifecycle.Session
	Block  string // the reason that its work is marked with, "" where it has none of
	Event  string // that is logged besides
	Why    string
}

// Note is something that a tick noticed, and did nothing about or not all.
type Note struct {
	Template string
	Session  string
	Event    string // that is logged for it, "" for none
	// Detail is what it is logged for again when it changes, while it holds.
	Detail string
	Text   string
}

// Plan is what a tick decided.
type Plan struct {
	Actions []Action // in the order in which they are made
	Notes   []Note
	After   Memory
}
