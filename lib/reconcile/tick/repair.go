package tick

import (
	"time"

	"gt/lib/state/lifecycle"
)

// AnyValue matches all values of a column of Repairs.
const AnyValue = -1

// Repair is a row of Repairs: what is done with a session in a state, with or without a
// marker, by which it gets work, a runtime and a pool. In Marker and Pool, 1 is yes and 0 is no;
// Runtime holds a Liveness.
type Repair struct {
	State   lifecycle.State
	Marker  int
	Runtime int
	Pool    int
	Do      RepairKind
	Line    string // the requirement, such as S4-81; "" if there is none
}

// RepairKind is an action of Repairs.
type RepairKind string

const (
	DoNothing     RepairKind = "nothing"
	WaitForIt     RepairKind = "nothing until its runtime is known to run or not"
	Unroute       RepairKind = "remove the marker"
	End           RepairKind = "end the runtime"
	CompleteIt    RepairKind = "set active; in a pool, set the marker"
	StartOrClose  RepairKind = "start it, or quarantine it after too many tries; close it when the creation timeout has passed"
	RouteOrDrain  RepairKind = "take back the work that was put aside and set the marker; drain it if the others fill the pool"
	Crashed       RepairKind = "restart, quarantine or suspend it"
	SuspendIt     RepairKind = "suspend it, crash_recovery"
	WaitForDrain  RepairKind = "archive it when its work is done or its time is over"
	ArchiveIt     RepairKind = "archive it, crash_during_drain"
	Judge         RepairKind = "nothing but what its template asks for"
	WakeOrNothing RepairKind = "resume it when the reason is gone"
	RestOrClear   RepairKind = "clear, evict or leave it"
)

// Repairs is the table of repairs. The first row that matches a session counts. Removing a
// marker comes first and regardless of the runtime: a session that gets no work is always
// safe. If the runtime's state is unknown, nothing else is done.
var Repairs = []Repair{
	{lifecycle.Creating, 1, AnyValue, AnyValue, Unroute, "S4-81"},
	{lifecycle.Creating, 0, int(Alive), 1, CompleteIt, "S4-62"},
	{lifecycle.Creating, 0, int(Alive), 0, CompleteIt, "S4-63"},
	{lifecycle.Creating, 0, int(Dead), AnyValue, StartOrClose, "S4-64"},
	{lifecycle.Creating, 0, int(Unknown), AnyValue, WaitForIt, ""},

	{lifecycle.Active, 1, AnyValue, 0, Unroute, "S4-81"},
	{lifecycle.Active, 1, int(Alive), 1, Judge, ""},
	{lifecycle.Active, 1, int(Dead), 1, Crashed, "S4-33"},
	{lifecycle.Active, 0, int(Alive), 1, RouteOrDrain, "S4-65"},
	{lifecycle.Active, 0, int(Alive), 0, Judge, "S4-66"},
	{lifecycle.Active, 0, int(Dead), 1, SuspendIt, "S4-67"},
	{lifecycle.Active, 0, int(Dead), 0, Crashed, "S4-33"},
	{lifecycle.Active, AnyValue, int(Unknown), AnyValue, WaitForIt, ""},

	{lifecycle.Draining, 1, int(Dead), AnyValue, ArchiveIt, "S4-69"}, // archiving removes the marker first
	{lifecycle.Draining, 1, AnyValue, AnyValue, Unroute, "S4-68"},
	{lifecycle.Draining, 0, int(Alive), AnyValue, WaitForDrain, "S4-70"},
	{lifecycle.Draining, 0, int(Dead), AnyValue, ArchiveIt, "S4-71"},
	{lifecycle.Draining, 0, int(Unknown), AnyValue, WaitForIt, ""},

	{lifecycle.Suspended, 1, AnyValue, AnyValue, Unroute, "S4-74"},
	{lifecycle.Suspended, 0, int(Alive), AnyValue, End, "S4-75"},
	{lifecycle.Suspended, 0, int(Dead), AnyValue, WakeOrNothing, ""},
	{lifecycle.Suspended, 0, int(Unknown), AnyValue, WaitForIt, ""},

	{lifecycle.Quarantined, 1, int(Dead), AnyValue, Unroute, "S4-76"},
	{lifecycle.Quarantined, 1, AnyValue, AnyValue, Unroute, "S4-77"}, // the row below ends the runtime
	{lifecycle.Quarantined, 0, int(Alive), AnyValue, End, "S4-78"},
	{lifecycle.Quarantined, 0, int(Dead), AnyValue, RestOrClear, "S4-79"},
	{lifecycle.Quarantined, 0, int(Unknown), AnyValue, WaitForIt, ""},

	{lifecycle.Archived, 1, AnyValue, AnyValue, Unroute, "S4-72"},
	{lifecycle.Archived, 0, int(Alive), AnyValue, End, "S4-73"},
	{lifecycle.Archived, 0, int(Dead), AnyValue, DoNothing, ""},
	{lifecycle.Archived, 0, int(Unknown), AnyValue, WaitForIt, ""},

	{lifecycle.Closed, 1, AnyValue, AnyValue, Unroute, ""},
	{lifecycle.Closed, 0, int(Alive), AnyValue, End, ""},
	{lifecycle.Closed, 0, int(Dead), AnyValue, DoNothing, ""},
	{lifecycle.Closed, 0, int(Unknown), AnyValue, WaitForIt, ""},
}

