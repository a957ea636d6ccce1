package tick

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"gt/lib/state/lifecycle"
	"gt/lib/text/duration"
)

// WorkReason returns why the work of a session in a state without an agent is blocked:
// session_archived, session_suspended, session_quarantined or session_closed.
func WorkReason(s lifecycle.State) string { return "session_" + string(s) }

// workCrashDrain is the reason for a session that ended while it was drained.
const workCrashDrain = "session_crash_drain"

// Events that are logged besides a change.
const (
	EventNoMarker      = "session.repair.active_no_label"
	EventEvicted       = "session.quarantine.evicted"
	EventUnknownState  = "session.unknown_state"
	EventDriftHeld     = "session.drift.held"
	EventStaleCreating = "session.stale_creating"
	EventFailing       = "session.failing"
	EventCheckFailed   = "session.check.failed"
	EventUnseen        = "session.unseen"
	EventShrinkHeld    = "session.shrink.held"
)

// driftWindow is the time for Pool.MaxReplaced.
const driftWindow = 10 * time.Minute

// firstBackoff is the length of the first quarantine. It doubles up to the template's cap.
const firstBackoff = 30 * time.Second

// firstPause is the pause before a failed start is repeated. It doubles up to the cap of a
// quarantine.
const firstPause = time.Second

// longestRest bounds how long a pool waits before it replaces a session that it gave up.
const longestRest = time.Hour

// Decide returns the changes that bring the sessions to what their templates ask for, the notes
// about the others, and the memory for the next tick. The same facts always give the same plan.
func Decide(f Facts) Plan {
	d := &decision{Facts: f, templates: map[string]*Template{}, hasAction: map[string]bool{}, gaveUp: map[string]bool{}, occupied: map[string]int{}, leaving: map[string]int{}}
	d.plan.After = Memory{Wanted: map[string]int{}, Drifted: map[string][]time.Time{}, Failing: map[string]Failing{}}
	for i := range f.Templates {
		d.templates[f.Templates[i].Name] = &f.Templates[i]
	}
	d.Sessions = slices.Clone(f.Sessions)
	slices.SortStableFunc(d.Sessions, byCreation)
	for _, s := range d.Sessions {
		if s.State.Occupies() && s.Pool != "" {
			d.occupied[s.Pool]++
		}
	}
	for _, s := range d.Sessions {
		d.repairSession(s)
	}
	d.resizePools()
	d.sortActions()
	d.updateFailing()
	for _, a := range d.plan.Actions {
		if a.Change == lifecycle.Drain && a.Session.Reason == lifecycle.ConfigDrift {
			name := a.Session.Template
			d.plan.After.Drifted[name] = append(d.plan.After.Drifted[name], d.Now)
		}
	}
	return d.plan
}

type decision struct {
	Facts
	templates map[string]*Template
	occupied  map[string]int  // by pool, before this tick; what leaves makes room for the next tick
	leaving   map[string]int  // by pool: those of occupied that leave
	hasAction map[string]bool // session ids that have an action
	toRetire  []Action        // made together or not at all; see retireProposed
	gaveUp    map[string]bool // session ids that did not stay alive; a pool replaces them later
	plan      Plan
}

// newAction returns a change of a session. If it leaves the session without an agent, it also
// blocks the session's work.
func newAction(change lifecycle.Change, before, after lifecycle.Session, why string) Action {
	a := Action{Change: change, Session: after, Before: before, Why: why}
	if after.State != before.State && after.State.Rests() {
		a.Block = WorkReason(after.State)
	}
	return a
}

// addAction adds a change to the plan and returns it, for the caller to set Event, Block or Failed,
// which few changes have. The pointer is valid until the next call.
func (d *decision) addAction(change lifecycle.Change, s Session, after lifecycle.Session, why string) *Action {
	d.hasAction[s.ID] = true
	if s.Pool != "" && s.State.Occupies() && !after.State.Occupies() {
		d.leaving[s.Pool]++
	}
	d.plan.Actions = append(d.plan.Actions, newAction(change, s.Session, after, why))
	return &d.plan.Actions[len(d.plan.Actions)-1]
}

