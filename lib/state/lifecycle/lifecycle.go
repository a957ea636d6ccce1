// Package lifecycle defines sessions that are made from templates: their states, the reasons for
// entering them, the changes between them, and each change's order of operations. All of it is
// data: the reconciler follows it, tests check it, and docs/reconcile.md prints it.
//
// A session has at most one marker, which alone makes it eligible for new work. Only an
// active pool session whose runtime was seen alive gets one, and it is removed before
// anything else happens to the session.
package lifecycle

import (
	"slices"
	"strings"
	"time"
)

type State string

const (
	Creating    State = "creating"    // it has a record; its runtime is not known to run
	Active      State = "active"      // it runs
	Suspended   State = "suspended"   // it does not run, and continues when it is resumed
	Draining    State = "draining"    // it gets no new work, and ends when its work is done
	Archived    State = "archived"    // a retired pool session
	Quarantined State = "quarantined" // it crashed too often, and rests
	Closed      State = "closed"      // it is over for good
)

type Reason string

const (
	PoolScaleUp        Reason = "pool_scale_up"
	UserRequest        Reason = "user_request"
	ConfigDriftReplace Reason = "config_drift_replace"

	CreationComplete  Reason = "creation_complete"
	Resumed           Reason = "resumed"
	Reactivated       Reason = "reactivated"
	QuarantineCleared Reason = "quarantine_cleared"

	IdleTimeout    Reason = "idle_timeout"
	DependencyDown Reason = "dependency_down"
	CrashRecovery  Reason = "crash_recovery"

	ScaleDown   Reason = "scale_down"
	ConfigDrift Reason = "config_drift"
	Manual      Reason = "manual"

	DrainComplete      Reason = "drain_complete"
	DrainTimeout       Reason = "drain_timeout"
	CrashDuringDrain   Reason = "crash_during_drain"
	SuspendedScaleDown Reason = "suspended_scale_down"
	QuarantineEvicted  Reason = "quarantine_evicted"

	CrashLoop Reason = "crash_loop"

	Pruned        Reason = "pruned"
	StaleCreating Reason = "stale_creating"
)

// Words returns the reason with spaces, for a person.
func (r Reason) Words() string { return strings.ReplaceAll(string(r), "_", " ") }

// Row is the definition of a state.
type Row struct {
	State    State
	Reasons  []Reason // for entering it
	To       []State  // next states, besides Closed, which may follow any other
	Occupies bool     // it counts against the pool's max
	Runs     bool     // it has a runtime
	Listed   bool     // by default
	PoolOnly bool
	Means    string
}

var States = []Row{
	{Creating, []Reason{PoolScaleUp, UserRequest, ConfigDriftReplace}, []State{Active, Quarantined}, true, true, true, false,
		"its record is there, its runtime is not known to run yet"},
	{Active, []Reason{CreationComplete, Resumed, Reactivated, QuarantineCleared}, []State{Suspended, Draining, Quarantined}, true, true, true, false,
		"its runtime runs; a session of a pool gets work"},
	{Suspended, []Reason{UserRequest, IdleTimeout, DependencyDown, CrashRecovery}, []State{Active, Archived}, true, false, true, false,
		"it has no runtime, and goes on where it was when it is resumed"},
	{Draining, []Reason{ScaleDown, ConfigDrift, Manual}, []State{Archived}, false, true, true, true,
		"it gets no new work, and ends when it has done what it has"},
	{Archived, []Reason{DrainComplete, DrainTimeout, CrashDuringDrain, SuspendedScaleDown, QuarantineEvicted}, []State{Active}, false, false, false, true,
		"it was retired, and can be found and, with wake_mode resume, taken back"},
	{Quarantined, []Reason{CrashLoop}, []State{Active, Archived}, true, false, true, false,
		"it crashed or failed to start too often, and is not started before its time"},
	{Closed, []Reason{UserRequest, Pruned, Manual, StaleCreating}, nil, false, false, false, false,
		"it is over; its record stays, without its secrets, and never changes again"},
}

// Row returns the definition of a state, or false for an unknown one.
func (s State) Row() (Row, bool) {
	i := slices.IndexFunc(States, func(r Row) bool { return r.State == s })
	if i < 0 {
		return Row{}, false
	}
	return States[i], true
}

// Rests reports whether a session in the state has no agent. Of an unknown state that is not known.
func (s State) Rests() bool {
	row, known := s.Row()
	return known && !row.Runs
}

// Takes reports whether a session may enter the state for a reason.
func (s State) Takes(r Reason) bool {
	row, _ := s.Row()
	return slices.Contains(row.Reasons, r)
}

// Occupies reports whether the state counts against the pool's max. An unknown state does, to be
// safe.
func (s State) Occupies() bool {
	row, known := s.Row()
	return row.Occupies || !known
}

// CanBecome reports whether next may follow the state.
func (s State) CanBecome(next State) bool {
	row, known := s.Row()
	return known && (slices.Contains(row.To, next) || next == Closed && s != Closed)
}

// Op is a step of a change. It is done completely or not at all, and may be repeated.
type Op string

const (
	Block   Op = "block"   // sets the session's claimed work aside
	Free    Op = "free"    // blocks or gives back the work that was set aside
	Keep    Op = "keep"    // undoes Block
	Unroute Op = "unroute" // removes its marker
	Write   Op = "write"   // writes its record in one piece
	Kill    Op = "kill"    // ends its runtime, if any
	Start   Op = "start"   // starts its runtime unless it runs
	Confirm Op = "confirm" // checks that its runtime is alive
	Route   Op = "route"   // sets its marker
)

