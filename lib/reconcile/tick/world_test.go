package tick

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gt/lib/state/lifecycle"
)

// start is when the clock of the tests begins.
var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A world is what a tick is let loose on: records, markers, runtimes and work, each of
// which is changed by itself, and nothing else.
type world struct {
	now       time.Time
	templates []Template
	sessions  map[string]*worldSession
	demand    map[string]Demand
	held      map[string]time.Time
	memory    Memory
	made      int
	ticks     int
	starts    int
	ops       int  // that were done
	stopAt    int  // the op before which the controller is killed; 0 never
	broken    bool // no runtime starts
	force     bool
	late      bool // what is done was decided before something else was
	events    []string
	problems  []string
	limit     map[string]int // by pool: the occupancy above which it may not come
}

// A worldSession is a session in a world.
type worldSession struct {
	lifecycle.Session
	alive    Liveness
	routed   bool
	claims   int
	aside    int    // of them, put aside
	why      string // for that reason
	blocked  []string
	wanted   string
	idle     time.Time
	attached bool
	asks     bool
	busy     string
	left     bool
	started  bool
	said     string // as its runtime ends
	limited  bool
}

func newWorld(templates ...Template) *world {
	return &world{now: start, templates: templates, sessions: map[string]*worldSession{}, demand: map[string]Demand{}, held: map[string]time.Time{}}
}

// template makes one with all the defaults.
func template(name string, change ...func(*Template)) Template {
	t, _ := Defaults()
	t.Name = name
	for _, c := range change {
		c(&t)
	}
	return t
}

func pooled(least, most int, change ...func(*Pool)) func(*Template) {
	return func(t *Template) {
		_, p := Defaults()
		p.Min, p.Max = least, most
		for _, c := range change {
			c(&p)
		}
		t.Pool = &p
	}
}

// put adds a session.
func (w *world) put(b worldSession) *worldSession {
	w.made++
	if b.ID == "" {
		b.ID = fmt.Sprintf("s%02d", w.made)
	}
	b.Generation, b.Token = max(b.Generation, 1), cmp.Or(b.Token, "token-"+b.ID)
	if b.CreatedAt.IsZero() {
		b.CreatedAt = w.now.Add(time.Duration(w.made) * time.Second)
	}
	w.sessions[b.ID] = &b
	return &b
}

func (w *world) find(name string) *Template {
	for i := range w.templates {
		if w.templates[i].Name == name {
			return &w.templates[i]
		}
	}
	return nil
}

// occupied is how many sessions count against the max of a pool.
func (w *world) occupied(pool string) int {
	n := 0
	for _, b := range w.sessions {
		if b.Pool == pool && b.State.Occupies() {
			n++
		}
	}
	return n
}

// countInState counts the sessions of a template that are in a state.
func (w *world) countInState(template string, state lifecycle.State) int {
	n := 0
	for _, b := range w.sessions {
		if b.Template == template && b.State == state {
			n++
		}
	}
	return n
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// facts are what a tick reads of the world.
func (w *world) facts() Facts {
	f := Facts{
		Now: w.now, Tick: fmt.Sprint(w.ticks), Templates: w.templates, Demand: w.demand, Held: w.held, Before: w.memory, Force: w.force,
	}
	for _, id := range slices.Sorted(maps.Keys(w.sessions)) {
		b := w.sessions[id]
		s := Session{Session: b.Session, Alive: b.alive, Routed: b.routed, Claims: b.claims, Idle: b.idle, Attached: b.attached, Asks: b.asks, Busy: b.busy, EndedByPerson: b.left, Limited: b.limited, Started: b.started, Ended: b.said}
		if w.find(b.Template) != nil {
			s.Wanted = b.wanted
		}
		f.Sessions = append(f.Sessions, s)
	}
	return f
}

// killed is what a controller that is killed panics with.
type killed struct{}

// tick makes one tick, and reports whether it changed anything.
func (w *world) tick() (changed bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			changed = true
		}
	}()
	w.limits()
	w.ticks++
	plan := Decide(w.facts())
	for _, b := range w.sessions {
		if row, known := b.State.Row(); known && !row.Runs {
			b.free(WorkReason(b.State))
		}
	}
	for _, a := range plan.Actions {
		w.perform(a)
	}
	w.memory = plan.After
	for _, n := range plan.Notes {
		if n.Event != "" {
			w.events = append(w.events, n.Event)
		}
	}
	return len(plan.Actions) > 0
}

// limits notes above which number no pool may come: its max, or what it has already.
func (w *world) limits() {
	w.limit = map[string]int{}
	for _, b := range w.sessions {
		if b.Pool != "" {
			w.limit[b.Pool] = w.occupied(b.Pool)
		}
	}
	for _, t := range w.templates {
		if t.Pool != nil {
			w.limit[t.Name] = max(w.limit[t.Name], t.Pool.Max)
		}
	}
}

