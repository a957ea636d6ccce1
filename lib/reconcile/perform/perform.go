package perform

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/sys/flock"
)

// Outcome is the result of a change.
type Outcome struct {
	tick.Action
	Name string
	// Err is why the change was not made, or not completely.
	Err error
}

// IsSkipped reports whether the change was not begun because something else was changing the session.
func (o Outcome) IsSkipped() bool { return errors.Is(o.Err, errSkipped) }

// oneAtATime returns report for callers that run at the same time.
func oneAtATime(report func(Outcome)) func(Outcome) {
	var telling sync.Mutex
	return func(o Outcome) {
		telling.Lock()
		defer telling.Unlock()
		report(o)
	}
}

// Tick makes one tick and calls report after each change, one at a time. If it returns an error, it
// changed nothing. It does not wait for worktrees: report is called of the sessions that start in
// them until Wait returns. Tick also calls idle sessions to new work, and tells the person of
// agents that died.
func (w *World) Tick(ctx context.Context, report func(Outcome)) (*Plan, error) {
	reportOne := oneAtATime(report)
	if err := w.Store.CompleteMoves(); err != nil {
		return nil, err
	}
	p, err := w.Plan(ctx)
	if err != nil {
		return nil, err
	}
	// Remember before acting: the second tick of a shrink and the count of drifts must not
	// depend on this one's survival.
	if err := w.saveMemory(p.before, p.after); err != nil {
		return nil, err
	}
	for _, n := range p.NewNotes() {
		w.Log(n.Event, map[string]string{"template": n.Template, "session": p.Names[n.Session], "text": n.Text})
	}
	for _, s := range p.Strays {
		w.Warn(w.removeMarker(s))
	}
	for _, o := range p.Orphans {
		if err := w.freeOrphaned(ctx, o); err != nil {
			w.Warn(err) // the next tick still has to read the session, and frees it
			p.tornDown = slices.DeleteFunc(p.tornDown, func(id instance.ID) bool { return id == o.ID })
		}
	}
	for _, id := range p.tornDown {
		w.Warn(w.Store.TornDown(id))
	}
	failed := map[string]bool{} // by template
	var dead []Outcome
	w.performActions(ctx, p, reportOne, func(o Outcome) {
		if o.Change == lifecycle.Close && o.Err == nil && hasNeverRun(o.Session) {
			failed[o.Session.Template] = true
		}
		if o.Err == nil && notifiesDeath(o.Action) {
			dead = append(dead, o)
		}
		reportOne(o)
	})
	for name := range failed {
		w.Warn(w.Store.Forget(func(in *instance.Instance) bool {
			return in.Managed.Template == name && hasNeverRun(in.Managed.Session) && !in.HasWorktree()
		}, maxKeptFailed))
	}
	for _, id := range p.toWake {
		if in, err := w.Store.Get(id); err == nil && ctx.Err() == nil {
			w.Warn(w.Wake(in))
		}
	}
	for _, n := range p.Notes {
		if n.Event == tick.EventFailing && ctx.Err() == nil {
			w.Notify(p.Names[n.Session], n.Text)
			dead = slices.DeleteFunc(dead, func(o Outcome) bool { return o.Name == p.Names[n.Session] })
		}
	}
	if n := len(dead); n > 3 { // such as after a reboot: the person gets one notification for all
		dead = dead[:1]
		dead[0].Why = fmt.Sprintf("%d agents ended by themselves: gt-reconcile status", n)
	}
	for _, o := range dead {
		if ctx.Err() == nil {
			w.Notify(o.Name, o.Why)
		}
	}
	return p, nil
}

// notifiesDeath reports whether the person hears of an action because the session's agent died: after the
// first of several deaths, and when no further start is tried.
func notifiesDeath(a tick.Action) bool {
	switch a.Change {
	case lifecycle.RestartHere:
		return a.Session.CrashCount == 1
	case lifecycle.Suspend:
		return a.Session.Reason == lifecycle.CrashRecovery
	}
	return a.Change == lifecycle.Quarantine
}

