// Package lifecycle is what a session that was made from a template can be: its states,
// the reasons for which it enters them, the changes between them, and the order in which
// each change is made. All of it is data, which the reconciler follows, the tests go
// through and docs/reconcile.md prints.
//
// A session has at most one marker, which makes it eligible for new work. Only an active
// session of a pool whose runtime was seen alive is given one, and it is taken away before
// anything else happens to the session. Nothing but the marker is asked when work is given
// out.
package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// State is where a session stands.
type State string

const (
	Creating    State = "creating"    // its record is there, its runtime is not known to be
	Active      State = "active"      // it runs
	Suspended   State = "suspended"   // it does not run, and goes on where it was when it is resumed
	Draining    State = "draining"    // it gets no new work, and ends when it has done what it has
	Archived    State = "archived"    // it was retired; of a pool only
	Quarantined State = "quarantined" // it crashed too often, and rests
	Closed      State = "closed"      // it is over, for good
)

// Reason is why a session entered its state.
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

// Words is the reason as a person reads it.
func (r Reason) Words() string { return strings.ReplaceAll(string(r), "_", " ") }

// Row is what there is to know of a state.
type Row struct {
	State    State
	Reasons  []Reason // for which it is entered
	To       []State  // that may follow, besides Closed, which may follow any other
	Occupies bool     // it counts against the pool's max
	Runs     bool     // a runtime belongs to it
	Listed   bool     // by default
	PoolOnly bool
	Means    string
}

// States are all of them.
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

// Row returns what there is to know of a state, and false for one that this version does
// not know.
func (s State) Row() (Row, bool) {
	i := slices.IndexFunc(States, func(r Row) bool { return r.State == s })
	if i < 0 {
		return Row{}, false
	}
	return States[i], true
}

// Takes reports whether a session may enter the state for that reason.
func (s State) Takes(r Reason) bool {
	row, _ := s.Row()
	return slices.Contains(row.Reasons, r)
}

// Occupies reports whether a session in that state counts against the max of its pool. One
// in a state that is not known does, for nothing tells that it does not.
func (s State) Occupies() bool {
	row, known := s.Row()
	return row.Occupies || !known
}

// May reports whether that state may follow.
func (s State) May(next State) bool {
	row, known := s.Row()
	return known && (slices.Contains(row.To, next) || next == Closed && s != Closed)
}

// Op is a thing that is done as part of a change. Each is done whole or not at all, and
// may be done twice.
type Op string

const (
	Block   Op = "block"   // the work that the session has claimed is put aside
	Free    Op = "free"    // what was put aside is nobody's: blocked, or given back
	Keep    Op = "keep"    // what was put aside is its own again
	Unroute Op = "unroute" // its marker is removed
	Write   Op = "write"   // its record is written, in one piece
	Kill    Op = "kill"    // its runtime is ended, if there is one
	Start   Op = "start"   // its runtime is started; that it runs already is no error
	Confirm Op = "confirm" // its runtime was seen alive
	Route   Op = "route"   // its marker is set
)

// Change is a kind of change of a session.
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
	Note        Change = "note" // a counter or a secret in its record; the state stays

	RemoveMarker  Change = "remove-marker"
	RestoreMarker Change = "restore-marker"
	KillRuntime   Change = "kill-runtime"
)

// Order is how a change is made.
type Order struct {
	Change Change
	From   []State // none: it is made; nil for any
	To     State   // "" where it stays
	Ops    []Op
	Why    string // the order is this one
}

// Orders are those of all changes. What stops between two of a change's ops leaves what
// the next tick knows how to go on from, and never a session that gets work and has no
// runtime.
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

// Order returns how a change is made.
func (c Change) Order() Order {
	i := slices.IndexFunc(Orders, func(o Order) bool { return o.Change == c })
	if i < 0 {
		return Order{}
	}
	return Orders[i]
}

// Session is the part of a session's record that its lifecycle consists of. One change
// writes all of it at once.
type Session struct {
	ID       string `json:"-"`
	Template string `json:"template"`
	// Pool is the template again for one that was made for a pool, whatever the template
	// says by now.
	Pool   string `json:"pool_template,omitempty"`
	Slot   int    `json:"pool_slot,omitempty"` // in the pool, from 1; no other that occupies it has it
	State  State  `json:"state"`
	Reason Reason `json:"state_reason"`

	Generation int    `json:"generation"`     // 1, and one more each time it is reactivated
	Token      string `json:"instance_token"` // another one each time it is made or reactivated
	Intent     string `json:"intent,omitempty"`
	// Hash is of the configuration that its runtime was started with, see package template.
	Hash     string `json:"config_hash,omitempty"`
	Replaces string `json:"replaces,omitempty"` // the session that was drained for drift, in the place of which it is

	CreatedAt   time.Time `json:"created_at,omitzero"`
	CreatingAt  time.Time `json:"creating_at,omitzero"`
	ActiveAt    time.Time `json:"active_at,omitzero"` // when it last became active, or was restarted
	SuspendedAt time.Time `json:"suspended_at,omitzero"`
	DrainAt     time.Time `json:"drain_started,omitzero"`
	DrainReason Reason    `json:"drain_reason,omitempty"` // kept when it is archived
	ArchivedAt  time.Time `json:"archived_at,omitzero"`
	ClosedAt    time.Time `json:"closed_at,omitzero"`

	CrashCount  int       `json:"crash_count,omitempty"` // since CrashSince
	CrashSince  time.Time `json:"crash_since,omitzero"`
	LastCrashAt time.Time `json:"last_crash_at,omitzero"`
	// CrashReason is how its agent last ended or failed to start, as far as that is known:
	// cleaned, without secrets, and cut.
	CrashReason     string    `json:"crash_reason,omitempty"`
	QuarantineUntil time.Time `json:"quarantine_until,omitzero"`
	QuarantineCycle int       `json:"quarantine_cycle,omitempty"` // how often it came back from there
	ScrubbedAt      time.Time `json:"scrubbed_at,omitzero"`       // when its secrets were removed
}