// findRepair returns the row for a session, or false for an unknown state.
func findRepair(s Session) (Repair, bool) {
	fits := func(want int, is bool) bool { return want == AnyValue || (want == 1) == is }
	for _, row := range Repairs {
		if row.State == s.State && fits(row.Marker, s.Routed) && fits(row.Pool, s.Pool != "") &&
			(row.Runtime == AnyValue || row.Runtime == int(s.Alive)) {
			return row, true
		}
	}
	return Repair{}, false
}

// updateFailing writes into the memory which templates have sessions that do not stay alive. It
// notes a template once, when its first session is quarantined or given up. After a session is
// given up, the pool rests before it makes another, twice as long each time. Those that are given
// up during one rest count once.
func (d *decision) updateFailing() {
	for i := range d.Templates {
		t := &d.Templates[i]
		f, wasNoted := d.Before.Failing[t.Name]
		if last := d.Now.Add(t.pauseAfter(f.Times)); f.Until.After(last) || f.Since.After(d.Now) { // the clock was set back
			f.Since = d.Now
			if f.Until.After(last) {
				f.Until = last
			}
		}
		fails := wasNoted && d.stillFails(t, f)
		if !fails {
			f, wasNoted = Failing{}, false
		}
		for _, a := range d.plan.Actions {
			if a.Session.Template != t.Name || a.Change != lifecycle.Quarantine && !d.gaveUp[a.Before.ID] {
				continue
			}
			if d.gaveUp[a.Before.ID] && !d.Now.Before(f.Until) {
				f.Times++
				f.Until = d.Now.Add(t.pauseAfter(f.Times))
			}
			if !fails {
				fails, f.Since = true, d.Now
			}
			if a.Session.CrashReason != "" {
				f.Reason = a.Session.CrashReason
			}
			if !wasNoted {
				wasNoted = true
				d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Session: a.Session.ID, Event: EventFailing, Text: a.Why})
			}
		}
		if fails {
			d.plan.After.Failing[t.Name] = f
		}
	}
}

// pauseAfter returns how long a pool rests after times sessions were given up.
func (t *Template) pauseAfter(times int) time.Duration {
	return backoff(t.QuarantineCap, times-1, max(t.QuarantineCap, longestRest))
}

// stillFails reports whether a failing template still fails: no session that was made since
// is healthy, and one has crashed or was given up recently.
func (d *decision) stillFails(t *Template, f Failing) bool {
	fails := !f.Until.IsZero() && d.Now.Before(f.Until.Add(longestRest))
	for i := range d.Sessions {
		s := &d.Sessions[i]
		if s.Template != t.Name || !s.State.Occupies() {
			continue
		}
		if s.State == lifecycle.Active && s.Alive == Alive && !s.CreatedAt.Before(f.Since) && d.Now.Sub(laterTime(s.ActiveAt, s.LastCrashAt)) >= t.QuarantineHealthy {
			return false
		}
		fails = fails || s.CrashCount > 0 || s.QuarantineCycle > 0 || s.State == lifecycle.Quarantined
	}
	return fails
}