// maxKeptFailed is how many closed sessions of a template are kept that never ran.
const maxKeptFailed = 10

func hasNeverRun(s lifecycle.Session) bool { return s.ActiveAt.IsZero() }

// performActions makes the changes in order. Those that start an agent come last, several at a
// time, because a start mostly waits; in the background if it first makes a worktree. It calls
// report after each change, and later after those in the background.
func (w *World) performActions(ctx context.Context, p *Plan, later, report func(Outcome)) {
	tell := oneAtATime(report)
	change := func(a tick.Action, tell func(Outcome)) {
		if ctx.Err() == nil {
			name, err := w.ChangeSession(ctx, p.config, a)
			tell(Outcome{a, name, err})
		}
	}
	var starts, creates []tick.Action
	for _, a := range p.Actions {
		switch {
		case a.Change == lifecycle.Create:
			creates = append(creates, a)
		case !slices.Contains(a.Change.Order().Ops, lifecycle.Start):
			change(a, tell)
		case p.lacksWorktree[a.Before.ID]:
			w.inBackground(a.Before.Template, instance.ID(a.Before.ID), func() { change(a, later) })
		default:
			starts = append(starts, a)
		}
	}
	cli.ParallelAtMost(w.AtOnce, starts, func(a tick.Action) { change(a, tell) })
	// By now the reactivated sessions have their slots.
	if ctx.Err() != nil || len(creates) == 0 {
		return
	}
	begin := func(m createdSession, tell func(Outcome)) {
		switch {
		case m.err != nil:
			tell(Outcome{m.Action, "", m.err})
		case ctx.Err() == nil:
			a := m.Action
			a.Before, a.Session = m.in.Managed.Session, m.in.Managed.Session
			name, err := w.applyOps(ctx, p.config, a, a.Change.Order().Ops[1:]) // without Write
			tell(Outcome{m.Action, name, err})
		}
	}
	made := slices.DeleteFunc(w.createRecords(p.config, creates, nil), func(m createdSession) bool {
		lacks := m.err == nil && m.in.LacksWorktree()
		if lacks {
			w.inBackground(m.Session.Template, m.in.ID, func() { begin(m, later) })
		}
		return lacks
	})
	cli.ParallelAtMost(w.AtOnce, made, func(m createdSession) { begin(m, tell) })
}

// freeOrphaned frees the claims of a session that rests or is gone. It holds the session's lock, so
// that no start gives the session an agent meanwhile.
func (w *World) freeOrphaned(ctx context.Context, o OrphanedWork) error {
	if o.ID == "" {
		return w.freeOfUnknown(ctx, o.Claimant)
	}
	held, err := w.Store.Hold(o.ID, lockWait)
	switch {
	case errors.Is(err, flock.ErrBusy), errors.Is(err, instance.ErrNone):
		return nil // the next tick decides again
	case err != nil:
		return err
	}
	defer held.Release()
	if held.Managed == nil {
		return nil
	}
	state := held.Managed.State
	if !state.Rests() {
		return nil
	}
	o.Gone = true
	return w.Work.Free(ctx, o.Claimant, tick.WorkReason(state))
}

// freeOfUnknown frees what was claimed under a name, unless a session has the name by now.
func (w *World) freeOfUnknown(ctx context.Context, c Claimant) error {
	lock, err := w.Store.LockLifecycle()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	all, err := w.Store.ReadInstances()
	if err != nil || slices.ContainsFunc(all, func(in *instance.Instance) bool { return in.Name == c.Name }) {
		return err
	}
	return w.Work.Free(ctx, c, tick.WorkReason(lifecycle.Closed))
}

// removeMarker removes a marker, so that no work is routed to its session.
func (w *World) removeMarker(s Stray) error {
	lock, err := w.Store.LockLifecycle()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return w.Markers.Remove(s.Label, s.Name)
}

