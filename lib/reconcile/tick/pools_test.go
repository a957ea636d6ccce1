package tick

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/state/lifecycle"
)

// checkErrors fails the test with what the world found wrong.
func (w *world) checkErrors(t *testing.T) {
	t.Helper()
	for _, p := range w.problems {
		t.Error(p)
	}
	if t.Failed() {
		t.Log(w)
	}
}

// expect checks how many sessions of a template are in the states.
func (w *world) expect(t *testing.T, template string, want map[lifecycle.State]int) {
	t.Helper()
	for _, s := range lifecycle.States {
		if n := w.countInState(template, s.State); n != want[s.State] {
			t.Errorf("%d %s, want %d%s", n, s.State, want[s.State], w)
		}
	}
}

// want makes a pool's check say so.
func (w *world) want(n int) { w.demand["worker"] = Demand{Wanted: n} }

// advance moves the clock and settles.
func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.settle()
}

// die ends the runtime of a session.
func (b *worldSession) die() { b.alive = Dead }

// sessionsInState returns the sessions of a template in a state, the oldest first.
func (w *world) sessionsInState(template string, state lifecycle.State) []*worldSession {
	var all []*worldSession
	for _, b := range w.sessions {
		if b.Template == template && b.State == state {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *worldSession) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// 0 to 3, to 1, to 3: with wake_mode fresh, archived ones stay archived. [S4-91, S4-106, S4-107, S4-108]
func TestAPoolThatGrowsAndShrinks(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 5)))
	w.want(3)
	w.tick()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Creating: 3})
	for _, b := range w.sessionsInState("worker", lifecycle.Creating) {
		if b.routed {
			t.Error("work comes before it runs") // [S4-29]
		}
	}
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3})
	for i, b := range w.sessionsInState("worker", lifecycle.Active) {
		if !b.routed || b.Slot != i+1 || b.Reason != lifecycle.CreationComplete || b.Generation != 1 {
			t.Errorf("%+v", b)
		}
	}
	w.want(1)
	newest := w.sessionsInState("worker", lifecycle.Active)[1:]
	for _, b := range newest {
		b.claims = 1
	}
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 1, lifecycle.Draining: 2})
	if newest[0].State != lifecycle.Draining || newest[1].State != lifecycle.Draining {
		t.Error("the newest go first") // [S4-93]
	}
	newest[0].claims = 0
	w.advance(time.Second)
	if newest[0].State != lifecycle.Archived || newest[0].Reason != lifecycle.DrainComplete || newest[0].alive != Dead { // [S4-113]
		t.Errorf("%+v", newest[0])
	}
	w.advance(30 * time.Second)
	if b := newest[1]; b.State != lifecycle.Archived || b.Reason != lifecycle.DrainTimeout || !slices.Equal(b.blocked, []string{"session_archived"}) { // [S4-114, S4-49]
		t.Errorf("%+v", b)
	}
	w.want(3)
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3, lifecycle.Archived: 2})
	w.checkErrors(t)
}

// With wake_mode resume archived sessions come back, each as another generation, in the
// pool's order; one whose configuration is another by now does not. [S4-27, S4-28, S4-40, S4-91, S4-93, S4-109, S4-110]
func TestAPoolThatTakesBack(t *testing.T) {
	for _, order := range []string{LIFO, FIFO} {
		w := newWorld(template("worker", pooled(0, 5, func(p *Pool) { p.ReactivateOrder = order }), func(t *Template) { t.WakeMode = Resume }))
		w.want(3)
		w.settle()
		for n := 2; n >= 0; n-- {
			w.want(n)
			w.advance(time.Minute)
		}
		w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Archived: 3})
		all := w.sessionsInState("worker", lifecycle.Archived) // the third was archived first
		w.want(1)
		w.settle()
		back := map[string]*worldSession{LIFO: all[0], FIFO: all[2]}[order]
		if back.State != lifecycle.Active || back.Generation != 2 || back.Reason != lifecycle.Reactivated || !back.routed || back.Token == "token-"+back.ID {
			t.Errorf("%s: %+v", order, back)
		}
		all[1].wanted = "v1:another"
		w.want(3)
		w.settle()
		w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3, lifecycle.Archived: 1})
		if all[1].State != lifecycle.Archived || len(w.sessions) != 4 {
			t.Errorf("%s: what drifted is taken back%s", order, w)
		}
		w.checkErrors(t)
	}
}

