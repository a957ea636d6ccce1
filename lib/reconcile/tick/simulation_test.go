package tick

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gt/internal/testenv"
	"gt/lib/state/lifecycle"
)

// Random histories: crashes, starts that fail, checks that fail or jump, people who end,
// suspend and close sessions, edits of the configuration, clocks that jump, controllers
// that are killed, and two of them at once. What must hold holds at each step, and when
// the trouble is over each pool comes to the size that is wanted. rapid shortens a history
// that breaks, and prints the seed that repeats it.
func TestHistories(t *testing.T) {
	if f := flag.Lookup("rapid.steps"); f.Value.String() == f.DefValue {
		flag.Set("rapid.steps", "120")
		flag.Set("rapid.nofailfile", "true") // the seed says it
	}
	testenv.SeedRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(
			template("worker", pooled(0, 4), func(t *Template) {
				t.WakeMode, t.MaxRestarts, t.DependsOn = Resume, 1, []string{"keeper"}
			}),
			template("keeper", pooled(1, 1), func(t *Template) { t.MaxRestarts = 2 }),
			template("helper", func(t *Template) { t.IdleTimeout, t.Account = time.Minute, "shared" }),
		)
		w.put(inStateOf(lifecycle.Active, "helper"))
		all := slices.Clone(w.templates)
		some := func(t *rapid.T, states ...lifecycle.State) *worldSession {
			var ids []string
			for _, id := range slices.Sorted(maps.Keys(w.sessions)) {
				if slices.Contains(states, w.sessions[id].State) {
					ids = append(ids, id)
				}
			}
			if len(ids) == 0 {
				t.Skip()
			}
			return w.sessions[rapid.SampledFrom(ids).Draw(t, "session")]
		}
		running := []lifecycle.State{lifecycle.Active, lifecycle.Draining, lifecycle.Creating}
		version := 0
		t.Repeat(map[string]func(*rapid.T){
			"tick": func(t *rapid.T) { w.tick() },
			"killed tick": func(t *rapid.T) {
				w.stopAt = w.ops + rapid.IntRange(1, 8).Draw(t, "op")
				w.tick()
				w.stopAt = 0
			},
			"two at once": func(t *rapid.T) {
				plan := Decide(w.facts())
				w.tick()
				w.late = true
				for _, a := range plan.Actions {
					if a.Change != lifecycle.Create { // the lock keeps a second one away
						w.perform(a)
					}
				}
				w.late = false
			},
			"time": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 31, 61, 301, 3700, -120}).Draw(t, "seconds")) * time.Second)
			},
			"check": func(t *rapid.T) {
				n := rapid.IntRange(-1, 7).Draw(t, "wanted")
				if n < 0 {
					w.demand["worker"] = Demand{Err: errors.New("exit status 1")}
				} else {
					w.want(n)
				}
			},
			"crash": func(t *rapid.T) {
				b := some(t, running...)
				for range rapid.IntRange(1, 4).Draw(t, "times") {
					if b.alive == Alive {
						b.alive = Dead
						w.tick()
					}
				}
			},
			"rest": func(t *rapid.T) {
				if !w.broken {
					w.settle()
				}
			},
			"unseen": func(t *rapid.T) { some(t, running...).alive = Unknown },
			"seen": func(t *rapid.T) {
				if b := some(t, running...); b.alive == Unknown {
					b.alive = Alive
				}
			},
			"left": func(t *rapid.T) {
				b := some(t, lifecycle.Active)
				b.alive, b.left = Dead, true
			},
			"work": func(t *rapid.T) {
				if b := some(t, lifecycle.Active, lifecycle.Draining); b.routed || b.State == lifecycle.Draining {
					b.claims++
				}
			},
			"done":   func(t *rapid.T) { some(t, running...).claims = 0 },
			"idle":   func(t *rapid.T) { some(t, lifecycle.Active).idle = w.now },
			"broken": func(t *rapid.T) { w.broken = !w.broken },
			"limit":  func(t *rapid.T) { w.held["shared"] = w.now.Add(10 * time.Minute) },
			"edit": func(t *rapid.T) {
				version++
				for _, b := range w.sessions {
					b.wanted = fmt.Sprintf("v1:%s-%d", b.Template, version)
				}
			},
			"lose a template": func(t *rapid.T) {
				if len(w.templates) == len(all) {
					w.templates = slices.Delete(slices.Clone(all), 0, 1)
				} else {
					w.templates = slices.Clone(all)
				}
			},
			"person suspends": func(t *rapid.T) {
				b := some(t, lifecycle.Active)
				w.limits()
				w.perform(Requested(lifecycle.Suspend, b.Session, lifecycle.UserRequest, w.now))
			},
			"person closes": func(t *rapid.T) {
				b := some(t, lifecycle.Active, lifecycle.Suspended, lifecycle.Quarantined, lifecycle.Archived, lifecycle.Draining, lifecycle.Creating)
				w.limits()
				w.perform(Requested(lifecycle.Close, b.Session, lifecycle.UserRequest, w.now))
			},
			"": func(t *rapid.T) {
				for _, p := range w.problems {
					t.Fatal(p, w)
				}
			},
		})
		// The trouble is over.
		w.templates, w.broken, w.force = slices.Clone(all), false, true
		w.now = laterTime(w.now, start).Add(24 * time.Hour)
		w.want(3)
		for _, b := range w.sessions {
			b.left, b.limited, b.attached, b.asks, b.claims = false, false, false, false, 0
			if b.alive == Unknown {
				b.alive = Alive
			}
		}
		w.limits()
		for _, b := range w.sessionsInState("keeper", lifecycle.Suspended) {
			w.perform(Requested(lifecycle.Resume, b.Session, lifecycle.Resumed, w.now))
		}
		for range 8 {
			w.settle()
			w.now = w.now.Add(time.Hour)
		}
		for _, p := range w.problems {
			t.Fatal(p, w)
		}
		paused := 0
		for _, b := range w.sessionsInState("worker", lifecycle.Suspended) {
			if b.Reason != lifecycle.UserRequest {
				t.Fatalf("%s stays suspended%s", b.ID, w)
			}
			paused++
		}
		if n := w.countInState("worker", lifecycle.Active); n != 3-paused || w.occupied("worker") != 3 {
			t.Fatalf("%d of 3 are active, %d paused%s", n, paused, w)
		}
		for _, b := range w.sessionsInState("worker", lifecycle.Active) {
			if !b.routed || b.alive != Alive || b.Hash != b.wanted {
				t.Fatalf("%s gets no work, or has an old configuration%s", b.ID, w)
			}
		}
	})
}

func inStateOf(state lifecycle.State, template string) worldSession {
	b := inState(state, "", false, Alive)
	b.Template, b.Hash, b.wanted = template, "v1:"+template, "v1:"+template
	return b
}
