package tick

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"gt/lib/state/lifecycle"
	"gt/lib/text/count"
	"gt/lib/text/duration"
)

// resizePools resizes the pools of the templates, in their order, and then empties those whose
// template is gone. Last it retires the sessions that all of these propose, or none.
func (d *decision) resizePools() {
	for _, t := range d.Templates {
		if t.Pool != nil {
			d.resizePool(&t)
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
		d.resizePool(&t)
	}
	d.retireProposed()
}

type poolMembers struct {
	all       []Session
	active    []Session // alive, and not changed by this tick yet
	suspended []Session
	archived  []Session          // can be reactivated
	replaced  map[string]bool    // ids that another session replaces
	ahead     map[string]Session // sessions that run until their replacement does, by the replacement's id
	drained   []Session          // archived for drift, not replaced yet
	running   int                // creating or active
	draining  int                // draining for drift, not replaced yet
	claiming  int                // have claimed work
	unknown   bool               // whether one of them runs cannot be told
}

// findMembers sorts the sessions of a pool by what the tick may do with them.
func (d *decision) findMembers(t *Template) poolMembers {
	m := poolMembers{replaced: map[string]bool{}, ahead: map[string]Session{}}
	for i := range d.Sessions { // no copies: with 50,000 sessions they take seconds
		s := &d.Sessions[i]
		if s.Pool != t.Name {
			continue
		}
		m.all = append(m.all, *s)
		if s.Replaces != "" {
			m.replaced[s.Replaces] = true
		}
	}
	for _, s := range m.all {
		if old, ok := m.replacedBy(s); ok {
			m.ahead[s.ID] = old
		}
		m.addSession(s, d.hasAction[s.ID])
	}
	return m
}

// replacedBy returns the running session that s replaces. A session that was reactivated since,
// which makes its generation greater than 1, is not replaced any more.
func (m *poolMembers) replacedBy(s Session) (old Session, ok bool) {
	if s.Replaces == "" || !s.State.Occupies() {
		return old, false
	}
	i := slices.IndexFunc(m.all, func(old Session) bool { return old.ID == s.Replaces })
	if i < 0 {
		return old, false
	}
	old = m.all[i]
	return old, old.State == lifecycle.Active && (old.Generation == 1 || s.CreatedAt.After(old.ActiveAt))
}

// addSession adds a session to the fields for its state. acted says that this tick changes it
// already.
func (m *poolMembers) addSession(s Session, acted bool) {
	switch s.State {
	case lifecycle.Creating, lifecycle.Active:
		m.running++
		m.claiming += boolToInt(s.Claims > 0)
		m.unknown = m.unknown || s.Alive == Unknown
		if s.State == lifecycle.Active && s.Alive == Alive && !acted {
			m.active = append(m.active, s)
		}
	case lifecycle.Draining:
		if s.DrainReason == lifecycle.ConfigDrift && !m.replaced[s.ID] {
			m.draining++
		}
	case lifecycle.Suspended:
		m.unknown = m.unknown || s.Alive == Unknown
		if !acted {
			m.suspended = append(m.suspended, s)
		}
	case lifecycle.Archived:
		if s.DrainReason == lifecycle.ConfigDrift && !m.replaced[s.ID] {
			m.drained = append(m.drained, s)
		}
		if !acted && s.Alive == Dead && s.Wanted != "" && s.Hash == s.Wanted {
			m.archived = append(m.archived, s)
		}
	}
}

// resizePool resumes, adds and retires sessions of a pool until it has the wanted ones, and
// replaces what has drifted. It changes nothing if a check failed or a runtime's state is unknown.
func (d *decision) resizePool(t *Template) {
	addNote := func(format string, args ...any) {
		d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Text: fmt.Sprintf(format, args...)})
	}
	before, known := d.Before.Wanted[t.Name]
	recent := slices.DeleteFunc(slices.Clone(d.Before.Drifted[t.Name]), func(at time.Time) bool { return at.After(d.Now) || d.Now.Sub(at) >= driftWindow })
	if len(recent) > 0 {
		d.plan.After.Drifted[t.Name] = recent
	}
	demand, checked := d.Demand[t.Name]
	m := d.findMembers(t)
	if checked && demand.Err != nil || m.unknown {
		if known {
			d.plan.After.Wanted[t.Name] = before
		}
		if m.unknown {
			addNote("%d there, not scaled: nothing tells whether some of them run", d.occupied[t.Name])
		} else {
			addNote("%d there, not scaled: %v", d.occupied[t.Name], demand.Err)
			n := &d.plan.Notes[len(d.plan.Notes)-1]
			n.Event, n.Detail = EventCheckFailed, demand.Err.Error()
		}
		return
	}
	occupied := d.occupied[t.Name] - len(m.ahead) // with its replacement, a session counts once
	// A session that drains for drift keeps its place until its replacement comes.
	have := occupied + m.draining
	wanted := min(have+len(m.drained), t.Pool.Max) // without a check, the pool keeps its size
	if checked {
		wanted = min(demand.Wanted, t.Pool.Max)
	}
	// Without a check, work that nobody has asks for sessions, besides those that have some.
	asked := 0
	if open := d.Open[t.Name]; !checked && open > 0 {
		asked = min(m.claiming+open, t.Pool.Max)
	}
	wanted = max(wanted, min(t.Pool.Min, t.Pool.Max), asked, 0)
	d.plan.After.Wanted[t.Name] = wanted

	awake := wanted // how many of the wanted sessions should run
	if !checked {
		awake = max(min(t.Pool.Min, t.Pool.Max), asked)
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
	stay := occupied - d.leaving[t.Name] // minus those that leave in this tick
	// A session that is replaced ahead keeps its place until it is drained.
	there := d.occupied[t.Name] + m.draining
	switch {
	case there < wanted:
		d.grow(t, &m, wanted-there, fmt.Sprintf("%d wanted, %d there", wanted, there))
	case known && stay > max(wanted, before): // two ticks agree that these are too many
		d.retireSessions(t, &m, stay-max(wanted, before), fmt.Sprintf("%d wanted, %d there", wanted, stay))
	case stay > wanted:
		addNote("%d wanted, %d there: the next tick drains %d if it sees the same", wanted, stay, stay-wanted)
	}
	d.drainDrifted(t, &m, wanted, max(0, wanted-there)+m.draining, len(recent))
}

