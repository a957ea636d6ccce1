package tick

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"gt/lib/state/lifecycle"
)

// pools brings each pool to its size: of the templates in their order, then of those that
// are gone.
func (d *decision) pools() {
	for _, t := range d.Templates {
		if t.Pool != nil {
			d.pool(&t)
		}
	}
	gone := map[string]bool{}
	for _, s := range d.Sessions {
		if s.Pool != "" && d.templates[s.Pool] == nil {
			gone[s.Pool] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		t, pool := Defaults()
		t.Name, t.Pool, pool.Max = name, &pool, 0
		d.pool(&t)
	}
	d.shrink()
}

// members of a pool are grouped by what a pool asks of them.
type members struct {
	all       []Seen
	active    []Seen // that run, and that nothing was decided on
	suspended []Seen
	archived  []Seen // that can be taken back
	replaced  map[string]bool
	drained   []Seen // for drift, that were not replaced yet
	running   int    // creating or active
	draining  int    // for drift
	unknown   bool
}

func (d *decision) members(t *Template) members {
	m := members{replaced: map[string]bool{}}
	for _, s := range d.Sessions {
		if s.Pool != t.Name {
			continue
		}
		m.all = append(m.all, s)
		if s.Replaces != "" {
			m.replaced[s.Replaces] = true
		}
	}
	for _, s := range m.all {
		switch s.State {
		case lifecycle.Creating, lifecycle.Active:
			m.running++
			m.unknown = m.unknown || s.Alive == Unknown
			if s.State == lifecycle.Active && s.Alive == Yes && !d.acted[s.ID] {
				m.active = append(m.active, s)
			}
		case lifecycle.Draining:
			if s.DrainReason == lifecycle.ConfigDrift {
				m.draining++
			}
		case lifecycle.Suspended:
			m.unknown = m.unknown || s.Alive == Unknown
			if !d.acted[s.ID] {
				m.suspended = append(m.suspended, s)
			}
		case lifecycle.Archived:
			if s.DrainReason == lifecycle.ConfigDrift && !m.replaced[s.ID] {
				m.drained = append(m.drained, s)
			}
			if !d.acted[s.ID] && s.Alive == No && s.Wanted != "" && s.Hash == s.Wanted {
				m.archived = append(m.archived, s)
			}
		}
	}
	return m
}

// pool decides on the size of one pool.
func (d *decision) pool(t *Template) {
	say := func(format string, args ...any) {
		d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Text: fmt.Sprintf(format, args...)})
	}
	before, known := d.Before.Wanted[t.Name]
	recent := slices.DeleteFunc(slices.Clone(d.Before.Drifted[t.Name]), func(at time.Time) bool { return d.Now.Sub(at) >= driftWindow })
	if len(recent) > 0 {
		d.plan.After.Drifted[t.Name] = recent
	}
	demand, checked := d.Demand[t.Name]
	m := d.members(t)
	if checked && demand.Err != nil || m.unknown {
		if known {
			d.plan.After.Wanted[t.Name] = before
		}
		if m.unknown {
			say("not scaled: nothing tells whether some of its sessions run")
		} else {
			say("not scaled: %v", demand.Err)
		}
		return
	}
	occupied := d.occupied[t.Name]
	// Who is drained for drift is replaced when it is gone, and keeps its place until then.
	have := occupied + m.draining
	wanted := min(have+len(m.drained), t.Pool.Max)
	if checked {
		wanted = min(demand.Wanted, t.Pool.Max)
	}
	wanted = max(wanted, min(t.Pool.Min, t.Pool.Max), 0)
	d.plan.After.Wanted[t.Name] = wanted

	awake := wanted // how many of them should run
	if !checked {
		awake = min(t.Pool.Min, t.Pool.Max)
	}
	running := m.running
	for _, s := range m.suspended {
		if running >= awake {
			break
		}
		if s.Reason != lifecycle.UserRequest && d.resume(s, t) {
			running++
		}
	}
	stay := occupied - d.leaving[t.Name] // of those that this tick has found
	switch {
	case have < wanted:
		d.grow(t, &m, wanted-have)
	case !known && stay > wanted:
		say("%d more than the %d that are wanted; the next tick retires them if it sees the same", stay-wanted, wanted)
	case stay > max(wanted, before):
		d.retire(t, &m, stay-max(wanted, before))
	case stay > wanted:
		say("%d more than the %d that are wanted; the next tick retires them if it sees the same", stay-wanted, wanted)
	}
	d.drift(t, &m, max(0, wanted-have)+m.draining, len(recent))
}

