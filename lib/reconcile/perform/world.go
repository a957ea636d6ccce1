// Package perform makes ticks: it gathers the facts, lets package tick decide, and makes
// the changes one by one, each in its order of operations (package lifecycle).
//
// If something cannot be read, the tick changes nothing. Each change locks its session, so
// that nothing else starts or ends the agent, and reads the session again. The lifecycle
// lock is held for each read and write, but never while an agent starts or ends. A tick can
// be killed anywhere; the next one continues from what it left.
package perform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"gt/lib/state/route"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
)

// Status is what is known of a session's agent.
type Status struct {
	Alive    tick.Liveness
	Idle     time.Time // since when; zero while it works
	Attached bool
	Asks     bool // it waits for a person's answer
	// Busy is what an end would cut off now: a turn, or what runs in the background.
	Busy          string
	EndedByPerson bool // a person ended it
	// Why is its exit status and last words, if it ended, or why nothing is known of it.
	Why     string
	Err     error // why Alive is unknown
	Limited bool  // its account is at a usage limit, or was when it ended
	// LimitedAt is when the limit was last seen.
	LimitedAt time.Time
	// LimitedUntil is the end of the limit according to the client; zero if unknown.
	LimitedUntil time.Time
}

// Agents runs the agents of sessions.
type Agents interface {
	// Status returns the status of each session, in order.
	Status(context.Context, []*instance.Instance) []Status
	// Start starts a session's agent, notes the start in its record, and returns once the
	// agent runs. An agent that already runs is no error.
	Start(context.Context, *instance.Locked, template.Effective) error
	// Explain prints the steps of a start.
	Explain(context.Context, *instance.Instance, template.Effective) error
	// SameClient reports whether the client of the session's conversation can go on with it
	// under that template.
	SameClient(*instance.Instance, template.Effective) bool
	// Stop ends the agent. An agent that does not run is no error.
	Stop(context.Context, *instance.Instance) error
}

// Work is the work that sessions have claimed and not done.
type Work interface {
	// Claims counts claims, set-aside ones included, by session name. The names may include
	// sessions without a record. Claims fails if it cannot read everything, because then
	// nothing shows which sessions may end.
	Claims(context.Context, []Claimant) (map[string]int, error)
	// Leave sets aside a session's claims before the session goes, and Keep undoes it if
	// the session stays. Leave fails if Free could not do its part later.
	Leave(ctx context.Context, c Claimant, reason string) error
	Keep(ctx context.Context, name string) error
	// Free removes a session's claims: the work is blocked with the reason or given back.
	Free(ctx context.Context, c Claimant, reason string) error
}

// Claimant identifies a session to the work that is assigned to it.
type Claimant struct {
	Name     string
	ID       instance.ID // "" if only the name is known
	Template string
	Dir      string
	// Ends says that the session may end because of the answer, so that a cached one will
	// not do.
	Ends bool
	Gone bool // its agent has ended, so that it can claim nothing more
}

func claimant(in *instance.Instance) Claimant {
	return Claimant{Name: in.Name, ID: in.ID, Template: in.Managed.Template, Dir: in.Path, Ends: in.Managed.State == lifecycle.Draining}
}

// World is a place in which ticks are made.
type World struct {
	Store   instance.Store
	Markers route.Markers
	Config  func() (*config.Config, error)
	Agents  Agents
	Work    Work // may be nil
	// Check returns the wanted size of each pool.
	Check func(context.Context, *config.Config) map[string]tick.Demand
	// Open returns the IDs of work that no session has, the oldest first, by template. Wake
	// tells an idle session of it.
	Open   func() (map[string][]string, error)
	Wake   func(*instance.Instance) error
	Server string // tmux server for new sessions
	Now    func() time.Time
	// Log appends an event.
	Log  func(kind string, payload any)
	Warn func(error) // is called with nil, too
	// Clean makes an agent's words fit to keep and show.
	Clean func(string) string
	// Notify tells the person that a session does not stay alive.
	Notify func(session, why string)

	Force      bool
	MaxChanges int
	AtOnce     int // how many agents start at the same time; 0 means 1

	newID        func() instance.ID
	archived     *instance.Shelf // cache of earlier ticks
	keepsDesired bool            // Suspend leaves Desired at Running
	background   *background     // of all ticks
}

// background has what ticks do with worktrees. No tick waits for it: git, and what the person's
// [worktree] setup runs, can take long. Each task holds its session's lock.
type background struct {
	sync.Mutex
	tasks map[instance.ID]int
	slots map[string]chan struct{} // by template: a slow one blocks no other
	done  sync.WaitGroup
}