// A session in a turn is the last to leave a pool. Its drain waits for the turn's end, at most
// drain_timeout, and a changed template waits for it too.
func TestBusy(t *testing.T) {
	const busy = "its turn runs"
	w := newWorld(template("worker", pooled(0, 3)))
	w.want(3)
	w.settle()
	all := w.sessionsInState("worker", lifecycle.Active)
	newest := all[2]
	newest.busy = busy
	w.want(2)
	w.settle()
	if newest.State != lifecycle.Active || w.countInState("worker", lifecycle.Archived) != 1 {
		t.Fatalf("another one could leave%s", w)
	}
	all[0].busy = busy
	w.want(0)
	w.force = true
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Draining: 2, lifecycle.Archived: 1})
	newest.busy = ""
	w.advance(time.Second)
	if newest.State != lifecycle.Archived || newest.Reason != lifecycle.DrainComplete {
		t.Errorf("its turn is over%s", w)
	}
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Draining: 1, lifecycle.Archived: 2})
	w.advance(30 * time.Second)
	if b := all[0]; b.State != lifecycle.Archived || b.Reason != lifecycle.DrainTimeout {
		t.Errorf("the longest has passed%s", w)
	}

	w.want(1)
	w.settle()
	one := w.sessionsInState("worker", lifecycle.Active)[0]
	one.wanted, one.busy = "v1:new", busy
	w.settle()
	if one.State != lifecycle.Active || w.countInState("worker", lifecycle.Active) != 1 {
		t.Errorf("a changed template ends a turn%s", w)
	}
	one.busy = ""
	w.settle()
	if one.State != lifecycle.Archived || w.countInState("worker", lifecycle.Active) != 1 {
		t.Errorf("it is not replaced after its turn%s", w)
	}
	w.checkErrors(t)
}

// Sessions of one tick are ordered by slot, regardless of their ids: the last slot is the
// newest. [S4-93]
func TestWhoIsNewest(t *testing.T) {
	for _, order := range []string{LIFO, FIFO} {
		w := newWorld(template("worker", pooled(0, 3, func(p *Pool) { p.ArchiveOrder, p.ReactivateOrder = order, order }), func(t *Template) { t.WakeMode = Resume }))
		for slot, id := range []string{"s3", "s1", "s2"} {
			w.put(worldSession{Session: lifecycle.Session{ID: id, Template: "worker", Pool: "worker", Slot: slot + 1, State: lifecycle.Active, Reason: lifecycle.CreationComplete, CreatedAt: start, Hash: "v1:x"}, alive: Alive, routed: true, wanted: "v1:x"})
		}
		w.want(1)
		w.settle()
		stays := map[string]string{LIFO: "s3", FIFO: "s2"}[order]
		if all := w.sessionsInState("worker", lifecycle.Active); len(all) != 1 || all[0].ID != stays {
			t.Errorf("%s: %s does not stay%s", order, stays, w)
		}
		w.want(2)
		w.settle()
		back := map[string]string{LIFO: "s2", FIFO: "s3"}[order]
		if w.sessions[back].State != lifecycle.Active {
			t.Errorf("%s: %s is not back%s", order, back, w)
		}
		w.checkErrors(t)
	}
}

// A session whose template is gone drains for as long as the template said.
func TestDrainOfAGoneTemplate(t *testing.T) {
	w := newWorld(template("worker", pooled(1, 2, func(p *Pool) { p.DrainTimeout = time.Hour })))
	w.want(1)
	w.settle()
	b := w.sessionsInState("worker", lifecycle.Active)[0]
	b.busy = "a turn runs"
	w.templates, w.force = nil, true
	w.settle()
	w.advance(59 * time.Minute)
	if b.State != lifecycle.Draining {
		t.Errorf("its turn was cut%s", w)
	}
	w.advance(time.Minute)
	if b.State != lifecycle.Archived || b.Reason != lifecycle.DrainTimeout {
		t.Errorf("the hour has passed%s", w)
	}
}

// A session that crashes while it drains is archived at once and its work is blocked. The
// crash does not count. [S4-39, S4-50]
func TestACrashDuringADrain(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 2, func(p *Pool) { p.DrainTimeout = time.Hour }), func(t *Template) { t.MaxRestarts = 0 }))
	b := w.put(inState(lifecycle.Draining, "worker", false, Alive))
	b.claims, b.CrashCount = 2, 1
	w.tick()
	if b.State != lifecycle.Draining {
		t.Fatalf("%+v", b)
	}
	b.die()
	w.tick()
	if b.State != lifecycle.Archived || b.Reason != lifecycle.CrashDuringDrain || b.CrashCount != 1 || b.claims != 0 || !slices.Equal(b.blocked, []string{"session_crash_drain"}) {
		t.Errorf("%+v", b)
	}
	w.checkErrors(t)
}

// Each quarantine is twice as long as the one before, up to the cap. [S4-42]
func TestBackoff(t *testing.T) {
	var all []time.Duration
	for cycle := range 6 {
		all = append(all, backoff(firstBackoff, cycle, 5*time.Minute))
	}
	if s := time.Second; !slices.Equal(all, []time.Duration{30 * s, 60 * s, 120 * s, 240 * s, 300 * s, 300 * s}) {
		t.Error(all)
	}
	if got := backoff(firstBackoff, 0, time.Second); got != time.Second {
		t.Error(got)
	}
}