// grow makes n more sessions active.
func (d *decision) grow(t *Template, m *members, n int) {
	if n <= 0 {
		return
	}
	if why, ok := d.startable(t); !ok {
		d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Text: fmt.Sprintf("%d more are wanted and not started: %s", n, why)})
		return
	}
	if t.WakeMode == Resume {
		slices.SortStableFunc(m.archived, func(a, b Seen) int {
			first := cmp.Or(a.ArchivedAt.Compare(b.ArchivedAt), made(a, b))
			if t.Pool.ReactivateOrder == FIFO {
				return first
			}
			return -first
		})
		for _, s := range m.archived {
			if n == 0 {
				return
			}
			after := d.into(s.Session, lifecycle.Active, lifecycle.Reactivated)
			after.Generation++
			after.Slot, after.DrainReason, after.DrainAt, after.ArchivedAt = d.slot(t), "", time.Time{}, time.Time{}
			after.CrashCount, after.CrashSince, after.QuarantineCycle, after.QuarantineUntil = 0, time.Time{}, 0, time.Time{}
			d.act(lifecycle.Reactivate, s, after, "one more is wanted, and it was archived with this configuration")
			n--
		}
	}
	for i := range n {
		reason, why, replaces := lifecycle.PoolScaleUp, "one more is wanted", ""
		if i < len(m.drained) {
			reason, replaces = lifecycle.ConfigDriftReplace, m.drained[i].ID
			why = "it replaces one that was drained because its configuration is another"
		}
		slot := d.slot(t)
		d.plan.Actions = append(d.plan.Actions, Action{Change: lifecycle.Create, Why: why, Session: lifecycle.Session{
			Template: t.Name, Pool: t.Name, Slot: slot, State: lifecycle.Creating, Reason: reason, Generation: 1, Replaces: replaces,
			Intent:    fmt.Sprintf("template:%s:tick:%s:slot:%d", t.Name, d.Tick, slot),
			CreatedAt: d.Now, CreatingAt: d.Now,
		}})
	}
}

// slot returns the lowest place of a pool that no session has, nor one of those that this
// tick makes.
func (d *decision) slot(t *Template) int {
	taken := map[int]bool{}
	for _, s := range d.Sessions {
		if s.Pool == t.Name && (s.State.Occupies() || s.State == lifecycle.Draining) {
			taken[s.Slot] = true
		}
	}
	for _, a := range d.plan.Actions {
		if a.Session.Pool == t.Name && (a.Change == lifecycle.Create || a.Change == lifecycle.Reactivate) {
			taken[a.Session.Slot] = true
		}
	}
	slot := 1
	for taken[slot] {
		slot++
	}
	return slot
}

// retire picks n sessions that leave the pool: suspended ones first, then in the pool's
// order.
func (d *decision) retire(t *Template, m *members, n int) {
	why := "the pool has more than are wanted"
	for _, s := range slices.Backward(m.suspended) {
		if n > 0 && !d.acted[s.ID] {
			d.act(lifecycle.Archive, s, d.into(s.Session, lifecycle.Archived, lifecycle.SuspendedScaleDown), why, block(workArchived))
			n--
		}
	}
	slices.SortStableFunc(m.active, func(a, b Seen) int {
		newest := -made(a, b)
		switch t.Pool.ArchiveOrder {
		case FIFO:
			return -newest
		case IdleFirst:
			// Who works comes last.
			return cmp.Or(-cmp.Compare(b2i(!a.Idle.IsZero()), b2i(!b.Idle.IsZero())), a.Idle.Compare(b.Idle), newest)
		}
		return newest
	})
	for _, s := range m.active {
		if n > 0 && !d.acted[s.ID] {
			d.acted[s.ID] = true
			d.retired = append(d.retired, Action{Change: lifecycle.Drain, Before: s.Session, Session: d.into(s.Session, lifecycle.Draining, lifecycle.ScaleDown), Why: why})
			n--
		}
	}
}

// made compares two sessions by when they were made: those of one tick by their places, in
// whose order it makes them.
func made(a, b Seen) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.ID, b.ID))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// most is how many sessions are retired at once whatever their share is.
const most = 3

// shrink makes the shrinks of all pools, unless most of the town would be retired: a file
// that was read half, or a check that answers nonsense, must not end what runs.
func (d *decision) shrink() {
	active := 0
	for _, s := range d.Sessions {
		if s.State == lifecycle.Active {
			active++
		}
	}
	if n := len(d.retired); n > most && n > active/2 && !d.Force {
		d.plan.Notes = append(d.plan.Notes, Note{Text: fmt.Sprintf("%d of %d active sessions would be retired, which is most of them; --force does it", n, active)})
		return
	}
	d.plan.Actions = append(d.plan.Actions, d.retired...)
}

// drift drains sessions whose configuration is another by now, a few at a time: missing
// are those of the pool that are not there, or about to go, as it is.
func (d *decision) drift(t *Template, m *members, missing, recent int) {
	starting := m.running - len(m.active)
	for _, s := range m.active {
		if !drifted(s) || d.acted[s.ID] {
			continue
		}
		switch {
		case s.Attached, s.Asks:
			d.note(s, "", "keeps its old configuration (%s) while somebody looks at it or it waits for an answer", differs(s))
		case recent >= driftRecreates:
			d.note(s, EventDriftHeld, "keeps its old configuration (%s): %d sessions of %s were replaced within %v", differs(s), recent, t.Name, driftWindow)
		case missing+starting < t.Pool.MaxUnavailable:
			d.act(lifecycle.Drain, s, d.into(s.Session, lifecycle.Draining, lifecycle.ConfigDrift), "its configuration is another by now: "+differs(s))
			missing++
			recent++
		}
	}
}