func (d *decision) addNote(s Session, event, format string, args ...any) {
	d.plan.Notes = append(d.plan.Notes, Note{Template: s.Template, Session: s.ID, Event: event, Text: fmt.Sprintf(format, args...)})
}

// enterState returns the session in another state, with the time at which it enters that. An active
// one also notes its pool's drain timeout, for a drain after its template is gone.
func (d *decision) enterState(s lifecycle.Session, state lifecycle.State, reason lifecycle.Reason) lifecycle.Session {
	s.State, s.Reason = state, reason
	switch state {
	case lifecycle.Active:
		s.ActiveAt = d.Now
		if t := d.templates[s.Template]; t != nil && t.Pool != nil {
			s.DrainTimeout = duration.Format(t.Pool.DrainTimeout)
		}
	case lifecycle.Suspended:
		s.SuspendedAt = d.Now
	case lifecycle.Draining:
		s.DrainAt, s.DrainReason = d.Now, reason
	case lifecycle.Archived:
		s.ArchivedAt = d.Now
	case lifecycle.Closed:
		s.ClosedAt, s.ScrubbedAt = d.Now, d.Now
	}
	return s
}

// repairSession decides about a session by its row of Repairs. A session whose times are in the
// future only has them corrected, and one whose worktree is being made is left alone. Unroute comes
// before both, because a session with a marker could still be given work.
func (d *decision) repairSession(s Session) {
	row, known := findRepair(s)
	if !known {
		d.addNote(s, EventUnknownState, "left alone: its state '%s' is of a newer gt", s.State)
		return
	}
	t := d.templates[s.Template]
	if after, ahead := d.fixFutureTimes(s, t); ahead && row.Do != Unroute && s.State != lifecycle.Closed {
		d.addAction(lifecycle.Note, s, after, "its times are in the future: the clock was set back")
		return
	}
	if s.Making && row.Do != Unroute {
		d.addNote(s, "", "its worktree is being made")
		d.hasAction[s.ID] = true
		return
	}
	switch row.Do {
	case WaitForIt:
		if s.State != lifecycle.Archived && s.State != lifecycle.Closed {
			d.addNote(s, "", "left alone: nothing tells whether it runs")
			d.noteUnknown(s)
		}
	case Unroute:
		d.addAction(lifecycle.RemoveMarker, s, s.Session, fmt.Sprintf("it is %s and has a marker", s.State))
	case End:
		d.addAction(lifecycle.KillRuntime, s, s.Session, fmt.Sprintf("it is %s but still running", s.State))
	case CompleteIt:
		d.addAction(lifecycle.Complete, s, d.enterState(s.Session, lifecycle.Active, lifecycle.CreationComplete), "its runtime was seen alive")
	case StartOrClose:
		d.beginSession(s, t)
	case RouteOrDrain:
		d.handleUnmarked(s, t)
	case Crashed:
		d.handleCrash(s, t)
	case SuspendIt:
		d.suspend(s, lifecycle.CrashRecovery, "it is not running, and has no marker")
	case WaitForDrain:
		d.handleDraining(s, t)
	case ArchiveIt:
		d.addAction(lifecycle.Archive, s, d.enterState(s.Session, lifecycle.Archived, lifecycle.CrashDuringDrain), "it ended while it was drained").Block = workCrashDrain
	case WakeOrNothing:
		d.wakeSession(s, t)
	case RestOrClear:
		d.handleQuarantined(s, t)
	case Judge:
		d.judgeSession(s, t)
	}
}