// lockWait is how long a change waits for another command that holds the session.
const lockWait = 100 * time.Millisecond

// ChangeSession makes one change of an existing session and returns the session's name.
func (w *World) ChangeSession(ctx context.Context, c *config.Config, a tick.Action) (name string, err error) {
	return w.applyOps(ctx, c, a, a.Change.Order().Ops)
}

// applyOps takes steps of a change under the session's lock. ops lack the Write of a new session,
// which createRecords has done. It returns errSkipped if another command is or was at the session.
func (w *World) applyOps(ctx context.Context, c *config.Config, a tick.Action, ops []lifecycle.Op) (name string, err error) {
	ch := &transition{World: w, config: c, Action: a}
	ch.session, err = w.Store.Hold(instance.ID(ch.Before.ID), lockWait)
	switch {
	case errors.Is(err, flock.ErrBusy):
		return "", skipf("another command is at it")
	case errors.Is(err, instance.ErrNone):
		return "", skipf("it is gone")
	case err != nil:
		return "", err
	}
	defer ch.session.Release()
	name = ch.session.Name
	if err := ch.prepare(ctx, a.Change.Order()); err != nil {
		return name, err
	}
	if err := ch.performOps(ctx, ops); err != nil {
		return name, err
	}
	// createRecords has logged the new session.
	if a.Change != lifecycle.Create {
		w.logAction(name, ch.Action)
	}
	return name, nil
}

// logAction logs a change, as a repair if the state stays, and the change's own event, if any.
func (w *World) logAction(name string, a tick.Action) {
	kind := "session_state"
	if a.Before.State == a.Session.State {
		kind = "session_repair"
	}
	payload := map[string]any{
		"session": name, "id": a.Session.ID, "template": a.Session.Template, "change": a.Change, "from": a.Before.State,
		"state": a.Session.State, "state_reason": a.Session.Reason, "generation": a.Session.Generation, "why": a.Why,
	}
	w.Log(kind, payload)
	if a.Event != "" {
		w.Log(a.Event, payload)
	}
}

type transition struct {
	*World
	config *config.Config
	tick.Action
	session   *instance.Locked
	original  instance.Instance // before its secrets were removed
	effective template.Effective
}