// Suspended sessions leave first, then those that the pool's order names. One of no pool
// stays suspended. [S4-41, S4-92, S4-93]
func TestWhoLeavesAPool(t *testing.T) {
	for _, c := range []struct {
		order string
		gone  []string
	}{
		{LIFO, []string{"s04", "s05"}},
		{FIFO, []string{"s01", "s02"}},
		{IdleFirst, []string{"s03", "s04"}},
	} {
		w := newWorld(template("worker", pooled(0, 6, func(p *Pool) { p.ArchiveOrder = c.order })))
		w.want(6)
		for range 5 {
			w.put(inState(lifecycle.Active, "worker", true, Alive)).claims = 1
		}
		w.put(inState(lifecycle.Suspended, "worker", false, Dead))
		alone := w.put(inState(lifecycle.Suspended, "", false, Dead))
		w.sessions["s03"].idle = start.Add(-time.Hour)
		w.sessions["s04"].idle = start.Add(-time.Hour / 2)
		w.sessions["s02"].idle = start.Add(-time.Minute)
		w.settle()
		w.want(3)
		w.settle()
		for _, id := range c.gone {
			if w.sessions[id].State != lifecycle.Draining {
				t.Errorf("%s: %s stays%s", c.order, id, w)
			}
		}
		if s := w.sessions["s06"]; s.State != lifecycle.Archived || s.Reason != lifecycle.SuspendedScaleDown {
			t.Errorf("%s: %+v", c.order, s)
		}
		if alone.State != lifecycle.Suspended {
			t.Errorf("%s: of no pool, and %s", c.order, alone.State)
		}
		w.checkErrors(t)
	}
}

// A check that fails scales nothing, whatever it was before. [S4-84 S4-85 S4-86 S4-88]
func TestAFailedCheck(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 3)))
	w.demand["worker"] = Demand{Err: errors.New("exit status 1")}
	w.settle()
	w.expect(t, "worker", nil)
	w.want(99)
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3})
	w.demand["worker"] = Demand{Err: errors.New("no number")}
	w.settle()
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3})
	w.want(-5)
	w.templates[0].Pool.Min = 2
	w.settle()
	w.advance(time.Minute)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 2, lifecycle.Archived: 1})
	w.checkErrors(t)
}

// What is missing from one reading is not drained, and most of a town only with force.
func TestAShrink(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 10)))
	w.want(8)
	w.settle()
	w.want(6)
	if w.tick() {
		t.Error("one reading drains")
	}
	w.want(8)
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 8})
	w.want(2)
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 8})
	saved := w.templates
	w.templates = nil
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 8})
	w.templates = saved
	w.force = true
	w.settle()
	w.advance(time.Minute)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 2, lifecycle.Archived: 6})
	w.templates = nil
	w.settle()
	w.advance(time.Minute)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Archived: 8})
	w.checkErrors(t)
}

// A file without its templates retires nobody, of a fleet of one or two either, and says so.
func TestAShrinkOfFew(t *testing.T) {
	for n := 1; n <= 3; n++ {
		w := newWorld(template("worker", pooled(0, 10)))
		w.want(n)
		w.settle()
		w.templates, w.events = nil, nil
		w.tick()
		w.tick()
		w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: n})
		if !slices.Contains(w.events, EventShrinkHeld) {
			t.Errorf("nothing is said of it: %q", w.events)
		}
		w.force = true
		w.tick()
		w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Draining: n})
		w.checkErrors(t)
	}
}

// A crash restarts in place with the marker, until there were too many; then it rests, each
// time for longer, and is evicted in the end. [S4-33 S4-35 S4-36 S4-42 S4-43 S4-44 S4-46]
func TestACrashLoop(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1), func(t *Template) { t.MaxRestarts = 2 }))
	w.want(1)
	w.settle()
	b := w.sessionsInState("worker", lifecycle.Active)[0]
	var rests []time.Duration
	for cycle := range 4 {
		for crash := 1; crash <= 2; crash++ {
			b.die()
			b.claims = 1
			w.tick()
			if b.State != lifecycle.Active || b.alive != Alive || !b.routed || b.CrashCount != crash || b.claims != 1 {
				t.Fatalf("cycle %d, crash %d: %+v", cycle, crash, b)
			}
			w.now = w.now.Add(time.Second)
		}
		b.die()
		w.tick()
		if b.State != lifecycle.Quarantined || b.routed || b.claims != 0 || b.blocked[len(b.blocked)-1] != "session_quarantined" { // [S4-53]
			t.Fatalf("cycle %d: %+v", cycle, b)
		}
		if cycle == 3 {
			break
		}
		rest := b.QuarantineUntil.Sub(w.now)
		rests = append(rests, rest)
		w.now = w.now.Add(rest - time.Second)
		w.settle()
		if b.State != lifecycle.Quarantined {
			t.Fatal("before its time")
		}
		w.advance(time.Second)
		if b.State != lifecycle.Active || b.Reason != lifecycle.QuarantineCleared || b.QuarantineCycle != cycle+1 || b.CrashCount != 0 || !b.routed {
			t.Fatalf("cycle %d: %+v", cycle, b)
		}
	}
	if !slices.Equal(rests, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}) {
		t.Errorf("it rested for %v", rests)
	}
	w.settle()
	if b.State != lifecycle.Archived || b.Reason != lifecycle.QuarantineEvicted || !slices.Contains(w.events, EventEvicted) {
		t.Errorf("%+v %q", b, w.events)
	}
	w.advance(5 * time.Minute)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 1, lifecycle.Archived: 1})
	w.checkErrors(t)
}