// inBackground calls do without waiting for it. The task may first wait for a slot of its template,
// but makesWorktree counts it at once.
func (w *World) inBackground(template string, id instance.ID, do func()) {
	b := w.background
	b.Lock()
	defer b.Unlock()
	b.tasks[id]++
	slots := b.slots[template]
	if slots == nil {
		slots = make(chan struct{}, cli.MaxWaitingTasks)
		b.slots[template] = slots
	}
	b.done.Add(1)
	cli.Go(func() {
		defer b.done.Done()
		slots <- struct{}{}
		do()
		<-slots
		b.Lock()
		defer b.Unlock()
		b.tasks[id]--
	})
}

// Wait waits for the worktrees that ticks have begun to make, and for the agents that start in
// them. Once ctx is done it waits a little longer for what then ends; the next tick continues from
// what is left.
func (w *World) Wait(ctx context.Context) {
	done := make(chan struct{})
	cli.Go(func() {
		w.background.done.Wait()
		close(done)
	})
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(waitInterrupted):
	}
}

const waitInterrupted = 5 * time.Second

// makesWorktree reports whether the worktree of a session is being made now: by a task of this
// process, or by another program, which then holds the session's lock.
func (w *World) makesWorktree(in *instance.Instance) (bool, error) {
	w.background.Lock()
	n := w.background.tasks[in.ID]
	w.background.Unlock()
	if n > 0 || !in.LacksWorktree() {
		return n > 0, nil
	}
	h, err := w.Store.TryHold(in.ID) // another program that makes one holds the session
	if h != nil {
		h.Release()
	}
	return h == nil && err == nil, err
}

// noCheck is a World's Check that checks nothing.
func noCheck(context.Context, *config.Config) map[string]tick.Demand { return nil }

// NewWorld returns a world without agents, work and checks, which tells nobody anything.
func NewWorld(s instance.Store) *World {
	return &World{
		Store: s, Markers: route.NewMarkers(s), Now: time.Now, archived: new(instance.Shelf), newID: func() instance.ID { return instance.ID(session.NewID()) },
		background: &background{tasks: map[instance.ID]int{}, slots: map[string]chan struct{}{}},
		Check:      noCheck,
		Open:       func() (map[string][]string, error) { return nil, nil },
		Wake:       func(*instance.Instance) error { return nil },
		Log:        func(string, any) {},
		Warn:       func(error) {},
		Clean:      func(text string) string { return text },
		Notify:     func(string, string) {},
	}
}

func (w *World) roundedNow() time.Time { return w.Now().UTC().Round(0) }

// Memory is what ticks remember: reconcile.json beside the instances.
type Memory struct {
	tick.Memory
	Held          map[string]time.Time `json:"held,omitempty"` // accounts at a limit, and until when
	LoggedNotices []string             `json:"told,omitempty"` // notes that were logged and still hold
	// Woken is when sessions were told of work, by their id and the work's.
	Woken map[string]time.Time `json:"woken,omitempty"`
	// Changed is when a tick last changed anything, and Changes is how many sessions it
	// changed.
	Changed time.Time `json:"changed_at,omitzero"`
	Changes int       `json:"changes,omitempty"`

	unknown openjson.Unknown
}

// MarshalJSON keeps fields of a newer gt.
func (m *Memory) MarshalJSON() ([]byte, error) {
	type plain Memory
	return openjson.Marshal((*plain)(m), m.unknown)
}

func parseMemory(data []byte) (*Memory, error) {
	m := new(Memory)
	type plain Memory
	unknown, err := openjson.Unmarshal(data, (*plain)(m))
	m.unknown = unknown
	return m, err
}

const (
	memoryName = "reconcile.json"
	maxMemory  = 4 << 20
)

func (w *World) memoryFile() atomicfile.Rolling {
	return atomicfile.Rolling{
		Path: w.Store.State.Path(w.Store.Root(), memoryName), Limit: maxMemory, Warn: w.Warn,
		Valid: func(data []byte) error { _, err := parseMemory(data); return err },
	}
}

// Memory returns what ticks remember. An unusable file counts as empty, which is safe: a
// pool shrinks only after two more ticks agree.
func (w *World) Memory() (*Memory, error) {
	data, err := w.memoryFile().Read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return new(Memory), nil
	case err != nil && atomicfile.IsSystemError(err):
		return nil, err
	case err != nil:
		w.Warn(err)
		return new(Memory), nil
	}
	return parseMemory(data)
}