// prepare returns errSkipped if the session is not as the change was decided on, or if the change
// would now cut off a turn, an answer or work. For a start it finds ch.effective, with which the
// agent starts, and puts its hash and digests into the record. For a Note with another hash (see
// Accept) it only puts those there.
func (ch *transition) prepare(ctx context.Context, order lifecycle.Order) error {
	m := ch.session.Managed
	if m == nil || m.Session != ch.Before { // mutant never: TestStale
		return skipf("it has changed meanwhile")
	}
	if len(order.From) > 0 && !slices.Contains(order.From, m.State) {
		return skipf("it is %s", m.State)
	}
	ch.original = *ch.session.Instance
	ch.original.SessionID = ch.Store.Session(ch.session.Instance)
	starts := slices.Contains(order.Ops, lifecycle.Start)
	reason := ch.Session.Reason
	done := ch.Change == lifecycle.Archive && reason == lifecycle.DrainComplete
	unused := ch.Change == lifecycle.Suspend && reason == lifecycle.IdleTimeout
	drifted := ch.Change == lifecycle.Drain && reason == lifecycle.ConfigDrift
	if done || unused || drifted {
		switch s := ch.Agents.Status(ctx, []*instance.Instance{ch.session.Instance})[0]; {
		case !done && (s.Attached || s.Asks):
			return skipf("somebody looks at it, or it waits for an answer")
		case s.Busy != "":
			return skipf("%s since", s.Busy)
		}
	}
	if ch.Work != nil && (done || unused) {
		c := claimant(ch.session.Instance)
		c.Ends = true
		claims, err := ch.Work.Claims(ctx, []Claimant{c})
		if err != nil {
			return err
		}
		if claims[c.Name] > 0 {
			return skipf("it has claimed work since")
		}
	}
	if ch.Change == lifecycle.Reactivate {
		ch.Session.Token = newToken()
		ch.Session.ScrubbedAt = time.Time{}
	}
	accepts := ch.Change == lifecycle.Note && ch.Session.Hash != m.Hash
	if !starts && !accepts {
		return nil
	}
	t := ch.config.Find(m.Template)
	if t == nil {
		return skipf("its template is gone")
	}
	allowed, stripped := t.AllowedOverlay(m.Overlay)
	ch.effective = ch.config.Effective(*t, allowed)
	if accepts {
		before := m.Fields["provider"]
		ch.Session.Hash, m.Fields = ch.effective.Hash(), ch.effective.Digests()
		if before != "" { // the next start decides about the conversation
			m.Fields["provider"] = before
		}
		return nil
	}
	if len(stripped) > 0 {
		m.Overlay = allowed
		ch.Log("session.overlay.stripped", map[string]any{"session": ch.session.Name, "template": m.Template, "fields": stripped})
	}
	hash := ch.effective.Hash()
	if hash != m.Hash && m.Hash != "" {
		ch.Log("session.drift", map[string]any{"session": ch.session.Name, "template": m.Template, "fields": template.DifferingFields(m.Fields, ch.effective.Digests())})
	}
	digests := ch.effective.Digests()
	if before := m.Fields["provider"]; before != "" && before != digests["provider"] && !ch.Agents.SameClient(ch.session.Instance, ch.effective) {
		// The conversation is another client's, and would bring that one back.
		ch.session.ChangeAgent(ch.roundedNow(), ch.effective.Provider, nil, ch.session.Account, "")
	}
	if ch.Session.Hash = hash; hash != m.Hash && ch.Change == lifecycle.Begin || len(stripped) > 0 {
		m.Hash, m.Fields = hash, digests
		return ch.withLock(func() error { return ch.session.Put(ch.roundedNow()) })
	}
	m.Fields = digests
	return nil
}

// withLock calls do under the lifecycle lock, if the session still has the revision, token
// and generation of the decision.
func (ch *transition) withLock(do func() error) error {
	lock, err := ch.Store.LockLifecycle()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	now, err := ch.Store.Get(ch.session.ID)
	if err != nil {
		return err
	}
	if m := now.Managed; m == nil || m.Revision != ch.session.Managed.Revision || m.Token != ch.session.Managed.Token || m.Generation != ch.session.Managed.Generation {
		return skipf("it has changed meanwhile")
	}
	return do()
}

// performOps takes the steps of a change (see lifecycle.Op) up to the first error. It ends the
// runtime also where work could not be freed, and returns that error last.
func (ch *transition) performOps(ctx context.Context, ops []lifecycle.Op) error {
	var freeErr error // the next tick retries it
	for _, op := range ops {
		var err error
		switch op {
		case lifecycle.Unroute:
			err = ch.withLock(func() error { return ch.removeMarkers(ch.session.Name) })
		case lifecycle.Block:
			if ch.Block != "" && ch.Work != nil {
				err = ch.Work.Leave(ctx, claimant(&ch.original), ch.Block)
			}
		case lifecycle.Free:
			// This includes what an interrupted change left.
			err = ch.freeClaims(ctx, cmp.Or(ch.Block, tick.WorkReason(ch.Before.State)), false)
			if ch.Block != "" { // Kill retries it, and must not be prevented
				freeErr, err = err, nil
			}
		case lifecycle.Keep:
			if ch.Work != nil {
				err = ch.Work.Keep(ctx, ch.session.Name)
			}
		case lifecycle.Write:
			err = ch.withLock(func() error { return ch.saveState(ch.Session) })
		case lifecycle.Start:
			if err = ch.Agents.Start(ctx, ch.session, ch.effective); err != nil && ctx.Err() != nil {
				return err // a start that is interrupted is no failed one
			} else if err != nil {
				return ch.recordFailure(err)
			}
		case lifecycle.Confirm:
			if s := ch.Agents.Status(ctx, []*instance.Instance{ch.session.Instance})[0]; s.Alive != tick.Alive {
				return ch.recordFailure(fmt.Errorf("its agent was not seen to run: %s", cmp.Or(s.Why, s.Alive.String())))
			}
		case lifecycle.Route:
			err = ch.setMarker()
		case lifecycle.Kill:
			if err = ch.Agents.Stop(ctx, &ch.original); err == nil {
				freeErr = nil
				err = ch.freeClaims(ctx, ch.Block, true) // also what it claimed while it ended
			}
			if err == nil && ch.Session.State == lifecycle.Closed {
				ch.session.MarkTornDown()
			}
		}
		if err != nil {
			return err
		}
	}
	return freeErr
}

