package lifecycle

import (
	"slices"
	"testing"
)

// The states and their reasons are those of the mission. [S4-16 S4-17 S4-18 S4-19 S4-20 S4-21
// S4-22]
func TestReasons(t *testing.T) {
	for state, want := range map[State][]Reason{
		Creating:    {"pool_scale_up", "user_request", "config_drift_replace"},
		Active:      {"creation_complete", "resumed", "reactivated", "quarantine_cleared"},
		Suspended:   {"user_request", "idle_timeout", "dependency_down", "crash_recovery"},
		Draining:    {"scale_down", "config_drift", "manual"},
		Archived:    {"drain_complete", "drain_timeout", "crash_during_drain", "suspended_scale_down", "quarantine_evicted"},
		Quarantined: {"crash_loop"},
		Closed:      {"user_request", "pruned", "manual", "stale_creating"},
	} {
		row, ok := state.Row()
		if !ok || !slices.Equal(row.Reasons, want) {
			t.Errorf("%s: %v", state, row.Reasons)
		}
		for _, r := range want {
			if !state.Takes(r) {
				t.Errorf("%s does not take %s", state, r)
			}
		}
	}
	if Active.Takes(ScaleDown) || State("dreaming").Takes(Resumed) {
		t.Error("a reason of another state") // [S4-15]
	}
}

// What counts against a pool's max: creating, active, suspended and quarantined; and what
// a newer version knows, for nothing tells that it does not. [S4-4, S4-5]
func TestOccupies(t *testing.T) {
	for _, s := range States {
		want := slices.Contains([]State{Creating, Active, Suspended, Quarantined}, s.State)
		if s.State.Occupies() != want {
			t.Errorf("%s: %v", s.State, !want)
		}
	}
	if !State("dreaming").Occupies() {
		t.Error("a state of a newer version does not")
	}
}

// Closed is the end, and follows each other state. [S4-23, S4-48]
func TestMay(t *testing.T) {
	for _, s := range States {
		if s.State.CanBecome(Closed) != (s.State != Closed) {
			t.Errorf("%s: closed", s.State)
		}
		if Closed.CanBecome(s.State) {
			t.Errorf("closed becomes %s", s.State)
		}
	}
	for _, c := range []struct {
		from, to State
		may      bool
	}{
		{Creating, Active, true}, {Creating, Draining, false}, {Active, Draining, true}, {Active, Archived, false},
		{Suspended, Archived, true}, {Draining, Active, false}, {Quarantined, Active, true}, {Quarantined, Archived, true},
		{Archived, Active, true}, {Archived, Suspended, false}, {"dreaming", Closed, false},
	} {
		if c.from.CanBecome(c.to) != c.may {
			t.Errorf("%s to %s: %v", c.from, c.to, !c.may)
		}
	}
}

// Each change has one order, leads where its state may go, and never lets work come to
// what does not run: the marker goes before the runtime, and comes after it was seen alive
// and its record was written; and it goes before the record says another state. [S4-56 S4-57
// S4-58 S4-59 S4-60 S4-61 S4-111]
func TestOrders(t *testing.T) {
	seen := map[Change]bool{}
	for _, o := range Orders {
		if seen[o.Change] {
			t.Errorf("%s has two orders", o.Change)
		}
		seen[o.Change] = true
		for _, from := range o.From {
			if o.To != "" && !from.CanBecome(o.To) {
				t.Errorf("%s: %s to %s", o.Change, from, o.To)
			}
		}
		at := func(op Op) int { return slices.Index(o.Ops, op) }
		if kill, unroute := at(Kill), at(Unroute); kill > 0 && (unroute < 0 || unroute > kill || at(Write) > kill) {
			t.Errorf("%s: %v", o.Change, o.Ops)
		}
		if unroute, write := at(Unroute), at(Write); unroute >= 0 && write >= 0 && unroute > write {
			t.Errorf("%s: %v", o.Change, o.Ops)
		}
		if route := at(Route); route >= 0 && (at(Confirm) < 0 || at(Confirm) > route || at(Write) > route || at(Start) > at(Confirm)) {
			t.Errorf("%s: %v", o.Change, o.Ops)
		}
		if confirm, write := at(Confirm), at(Write); confirm >= 0 && write >= 0 && write < confirm { // it is active once it was seen
			t.Errorf("%s: %v", o.Change, o.Ops)
		}
		if start := at(Start); start >= 0 && at(Confirm) < 0 && at(Write) > start { // what runs has a record, and a crash is counted
			t.Errorf("%s: %v", o.Change, o.Ops)
		}
		if b := at(Block); b >= 0 && (at(Unroute) > b || b > at(Write)) { // [S4-54]
			t.Errorf("%s: %v", o.Change, o.Ops)
		}
	}
	for change, want := range map[Change][]Op{Suspend: {Unroute, Write, Kill}, Archive: {Unroute, Write, Kill}, Drain: {Unroute, Write}} {
		ops := slices.DeleteFunc(slices.Clone(change.Order().Ops), func(op Op) bool { return op == Block || op == Free })
		if !slices.Equal(ops, want) {
			t.Errorf("%s: %v", change, ops)
		}
	}
	if Change("nonsense").Order().Change != "" || Suspend.Order().To != Suspended {
		t.Error("an order of another change")
	}
}