// fixFutureTimes moves a session's future times to now, ends its quarantine after the longest one
// at the latest, and reports whether that changed anything. Otherwise the session would wait for as
// long as the clock was ahead. t is nil if the template is gone.
func (d *decision) fixFutureTimes(s Session, t *Template) (after lifecycle.Session, ahead bool) {
	after = s.Session
	for _, at := range []*time.Time{&after.CreatingAt, &after.ActiveAt, &after.SuspendedAt, &after.DrainAt, &after.ArchivedAt, &after.CrashSince, &after.LastCrashAt} {
		if at.After(d.Now) {
			*at = d.Now
		}
	}
	limit, _ := Defaults()
	if t != nil {
		limit = *t
	}
	if last := d.Now.Add(limit.QuarantineCap); s.State == lifecycle.Quarantined && after.QuarantineUntil.After(last) {
		after.QuarantineUntil = last
	}
	return after, after != s.Session
}

// noteUnknown notes once for each template why its runtimes are unknown.
func (d *decision) noteUnknown(s Session) {
	n := Note{Template: s.Template, Event: EventUnseen, Detail: s.Unseen, Text: "nothing tells whether its sessions run: " + s.Unseen}
	if s.Unseen != "" && !slices.Contains(d.plan.Notes, n) {
		d.plan.Notes = append(d.plan.Notes, n)
	}
}

func (d *decision) suspend(s Session, reason lifecycle.Reason, why string) {
	if s.EndedByPerson {
		reason, why = lifecycle.UserRequest, "somebody ended it"
	}
	d.addAction(lifecycle.Suspend, s, d.enterState(s.Session, lifecycle.Suspended, reason), why)
}

// canStart reports whether a template's session may start now, or why not.
func (d *decision) canStart(t *Template) (why string, ok bool) {
	if t == nil {
		return "its template is gone", false
	}
	if until, held := d.Held[t.Account]; held && d.Now.Before(until) {
		return "its account is at its limit until " + until.UTC().Format(time.RFC3339), false
	}
	for _, name := range t.DependsOn {
		there, active := 0, 0
		for _, s := range d.Sessions {
			if s.Template == name && s.State.Occupies() {
				there++
				active += boolToInt(s.State == lifecycle.Active && s.Alive == Alive)
			}
		}
		if active == 0 {
			return fmt.Sprintf("it depends on %s: 0 of %d active", name, there), false
		}
	}
	return "", true
}

// beginSession starts a session whose runtime does not run yet. It closes one without a worktree
// after its creation timeout, and quarantines one after too many starts.
func (d *decision) beginSession(s Session, t *Template) {
	limit := time.Minute // for a session whose template is gone
	if t != nil {
		limit = t.CreationTimeout
	}
	after := s.Session
	// An earlier start has failed. One that ended at a usage limit of its account is no failure.
	failed := (s.Started || s.CrashReason != "") && t != nil && !s.Limited && !d.Now.Before(d.Held[t.Account])
	if failed {
		after = d.countCrash(s, t)
	}
	if d.Now.Sub(s.CreatingAt) > limit && (t == nil || !s.Worktree) {
		d.addAction(lifecycle.Close, s, d.enterState(after, lifecycle.Closed, lifecycle.StaleCreating),
			fmt.Sprintf("it did not start within %s", duration.Format(limit))+endReasonSuffix(after)).Event = EventStaleCreating
		if failed {
			d.gaveUp[s.ID] = s.Pool != ""
		}
		return
	}
	if failed && after.CrashCount > t.MaxRestarts {
		d.quarantine(s, t, after, fmt.Sprintf("it did not stay alive in %d starts, %d allowed", after.CrashCount, t.MaxRestarts+1))
		return
	}
	if why, ok := d.canStart(t); !ok {
		d.addNote(s, "", "not started: %s", why)
		return
	}
	if !failed {
		age := duration.Format(d.Now.Sub(s.CreatingAt))
		if !s.Worktree { // with one, the creation timeout does not hold
			age += " of " + duration.Format(limit)
		}
		d.addAction(lifecycle.Begin, s, after, fmt.Sprintf("it has not started yet (%s)", age))
		return
	}
	try := fmt.Sprintf("(try %d of %d)", after.CrashCount+1, t.MaxRestarts+1)
	if next := laterTime(s.CreatingAt, s.LastCrashAt).Add(backoff(firstPause, after.CrashCount-1, t.QuarantineCap)); d.Now.Before(next) {
		d.addNote(s, "", "not started before %s %s%s", next.UTC().Format(time.RFC3339), try, endReasonSuffix(after))
		return
	}
	d.addAction(lifecycle.Begin, s, after, "it did not stay alive "+try+endReasonSuffix(after))
}

