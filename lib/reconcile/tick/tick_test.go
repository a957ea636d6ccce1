package tick

import (
	"fmt"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/state/lifecycle"
)

// being of a pool's template in each state, as the states' own changes leave it.
func inState(state lifecycle.State, pool string, marker bool, alive Liveness) worldSession {
	row, _ := state.Row()
	b := worldSession{Session: lifecycle.Session{
		Template: "worker", Pool: pool, State: state, Reason: row.Reasons[0], Hash: "v1:worker",
		CreatingAt: start, ActiveAt: start, SuspendedAt: start, QuarantineUntil: start.Add(time.Minute),
	}, alive: alive, routed: marker, wanted: "v1:worker"}
	if state == lifecycle.Draining {
		b.DrainAt, b.DrainReason, b.claims = start, b.Reason, 1
	}
	if state == lifecycle.Archived || state == lifecycle.Closed {
		b.ArchivedAt = start
	}
	return b
}

// Each state with a marker or none, with a runtime that runs, does not or may, in a pool
// or not, has a row. [S4-62 to S4-81]
func TestEachCombinationHasARow(t *testing.T) {
	used := map[int]bool{}
	for _, s := range lifecycle.States {
		for _, marker := range []bool{false, true} {
			for _, alive := range []Liveness{Unknown, Dead, Alive} {
				for _, pool := range []string{"", "worker"} {
					b := inState(s.State, pool, marker, alive)
					row, ok := findRepair(Session{Session: b.Session, Alive: alive, Routed: marker})
					if !ok {
						t.Errorf("%s, marker %v, runtime %s, pool %q: no row", s.State, marker, alive, pool)
					}
					for i := range Repairs {
						if Repairs[i] == row {
							used[i] = true
						}
					}
				}
			}
		}
	}
	for i, row := range Repairs {
		if !used[i] {
			t.Errorf("nothing comes to the row %+v", row)
		}
	}
}