// freeClaims frees the session's claims, if there is a reason to.
func (ch *transition) freeClaims(ctx context.Context, reason string, gone bool) error {
	if reason == "" || ch.Work == nil {
		return nil
	}
	c := claimant(&ch.original)
	c.Gone = gone
	return ch.Work.Free(ctx, c, reason)
}

// recordFailure writes why a start failed into the session, with what the plan has for this case
// (Failed), and returns that error.
func (ch *transition) recordFailure(err error) error {
	after := ch.session.Managed.Session
	if ch.Failed != nil {
		after = *ch.Failed
	}
	after.CrashReason = ch.Clean(strings.TrimPrefix(err.Error(), "cannot start "+ch.session.Name+": "))
	if after == ch.session.Managed.Session {
		return err
	}
	werr := ch.withLock(func() error { return ch.saveState(after) })
	if errors.Is(werr, errSkipped) { // the failure must not look like a change that was not begun
		return err
	}
	return errors.Join(err, werr)
}

// saveState saves the state after a change, with Desired, and removes the session's secrets if the
// change sets ScrubbedAt. The caller holds the lifecycle lock.
func (ch *transition) saveState(after lifecycle.Session) error {
	m := ch.session.Managed
	after.ID = m.ID
	scrub := m.ScrubbedAt.IsZero() && !after.ScrubbedAt.IsZero()
	m.Session = after
	ch.session.Desired = instance.Stopped
	if row, _ := m.State.Row(); row.Runs || ch.keepsDesired {
		ch.session.Desired = instance.Running
	}
	if scrub {
		ch.session.Scrub()
	}
	return ch.session.Put(ch.roundedNow())
}

// setMarker sets the marker by which an active pool session gets work. Other sessions need none.
func (ch *transition) setMarker() error {
	t := ch.config.Find(ch.session.Managed.Template)
	if t == nil || t.Pool == nil || ch.session.Managed.Pool == "" {
		return nil
	}
	return ch.withLock(func() error {
		if ch.session.Managed.State != lifecycle.Active {
			return skipf("it is %s", ch.session.Managed.State)
		}
		return ch.Markers.Set(t.RoutingLabel, ch.session.Name)
	})
}