// countCrash returns the session with one crash more within the template's restart window.
func (d *decision) countCrash(s Session, t *Template) lifecycle.Session {
	after := s.Session
	if after.CrashSince.IsZero() || d.Now.Sub(after.CrashSince) > t.RestartWindow {
		after.CrashSince, after.CrashCount = d.Now, 0
	}
	after.CrashCount++
	after.LastCrashAt = d.Now
	after.CrashReason = cmp.Or(s.Ended, after.CrashReason)
	return after
}

// endReasonSuffix returns how the session's agent ended, to append to a reason.
func endReasonSuffix(s lifecycle.Session) string {
	if s.CrashReason == "" {
		return ""
	}
	return ": " + s.CrashReason
}

// quarantine keeps a session that crashed too often from being started, for a time that doubles
// with each quarantine, and blocks its work. after is the session with its latest crash counted.
func (d *decision) quarantine(s Session, t *Template, after lifecycle.Session, why string) {
	rest := backoff(firstBackoff, after.QuarantineCycle, t.QuarantineCap)
	after.QuarantineUntil = d.Now.Add(rest)
	d.addAction(lifecycle.Quarantine, s, d.enterState(after, lifecycle.Quarantined, lifecycle.CrashLoop),
		fmt.Sprintf("%s; rests %s%s", why, duration.Format(rest), endReasonSuffix(after)))
}

// handleUnmarked gives an active pool session, whose creation or retirement was interrupted, its
// marker, or drains it if the others fill the pool. The session itself does not count: otherwise
// each interrupted creation in a pool that is now full would end in a drain.
func (d *decision) handleUnmarked(s Session, t *Template) {
	switch {
	case t == nil || t.Pool == nil:
		d.addNote(s, "", "gets no work: its template is no pool now")
	case d.occupied[s.Pool]-1 < t.Pool.Max:
		d.addAction(lifecycle.RestoreMarker, s, s.Session, "it runs, and has no marker").Event = EventNoMarker
	default:
		d.addAction(lifecycle.Drain, s, d.enterState(s.Session, lifecycle.Draining, lifecycle.ScaleDown), fmt.Sprintf("it has no marker; %d of %d others are there", d.occupied[s.Pool]-1, t.Pool.Max)).Event = EventNoMarker
	}
}

// backoff returns wait, doubled times times, up to limit.
func backoff(wait time.Duration, times int, limit time.Duration) time.Duration {
	for range times {
		if wait *= 2; wait >= limit {
			return limit
		}
	}
	return min(wait, limit)
}