// The rows of the mission's table, each as it is told there.
func TestRepairs(t *testing.T) {
	for _, c := range []struct {
		line   string
		state  lifecycle.State
		marker bool
		alive  Liveness
		pool   bool
		others int // in the pool, of three
		after  lifecycle.State
		reason lifecycle.Reason
		routed bool
		runs   Liveness
	}{
		{"S4-62", lifecycle.Creating, false, Alive, true, 0, lifecycle.Active, lifecycle.CreationComplete, true, Alive},
		{"S4-63", lifecycle.Creating, false, Alive, false, 0, lifecycle.Active, lifecycle.CreationComplete, false, Alive},
		{"S4-64", lifecycle.Creating, false, Dead, true, 0, lifecycle.Closed, lifecycle.StaleCreating, false, Dead},
		{"S4-64", lifecycle.Creating, false, Dead, false, 0, lifecycle.Closed, lifecycle.StaleCreating, false, Dead},
		{"S4-65", lifecycle.Active, false, Alive, true, 2, lifecycle.Active, lifecycle.CreationComplete, true, Alive},
		{"S4-65", lifecycle.Active, false, Alive, true, 3, lifecycle.Draining, lifecycle.ScaleDown, false, Alive},
		{"S4-66", lifecycle.Active, false, Alive, false, 0, lifecycle.Active, lifecycle.CreationComplete, false, Alive},
		{"S4-67", lifecycle.Active, false, Dead, true, 0, lifecycle.Suspended, lifecycle.CrashRecovery, false, Dead},
		{"S4-68", lifecycle.Draining, true, Alive, true, 0, lifecycle.Draining, lifecycle.ScaleDown, false, Alive},
		{"S4-69", lifecycle.Draining, true, Dead, true, 0, lifecycle.Archived, lifecycle.CrashDuringDrain, false, Dead},
		{"S4-70", lifecycle.Draining, false, Alive, true, 0, lifecycle.Draining, lifecycle.ScaleDown, false, Alive},
		{"S4-71", lifecycle.Draining, false, Dead, true, 0, lifecycle.Archived, lifecycle.CrashDuringDrain, false, Dead},
		{"S4-72", lifecycle.Archived, true, Dead, true, 0, lifecycle.Archived, lifecycle.DrainComplete, false, Dead},
		{"S4-73", lifecycle.Archived, false, Alive, true, 0, lifecycle.Archived, lifecycle.DrainComplete, false, Dead},
		{"S4-74", lifecycle.Suspended, true, Dead, true, 0, lifecycle.Suspended, lifecycle.UserRequest, false, Dead},
		{"S4-75", lifecycle.Suspended, false, Alive, true, 0, lifecycle.Suspended, lifecycle.UserRequest, false, Dead},
		{"S4-75", lifecycle.Suspended, false, Alive, false, 0, lifecycle.Suspended, lifecycle.UserRequest, false, Dead},
		{"S4-76", lifecycle.Quarantined, true, Dead, true, 0, lifecycle.Quarantined, lifecycle.CrashLoop, false, Dead},
		{"S4-77", lifecycle.Quarantined, true, Alive, true, 0, lifecycle.Quarantined, lifecycle.CrashLoop, false, Dead},
		{"S4-78", lifecycle.Quarantined, false, Alive, false, 0, lifecycle.Quarantined, lifecycle.CrashLoop, false, Dead},
		{"S4-79", lifecycle.Quarantined, false, Dead, true, 0, lifecycle.Quarantined, lifecycle.CrashLoop, false, Dead},
		{"S4-81", lifecycle.Archived, true, Alive, true, 0, lifecycle.Archived, lifecycle.DrainComplete, false, Dead},
		{"S4-81", lifecycle.Suspended, true, Alive, true, 0, lifecycle.Suspended, lifecycle.UserRequest, false, Dead},
	} {
		t.Run(fmt.Sprintf("%s %s %v %s %v", c.line, c.state, c.marker, c.alive, c.pool), func(t *testing.T) {
			w := newWorld(template("worker", pooled(0, 3)))
			if !c.pool {
				w.templates[0].Pool = nil
			}
			pool := map[bool]string{true: "worker"}[c.pool]
			b := w.put(inState(c.state, pool, c.marker, c.alive))
			if c.state == lifecycle.Creating && c.alive == Dead {
				b.CreatingAt = start.Add(-2 * time.Minute)
			}
			if c.after == lifecycle.Draining {
				b.claims = 1
			}
			for range c.others {
				w.put(inState(lifecycle.Active, "worker", true, Alive))
			}
			w.tick()
			w.tick()
			if b.State != c.after || b.Reason != c.reason || b.routed != c.routed || b.alive != c.runs {
				t.Errorf("%s(%s), marker %v, runtime %s", b.State, b.Reason, b.routed, b.alive)
			}
			if c.line == "S4-65" && (len(w.events) == 0 || w.events[0] != EventNoMarker) { // [S4-80]
				t.Errorf("events %q", w.events)
			}
			for _, p := range w.problems {
				t.Error(p)
			}
		})
	}
}