// grow adds n active sessions to a pool: reactivated ones first, then new ones, of which the first
// replace drained ones. It only notes why if the template's sessions may not start now, or if the
// pool rests because its sessions did not stay alive. A longer rest than is due does not count: the
// clock was set back.
func (d *decision) grow(t *Template, m *poolMembers, n int, why string) {
	if n <= 0 {
		return
	}
	if not, ok := d.canStart(t); !ok {
		d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Text: why + "; " + not})
		return
	}
	if f := d.Before.Failing[t.Name]; d.Now.Before(f.Until) && f.Until.Sub(d.Now) <= t.pauseAfter(f.Times) {
		text := fmt.Sprintf("%s; none is made before %s, for %s did not stay alive", why, f.Until.UTC().Format(time.RFC3339), count.Plural(f.Times, "session"))
		if f.Reason != "" {
			text += ": " + f.Reason
		}
		d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Text: text})
		return
	}
	if t.WakeMode == Resume {
		slices.SortStableFunc(m.archived, func(a, b Session) int {
			first := cmp.Or(a.ArchivedAt.Compare(b.ArchivedAt), byCreation(a, b))
			if t.Pool.ReactivateOrder == FIFO {
				return first
			}
			return -first
		})
		for _, s := range m.archived {
			if n == 0 {
				return
			}
			if d.Now.Before(s.LastCrashAt.Add(backoff(firstPause, s.CrashCount-1, t.QuarantineCap))) && s.CrashCount > 0 {
				continue // it failed to start a moment ago
			}
			again := s.Session // the record if the start fails
			again.CrashCount, again.LastCrashAt = again.CrashCount+1, d.Now
			after := d.enterState(s.Session, lifecycle.Active, lifecycle.Reactivated)
			after.Generation++
			after.Slot, after.DrainReason, after.DrainAt, after.ArchivedAt = d.freeSlot(t), "", time.Time{}, time.Time{}
			after.CrashCount, after.CrashSince, after.CrashReason, after.QuarantineCycle, after.QuarantineUntil = 0, time.Time{}, "", 0, time.Time{}
			d.addAction(lifecycle.Reactivate, s, after, why).Failed = &again
			n--
		}
	}
	for i := range n {
		replaces := ""
		if i < len(m.drained) {
			replaces = m.drained[i].ID
		}
		d.planCreate(t, replaces, why)
	}
}