// saveMemory writes what the next tick has to know, if this tick has changed it.
func (w *World) saveMemory(before, after *Memory) error {
	was, err := json.Marshal(before)
	if err != nil {
		return err
	}
	is, err := json.Marshal(after)
	if err != nil || string(was) == string(is) {
		return err
	}
	data, err := openjson.File(after)
	if err != nil {
		return err
	}
	lock, err := w.Store.LockLifecycle()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return w.memoryFile().Write(data, atomicfile.Synced)
}

// Memory returns what the last tick remembered.
func (p *Plan) Memory() *Memory { return p.before }

// NoTemplates returns the file for templates if there are neither templates nor open
// sessions, and "" otherwise.
func (p *Plan) NoTemplates() string {
	open := func(s tick.Session) bool { return s.State != lifecycle.Closed }
	if len(p.Facts.Templates) > 0 || slices.ContainsFunc(p.Facts.Sessions, open) {
		return ""
	}
	return p.config.File
}

// Stray is a marker that no session may have.
type Stray struct{ Label, Name string }

// Plan is what a tick will do.
type Plan struct {
	tick.Plan
	Facts  tick.Facts
	Strays []Stray
	// Names holds the session names by id.
	Names map[string]string

	config        *config.Config
	before        *Memory
	after         *Memory
	tornDown      []instance.ID   // closed, with nothing left to end
	lacksWorktree map[string]bool // session ids whose start first makes a worktree
	toWake        []instance.ID   // idle sessions that are told of work
	Orphans       []OrphanedWork
}

// OrphanedWork is the claimed work of a session that cannot do it.
type OrphanedWork struct {
	Claimant
	Claims int
}

// FreedClaims returns how many claims of its session an action frees, and the reason to block
// them with, or "" if they are given back.
func (p *Plan) FreedClaims(a tick.Action) (n int, blocked string) {
	if a.Block == "" {
		return 0, ""
	}
	for _, s := range p.Facts.Sessions {
		if s.ID == a.Before.ID {
			n = s.Claims
		}
	}
	if t := p.config.Find(a.Before.Template); t != nil && t.OrphanedWork == template.Release {
		return n, ""
	}
	return n, a.Block
}

// readSessions reads the sessions, also closed ones whose runtime may still run, and the markers,
// as names by label, under the lifecycle lock.
func (w *World) readSessions() (all []*instance.Instance, markers map[string][]string, err error) {
	lock, err := w.Store.LockLifecycle()
	if err != nil {
		return nil, nil, err
	}
	defer lock.Unlock()
	// A damaged record would count as a missing session.
	var damaged error
	s := w.Store
	s.Warn = func(err error) { damaged = errors.Join(damaged, err) }
	archived := func() ([]*instance.Instance, error) { return w.archived.Read(s) }
	for _, some := range []func() ([]*instance.Instance, error){s.ReadInstances, archived, s.TearingDown} {
		found, err := some()
		if err != nil {
			return nil, nil, err
		}
		all = append(all, found...)
	}
	if damaged != nil { // mutant never: TestFailClosed
		return nil, nil, damaged
	}
	all = slices.DeleteFunc(all, func(in *instance.Instance) bool { return in.Managed == nil })
	markers, err = w.Markers.ReadMarkers()
	return all, markers, err
}

// holdTime is the least time for which nothing starts on an account at a limit of unknown end.
// limitEnd rounds to it, so that not every tick writes the memory.
const holdTime = 5 * time.Minute

// limitEnd returns when the limit ends: as the client says, else 5 to 10 minutes after it was seen.
func (s Status) limitEnd() time.Time {
	if !s.LimitedUntil.IsZero() {
		return s.LimitedUntil
	}
	return s.LimitedAt.Add(2 * holdTime).Truncate(holdTime)
}

