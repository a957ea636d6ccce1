// Package perform makes ticks: it gathers what is there, lets package tick decide, and
// makes the changes, one after the other and each in its order (package lifecycle).
//
// What cannot be read ends a tick with nothing changed. Each change takes the lock of its
// session, so that nobody else starts or ends its agent, and reads the session again; the
// lock of the lifecycle is held for each read and write, and never while an agent starts
// or ends. A tick that is killed anywhere leaves what the next one goes on from.
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
	"time"

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

// Status is what is known of the agent of a session.
type Status struct {
	Alive    tick.Liveness
	Idle     time.Time // since when it has nothing to do; zero while it works
	Attached bool
	Asks     bool // it waits for somebody's answer
	Left     bool // somebody ended it
	// Why is how it ended, where that is known: its exit status and its last words.
	Why     string
	Err     error // why it is not known whether it runs
	Limited bool  // its account is at a limit, or was when it ended
	// LimitedAt is when that was last known: now, or as it ended.
	LimitedAt time.Time
	// LimitedUntil is when its client says that the limit ends; zero where it does not say.
	LimitedUntil time.Time
}

// Agents runs the agents of sessions.
type Agents interface {
	// Status finds out what each does. The statuses are in the order of the sessions.
	Status(context.Context, []*instance.Instance) []Status
	// Start starts the agent of a session, notes in its record what there is to know of
	// that, and returns when the agent was seen to run. That it runs already is no error.
	Start(context.Context, *instance.Locked, template.Effective) error
	// Explain prints how the agent would be started, and changes nothing.
	Explain(context.Context, *instance.Instance, template.Effective) error
	// Stop ends the agent. That it does not run is no error.
	Stop(context.Context, *instance.Instance) error
}

// Work is what sessions have claimed, and not done.
type Work interface {
	// Claims counts it by the names of the sessions, with what was put aside. Others may be
	// among them, which have no record any more. What cannot be read is an error: it is not
	// known then who may end.
	Claims(context.Context, []Claimant) (map[string]int, error)
	// Leave puts aside what a session has claimed that is about to go for that reason, and
	// Keep takes that back where the session stays after all. What Free could not do then,
	// Leave does not begin.
	Leave(ctx context.Context, c Claimant, reason string) error
	Keep(ctx context.Context, name string) error
	// Free makes what a session has claimed nobody's: it is blocked for that reason, or
	// given back.
	Free(ctx context.Context, c Claimant, reason string) error
}

// Claimant is a session as work names it that is assigned to it.
type Claimant struct {
	Name     string
	ID       instance.ID // "" of one of which nothing but the name is left
	Template string
	Dir      string
	// Ends says that its claims decide now when it ends: an answer of a minute ago will not do.
	Ends bool
	Gone bool // its agent has ended
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
	Work    Work // nil where there is none
	// Check asks how many sessions the pools should have; nil where nothing is asked.
	Check  func(context.Context, *config.Config) map[string]tick.Demand
	Server string // of tmux, in which new sessions are started
	Now    func() time.Time
	// Log appends an event; nil does not.
	Log  func(kind string, payload any)
	Warn func(error)
	// Clean makes a line of what an agent said fit to be kept and shown; nil leaves it as it is.
	Clean func(string) string
	// Notify tells the person that a session does not stay alive; nil does not.
	Notify func(session, why string)

	Force      bool
	MaxChanges int
	AtOnce     int // how many agents a tick starts at the same time; 0 is one

	newID      func() instance.ID
	archived   *instance.Shelf // what the ticks before have read
	stayWanted bool            // what is suspended stays wanted
}

// Of returns the world of a store, without what acts in it.
func Of(s instance.Store) *World {
	return &World{Store: s, Markers: route.Of(s), Now: time.Now, archived: new(instance.Shelf), newID: func() instance.ID { return instance.ID(session.NewID()) }}
}

func (w *World) now() time.Time { return w.Now().UTC().Round(0) }

func (w *World) clean(text string) string {
	if w.Clean != nil {
		return w.Clean(text)
	}
	return text
}

func (w *World) log(kind string, payload any) {
	if w.Log != nil {
		w.Log(kind, payload)
	}
}

// Memory is what ticks remember, reconcile.json beside the instances.
type Memory struct {
	tick.Memory
	Held          map[string]time.Time `json:"held,omitempty"` // accounts, until when nothing of theirs is started
	LoggedNotices []string             `json:"told,omitempty"` // what was noticed and logged, and holds still
	// Changed is when a tick last changed anything, and Changes how many sessions.
	Changed time.Time `json:"changed_at,omitzero"`
	Changes int       `json:"changes,omitempty"`

	unknown openjson.Unknown
}