// planCreate plans a new session of the pool. replaces is the id of the one that it replaces, or "".
func (d *decision) planCreate(t *Template, replaces, why string) {
	slot, reason := d.freeSlot(t), lifecycle.PoolScaleUp
	if replaces != "" {
		reason = lifecycle.ConfigDriftReplace
	}
	d.plan.Actions = append(d.plan.Actions, Action{Change: lifecycle.Create, Why: why, Session: lifecycle.Session{
		Template: t.Name, Pool: t.Name, Slot: slot, State: lifecycle.Creating, Reason: reason, Generation: 1, Replaces: replaces,
		Intent:    fmt.Sprintf("template:%s:tick:%s:slot:%d", t.Name, d.Tick, slot),
		CreatedAt: d.Now, CreatingAt: d.Now,
	}})
}

// freeSlot returns the lowest free number in the pool. A draining session still has its own.
func (d *decision) freeSlot(t *Template) int {
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

// retireSessions removes n sessions from a pool: suspended ones first, then those of which nothing
// would be cut off (Busy is empty), then the others, each in the pool's archive order. Active ones
// it only proposes, in d.toRetire: retireProposed decides whether they drain.
func (d *decision) retireSessions(t *Template, m *poolMembers, n int, why string) {
	for _, s := range slices.Backward(m.suspended) {
		if n > 0 && !d.hasAction[s.ID] {
			d.addAction(lifecycle.Archive, s, d.enterState(s.Session, lifecycle.Archived, lifecycle.SuspendedScaleDown), why)
			n--
		}
	}
	slices.SortStableFunc(m.active, func(a, b Session) int {
		newest := -byCreation(a, b)
		if c := cmp.Compare(boolToInt(a.Busy != ""), boolToInt(b.Busy != "")); c != 0 {
			return c
		}
		switch t.Pool.ArchiveOrder {
		case FIFO:
			return -newest
		case IdleFirst:
			// Those that are not idle come last.
			return cmp.Or(-cmp.Compare(boolToInt(!a.Idle.IsZero()), boolToInt(!b.Idle.IsZero())), a.Idle.Compare(b.Idle), newest)
		}
		return newest
	})
	for _, s := range m.active {
		if n > 0 && !d.hasAction[s.ID] {
			d.hasAction[s.ID] = true
			d.toRetire = append(d.toRetire, newAction(lifecycle.Drain, s.Session, d.enterState(s.Session, lifecycle.Draining, lifecycle.ScaleDown), why))
			n--
		}
	}
}

// byCreation orders sessions by creation, and those of one tick by slot, in which order the
// tick makes them.
func byCreation(a, b Session) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.ID, b.ID))
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxRetiring is how many sessions may always retire at once whose template is there.
const maxRetiring = 3

// retireProposed drains the sessions of d.toRetire, all or none: a half-read file or a broken check
// must not end everything. It drains up to half of the town's active sessions, or maxRetiring if
// that is more. Where a template is gone, it has to be less than half. Force allows any number.
func (d *decision) retireProposed() {
	active, gone := 0, false
	for _, s := range d.Sessions {
		if s.State == lifecycle.Active {
			active++
		}
	}
	leave := map[string]int{} // by template
	for _, a := range d.toRetire {
		leave[a.Session.Template]++
		t := d.templates[a.Session.Pool]
		gone = gone || t == nil || t.Pool == nil
	}
	n := len(d.toRetire)
	if few := n <= active/2 && (!gone || 2*n < active); few || n <= maxRetiring && !gone || d.Force {
		d.plan.Actions = append(d.plan.Actions, d.toRetire...)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(leave)) {
		held := fmt.Sprintf("%s kept: %d of %d active would leave at once; gt-reconcile tick --force does it, gt-session drain for some",
			count.Plural(leave[name], "session"), n, active)
		d.plan.Notes = append(d.plan.Notes, Note{Template: name, Event: EventShrinkHeld, Detail: held, Text: held})
	}
}