// Plan returns what a tick would do, without doing it.
func (w *World) Plan(ctx context.Context) (*Plan, error) {
	c, err := w.Config()
	if err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	p := &Plan{config: c, before: memory, Names: map[string]string{}, lacksWorktree: map[string]bool{}}
	f := &p.Facts
	f.Before, f.Force, f.MaxChanges = memory.Memory, w.Force, w.MaxChanges
	for _, t := range c.Templates {
		f.Templates = append(f.Templates, t.Template)
	}
	f.Demand = w.Check(ctx, c)
	open, err := w.Open()
	if err != nil {
		return nil, err
	}
	f.Open = map[string]int{}
	for name, ids := range open {
		f.Open[name] = len(ids)
	}
	all, names, err := w.readSessions()
	if err != nil {
		return nil, err
	}
	claimants := map[string]Claimant{}
	for _, in := range all {
		claimants[in.Name] = claimant(in)
	}
	var claims map[string]int
	if w.Work != nil {
		if claims, err = w.Work.Claims(ctx, slices.Collect(maps.Values(claimants))); err != nil {
			return nil, err
		}
	}
	var statuses []Status
	if len(all) > 0 {
		statuses = w.Agents.Status(ctx, all)
	}
	f.Now = w.roundedNow()
	f.Tick = f.Now.Format("20060102T150405.000000000Z")
	f.Held = maps.Clone(memory.Held)
	maps.DeleteFunc(f.Held, func(_ string, until time.Time) bool { return !f.Now.Before(until) })
	markers := newMarkers(names)
	plain := map[string]string{} // hashes without overlay, by template
	for i, in := range all {
		s, t := w.observe(in, statuses[i]), c.Find(in.Managed.Template)
		p.Names[s.ID] = in.Name
		s.Claims = claims[in.Name]
		if t != nil {
			s.Wanted, s.Differs = wantedHash(c, *t, in, plain)
			s.Renews = slices.Contains(s.Differs, "provider") && !w.Agents.SameClient(in, c.Effective(*t, nil))
			p.holdAccount(t.Account, statuses[i])
		}
		s.Routed = markers.keepMarkers(s, in.Name, t)
		p.lacksWorktree[s.ID] = in.LacksWorktree()
		if s.Making, err = w.makesWorktree(in); err != nil {
			return nil, err
		}
		f.Sessions = append(f.Sessions, s)
		if s.State == lifecycle.Closed && s.Alive == tick.Dead && !s.Routed {
			p.tornDown = append(p.tornDown, in.ID)
		}
	}
	p.Strays = markers.strays()
	p.Orphans = findOrphans(all, claimants, claims)
	p.Plan = tick.Decide(*f)
	p.Actions = append(p.Actions, tick.Retain(*f, p.Plan)...)
	p.after = p.nextMemory(memory)
	p.chooseWakes(open)
	return p, nil
}

// wakeAgain is how long after a first call an idle session is called again to unclaimed work.
const wakeAgain = 10 * time.Minute

// chooseWakes chooses an idle session for each piece of work in open: one of its pool that may
// claim it, that the tick does not change, and that nobody looks at. It removes the work from open,
// and puts the session into p.toWake unless that was called to it less than wakeAgain ago.
func (p *Plan) chooseWakes(open map[string][]string) {
	woken := map[string]time.Time{}
	for _, s := range p.Facts.Sessions {
		ids := open[s.Pool]
		if s.Pool == "" || len(ids) == 0 || !s.Routed || s.State != lifecycle.Active || s.Alive != tick.Alive || s.Claims > 0 ||
			s.Busy != "" || s.Asks || s.Attached || s.Limited || s.Idle.IsZero() ||
			slices.ContainsFunc(p.Actions, func(a tick.Action) bool { return a.Before.ID == s.ID }) {
			continue
		}
		key := s.ID + " " + ids[0]
		at, told := p.before.Woken[key]
		if !told || at.After(p.Facts.Now) || p.Facts.Now.Sub(at) >= wakeAgain {
			at = p.Facts.Now
			p.toWake = append(p.toWake, instance.ID(s.ID))
		}
		woken[key], open[s.Pool] = at, ids[1:]
	}
	p.after.Woken = woken
}

// holdAccount notes until when nothing starts on an account at its limit. The latest time counts.
func (p *Plan) holdAccount(account string, s Status) {
	until := s.limitEnd()
	if !s.Limited || !until.After(p.Facts.Now) || !until.After(p.Facts.Held[account]) {
		return
	}
	if p.Facts.Held == nil {
		p.Facts.Held = map[string]time.Time{}
	}
	p.Facts.Held[account] = until
}

type markers struct {
	names  map[string][]string // by label
	labels map[string][]string // by name
	kept   map[Stray]bool
}

// newMarkers takes the names by label, and also finds the labels of each name.
func newMarkers(names map[string][]string) markers {
	m := markers{names: names, labels: map[string][]string{}, kept: map[Stray]bool{}}
	for label, all := range names {
		for _, name := range all {
			m.labels[name] = append(m.labels[name], label)
		}
	}
	return m
}