// MarshalJSON keeps what a newer gt has written.
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

// Memory returns what ticks remember. One that is no use counts as none: nothing is
// retired then before two more ticks agree.
func (w *World) Memory() (*Memory, error) {
	data, err := w.memoryFile().Read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return new(Memory), nil
	case err != nil && atomicfile.Unread(err):
		return nil, err
	case err != nil:
		w.warn(err)
		return new(Memory), nil
	}
	return parseMemory(data)
}

func (w *World) warn(err error) {
	if w.Warn != nil && err != nil {
		w.Warn(err)
	}
}

// remember writes the memory where it is another than before.
func (w *World) remember(before, after *Memory) error {
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

// Memory is what the last tick saw.
func (p *Plan) Memory() *Memory { return p.before }

// NoTemplates returns the file that templates would stand in, where there are none, nor
// sessions of any; else "".
func (p *Plan) NoTemplates() string {
	open := func(s tick.Session) bool { return s.State != lifecycle.Closed }
	if len(p.Facts.Templates) > 0 || slices.ContainsFunc(p.Facts.Sessions, open) {
		return ""
	}
	return p.config.File
}

// Stray is a marker that belongs to no session that may have it.
type Stray struct{ Label, Name string }

// Plan is what a tick does.
type Plan struct {
	tick.Plan
	Facts  tick.Facts
	Strays []Stray
	// Names are those of the sessions, by their ids.
	Names map[string]string

	config *config.Config
	before *Memory
	after  *Memory
	closed []instance.ID // closed, and nothing is left of them to end
	// Orphans are sessions that have claimed work and cannot do any: it is made nobody's.
	Orphans []OrphanedWork
}

// OrphanedWork is a session that has claimed work and cannot do any.
type OrphanedWork struct {
	Claimant
	Claims int
}

// Frees is what becomes of the work that a session has claimed when a change is made: how
// many pieces of it, and the reason that they are blocked with, "" where they are given
// back. None where the change leaves it alone.
func (p *Plan) Frees(a tick.Action) (n int, blocked string) {
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

// read is what was read of the sessions in one go.
type read struct {
	all         []*instance.Instance
	markers     map[string][]string
	tearingDown map[string]bool // by id: closed, and its runtime may run
}

// read reads the sessions under the lock.
func (w *World) read() (*read, error) {
	lock, err := w.Store.LockLifecycle()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	// A record that is damaged would count as one session less.
	var damaged error
	s := w.Store
	s.Warn = func(err error) { damaged = errors.Join(damaged, err) }
	r := &read{tearingDown: map[string]bool{}}
	if r.all, err = s.All(); err != nil {
		return nil, err
	}
	for _, more := range []func() ([]*instance.Instance, error){
		func() ([]*instance.Instance, error) { return w.archived.Read(s) }, s.TearingDown,
	} {
		found, err := more()
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, found...)
	}
	if damaged != nil {
		return nil, damaged
	}
	r.all = slices.DeleteFunc(r.all, func(in *instance.Instance) bool { return in.Managed == nil })
	for _, in := range r.all {
		if in.Managed.State == lifecycle.Closed {
			r.tearingDown[string(in.ID)] = true
		}
	}
	r.markers, err = w.Markers.All()
	return r, err
}

// hold is for how long nothing of an account is started that is at a limit. Its end is
// rounded, so that not each tick writes another one.
const hold = 5 * time.Minute

// limit is until when nothing of an account is started that is at a limit.
func (s Status) limit() time.Time {
	if !s.LimitedUntil.IsZero() {
		return s.LimitedUntil
	}
	return s.LimitedAt.Add(2 * hold).Truncate(hold)
}

// Plan finds out what a tick would do, and changes nothing.
func (w *World) Plan(ctx context.Context) (*Plan, error) {
	c, err := w.Config()
	if err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	p := &Plan{config: c, before: memory, Names: map[string]string{}}
	f := &p.Facts
	f.Before, f.Force, f.MaxChanges = memory.Memory, w.Force, w.MaxChanges
	for _, t := range c.Templates {
		f.Templates = append(f.Templates, t.Template)
	}
	if w.Check != nil {
		f.Demand = w.Check(ctx, c)
	}
	r, err := w.read()
	if err != nil {
		return nil, err
	}
	claimants := map[string]Claimant{}
	for _, in := range r.all {
		claimants[in.Name] = claimant(in)
	}
	var claims map[string]int
	if w.Work != nil {
		if claims, err = w.Work.Claims(ctx, slices.Collect(maps.Values(claimants))); err != nil {
			return nil, err
		}
	}
	var statuses []Status
	if len(r.all) > 0 {
		statuses = w.Agents.Status(ctx, r.all)
	}
	f.Now = w.now()
	f.Tick = f.Now.Format("20060102T150405.000000000Z")
	f.Held = maps.Clone(memory.Held)
	maps.DeleteFunc(f.Held, func(_ string, until time.Time) bool { return !f.Now.Before(until) })
	markers := newMarkers(r.markers)
	plain := map[string]string{} // the hashes of templates, by name
	for i, in := range r.all {
		s, t := w.observed(in, statuses[i]), c.Find(in.Managed.Template)
		p.Names[s.ID] = in.Name
		s.Claims = claims[in.Name]
		if t != nil {
			s.Wanted, s.Differs = wanted(c, *t, in, plain)
			p.hold(t.Account, statuses[i])
		}
		s.Routed = markers.keep(s, in.Name, t)
		f.Sessions = append(f.Sessions, s)
		if r.tearingDown[s.ID] && s.Alive == tick.No && !s.Routed {
			p.closed = append(p.closed, in.ID)
		}
	}
	p.Strays = markers.strays()
	p.Orphans = orphans(r.all, claimants, claims)
	p.Plan = tick.Decide(*f)
	p.Actions = append(p.Actions, tick.Retain(*f, p.Plan)...)
	p.after = p.remembered(memory)
	return p, nil
}

// hold notes until when nothing of an account is started, of which a session is at a limit.
func (p *Plan) hold(account string, s Status) {
	until := s.limit()
	if !s.Limited || !until.After(p.Facts.Now) || !until.After(p.Facts.Held[account]) {
		return
	}
	if p.Facts.Held == nil {
		p.Facts.Held = map[string]time.Time{}
	}
	p.Facts.Held[account] = until
}

// markers are the routing markers that there are, and those of them that sessions keep.
type markers struct {
	names  map[string][]string // by label
	labels map[string][]string // by name
	kept   map[Stray]bool
}

func newMarkers(names map[string][]string) markers {
	m := markers{names: names, labels: map[string][]string{}, kept: map[Stray]bool{}}
	for label, all := range names {
		for _, name := range all {
			m.labels[name] = append(m.labels[name], label)
		}
	}
	return m
}

// keep keeps the markers of a session, whose template may be nil, and reports whether there
// are any. One that may have no marker has none of any label; one that may, no other's than
// its template's.
func (m markers) keep(s tick.Session, name string, t *template.Template) (routed bool) {
	may := s.State == lifecycle.Active && s.Pool != ""
	for _, label := range m.labels[name] {
		if !may || t == nil || label == t.RoutingLabel {
			routed = true
			m.kept[Stray{label, name}] = true
		}
	}
	return routed
}

// strays returns the markers that no session keeps.
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

// orphans returns the sessions that have claimed work and cannot do any.
func orphans(all []*instance.Instance, claimants map[string]Claimant, claims map[string]int) (orphans []OrphanedWork) {
	works := map[string]bool{}
	for _, in := range all {
		row, known := in.Managed.State.Row()
		works[in.Name] = row.Runs || !known
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

// News are the notes with an event that the tick before did not have.
func (p *Plan) News() (news []tick.Note) {
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

// remembered is what is remembered of a tick that does all of the plan.
func (p *Plan) remembered(before *Memory) *Memory {
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

func (w *World) observed(in *instance.Instance, s Status) tick.Session {
	seen := tick.Session{
		Session: in.Managed.Session, Alive: s.Alive, Idle: s.Idle, Attached: s.Attached, Asks: s.Asks, Left: s.Left, Limited: s.Limited,
		Started: !in.StartedAt.IsZero(), Ended: w.clean(s.Why),
	}
	if s.Err != nil {
		seen.Unseen = w.clean(s.Err.Error())
	}
	return seen
}

// wanted returns the hash of the configuration that a session would be started with, and
// in what its own differs. plain has the hashes of templates without an overlay, which most
// sessions have none of.
func wanted(c *config.Config, t template.Template, in *instance.Instance, plain map[string]string) (hash string, differs []string) {
	if len(in.Managed.Overlay) == 0 {
		if hash = plain[t.Name]; hash != "" && hash == in.Managed.Hash {
			return hash, nil
		}
	}
	allowed, _ := t.Allowed(in.Managed.Overlay)
	e := c.Effective(t, allowed)
	if hash = e.Hash(); hash != in.Managed.Hash {
		differs = template.Differs(in.Managed.Fields, e.Digests())
	}
	if len(in.Managed.Overlay) == 0 {
		plain[t.Name] = hash
	}
	return hash, differs
}

// errSkipped says that a change was not made, for the session is not what it was decided
// on; the next tick sees it as it is.
var errSkipped = errors.New("left for the next tick")

func skipped(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSkipped, fmt.Sprintf(format, args...))
}