// drainDrifted drains sessions whose configuration has changed, a few at a time. missing is how
// many sessions the pool lacks already, recent how many it drained for this in driftWindow. The
// last running session is drained only once its replacement runs, if the pool's max has room for
// both.
func (d *decision) drainDrifted(t *Template, m *poolMembers, wanted, missing, recent int) {
	starting, stay := m.running-len(m.active), 0 // not ready or being changed; ready and kept
	for _, s := range m.active {
		stay += boolToInt(!d.hasAction[s.ID])
	}
	for _, s := range m.active {
		if d.hasAction[s.ID] {
			continue
		}
		if old, ahead := m.ahead[s.ID]; ahead && old.Wanted != "" && !hasDrifted(old) {
			d.addAction(lifecycle.Drain, s, d.enterState(s.Session, lifecycle.Draining, lifecycle.ScaleDown), "what it was to replace has the new configuration")
			stay--
			continue
		}
		if !hasDrifted(s) {
			continue
		}
		switch {
		case s.Pinned:
			d.addNote(s, "", "keeps its old configuration (%s): it is pinned", differingText(s))
		case s.Attached, s.Asks:
			d.addNote(s, "", "keeps its old configuration (%s) while somebody looks at it or it waits for an answer", differingText(s))
		case s.Busy != "": // its end would come after drain_timeout, most likely in the same turn
			d.addNote(s, "", "keeps its old configuration (%s) while %s", differingText(s), s.Busy)
		case recent >= t.Pool.MaxReplaced:
			d.addNote(s, EventDriftHeld, "keeps its old configuration (%s): %d of %d were replaced in %s", differingText(s), recent, t.Pool.MaxReplaced, duration.Format(driftWindow))
		case missing+starting >= t.Pool.MaxUnavailable: // its turn comes in a later tick
		case stay == 1 && wanted > 0 && d.occupied[t.Name] < t.Pool.Max:
			if why, ok := d.canStart(t); !ok {
				d.addNote(s, "", "keeps its old configuration (%s): %s", differingText(s), why)
			} else if missing+starting == 0 {
				d.planCreate(t, s.ID, "its predecessor's configuration changed: "+differingText(s))
				starting++
			}
		default:
			recent++
			d.addAction(lifecycle.Drain, s, d.enterState(s.Session, lifecycle.Draining, lifecycle.ConfigDrift),
				fmt.Sprintf("its configuration changed: %s (%d of %d in %s)", differingText(s), recent, t.Pool.MaxReplaced, duration.Format(driftWindow)))
			missing++
			stay--
		}
	}
}

// Retain returns actions for archived sessions that the plan does not change. It closes the
// oldest above the pool's max_archived. Sessions with the wake mode fresh, which are never
// reactivated, lose their secrets after archived_secret_ttl.
func Retain(f Facts, plan Plan) (more []Action) {
	d := decision{Facts: f}
	acted := map[string]bool{}
	for _, a := range plan.Actions {
		acted[a.Before.ID] = true
	}
	by := map[string][]lifecycle.Session{}
	for _, s := range f.Sessions {
		if s.State == lifecycle.Archived && !acted[s.ID] && !s.Routed && s.Alive == Dead {
			by[s.Pool] = append(by[s.Pool], s.Session)
		}
	}
	retain := func(name string, mode WakeMode, pool *Pool) {
		all := by[name]
		slices.SortFunc(all, func(a, b lifecycle.Session) int {
			return cmp.Or(a.ArchivedAt.Compare(b.ArchivedAt), cmp.Compare(a.ID, b.ID))
		})
		for i, s := range all {
			switch {
			case len(all)-i > pool.MaxArchived:
				more = append(more, newAction(lifecycle.Close, s, d.enterState(s, lifecycle.Closed, lifecycle.Pruned),
					fmt.Sprintf("%d archived, %d kept", len(all), pool.MaxArchived)))
			case mode == Fresh && s.ScrubbedAt.IsZero() && f.Now.Sub(s.ArchivedAt) >= pool.ArchivedSecretTTL:
				after := s
				after.ScrubbedAt = f.Now
				more = append(more, newAction(lifecycle.Note, s, after,
					fmt.Sprintf("its secrets go, %s after it was archived", duration.Format(pool.ArchivedSecretTTL))))
			}
		}
		delete(by, name)
	}
	for _, t := range f.Templates {
		if t.Pool != nil {
			retain(t.Name, t.WakeMode, t.Pool)
		}
	}
	_, pool := Defaults()
	for _, name := range slices.Sorted(maps.Keys(by)) { // pools without a template
		retain(name, Fresh, &pool)
	}
	return more
}