// Crashes that are far enough from each other are no loop.
func TestRareCrashes(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1), func(t *Template) { t.MaxRestarts = 1 }))
	w.want(1)
	w.settle()
	b := w.sessionsInState("worker", lifecycle.Active)[0]
	for range 5 {
		b.die()
		w.advance(61 * time.Minute)
		if b.State != lifecycle.Active || b.CrashCount != 1 {
			t.Fatalf("%+v", b)
		}
	}
	w.checkErrors(t)
}

// A quarantined session that does not start again has had its attempt.
func TestAQuarantineWithoutAStart(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1)))
	b := w.put(inState(lifecycle.Quarantined, "worker", false, Dead))
	w.want(1)
	w.broken = true
	for range 3 {
		w.now = w.now.Add(time.Hour)
		w.tick()
		if b.State != lifecycle.Quarantined {
			t.Fatalf("%+v", b)
		}
	}
	w.tick()
	if b.State != lifecycle.Archived || b.Reason != lifecycle.QuarantineEvicted {
		t.Errorf("%+v", b)
	}
	w.checkErrors(t)
}

// Who is healthy for long enough begins to count anew. [S4-35, S4-47]
func TestHealthyAgain(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1), func(t *Template) { t.MaxRestarts = 0 }))
	w.want(1)
	w.settle()
	b := w.sessionsInState("worker", lifecycle.Active)[0]
	b.die()
	w.settle()
	w.advance(time.Minute)
	if b.State != lifecycle.Active || b.QuarantineCycle != 1 {
		t.Fatalf("%+v", b)
	}
	w.advance(4 * time.Minute)
	if b.QuarantineCycle != 1 {
		t.Error("too early")
	}
	w.advance(time.Minute)
	if b.QuarantineCycle != 0 || b.State != lifecycle.Active {
		t.Errorf("%+v", b)
	}
	w.templates[0].MaxRestarts = 3
	b.die()
	w.settle()
	if b.CrashCount != 1 {
		t.Fatalf("%+v", b)
	}
	w.advance(2 * time.Hour)
	if b.CrashCount != 0 {
		t.Errorf("%+v", b)
	}
	w.checkErrors(t)
}

// Cooldown over and the pool full: archived. [S4-45]
func TestAQuarantineInAFullPool(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 2)))
	b := w.put(inState(lifecycle.Quarantined, "worker", false, Dead))
	for range 2 {
		w.put(inState(lifecycle.Active, "worker", true, Alive))
	}
	w.want(2)
	w.advance(2 * time.Minute)
	if b.State != lifecycle.Archived {
		t.Errorf("%+v", b)
	}
	w.checkErrors(t)
}

// A limit and what a person did are no crash.
func TestWhatIsNoCrash(t *testing.T) {
	w := newWorld(template("worker", func(t *Template) { t.Account = "a"; t.MaxRestarts = 0 }))
	w.templates = append(w.templates, template("free", func(t *Template) { t.MaxRestarts = 0 }))
	free := w.put(inState(lifecycle.Active, "", false, Dead))
	free.Template, free.left = "free", true
	left, limited, other := w.put(inState(lifecycle.Active, "", false, Dead)), w.put(inState(lifecycle.Active, "", false, Dead)), w.put(inState(lifecycle.Active, "", false, Dead))
	left.left, limited.limited = true, true
	w.held["a"] = start.Add(time.Hour)
	w.settle()
	if left.Reason != lifecycle.UserRequest || free.Reason != lifecycle.UserRequest || limited.Reason != lifecycle.CrashRecovery || other.Reason != lifecycle.CrashRecovery || other.CrashCount != 0 {
		t.Errorf("%s", w)
	}
	limited.limited = false // its runtime is another by then
	w.advance(2 * time.Hour)
	if left.State != lifecycle.Suspended || free.State != lifecycle.Suspended || limited.State != lifecycle.Active || other.State != lifecycle.Active || limited.Reason != lifecycle.Resumed {
		t.Errorf("%s", w)
	}
	w.checkErrors(t)
}

// Nothing is started before what it depends on is active. [S4-94, S4-143]
func TestDependencies(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 2), func(t *Template) { t.DependsOn = []string{"database"} }), template("database", pooled(1, 1)))
	w.want(2)
	w.tick()
	w.expect(t, "worker", nil)
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 2})
	db := w.sessionsInState("database", lifecycle.Active)[0]
	worker := w.sessionsInState("worker", lifecycle.Active)[0]
	db.die()
	worker.die()
	w.broken = true
	w.tick()
	if worker.State != lifecycle.Suspended || worker.Reason != lifecycle.DependencyDown {
		t.Errorf("%+v", worker)
	}
	w.broken = false
	w.advance(time.Second)
	if worker.State != lifecycle.Active || db.alive != Alive {
		t.Errorf("%s", w)
	}
	w.checkErrors(t)
}