// handleCrash restarts a session whose runtime has ended by itself, unless it did so too often or may not start.
func (d *decision) handleCrash(s Session, t *Template) {
	if t == nil {
		d.suspend(s, lifecycle.CrashRecovery, "it ended, and its template is gone")
		return
	}
	if until, held := d.Held[t.Account]; s.EndedByPerson || s.Limited || held && d.Now.Before(until) {
		why := "it ended at a limit of its account" // suspend knows EndedByPerson
		if held {
			why += ", until " + until.UTC().Format(time.RFC3339)
		}
		d.suspend(s, lifecycle.CrashRecovery, why)
		return
	}
	after := d.countCrash(s, t)
	if after.CrashCount > t.MaxRestarts {
		d.quarantine(s, t, after, fmt.Sprintf("%d crashes in %s, %d allowed", after.CrashCount, duration.Format(t.RestartWindow), t.MaxRestarts))
		return
	}
	if why, ok := d.canStart(t); !ok {
		d.suspend(s, lifecycle.DependencyDown, "it ended; "+why)
		return
	}
	try := fmt.Sprintf("(restart %d of %d in %s)", after.CrashCount, t.MaxRestarts, duration.Format(t.RestartWindow))
	if after.CrashCount > 1 { // after its first crash it restarts at once: it may have run for long
		if next := s.ActiveAt.Add(backoff(firstPause, after.CrashCount-2, t.QuarantineCap)); d.Now.Before(next) {
			d.addNote(s, "", "not restarted before %s %s%s", next.UTC().Format(time.RFC3339), try, endReasonSuffix(after))
			return
		}
	}
	after.ActiveAt = d.Now
	d.addAction(lifecycle.RestartHere, s, after, "it ended by itself "+try+endReasonSuffix(after))
}

// handleDraining archives a draining session when its work is done or its time is over: the pool's
// drain timeout, or, if the template is gone, the one that the session noted when it became active.
func (d *decision) handleDraining(s Session, t *Template) {
	_, pool := Defaults()
	limit := pool.DrainTimeout
	if t != nil && t.Pool != nil {
		limit = t.Pool.DrainTimeout
	} else if own, err := duration.Parse(s.DrainTimeout); err == nil {
		limit = own
	}
	switch busy := s.unfinished(); {
	case busy == "":
		d.addAction(lifecycle.Archive, s, d.enterState(s.Session, lifecycle.Archived, lifecycle.DrainComplete), "its work is done")
	case d.Now.Sub(s.DrainAt) >= limit:
		d.addAction(lifecycle.Archive, s, d.enterState(s.Session, lifecycle.Archived, lifecycle.DrainTimeout),
			"after "+duration.Format(limit)+": "+busy)
	default:
		d.addNote(s, "", "draining: %s (%s of %s)", busy, duration.Format(d.Now.Sub(s.DrainAt)), duration.Format(limit))
	}
}

// wakeSession resumes a suspended session, unless a person suspended it, or it was idle and still
// has no work. resizePool decides about the sessions of pools.
func (d *decision) wakeSession(s Session, t *Template) {
	idle := s.Reason == lifecycle.IdleTimeout && s.Claims == 0
	if s.Pool == "" && s.Reason != lifecycle.UserRequest && !idle {
		d.resume(s, t)
	}
}

// resume resumes a suspended session if that is possible, and reports whether it was.
func (d *decision) resume(s Session, t *Template) bool {
	why, ok := d.canStart(t)
	if !ok {
		d.addNote(s, "", "not resumed: %s", why)
		return false
	}
	if s.CrashCount > 0 && s.Reason == lifecycle.CrashRecovery {
		if next := s.LastCrashAt.Add(backoff(firstBackoff, s.CrashCount-1, t.QuarantineCap)); d.Now.Before(next) {
			d.addNote(s, "", "not resumed before %s: %s", next.UTC().Format(time.RFC3339), cmp.Or(s.CrashReason, "it ended, or did not start"))
			return false
		}
	}
	again := s.Session // the record if the start fails
	again.CrashCount, again.LastCrashAt, again.Reason = again.CrashCount+1, d.Now, lifecycle.CrashRecovery
	if again.CrashSince.IsZero() {
		again.CrashSince = d.Now
	}
	d.addAction(lifecycle.Resume, s, d.enterState(s.Session, lifecycle.Active, lifecycle.Resumed), fmt.Sprintf("%s is over, after %s", s.Reason, duration.Format(d.Now.Sub(s.SuspendedAt)))).Failed = &again
	return true
}