// removeMarkers removes a session's markers under all labels. The caller holds the lifecycle lock.
func (w *World) removeMarkers(name string) error {
	all, err := w.Markers.ReadMarkers()
	if err != nil {
		return err
	}
	for label, names := range all {
		if slices.Contains(names, name) {
			if err := w.Markers.Remove(label, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func newToken() string { return strings.ToLower(rand.Text()) }

// ErrFull reports that a pool has its maximum of sessions.
var ErrFull = errors.New("the pool is full")

type createdSession struct {
	tick.Action
	in  *instance.Instance
	err error // why there is no record
}

// createRecords writes the records of new sessions, and returns each with why it has none, if so.
// It checks the pools' room under the same lock and with one read.
func (w *World) createRecords(c *config.Config, actions []tick.Action, overlay map[string]string) []createdSession {
	all := make([]createdSession, len(actions))
	for i, a := range actions {
		all[i] = createdSession{Action: a}
	}
	failAll := func(err error) []createdSession {
		for i := range all {
			all[i].err = err
		}
		return all
	}
	lock, err := w.Store.LockLifecycle()
	if err != nil {
		return failAll(err)
	}
	defer lock.Unlock()
	creation, err := w.Store.Begin()
	if err != nil {
		return failAll(err)
	}
	defer creation.Release()
	pools := map[string]*poolPlaces{}
	for _, in := range creation.All {
		if in.Managed != nil {
			pools[in.Managed.Pool] = pools[in.Managed.Pool].addSession(in.Managed)
		}
	}
	for i := range all {
		m := &all[i]
		t := c.Find(m.Session.Template)
		if t == nil {
			m.err = skipf("its template is gone")
			continue
		}
		if m.in, m.err = w.createRecord(c, t, creation, pools[t.Name], m.Session, overlay); m.err != nil {
			continue
		}
		pools[t.Name] = pools[t.Name].addSession(m.in.Managed)
		w.logAction(m.in.Name, m.Action)
	}
	return all
}

type poolPlaces struct {
	occupied int
	slots    map[int]bool
}

// addSession counts a session, whose slot is taken in any state. p may be nil.
func (p *poolPlaces) addSession(m *instance.Managed) *poolPlaces {
	if p == nil {
		p = &poolPlaces{slots: map[int]bool{}}
	}
	if m.State.Occupies() {
		p.occupied++
	}
	p.slots[m.Slot] = true
	return p
}

// createRecord writes the record of a session in the lowest free slot of its pool.
func (w *World) createRecord(c *config.Config, t *template.Template, creation *instance.Tx, pool *poolPlaces, s lifecycle.Session, overlay map[string]string) (in *instance.Instance, err error) {
	if t.Pool != nil {
		if pool == nil {
			pool = &poolPlaces{}
		}
		if pool.occupied >= t.Pool.Max { // mutant never: TestTogether
			return nil, fmt.Errorf("%w: %s has %d of %d sessions", ErrFull, t.Name, pool.occupied, t.Pool.Max)
		}
		s.Pool = t.Name
		for s.Slot = max(s.Slot, 1); pool.slots[s.Slot]; {
			s.Slot++
		}
	}
	e := c.Effective(*t, overlay)
	dir := t.WorkDir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Work, dir)
	}
	id := w.newID()
	s.ID, s.Token, s.Hash, s.Generation = string(id), newToken(), e.Hash(), 1
	in = &instance.Instance{
		ID: id, Title: e.Title, Path: filepath.Clean(dir), Agent: t.Provider, Desired: instance.Running, TmuxServer: w.Server,
		Managed: &instance.Managed{Session: s, Runtime: c.Runtime, Worktree: t.Worktree, Overlay: overlay, Fields: e.Digests()},
	}
	hex := strings.ReplaceAll(string(id), "-", "")
	for n := 6; ; n++ { // 6 digits of the id, up to 12 while the name is taken
		in.Name = instance.Variant(t.Name, "-"+hex[:n])
		if name := overlay["name"]; name != "" {
			in.Name = name
		}
		in.TmuxSession = w.sessionName(in.Name)
		if err = creation.Create(in, w.roundedNow()); !errors.Is(err, instance.ErrTaken) || overlay["name"] != "" || n == 12 {
			return in, err
		}
	}
}

// sessionName returns the tmux session's name for a session: gt-NAME, in a profile gt-PROFILE-NAME.
func (w *World) sessionName(name string) string {
	if profile, ok := strings.CutPrefix(w.Store.Dir, "profiles/"); ok {
		profile, _, _ = strings.Cut(profile, "/")
		return instance.Variant("gt-"+profile, "-"+name)
	}
	return instance.Variant("gt", "-"+name)
}