// What drifted is drained one at a time, replaced before the next one goes, and only three
// times in ten minutes; who is looked at, or asks, stays. [S4-104, S4-105]
func TestDrift(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 5)))
	w.want(5)
	w.settle()
	old := w.sessionsInState("worker", lifecycle.Active)
	for _, b := range old {
		b.wanted = "v1:new"
	}
	old[0].attached, old[1].asks = true, true
	least := 5
	old[4].claims = 1
	drains := 0
	for range 60 {
		w.tick()
		if old[4].State == lifecycle.Draining {
			if n := w.occupied("worker"); n > 4 {
				t.Fatalf("it is replaced before it is gone%s", w)
			}
			if drains++; drains == 3 {
				old[4].claims = 0
			}
		}
		least = min(least, w.countInState("worker", lifecycle.Active))
		w.now = w.now.Add(5 * time.Second)
	}
	if drains < 3 {
		t.Errorf("it drained for %d ticks", drains)
	}
	if least != 4 {
		t.Errorf("at one time %d of 5 ran", least)
	}
	if n := w.countInState("worker", lifecycle.Archived); n != 3 || len(w.sessions) != 8 {
		t.Errorf("%d replaced%s", n, w)
	}
	for _, b := range w.sessionsInState("worker", lifecycle.Active) {
		if b.Replaces != "" && (w.sessions[b.Replaces].DrainReason != lifecycle.ConfigDrift || !slices.Contains(old, w.sessions[b.Replaces])) {
			t.Errorf("%+v", b)
		}
	}
	old[0].attached = false
	w.tick()
	if old[0].State != lifecycle.Active || !slices.Contains(w.events, EventDriftHeld) {
		t.Errorf("the fourth within ten minutes; %q", w.events)
	}
	w.advance(10 * time.Minute)
	if old[0].State != lifecycle.Archived || old[1].State != lifecycle.Active {
		t.Errorf("%s", w)
	}
	w.checkErrors(t)
}

// A pool that grows to its max while its last one is replaced has no room until the old one
// is gone, which does not wait for that.
func TestDriftOfTheLastOneInAFullPool(t *testing.T) {
	w := newWorld(template("worker", pooled(1, 2, func(*Pool) {})))
	w.want(1)
	w.settle()
	old := w.sessionsInState("worker", lifecycle.Active)[0]
	old.wanted = "v1:new"
	w.tick()
	w.want(2)
	for range 10 {
		w.tick()
		w.now = w.now.Add(10 * time.Second)
		if n := w.occupied("worker"); n > 2 {
			t.Fatalf("%d are there%s", n, w)
		}
	}
	if w.countInState("worker", lifecycle.Active) != 2 || old.State == lifecycle.Active {
		t.Errorf("the pool has %d, the old one is %s%s", w.countInState("worker", lifecycle.Active), old.State, w)
	}
}

// The last running session is drained once its replacement runs, if the pool has room for
// both. A replacement that is not needed is drained.
func TestDriftOfTheLastOne(t *testing.T) {
	for _, checked := range []bool{true, false} {
		for _, turn := range []string{"", "reverted", "restarted", "busy", "looked at", "twice", "no start", "full"} {
			t.Run(fmt.Sprintf("%s %v", turn, checked), func(t *testing.T) {
				w := newWorld(template("worker", pooled(1, 2, func(p *Pool) { p.DrainTimeout = time.Hour })))
				if turn == "full" {
					w.templates[0].Pool.Max = 1
				}
				if checked {
					w.want(1)
				}
				w.settle()
				old := w.sessionsInState("worker", lifecycle.Active)[0]
				old.wanted = "v1:new"
				w.broken = turn == "no start"
				least, left := 1, 1
				look := func() {
					n := 0
					for _, b := range w.sessions {
						n += boolToInt(b.routed && b.alive == Alive)
					}
					least = min(least, n)
				}
				w.tick()
				look()
				if n := w.countInState("worker", lifecycle.Creating); turn != "full" && (n != 1 || old.State != lifecycle.Active) {
					t.Fatalf("the new one does not come first%s", w)
				}
				switch turn {
				case "reverted":
					old.wanted = old.Hash
					w.sessionsInState("worker", lifecycle.Creating)[0].wanted = "v1:old"
				case "restarted":
					old.Hash = "v1:new"
				case "busy":
					old.claims = 1
				case "looked at":
					old.attached = true
				}
				for i := range 12 {
					w.tick()
					look()
					w.now = w.now.Add(10 * time.Second)
					if turn == "twice" && i == 2 { // the new one is outdated too
						w.sessionsInState("worker", lifecycle.Active)[0].wanted = "v1:newer"
					}
				}
				switch turn {
				case "reverted", "restarted":
					if old.State != lifecycle.Active {
						t.Errorf("what is up to date is gone%s", w)
					}
				case "busy":
					if old.State != lifecycle.Draining || old.routed || w.countInState("worker", lifecycle.Active) != 1 || w.memory.Wanted["worker"] != 1 {
						t.Errorf("%s", w)
					}
					old.claims = 0
				case "looked at":
					if old.State != lifecycle.Active || w.countInState("worker", lifecycle.Active) != 2 {
						t.Errorf("%s", w)
					}
					old.attached = false
				case "no start":
					if old.State != lifecycle.Active || !old.routed {
						t.Errorf("it is drained for one that does not start%s", w)
					}
					w.broken = false
				case "full":
					left = 0
				}
				w.settle()
				w.advance(2 * time.Minute)
				w.advance(time.Minute)
				if w.countInState("worker", lifecycle.Active) != 1 || w.occupied("worker") != 1 || least != left {
					t.Errorf("at one time %d ran%s", least, w)
				}
				w.checkErrors(t)
			})
		}
	}
}