// keepMarkers keeps the markers of a session and reports whether there are any. It keeps all of
// them for a session that may have none, so that its repair removes them, and only those of
// its template's label for a session that may. t may be nil.
func (m markers) keepMarkers(s tick.Session, name string, t *template.Template) (routed bool) {
	may := s.State == lifecycle.Active && s.Pool != ""
	for _, label := range m.labels[name] {
		if !may || t == nil || label == t.RoutingLabel {
			routed = true
			m.kept[Stray{label, name}] = true
		}
	}
	return routed
}

// strays returns the markers that keepMarkers has kept for no session, by label.
func (m markers) strays() (strays []Stray) {
	for _, label := range slices.Sorted(maps.Keys(m.names)) {
		for _, name := range m.names[label] {
			if s := (Stray{label, name}); !m.kept[s] {
				strays = append(strays, s)
			}
		}
	}
	return strays
}

// findOrphans returns the claims of sessions that have no agent in their state, or no record.
func findOrphans(all []*instance.Instance, claimants map[string]Claimant, claims map[string]int) (orphans []OrphanedWork) {
	works := map[string]bool{}
	for _, in := range all {
		works[in.Name] = !in.Managed.State.Rests()
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if !works[name] {
			c := claimants[name]
			c.Name = name
			orphans = append(orphans, OrphanedWork{c, claims[name]})
		}
	}
	return orphans
}

// NewNotes returns the notes to log: those with an event that the tick before did not have.
func (p *Plan) NewNotes() (news []tick.Note) {
	for _, n := range p.Notes {
		if n.Event != "" && !slices.Contains(p.before.LoggedNotices, noticeKey(n)) {
			news = append(news, n)
		}
	}
	return news
}

func noticeKey(n tick.Note) string {
	return strings.TrimSuffix(n.Event+" "+n.Template+" "+n.Session+" "+n.Detail, " ")
}

// Notices returns the notes that were logged and still hold, without their texts.
func (m *Memory) Notices() (notes []tick.Note) {
	for _, key := range m.LoggedNotices {
		fields := append(strings.SplitN(key, " ", 4), "", "", "") // noticeKey cuts off empty ones
		notes = append(notes, tick.Note{Event: fields[0], Template: fields[1], Session: fields[2], Detail: fields[3]})
	}
	return notes
}

// nextMemory returns the memory after a tick that does the whole plan.
func (p *Plan) nextMemory(before *Memory) *Memory {
	m := *before
	m.Memory, m.Held, m.LoggedNotices = p.After, p.Facts.Held, nil
	for _, n := range p.Notes {
		if n.Event != "" {
			m.LoggedNotices = append(m.LoggedNotices, noticeKey(n))
		}
	}
	slices.Sort(m.LoggedNotices)
	m.LoggedNotices = slices.Compact(m.LoggedNotices)
	if n := len(p.Actions) + len(p.Strays); n > 0 {
		m.Changed, m.Changes = p.Facts.Now, n
	}
	return &m
}

// observe returns the facts about a session that a tick decides on.
func (w *World) observe(in *instance.Instance, s Status) tick.Session {
	seen := tick.Session{
		Session: in.Managed.Session, Alive: s.Alive, Idle: s.Idle, Attached: s.Attached, Asks: s.Asks, Busy: s.Busy, EndedByPerson: s.EndedByPerson, Limited: s.Limited,
		Started: !in.StartedAt.IsZero(), Ended: w.Clean(s.Why), Worktree: in.Managed.Worktree,
	}
	if s.Err != nil {
		seen.Unseen = w.Clean(s.Err.Error())
	}
	return seen
}

// wantedHash returns the hash of the configuration that a session would start with now, and the
// fields that differ from those of its start. plain caches hashes of templates without an overlay.
func wantedHash(c *config.Config, t template.Template, in *instance.Instance, plain map[string]string) (hash string, differs []string) {
	if len(in.Managed.Overlay) == 0 {
		if hash = plain[t.Name]; hash != "" && hash == in.Managed.Hash {
			return hash, nil
		}
	}
	allowed, _ := t.AllowedOverlay(in.Managed.Overlay)
	e := c.Effective(t, allowed)
	if hash = e.Hash(); hash != in.Managed.Hash {
		differs = template.DifferingFields(in.Managed.Fields, e.Digests())
	}
	if len(in.Managed.Overlay) == 0 {
		plain[t.Name] = hash
	}
	return hash, differs
}

// errSkipped reports a change that was not made because the session is no longer as it was
// decided on. The next tick decides again.
var errSkipped = errors.New("left for the next tick")

func skipf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSkipped, fmt.Sprintf(format, args...))
}