type Change string

const (
	Create      Change = "create"
	Begin       Change = "begin"
	Complete    Change = "complete"
	RestartHere Change = "restart"
	Suspend     Change = "suspend"
	Resume      Change = "resume"
	Drain       Change = "drain"
	Archive     Change = "archive"
	Reactivate  Change = "reactivate"
	Quarantine  Change = "quarantine"
	Clear       Change = "clear"
	Close       Change = "close"
	Note        Change = "note" // changes a counter or secret in its record; the state stays

	RemoveMarker  Change = "remove-marker"
	RestoreMarker Change = "restore-marker"
	KillRuntime   Change = "kill-runtime"
)

// Order is how a change is made.
type Order struct {
	Change Change
	From   []State // empty: the session is created; nil: any state
	To     State   // "" if the state stays
	Ops    []Op
	Why    string // reason for the order
}

// Orders are the orders of all changes. After an interruption between two operations the
// next tick can continue, and no session without a runtime gets work.
var Orders = []Order{
	{Create, []State{}, Creating, []Op{Write, Start}, "a runtime without a record would be nobody's; the next tick starts what has a record only"},
	{Begin, []State{Creating}, "", []Op{Write, Start}, "as restart; a tick that was cut short has left it out, or its agent did not stay alive"},
	{Complete, []State{Creating}, Active, []Op{Confirm, Write, Route}, "work comes last"},
	{RestartHere, []State{Active}, "", []Op{Write, Start}, "the crash counts before it can happen again"},
	{Suspend, []State{Active}, Suspended, []Op{Unroute, Block, Write, Free, Kill}, "no work comes while it ends"},
	{Resume, []State{Suspended}, Active, []Op{Free, Start, Confirm, Write, Route}, "a runtime that is not confirmed is ended by the next tick"},
	{Drain, []State{Active}, Draining, []Op{Unroute, Write}, "no work comes while it finishes what it has"},
	{Archive, []State{Draining, Suspended, Quarantined}, Archived, []Op{Unroute, Block, Write, Free, Kill}, "its work is accounted for before it is gone"},
	{Reactivate, []State{Archived}, Active, []Op{Free, Start, Confirm, Write, Route}, "as resume"},
	{Quarantine, []State{Creating, Active}, Quarantined, []Op{Unroute, Block, Write, Free, Kill}, "as suspend"},
	{Clear, []State{Quarantined}, Active, []Op{Free, Start, Confirm, Write, Route}, "as resume"},
	{Close, nil, Closed, []Op{Unroute, Block, Write, Free, Kill}, "the write that closes it removes its secrets"},
	{Note, nil, "", []Op{Write}, ""},
	{RemoveMarker, nil, "", []Op{Unroute}, ""},
	{RestoreMarker, []State{Active}, "", []Op{Confirm, Keep, Route}, "it goes on with the work that it had"},
	{KillRuntime, nil, "", []Op{Kill}, ""},
}

func (c Change) Order() Order {
	i := slices.IndexFunc(Orders, func(o Order) bool { return o.Change == c })
	if i < 0 {
		return Order{}
	}
	return Orders[i]
}

// Session is the lifecycle's part of a session's record. A change writes it at once.
type Session struct {
	ID       string `json:"-"`
	Template string `json:"template"`
	// Pool is the template if the session was made for a pool, even if that has none any more.
	Pool   string `json:"pool_template,omitempty"`
	Slot   int    `json:"pool_slot,omitempty"` // in the pool, from 1; unique among the sessions that occupy it
	State  State  `json:"state"`
	Reason Reason `json:"state_reason"`

	Generation int    `json:"generation"`     // 1, incremented with each reactivation
	Token      string `json:"instance_token"` // new for each creation and reactivation
	Intent     string `json:"intent,omitempty"`
	// Hash is the hash of the runtime's configuration at its start; see package template.
	Hash     string `json:"config_hash,omitempty"`
	Replaces string `json:"replaces,omitempty"` // the session drained for drift that it replaces
	Pinned   bool   `json:"pinned,omitempty"`   // it is not replaced when its configuration changes

	CreatedAt   time.Time `json:"created_at,omitzero"`
	CreatingAt  time.Time `json:"creating_at,omitzero"`
	ActiveAt    time.Time `json:"active_at,omitzero"` // last activation or restart
	SuspendedAt time.Time `json:"suspended_at,omitzero"`
	DrainAt     time.Time `json:"drain_started,omitzero"`
	DrainReason Reason    `json:"drain_reason,omitempty"` // kept when it is archived
	// DrainTimeout is the template's when the session was activated, as in its file. It counts
	// once the template is gone.
	DrainTimeout string    `json:"drain_timeout,omitempty"`
	ArchivedAt   time.Time `json:"archived_at,omitzero"`
	ClosedAt     time.Time `json:"closed_at,omitzero"`

	CrashCount  int       `json:"crash_count,omitempty"` // since CrashSince
	CrashSince  time.Time `json:"crash_since,omitzero"`
	LastCrashAt time.Time `json:"last_crash_at,omitzero"`
	// CrashReason is how the agent last ended or failed to start, if known: redacted, in
	// one line, and cut.
	CrashReason     string    `json:"crash_reason,omitempty"`
	QuarantineUntil time.Time `json:"quarantine_until,omitzero"`
	QuarantineCycle int       `json:"quarantine_cycle,omitempty"` // number of returns from quarantine
	ScrubbedAt      time.Time `json:"scrubbed_at,omitzero"`       // when its secrets were removed
}