// A smaller max makes a pool smaller that has no check; its min does not.
func TestAShrinkWithoutACheck(t *testing.T) {
	w := newWorld(template("worker", pooled(3, 5)))
	w.settle()
	w.templates[0].Pool.Min = 1
	w.settle()
	w.advance(time.Hour)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3})
	w.templates[0].Pool.Max = 1
	w.tick()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3})
	w.settle()
	w.advance(time.Minute)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 1, lifecycle.Archived: 2})
	// What is drained or closed by hand stays away.
	w.templates[0].Pool.Max = 5
	w.put(inState(lifecycle.Active, "worker", true, Alive))
	gone := w.put(inState(lifecycle.Active, "worker", true, Alive))
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 3, lifecycle.Archived: 2})
	w.perform(Requested(lifecycle.Drain, gone.Session, lifecycle.Manual, w.now))
	w.settle()
	w.advance(time.Hour)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 2, lifecycle.Archived: 3})
	w.perform(Requested(lifecycle.Close, w.sessionsInState("worker", lifecycle.Active)[0].Session, lifecycle.UserRequest, w.now))
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 1, lifecycle.Archived: 3, lifecycle.Closed: 1})
	w.checkErrors(t)
}

// Without a check a pool keeps the size that people give it, within its bounds, and one
// that is drained for drift is replaced.
func TestAPoolWithoutACheck(t *testing.T) {
	w := newWorld(template("worker", pooled(1, 3)))
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 1})
	w.put(inState(lifecycle.Active, "worker", true, Alive))
	w.settle()
	w.advance(time.Hour)
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 2})
	w.sessionsInState("worker", lifecycle.Active)[0].wanted = "v1:new"
	w.settle()
	w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 2, lifecycle.Archived: 1})
	w.checkErrors(t)
}

// A hash that was made in another way is no drift.
func TestAnotherVersionOfTheHash(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1)))
	w.want(1)
	w.settle()
	b := w.sessionsInState("worker", lifecycle.Active)[0]
	b.wanted = "v2:worker"
	w.settle()
	if b.State != lifecycle.Active || b.Hash != "v2:worker" {
		t.Errorf("%+v", b)
	}
	w.checkErrors(t)
}

// A session of no pool is suspended when it has been idle, and resumed when it has work.
// [S4-18, S4-94]
func TestIdle(t *testing.T) {
	w := newWorld(template("worker", func(t *Template) { t.IdleTimeout = time.Minute }))
	b := w.put(inState(lifecycle.Active, "", false, Alive))
	b.idle, b.asks = start, true
	w.advance(time.Hour)
	if b.State != lifecycle.Active {
		t.Error("it waits for an answer")
	}
	b.asks, b.busy = false, "its background commands or subagents run"
	w.advance(time.Hour)
	if b.State != lifecycle.Active {
		t.Error("something of it runs")
	}
	b.busy = ""
	w.settle()
	if b.State != lifecycle.Suspended || b.Reason != lifecycle.IdleTimeout || b.alive != Dead {
		t.Errorf("%+v", b)
	}
	b.claims, b.idle = 1, time.Time{}
	w.settle()
	if b.State != lifecycle.Active {
		t.Errorf("%+v", b)
	}
	w.checkErrors(t)
}

// At most so many changes at once; the others come with the next tick.
func TestMaxChanges(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 5)))
	w.want(5)
	f := w.facts()
	f.MaxChanges = 2
	plan := Decide(f)
	if len(plan.Actions) != 2 || len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0].Text, "3 more changes") {
		t.Errorf("%+v", plan)
	}
}

// A state of a newer gt is left alone, and its session counts. [S4-138]
func TestAStateOfANewerVersion(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1)))
	b := w.put(worldSession{Session: lifecycle.Session{Template: "worker", Pool: "worker", State: "dreaming"}, alive: Alive, routed: true})
	w.want(1)
	w.settle()
	if b.State != "dreaming" || !b.routed || len(w.sessions) != 1 || !slices.Contains(w.events, EventUnknownState) {
		t.Errorf("%s", w)
	}
	w.checkErrors(t)
}