// perform makes a change in its order, op by op, and judges each.
func (w *world) perform(a Action) {
	order := a.Change.Order()
	id := a.Before.ID
	b := w.sessions[id]
	if a.Change != lifecycle.Create && b.Session != a.Before {
		if !w.late {
			w.problem("%s of %s was decided on an old record", a.Change, id)
		}
		return
	}
	if order.Change == "" {
		w.problem("%s has no order", a.Change)
		return
	}
	if len(order.From) > 0 && !slices.Contains(order.From, b.State) {
		w.problem("%s of %s, which is %s", a.Change, id, b.State)
	}
	if a.Why == "" && a.Change != lifecycle.Note {
		w.problem("%s of %s: nobody knows why", a.Change, id)
	}
	if a.Event != "" {
		w.events = append(w.events, a.Event)
	}
	for _, op := range order.Ops {
		w.ops++
		if w.ops == w.stopAt {
			panic(killed{})
		}
		switch op {
		case lifecycle.Write:
			if a.Change == lifecycle.Create {
				b = w.put(worldSession{Session: a.Session, alive: Dead})
				if t := w.find(b.Template); t != nil {
					b.Hash = "v1:" + t.Name
					b.wanted = b.Hash
				}
				break
			}
			w.write(b, a.Session, a.Change)
		case lifecycle.Start:
			w.starts++
			if b.started = true; !w.broken {
				b.alive = Alive
			}
		case lifecycle.Confirm:
			if b.alive != Alive {
				if a.Failed != nil {
					b.Session = *a.Failed
				}
				return
			}
		case lifecycle.Route:
			if b.Pool == "" {
				continue
			}
			if b.alive != Alive || b.State != lifecycle.Active {
				w.problem("%s of %s gives a marker to one that is %s, running: %s", a.Change, id, b.State, b.alive)
			}
			if b.aside > 0 {
				w.problem("%s of %s gives a marker to one whose work is put aside", a.Change, id)
			}
			b.routed = true
		case lifecycle.Unroute:
			b.routed = false
		case lifecycle.Kill:
			if b.routed {
				w.problem("%s of %s ends what has a marker", a.Change, id)
			}
			if b.attached && b.State == lifecycle.Active {
				w.problem("%s of %s ends what somebody looks at", a.Change, id)
			}
			b.alive = Dead
		case lifecycle.Block:
			if b.claims > 0 && a.Block == "" {
				w.problem("%s of %s leaves its work to nobody", a.Change, id)
			}
			b.aside, b.why = b.claims, cmp.Or(b.why, a.Block)
		case lifecycle.Free:
			b.free(cmp.Or(a.Block, WorkReason(b.State)))
		case lifecycle.Keep:
			b.aside, b.why = 0, ""
		}
		for pool, limit := range w.limit {
			if n := w.occupied(pool); n > limit {
				w.problem("%s brings %s to %d of %d", a.Change, pool, n, limit)
			}
		}
	}
}

// free makes what a session has claimed nobody's.
func (b *worldSession) free(reason string) {
	if b.claims > 0 {
		b.blocked = append(b.blocked, cmp.Or(b.why, reason))
	}
	b.claims, b.aside, b.why = 0, 0, ""
}

// write writes a record, and judges the change.
func (w *world) write(b *worldSession, after lifecycle.Session, change lifecycle.Change) {
	if b.State == lifecycle.Closed {
		w.problem("%s writes %s, which is closed", change, b.ID)
	}
	if after.State != b.State || after.Reason != b.Reason {
		if !b.State.CanBecome(after.State) {
			w.problem("%s makes %s of %s", change, after.State, b.State)
		}
		if !after.State.Takes(after.Reason) {
			w.problem("%s for %s", after.State, after.Reason)
		}
		was, _ := b.State.Row() // a test may put one there
		if row, _ := after.State.Row(); row.PoolOnly && b.Pool == "" && !was.PoolOnly {
			w.problem("%s is of no pool and becomes %s", b.ID, after.State)
		}
	}
	if b.State == lifecycle.Archived && after.State == lifecycle.Active {
		if after.Generation != b.Generation+1 {
			w.problem("%s is reactivated as generation %d after %d", b.ID, after.Generation, b.Generation)
		}
		after.Token = fmt.Sprintf("token-%s-%d", b.ID, after.Generation)
	} else if after.Generation != b.Generation || after.Token != b.Token {
		w.problem("%s changes the generation or token of %s", change, b.ID)
	}
	b.Session = after
}

// settle ticks until nothing changes, and reports a problem if that takes too long.
func (w *world) settle() {
	for range 40 {
		if !w.tick() && !w.shrinks() {
			return
		}
	}
	w.problem("it never comes to rest: %s", w)
}

// shrinks reports whether a pool has more than are wanted, which the next tick sees.
func (w *world) shrinks() bool {
	return len(Decide(w.facts()).Actions) > 0
}

func (w *world) String() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(w.sessions)) {
		s := w.sessions[id]
		fmt.Fprintf(&b, "\n  %s %s pool=%q %s(%s) alive=%s routed=%v claims=%d cycle=%d crashes=%d", id, s.Template, s.Pool, s.State, s.Reason, s.alive, s.routed, s.claims, s.QuarantineCycle, s.CrashCount)
	}
	return b.String()
}