// handleQuarantined starts a quarantined session again once its time is over. It archives one that
// came back too often without becoming healthy, or whose pool is full. One without a pool stays.
func (d *decision) handleQuarantined(s Session, t *Template) {
	if t == nil {
		return // resizePools retires it
	}
	evict := func(why string) {
		if s.Pool == "" {
			d.addNote(s, "", "quarantined until somebody resumes or closes it: %s", why)
			return
		}
		a := d.addAction(lifecycle.Archive, s, d.enterState(s.Session, lifecycle.Archived, lifecycle.QuarantineEvicted), why)
		a.Block, a.Event = WorkReason(s.State), EventEvicted
	}
	switch {
	case s.QuarantineCycle >= t.QuarantineAttempts:
		evict(fmt.Sprintf("%d of %d tries, and never %s without a crash", s.QuarantineCycle, t.QuarantineAttempts, duration.Format(t.QuarantineHealthy)) + endReasonSuffix(s.Session))
		d.gaveUp[s.ID] = s.Pool != ""
	case d.Now.Before(s.QuarantineUntil):
		d.addNote(s, "", "quarantined until %s (try %d of %d)%s", s.QuarantineUntil.UTC().Format(time.RFC3339), s.QuarantineCycle+1, t.QuarantineAttempts, endReasonSuffix(s.Session))
	case s.Pool != "" && t.Pool != nil && d.occupied[s.Pool]-1 >= t.Pool.Max:
		evict(fmt.Sprintf("its time is over; %d of %d others are there", d.occupied[s.Pool]-1, t.Pool.Max))
	default:
		why, ok := d.canStart(t)
		if !ok {
			d.addNote(s, "", "stays quarantined: %s", why)
			return
		}
		after := s.Session
		after.QuarantineCycle++
		after.CrashCount, after.CrashSince = 0, time.Time{}
		again := s.Session // the record if the start fails
		again.QuarantineCycle++
		again.QuarantineUntil = d.Now.Add(backoff(firstBackoff, again.QuarantineCycle, t.QuarantineCap))
		d.addAction(lifecycle.Clear, s, d.enterState(after, lifecycle.Active, lifecycle.QuarantineCleared), fmt.Sprintf("its time is over (try %d of %d)", after.QuarantineCycle, t.QuarantineAttempts)).Failed = &again
	}
}