// A session whose agent does not stay alive is restarted with doubling pauses, then rests
// in quarantine, and is finally given up. The pool replaces it only after a rest, which
// doubles too. The template is reported once. A session without a pool stays in quarantine.
// [S4-36, S4-42, S4-46, S4-96]
func TestStartsThatFail(t *testing.T) {
	testenv.Sample(t, 3)
	for _, pool := range []bool{true, false} {
		w := newWorld(template("worker", pooled(0, 1)))
		w.broken = true
		if pool {
			w.want(1)
		} else {
			w.templates[0].Pool = nil
			w.put(worldSession{Session: lifecycle.Session{Template: "worker", State: lifecycle.Creating, Reason: lifecycle.UserRequest, CreatingAt: start}, alive: Dead, started: true})
		}
		begin := w.now
		var starts []int // by the second
		counted := 0
		for w.now.Sub(begin) < 6*time.Hour {
			w.tick()
			for _, b := range w.sessions {
				b.said = "exit status 1: no key"
			}
			for ; counted < w.starts; counted++ {
				starts = append(starts, int(w.now.Sub(begin).Seconds()))
			}
			w.now = w.now.Add(time.Second)
		}
		want := []int{0, 1, 3, 7, 15, 31, 62, 122, 242, 543, 544, 546}
		if !pool {
			want = []int{1, 3, 7, 15, 31, 62, 122}
		}
		if !slices.Equal(starts[:min(len(want), len(starts))], want) {
			t.Errorf("pool %v: started at %v, not %v", pool, starts, want)
		}
		if n := 9 * 10; len(starts) > n {
			t.Errorf("pool %v: %d starts in six hours", pool, len(starts))
		}
		told := 0
		for _, e := range w.events {
			if e == EventFailing {
				told++
			}
		}
		if told != 1 {
			t.Errorf("pool %v: it is told %d times", pool, told)
		}
		if !pool {
			w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Quarantined: 1})
		} else if text := fmt.Sprint(Decide(w.facts()).Notes); !strings.Contains(text, "exit status 1: no key") {
			t.Error(text)
		}
		// Once it can be started it is, and the next failure is reported again.
		w.broken = false
		if !pool {
			b := w.sessionsInState("worker", lifecycle.Quarantined)[0]
			w.limits()
			w.perform(Requested(lifecycle.Clear, b.Session, lifecycle.QuarantineCleared, w.now))
		}
		for range 100 {
			w.advance(time.Minute)
		}
		w.expect(t, "worker", map[lifecycle.State]int{lifecycle.Active: 1, lifecycle.Archived: w.countInState("worker", lifecycle.Archived)})
		if len(w.memory.Failing) > 0 {
			t.Errorf("%+v", w.memory.Failing)
		}
		w.checkErrors(t)
	}
}

// A session that runs for a second and is never seen alive counts as given up even if the
// creation timeout, shorter than the pauses, closes it. [S4-31, S4-32, S4-64]
func TestACreationThatTimesOut(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1), func(t *Template) { t.CreationTimeout = 5 * time.Second }))
	w.want(1)
	w.broken = true
	for range 3600 {
		w.tick()
		w.now = w.now.Add(time.Second)
	}
	if w.starts > 30 || w.countInState("worker", lifecycle.Closed) > 5 || w.countInState("worker", lifecycle.Closed) < 3 {
		t.Errorf("%d starts%s", w.starts, w)
	}
	w.checkErrors(t)
	// One that was never started, for its tick was killed, is closed without a rest.
	w = newWorld(template("worker", pooled(0, 1)))
	w.want(1)
	b := w.put(inState(lifecycle.Creating, "worker", false, Dead))
	w.now = w.now.Add(2 * time.Minute)
	w.tick()
	w.tick()
	if b.State != lifecycle.Closed || w.countInState("worker", lifecycle.Creating)+w.countInState("worker", lifecycle.Active) != 1 {
		t.Error(w)
	}
	w.checkErrors(t)
}

// A worktree may take longer to make than a creation: no limit is told then.
func TestACreationWithAWorktree(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1)))
	w.want(1)
	w.put(inState(lifecycle.Creating, "worker", false, Dead))
	for own, want := range map[bool]string{false: "it has not started yet (30s of 1m)", true: "it has not started yet (5m)"} {
		f := w.facts()
		f.Sessions[0].Worktree = own
		if f.Now = start.Add(30 * time.Second); own {
			f.Now = start.Add(5 * time.Minute)
		}
		if plan := Decide(f); len(plan.Actions) != 1 || plan.Actions[0].Change != lifecycle.Begin || plan.Actions[0].Why != want {
			t.Errorf("%+v", plan.Actions)
		}
	}
}