// From each combination of up to three sessions, each change that follows keeps what must
// hold at every moment, comes to rest, and stays there; also when the controller is killed
// before one of its steps. [S4-4, S4-15, S4-40, S4-61, S4-95]
func TestEachWorldComesToRest(t *testing.T) {
	testenv.Sample(t, 4)
	type corner struct {
		state  lifecycle.State
		marker bool
		alive  Liveness
	}
	var corners []corner
	for _, s := range lifecycle.States {
		for _, marker := range []bool{false, true} {
			for _, alive := range []Liveness{Unknown, Dead, Alive} {
				corners = append(corners, corner{s.State, marker, alive})
			}
		}
	}
	worlds, kills := 0, 0
	check := func(name string, w *world) {
		worlds++
		if len(w.problems) > 0 {
			t.Fatalf("%s: %s%s", name, w.problems[0], w)
		}
	}
	play := func(cs []corner, pool bool, least, wanted, most, stop int) *world {
		w := newWorld(template("worker", pooled(least, most), func(t *Template) { t.WakeMode = Resume }))
		name := "worker"
		if !pool {
			w.templates[0].Pool, name = nil, ""
		}
		if wanted >= 0 {
			w.demand["worker"] = Demand{Wanted: wanted}
		}
		for _, c := range cs {
			b := w.put(inState(c.state, name, c.marker, c.alive))
			if b.State == lifecycle.Active && pool && c.marker {
				b.claims, b.aside = 1, 0
			} else if b.State == lifecycle.Active && pool { // of a change that was cut short
				b.claims, b.aside, b.why = 1, 1, WorkReason(lifecycle.Suspended)
			}
		}
		w.stopAt = stop
		w.settle()
		for range 2 { // the timeouts pass
			w.now = w.now.Add(time.Hour)
			w.settle()
		}
		// Nothing that gets work has no runtime, or is not active.
		for _, b := range w.sessions {
			if b.routed && (b.State != lifecycle.Active || b.alive == Dead) {
				w.problem("%s is %s, runtime %s, and has a marker", b.ID, b.State, b.alive)
			}
			if row, _ := b.State.Row(); b.aside > 0 && b.alive != Unknown || !row.Runs && b.claims > 0 {
				w.problem("%s is %s, and its work is neither its own nor free: %d of %d", b.ID, b.State, b.aside, b.claims)
			}
			if row, _ := b.State.Row(); !row.Runs && b.alive == Alive {
				w.problem("%s is %s and runs", b.ID, b.State)
			}
		}
		return w
	}
	sizes := [][3]int{{0, 0, 3}, {0, 2, 3}, {1, -1, 2}, {0, 3, 3}}
	if testing.Short() {
		sizes = sizes[1:2]
	}
	for i, a := range corners {
		for _, size := range sizes {
			for _, pool := range []bool{true, false} {
				name := fmt.Sprintf("%v pool %v %v", a, pool, size)
				w := play([]corner{a}, pool, size[0], size[1], size[2], 0)
				check(name, w)
				for stop := 1; stop <= w.ops; stop++ {
					kills++
					check(fmt.Sprintf("%s killed at %d", name, stop), play([]corner{a}, pool, size[0], size[1], size[2], stop))
				}
				for j, b := range corners[i:] {
					name := fmt.Sprintf("%v %v pool %v %v", a, b, pool, size)
					w := play([]corner{a, b}, pool, size[0], size[1], size[2], 0)
					check(name, w)
					if size != sizes[0] && pool {
						for stop := 1; stop <= w.ops; stop++ {
							kills++
							check(fmt.Sprintf("%s killed at %d", name, stop), play([]corner{a, b}, pool, size[0], size[1], size[2], stop))
						}
					}
					if size != sizes[0] || !pool {
						continue
					}
					for _, c := range corners[i+j:] {
						check(fmt.Sprintf("%v %v %v", a, b, c), play([]corner{a, b, c}, pool, size[0], size[1], size[2], 0))
					}
				}
			}
		}
	}
	t.Logf("%d worlds, %d kills", worlds, kills)
}

// One that lost its marker as it was retired is drained, and no other besides it: the
// shrink has what it wants by that.
func TestRetiredOnce(t *testing.T) {
	w := newWorld(template("w", pooled(0, 1)))
	w.memory = Memory{Wanted: map[string]int{"w": 1}}
	for _, routed := range []bool{true, false} {
		w.put(worldSession{Session: lifecycle.Session{Template: "w", Pool: "w", State: lifecycle.Active, Reason: lifecycle.CreationComplete}, alive: Alive, routed: routed})
	}
	w.demand["w"] = Demand{Wanted: 1}
	w.tick()
	if w.countInState("w", lifecycle.Active) != 1 || w.countInState("w", lifecycle.Draining) != 1 {
		t.Error(w)
	}
}