// judgeSession looks after a session that runs as it should: it forgets old crashes and renews a
// hash of another version. Without a pool it also notes drift, and suspends an idle session.
func (d *decision) judgeSession(s Session, t *Template) {
	if t == nil {
		if s.Pool == "" {
			d.addNote(s, "", "its template is gone")
		}
		return
	}
	after, why := s.Session, ""
	calm := d.Now.Sub(laterTime(s.ActiveAt, s.LastCrashAt))
	if s.QuarantineCycle > 0 && calm >= t.QuarantineHealthy {
		after.QuarantineCycle, after.QuarantineUntil = 0, time.Time{}
		why = fmt.Sprintf("it has been healthy for %s", duration.Format(t.QuarantineHealthy))
	}
	if s.CrashCount > 0 && calm > t.RestartWindow {
		after.CrashCount, after.CrashSince, after.CrashReason = 0, time.Time{}, ""
		why = cmp.Or(why, fmt.Sprintf("it did not crash for %s", duration.Format(t.RestartWindow)))
	}
	if s.Wanted != "" && s.Hash != s.Wanted && hashVersion(s.Hash) != hashVersion(s.Wanted) {
		after.Hash = s.Wanted
		why = cmp.Or(why, "its configuration is compared in another way from now on")
	}
	if why != "" {
		d.addAction(lifecycle.Note, s, after, why)
		return
	}
	if hasDrifted(s) && s.Pool == "" && !s.Pinned {
		begins := ""
		if s.Renews {
			begins = ", which begins a new conversation"
		}
		d.addNote(s, "", "runs with another configuration than its template's (%s); restart it%s", differingText(s), begins)
	}
	if s.Pool != "" || t.IdleTimeout <= 0 || s.Idle.IsZero() || s.unfinished() != "" || s.Attached || s.Asks {
		return
	}
	if idle := d.Now.Sub(s.Idle); idle >= t.IdleTimeout {
		d.suspend(s, lifecycle.IdleTimeout, fmt.Sprintf("it has been idle for %s of %s", duration.Format(idle), duration.Format(t.IdleTimeout)))
	}
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hasDrifted reports whether a session's configuration is not the one that a start would use now.
func hasDrifted(s Session) bool {
	return s.Wanted != "" && s.Hash != "" && s.Hash != s.Wanted && hashVersion(s.Hash) == hashVersion(s.Wanted)
}

// hashVersion returns the version of a hash; see template.HashVersion.
func hashVersion(hash string) string { return hash[:max(strings.IndexByte(hash, ':'), 0)] }

func differingText(s Session) string {
	return cmp.Or(strings.Join(s.Differs, ", "), "it is not known in what")
}

// sortActions sorts the actions so that removals come before additions. Of those that start, drain
// or suspend a session it keeps the first MaxChanges, and notes how many it leaves out.
func (d *decision) sortActions() {
	rank := func(a Action) int {
		return slices.Index([]lifecycle.Change{
			lifecycle.RemoveMarker, lifecycle.KillRuntime, lifecycle.Close, lifecycle.Quarantine, lifecycle.Archive, lifecycle.Suspend,
			lifecycle.Drain, lifecycle.Note, lifecycle.Complete, lifecycle.RestoreMarker, lifecycle.RestartHere, lifecycle.Begin,
			lifecycle.Resume, lifecycle.Clear, lifecycle.Reactivate, lifecycle.Create,
		}, a.Change)
	}
	sort.SliceStable(d.plan.Actions, func(i, j int) bool { return rank(d.plan.Actions[i]) < rank(d.plan.Actions[j]) })
	if d.MaxChanges <= 0 {
		return
	}
	made, held := 0, map[string]int{}
	d.plan.Actions = slices.DeleteFunc(d.plan.Actions, func(a Action) bool {
		switch a.Change {
		case lifecycle.Suspend, lifecycle.Drain, lifecycle.Begin, lifecycle.RestartHere, lifecycle.Resume, lifecycle.Clear, lifecycle.Reactivate, lifecycle.Create:
		default:
			return false // a repair, or the completion of a change
		}
		if made++; made > d.MaxChanges {
			held[a.Session.Template]++
		}
		return made > d.MaxChanges
	})
	for _, name := range slices.Sorted(maps.Keys(held)) {
		d.plan.Notes = append(d.plan.Notes, Note{Template: name, Text: fmt.Sprintf("%d more changes with the next tick (at most %d at once)", held[name], d.MaxChanges)})
	}
}

// Requested returns the action for a change of a session that somebody asked for. Clear and Resume
// then also forget earlier crashes.
func Requested(change lifecycle.Change, s lifecycle.Session, reason lifecycle.Reason, now time.Time) Action {
	d := decision{Facts: Facts{Now: now}}
	a := newAction(change, s, d.enterState(s, change.Order().To, reason), "somebody asked for it")
	if change == lifecycle.Clear {
		a.Session.QuarantineUntil = time.Time{}
	}
	if change == lifecycle.Clear || change == lifecycle.Resume {
		a.Session.CrashCount, a.Session.CrashSince, a.Session.CrashReason = 0, time.Time{}, ""
	}
	return a
}

// CompletedBy returns the action that follows the first start of a session.
func CompletedBy(s lifecycle.Session, now time.Time) Action {
	a := Requested(lifecycle.Complete, s, lifecycle.CreationComplete, now)
	a.Why = "its runtime was seen alive"
	return a
}

// CanStart reports whether a template's session may start now, or why not.
func CanStart(f Facts, template string) (why string, ok bool) {
	d := decision{Facts: f}
	for i := range f.Templates {
		if f.Templates[i].Name == template {
			return d.canStart(&f.Templates[i])
		}
	}
	return d.canStart(nil)
}