// An archived session that does not start when it is taken back is tried again with pauses.
func TestATakeBackThatFails(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1), func(t *Template) { t.WakeMode = Resume }))
	b := w.put(inState(lifecycle.Archived, "worker", false, Dead))
	w.want(1)
	w.broken = true
	for range 600 {
		w.tick()
		w.now = w.now.Add(time.Second)
	}
	if w.starts > 40 {
		t.Errorf("%d starts in ten minutes%s", w.starts, w)
	}
	w.broken = false
	w.advance(time.Hour)
	w.advance(time.Hour)
	if w.countInState("worker", lifecycle.Active) != 1 {
		t.Errorf("%+v%s", b, w)
	}
	w.checkErrors(t)
}

// The clock is set back by years: what waits for a time waits no longer than if that were
// set now.
func TestAClockThatWasAhead(t *testing.T) {
	ahead := start.AddDate(3, 0, 0)
	for _, state := range []lifecycle.State{lifecycle.Creating, lifecycle.Quarantined, lifecycle.Draining, lifecycle.Active, lifecycle.Suspended} {
		w := newWorld(template("worker", pooled(0, 1)))
		w.want(1)
		b := w.put(inState(state, "worker", state == lifecycle.Active, Dead))
		b.CreatingAt, b.ActiveAt, b.SuspendedAt, b.DrainAt, b.LastCrashAt, b.CrashSince, b.QuarantineUntil = ahead, ahead, ahead, ahead, ahead, ahead, ahead
		b.CrashCount, b.started, b.Reason = 2, true, map[bool]lifecycle.Reason{true: lifecycle.CrashRecovery, false: b.Reason}[state == lifecycle.Suspended]
		if state == lifecycle.Draining {
			b.alive, b.claims = Alive, 1
		}
		for range 60 {
			w.tick()
			w.now = w.now.Add(10 * time.Second)
		}
		want := map[lifecycle.State]lifecycle.State{lifecycle.Draining: lifecycle.Archived}[state]
		if want == "" {
			want = lifecycle.Active
		}
		if b.State != want || b.ActiveAt.After(w.now) {
			t.Errorf("%s: it is %s%s", state, b.State, w)
		}
		w.checkErrors(t)
	}
}

// Fifty pools of a hundred take as much for each session as five do: a tick grows with what
// there is, not with its square. [S4-89]
func TestManyPools(t *testing.T) {
	each := func(pools int) float64 {
		w := newWorld()
		for i := range pools {
			name := fmt.Sprint("w", i)
			w.templates = append(w.templates, template(name, pooled(0, 100)))
			w.demand[name] = Demand{Wanted: 100}
			for range 100 {
				w.put(worldSession{Session: lifecycle.Session{Template: name, Pool: name, State: lifecycle.Active, Reason: lifecycle.CreationComplete, ActiveAt: start, Hash: "v1:" + name}, alive: Alive, routed: true, wanted: "v1:" + name})
			}
		}
		f := w.facts()
		if plan := Decide(f); len(plan.Actions) > 0 {
			t.Fatalf("%+v", plan.Actions[0])
		}
		return testing.AllocsPerRun(3, func() { Decide(f) }) / float64(pools*100)
	}
	if few, many := each(5), each(50); many > 2*few+0.1 {
		t.Errorf("of 500 sessions each takes %.2f allocations, of 5000 %.2f", few, many)
	}
}

// A pool replaces as many in ten minutes as its template says. [S4-105]
func TestMaxReplaced(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 30, func(p *Pool) { p.MaxReplaced, p.MaxUnavailable = 10, 5 })))
	w.want(30)
	w.settle()
	for _, b := range w.sessions {
		b.wanted = "v1:other"
	}
	for range 60 {
		w.tick()
		w.now = w.now.Add(time.Second)
	}
	if n := w.countInState("worker", lifecycle.Archived); n != 10 || w.countInState("worker", lifecycle.Active) != 30 {
		t.Errorf("%d were replaced%s", n, w)
	}
	w.checkErrors(t)
}

// One that crashes is restarted at once the first time, then after pauses that double, in which
// it keeps its marker.
func TestPausesOfRestarts(t *testing.T) {
	w := newWorld(template("worker", pooled(0, 1)))
	w.want(1)
	w.settle()
	b := w.sessionsInState("worker", lifecycle.Active)[0]
	begin := w.now
	var starts []int
	for w.now.Sub(begin) < 25*time.Second {
		b.die()
		if before := w.starts; b.State == lifecycle.Active {
			if w.tick(); w.starts > before {
				starts = append(starts, int(w.now.Sub(begin).Seconds()))
			}
			if b.State == lifecycle.Active && !b.routed {
				t.Error("it has lost its marker")
			}
		}
		w.now = w.now.Add(time.Second)
	}
	if !slices.Equal(starts, []int{0, 1, 3, 7, 15}) || b.State != lifecycle.Quarantined {
		t.Errorf("restarted at %v, %s", starts, w)
	}
	w.checkErrors(t)
}
