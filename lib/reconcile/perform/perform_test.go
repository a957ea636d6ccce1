package perform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/session"
	"gt/lib/sys/flock"
)

// A scene is a place with real files, in which agents only pretend to run.
type scene struct {
	*World
	t      *testing.T
	dir    string
	clock  time.Time
	mu     sync.Mutex
	runs   map[instance.ID]tick.Liveness
	sight  map[instance.ID]Status
	broken error    // no agent starts
	unseen bool     // nothing tells of one that has started whether it runs
	during func()   // is called while an agent starts
	ending func()   // is called as one has ended
	starts []string // names
	env    []map[string]string
	claims map[string]int
	asked  []Claimant // whose claims were last asked for
	unread error      // claims cannot be read, nor freed
	freed  []string
	events []string
	demand map[string]tick.Demand
	had    map[string]int // by pool: how many counted after the tick before, which a smaller max leaves
}

func newScene(t *testing.T, text string) *scene {
	t.Helper()
	dir := t.TempDir()
	getenv := func(key string) string { return map[string]string{"HOME": dir}[key] }
	s := &scene{t: t, dir: dir, clock: time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC), runs: map[instance.ID]tick.Liveness{}, sight: map[instance.ID]Status{}, claims: map[string]int{}}
	at := town.Personal(getenv)
	s.World = NewWorld(instance.Personal(at.State, ""))
	s.World.Config = config.NewSource(place.ScopeOf(getenv), at, "").Read
	s.Agents, s.Work = s, s
	s.Now = func() time.Time { return s.clock }
	s.Log = func(kind string, _ any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, kind)
	}
	s.Warn = func(err error) {
		if err != nil {
			t.Errorf("warning: %v", err)
		}
	}
	s.Check = func(context.Context, *config.Config) map[string]tick.Demand { return s.demand }
	s.config(text)
	return s
}

func (s *scene) config(text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, ".config/gt/town.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) Status(_ context.Context, all []*instance.Instance) []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	statuses := make([]Status, len(all))
	for i, in := range all {
		statuses[i] = s.sight[in.ID]
		if alive, ok := s.runs[in.ID]; ok {
			statuses[i].Alive = alive
		} else {
			statuses[i].Alive = tick.Dead
		}
	}
	return statuses
}

func (s *scene) Start(_ context.Context, h *instance.Locked, e template.Effective) error {
	if s.during != nil {
		s.during()
	}
	if s.broken != nil {
		return s.broken
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts, s.env = append(s.starts, h.Name), append(s.env, e.Env)
	s.runs[h.ID] = tick.Alive
	if s.unseen {
		s.runs[h.ID] = tick.Unknown
	}
	if h.SessionID == "" {
		h.SessionID = session.ID(session.NewID())
	}
	if h.Managed.Worktree {
		h.Worktree = &instance.Worktree{Path: "/repo-" + h.Name, Branch: h.Name, Repository: "/repo", Ready: true}
	}
	return h.Put(s.clock)
}

func (s *scene) Explain(context.Context, *instance.Instance, template.Effective) error { return nil }

func (s *scene) SameClient(*instance.Instance, template.Effective) bool { return true }

func (s *scene) Stop(_ context.Context, in *instance.Instance) error {
	if names, _ := s.Markers.ReadMarkers(); slices.Contains(slices.Concat(slices.Collect(maps.Values(names))...), in.Name) {
		s.t.Errorf("%s is ended and has a marker", in.Name)
	}
	s.runs[in.ID] = tick.Dead
	if s.ending != nil {
		s.ending()
	}
	return nil
}

func (s *scene) Claims(_ context.Context, of []Claimant) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = of
	return maps.Clone(s.claims), s.unread
}

func (s *scene) Leave(context.Context, Claimant, string) error { return s.unread }

func (s *scene) Keep(context.Context, string) error { return nil }

func (s *scene) Free(_ context.Context, c Claimant, reason string) error {
	if s.unread != nil {
		return s.unread
	}
	name := c.Name
	if s.claims[name] > 0 {
		s.freed = append(s.freed, reason)
	}
	delete(s.claims, name)
	return nil
}

// tick makes one tick and returns what it did, sorted, one word a change.
func (s *scene) tick() string {
	s.t.Helper()
	var said []string
	_, err := s.Tick(context.Background(), func(o Outcome) {
		word := string(o.Change)
		if o.Err != nil {
			word += "!"
		}
		said = append(said, word)
	})
	if err != nil {
		return "error: " + err.Error()
	}
	s.invariants()
	slices.Sort(said)
	return strings.Join(said, " ")
}

// settle ticks until nothing is changed.
func (s *scene) settle() {
	s.t.Helper()
	for range 20 {
		if s.tick()+s.tick() == "" {
			return
		}
		s.clock = s.clock.Add(5 * time.Second)
	}
	s.t.Fatalf("it never comes to rest: %s", s.states())
}

func (s *scene) allInstances() []*instance.Instance {
	s.t.Helper()
	all, err := s.Store.ReadInstances()
	for _, folder := range []string{instance.Archived, instance.Closed} {
		more, merr := s.Store.ReadFolder(folder)
		all, err = append(all, more...), errors.Join(err, merr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// states counts the sessions by their states.
func (s *scene) states() string {
	n := map[string]int{}
	for _, in := range s.allInstances() {
		n[string(in.Managed.State)]++
	}
	var words []string
	for _, state := range slices.Sorted(maps.Keys(n)) {
		words = append(words, fmt.Sprintf("%d %s", n[state], state))
	}
	return strings.Join(words, ", ")
}

func (s *scene) marked() (n int) {
	all, err := s.Markers.ReadMarkers()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, names := range all {
		n += len(names)
	}
	return n
}

// invariants checks what holds after each tick: only active pool sessions have a marker,
// and no pool exceeds its max.
func (s *scene) invariants() {
	s.t.Helper()
	markers, err := s.Markers.ReadMarkers()
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := s.World.Config()
	if err != nil {
		s.t.Fatal(err)
	}
	occupied := map[string]int{}
	for _, in := range s.allInstances() {
		m := in.Managed
		if m.State.Occupies() && m.Pool != "" {
			occupied[m.Pool]++
		}
		for label, names := range markers {
			if slices.Contains(names, in.Name) && (m.State != lifecycle.Active || m.Pool == "") {
				s.t.Errorf("%s is %s and has a marker of %s", in.Name, m.State, label)
			}
		}
	}
	for pool, n := range occupied {
		if t := c.Find(pool); t != nil && t.Pool != nil && n > max(t.Pool.Max, s.had[pool]) {
			s.t.Errorf("%s has %d of %d", pool, n, t.Pool.Max)
		}
	}
	s.had = occupied
}

// onlyInState is the one session in a state.
func (s *scene) onlyInState(state lifecycle.State) *instance.Instance {
	s.t.Helper()
	var found *instance.Instance
	for _, in := range s.allInstances() {
		if in.Managed.State == state {
			if found != nil {
				s.t.Fatalf("several are %s", state)
			}
			found = in
		}
	}
	if found == nil {
		s.t.Fatalf("none is %s: %s", state, s.states())
	}
	return found
}

func pool(least, most int, more string) string {
	return fmt.Sprintf("[[agent]]\nname = \"w\"\nprovider = \"claude\"\nenv = {KEY = \"own\"}\n[agent.pool]\nmin = %d\nmax = %d\n%s\n", least, most, more)
}

// 0 to 3 to 1 to 3, fresh and resume, on real files. Who is taken back goes on with its
// conversation, and a fresh one has its own; what a session is of, it is of for life.
// [S4-14, S4-106 to S4-110, S4-130, S4-131]
func TestScale(t *testing.T) {
	for _, mode := range []string{"fresh", "resume"} {
		more := "[agent.defaults]\nwake_mode = \"" + mode + "\""
		s := newScene(t, pool(3, 3, more))
		if got := s.tick(); got != "create create create" || s.marked() != 0 || s.states() != "3 creating" {
			t.Fatal(got, s.states())
		}
		if got := s.tick(); got != "complete complete complete" || s.marked() != 3 {
			t.Fatal(got)
		}
		if got := s.tick(); got != "" {
			t.Fatal(got)
		}
		s.config(pool(1, 1, more))
		s.settle()
		if got := s.states(); got != "1 active, 2 archived" || s.marked() != 1 {
			t.Fatal(got)
		}
		tokens, talks := map[string]bool{}, map[instance.ID]session.ID{}
		for _, in := range s.allInstances() {
			tokens[in.Managed.Token] = true
			if talks[in.ID] = in.SessionID; in.SessionID == "" {
				t.Errorf("%s, which is %s, has no conversation", in.Name, in.Managed.State)
			}
		}
		s.config(pool(3, 3, more))
		s.settle()
		want := map[string]string{"fresh": "3 active, 2 archived", "resume": "3 active"}[mode]
		if got := s.states(); got != want || s.marked() != 3 || len(s.starts) != 5 {
			t.Error(mode, got, s.starts)
		}
		again := 0
		for _, in := range s.allInstances() {
			if in.Managed.Generation == 2 {
				again++
				if tokens[in.Managed.Token] {
					t.Error("the token is the old one")
				}
			}
		}
		if mode == "resume" && again != 2 || mode == "fresh" && again != 0 {
			t.Error(mode, again)
		}
		used := map[session.ID]bool{}
		for _, in := range s.allInstances() {
			if was, ok := talks[in.ID]; ok && in.SessionID != was || used[in.SessionID] {
				t.Errorf("%s: %s goes on with %s, and had %s", mode, in.Name, in.SessionID, was)
			}
			used[in.SessionID] = true
			if err := s.Close(context.Background(), in.ID, lifecycle.UserRequest); err != nil {
				t.Error(err)
			}
		}
		for _, in := range s.allInstances() {
			if m := in.Managed; m.State != lifecycle.Closed || m.Template != "w" || m.Pool != "w" {
				t.Errorf("%+v", m.Session)
			}
		}
	}
}

// A tick with nothing to do writes nothing. [S4-95]
func TestIdle(t *testing.T) {
	s := newScene(t, pool(2, 3, ""))
	s.settle()
	tree := func() string {
		var b strings.Builder
		_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, _ error) error {
			info, _ := d.Info()
			fmt.Fprintln(&b, path, info.ModTime(), info.Size())
			return nil
		})
		return b.String()
	}
	before, events := tree(), len(s.events)
	s.clock = s.clock.Add(time.Minute)
	if got := s.tick(); got != "" || tree() != before || len(s.events) != events {
		t.Errorf("%q\n%s\n%s", got, before, tree())
	}
}

// What cannot be read ends a tick with nothing changed. [S4-10, S4-97]
func TestFailClosed(t *testing.T) {
	for name, spoil := range map[string]func(*scene){
		"the templates are not right": func(s *scene) { s.config("[[agent]]\nname = 1\n") },
		"a prompt is missing": func(s *scene) {
			s.config(pool(3, 3, "") + "[[agent]]\nname = \"x\"\nprovider = \"claude\"\nprompt_template = \"gone.md\"\n")
		},
		"a record is damaged": func(s *scene) {
			in := s.allInstances()[0]
			path := s.Store.State.Path("instances", string(in.ID)+".json")
			for _, old := range []string{"", ".bak", ".bak.1", ".bak.2"} {
				if _, err := os.Stat(path + old); err == nil {
					_ = os.WriteFile(path+old, []byte("{"), 0o600)
				}
			}
		},
		"the markers are a file": func(s *scene) {
			_ = os.RemoveAll(s.Markers.Dir())
			_ = os.WriteFile(s.Markers.Dir(), nil, 0o600)
		},
	} {
		s := newScene(t, pool(1, 3, ""))
		s.settle()
		s.config(pool(3, 3, ""))
		spoil(s)
		_, err := s.Tick(context.Background(), func(o Outcome) { t.Errorf("%s: %s", name, o.Change) })
		if err == nil || len(s.starts) != 1 {
			t.Errorf("%s: %v %v", name, err, s.starts)
		}
	}
}

// Each row of the repair table, on real files: afterwards a marker is only where work may
// come, and what may not run does not. [S4-62 to S4-81]
func TestRepairs(t *testing.T) {
	testenv.Sample(t, 4)
	for _, row := range tick.Repairs {
		for _, marker := range []int{0, 1} {
			for _, runs := range []tick.Liveness{tick.Unknown, tick.Dead, tick.Alive} {
				for _, pooled := range []int{0, 1} {
					fits := func(want, is int) bool { return want == tick.AnyValue || want == is }
					if !fits(row.Marker, marker) || !fits(row.Runtime, int(runs)) || !fits(row.Pool, pooled) {
						continue
					}
					what := fmt.Sprintf("%s marker=%d runs=%v pool=%d", row.State, marker, runs, pooled)
					s := newScene(t, pool(0, 2, ""))
					in := s.put(row.State, pooled == 1)
					s.runs[in.ID] = runs
					if marker == 1 {
						testenv.NoError(t, s.Markers.Set("pool:w", in.Name))
					}
					for range 5 {
						if got := s.tick(); strings.Contains(got, "!") || strings.HasPrefix(got, "error") {
							t.Errorf("%s: %s", what, got)
						}
						s.clock = s.clock.Add(time.Second)
					}
					after, err := s.Store.Get(in.ID)
					if err != nil {
						t.Errorf("%s: %v", what, err)
						continue
					}
					if r, _ := after.Managed.State.Row(); !r.Runs && s.runs[in.ID] == tick.Alive {
						t.Errorf("%s: it is %s and runs", what, after.Managed.State)
					}
					if s.marked() > 0 && s.runs[in.ID] == tick.Dead {
						t.Errorf("%s: it gets work and does not run", what)
					}
					if runs == tick.Unknown && after.Managed.State != row.State {
						t.Errorf("%s: it is %s", what, after.Managed.State)
					}
				}
			}
		}
	}
}

// put makes the record of a session in a state.
func (s *scene) put(state lifecycle.State, pooled bool) *instance.Instance {
	s.t.Helper()
	c, err := s.World.Config()
	if err != nil {
		s.t.Fatal(err)
	}
	m := s.createRecords(c, []tick.Action{{Session: lifecycle.Session{Template: "w", State: lifecycle.Creating, Reason: lifecycle.PoolScaleUp, CreatedAt: s.clock, CreatingAt: s.clock}}}, nil)[0]
	if m.err != nil {
		s.t.Fatal(m.err)
	}
	in := m.in
	h, err := s.Store.Hold(in.ID, time.Second)
	if err != nil {
		s.t.Fatal(err)
	}
	defer h.Release()
	row, _ := state.Row()
	h.Managed.State, h.Managed.Reason = state, row.Reasons[0]
	h.Managed.DrainAt, h.Managed.ActiveAt, h.Managed.SuspendedAt, h.Managed.ArchivedAt = s.clock, s.clock, s.clock, s.clock
	h.Managed.QuarantineUntil = s.clock.Add(time.Hour)
	if !pooled {
		h.Managed.Pool = ""
	}
	if err := h.Put(s.clock); err != nil {
		s.t.Fatal(err)
	}
	return h.Instance
}

// A tick starts a few agents at the same time, and never more: each start here waits for
// as many as there may be. What was taken back fills its place before anything is made.
func TestStartsAtOnce(t *testing.T) {
	const most, wanted = 3, 9
	s := newScene(t, pool(wanted, wanted, ""))
	s.AtOnce = most
	var mu sync.Mutex
	at, peak, met, all := 0, 0, false, make(chan struct{})
	s.during = func() {
		mu.Lock()
		at++
		wait := all
		if peak = max(peak, at); at == most && !met {
			met = true
			close(all)
		}
		mu.Unlock()
		select {
		case <-wait:
		case <-time.After(time.Minute):
			t.Error("it starts one after the other")
		}
		lock, err := s.Store.LockLifecycle()
		if err != nil {
			t.Errorf("the lock is held while agents start: %v", err)
		} else {
			lock.Unlock()
		}
		mu.Lock()
		at--
		mu.Unlock()
	}
	if said := s.tick(); said != strings.TrimSpace(strings.Repeat("create ", wanted)) {
		t.Error(said)
	}
	if peak > most {
		t.Errorf("%d at once, of at most %d", peak, most)
	}
	if said := s.tick(); said != strings.TrimSpace(strings.Repeat("complete ", wanted)) {
		t.Error(said)
	}
	// All of them crash, and are restarted together as well.
	for id := range s.runs {
		s.runs[id] = tick.Dead
	}
	at, peak, met, all = 0, 0, false, make(chan struct{})
	if said := s.tick(); said != strings.TrimSpace(strings.Repeat("restart ", wanted)) || peak != most {
		t.Error(said, peak)
	}
}

// A tick that makes many sessions reads those that are there once: each takes as much as
// the others, however many there are.
func TestCreateReadsOnce(t *testing.T) {
	each := func(n int) float64 {
		s := newScene(t, pool(0, n, ""))
		c, err := s.World.Config()
		testenv.NoError(t, err)
		actions := make([]tick.Action, n)
		for i := range actions {
			actions[i] = tick.Action{Change: lifecycle.Create, Session: lifecycle.Session{Template: "w", State: lifecycle.Creating, Reason: lifecycle.PoolScaleUp, CreatedAt: s.clock, CreatingAt: s.clock}}
		}
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		slots := map[int]bool{}
		for _, m := range s.createRecords(c, actions, nil) {
			if m.err != nil {
				t.Fatal(m.err)
			}
			slots[m.in.Managed.Slot] = true
		}
		goruntime.ReadMemStats(&after)
		if len(slots) != n || !slots[1] || !slots[n] {
			t.Errorf("the places are %v", slots)
		}
		return float64(after.Mallocs-before.Mallocs) / float64(n)
	}
	if few, many := each(20), each(160); many > 2*few {
		t.Errorf("of 20 each takes %.0f allocations, of 160 %.0f", few, many)
	}
}

// The lock of the lifecycle is free while an agent starts, and a command that changes
// another session then is not held up. Two that fill the last place make one. [S4-4, S4-9]
func TestTogether(t *testing.T) {
	s := newScene(t, pool(0, 2, ""))
	s.during = func() {
		lock, err := s.Store.LockLifecycle()
		if err != nil {
			t.Error(err)
			return
		}
		lock.Unlock()
	}
	var wait sync.WaitGroup
	full := 0
	for range 5 {
		wait.Go(func() {
			_, err := s.New(context.Background(), "w", nil)
			s.mu.Lock()
			defer s.mu.Unlock()
			if errors.Is(err, ErrFull) {
				full++
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := s.states(); full != 3 || got != "2 active" || s.marked() != 2 {
		t.Error(full, got)
	}
}

// A session is called by its template and the first six digits of its id, or by as many more
// as tell it from another. [S4-25]
func TestNames(t *testing.T) {
	s := newScene(t, "[[agent]]\nname = \"w\"\nprovider = \"claude\"\n")
	ids := []instance.ID{"a3f2b7c1-0000-4000-8000-000000000001", "a3f2b7c2-0000-4000-8000-000000000002", "a3f2b7c2-9000-4000-8000-000000000003", "b7c1d9c1-0000-4000-8000-000000000004"}
	s.newID = func() (id instance.ID) {
		id, ids = ids[0], ids[1:]
		return id
	}
	for _, want := range []string{"w-a3f2b7", "w-a3f2b7c", "w-a3f2b7c2", "w-b7c1d9"} {
		if in, err := s.New(context.Background(), "w", nil); err != nil || in.Name != want || in.TmuxSession != "gt-"+want {
			t.Errorf("%s, not %s (%v)", in.Name, want, err)
		}
	}
}

// A person's request during a tick is neither lost nor undone. Another session changes at
// once, the tick's session after the tick. [S4-9]
func TestACommandDuringATick(t *testing.T) {
	s := newScene(t, "[[agent]]\nname = \"w\"\nprovider = \"claude\"\nidle_timeout = \"1h\"\n")
	var all []*instance.Instance
	for range 3 {
		in, err := s.New(context.Background(), "w", nil)
		testenv.NoError(t, err)
		all = append(all, in)
		s.clock = s.clock.Add(time.Second) // the older is restarted first
	}
	crashed, other, third := all[0], all[1], all[2]
	s.runs[crashed.ID], s.runs[third.ID] = tick.Dead, tick.Dead // the tick restarts them, one after the other
	first := true
	s.during = func() {
		if !first {
			return
		}
		first = false
		person := *s.World // another process
		if err := person.Suspend(context.Background(), other.ID); err != nil {
			t.Error(err)
		}
		if err := person.Close(context.Background(), third.ID, lifecycle.UserRequest); err != nil {
			t.Error(err)
		}
		if err := person.Suspend(context.Background(), crashed.ID); !errors.Is(err, flock.ErrBusy) {
			t.Errorf("the session that the tick starts was changed: %v", err)
		}
	}
	s.Warn = func(error) {}
	if _, err := s.Tick(context.Background(), func(o Outcome) {
		if o.Name != crashed.Name && !o.IsSkipped() {
			t.Errorf("%s of %s: %v", o.Change, o.Name, o.Err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[*instance.Instance]lifecycle.State{crashed: lifecycle.Active, other: lifecycle.Suspended, third: lifecycle.Closed} {
		now, err := s.Store.Get(in.ID)
		if err != nil || now.Managed.State != want || (s.runs[in.ID] == tick.Alive) != (want == lifecycle.Active) {
			t.Errorf("%s is %s, not %s (%v)", in.Name, now.Managed.State, want, err)
		}
	}
	if err := s.Suspend(context.Background(), crashed.ID); err != nil {
		t.Error(err)
	}
}

// A change that was decided on is not made of a session that is another by now. [S4-28, S4-115]
func TestStale(t *testing.T) {
	s := newScene(t, pool(1, 1, ""))
	s.settle()
	in := s.onlyInState(lifecycle.Active)
	c, _ := s.World.Config()
	drain := tick.Requested(lifecycle.Drain, in.Managed.Session, lifecycle.Manual, s.clock)
	testenv.NoError(t, s.Suspend(context.Background(), in.ID))
	if _, err := s.ChangeSession(context.Background(), c, drain); !(Outcome{Err: err}).IsSkipped() {
		t.Error(err)
	}
	testenv.NoError(t, s.Resume(context.Background(), in.ID))
	if _, err := s.ChangeSession(context.Background(), c, drain); !(Outcome{Err: err}).IsSkipped() {
		t.Error("the drain of the run before was made:", err)
	}
	// Somebody else is at it.
	h, err := s.Store.Hold(in.ID, time.Second)
	testenv.NoError(t, err)
	defer h.Release()
	if _, err := s.ChangeSession(context.Background(), c, tick.Requested(lifecycle.Drain, h.Managed.Session, lifecycle.Manual, s.clock)); !(Outcome{Err: err}).IsSkipped() {
		t.Error(err)
	}
}

// A session whose agent was started but not seen to run does not become active and gets no
// work. It does once the agent is seen. [S4-30, S4-56, S4-59, S4-60, S4-61]
func TestNotConfirmed(t *testing.T) {
	ctx := context.Background()
	for _, state := range []lifecycle.State{lifecycle.Creating, lifecycle.Suspended, lifecycle.Quarantined, lifecycle.Archived, lifecycle.Active} {
		s := newScene(t, pool(0, 2, "[agent.defaults]\nwake_mode = \"resume\""))
		in := s.put(state, true)
		if state == lifecycle.Archived {
			s.config(pool(1, 2, "[agent.defaults]\nwake_mode = \"resume\""))
		}
		s.unseen = true
		switch state {
		case lifecycle.Creating: // started by the first tick; the second one sees it
			s.tick()
			s.tick()
			c, _ := s.World.Config()
			now, err := s.Store.Get(in.ID)
			testenv.NoError(t, err)
			if _, err := s.ChangeSession(ctx, c, tick.CompletedBy(now.Managed.Session, s.clock)); err == nil {
				t.Errorf("%s: it is completed", state)
			}
		case lifecycle.Archived:
			if got := s.tick(); got != "reactivate!" {
				t.Errorf("%s: %s", state, got)
			}
		case lifecycle.Active:
			c, _ := s.World.Config()
			s.runs[in.ID] = tick.Unknown
			if _, err := s.ChangeSession(ctx, c, tick.Action{Change: lifecycle.RestoreMarker, Before: in.Managed.Session, Session: in.Managed.Session}); err == nil {
				t.Errorf("%s: it gets work", state)
			}
		default:
			if err := s.Resume(ctx, in.ID); err == nil {
				t.Errorf("%s: it is resumed", state)
			}
		}
		if now, err := s.Store.Get(in.ID); err != nil || now.Managed.State != state || s.marked() > 0 {
			t.Errorf("%s: it is %v, with %d markers: %v", state, now.Managed.State, s.marked(), err)
		}
	}
}

// Work that was claimed keeps a session draining, until its time is over: then it is
// blocked. What is claimed at the last moment counts, too. [S4-49, S4-90, S4-112 to S4-114]
func TestDrain(t *testing.T) {
	s := newScene(t, pool(0, 1, "drain_timeout = \"30s\""))
	in, err := s.New(context.Background(), "w", nil)
	testenv.NoError(t, err)
	s.claims[in.Name] = 1
	if err := s.Drain(context.Background(), in.ID); err != nil || s.marked() != 0 {
		t.Fatal(err)
	}
	if got := s.tick(); got != "" || s.runs[in.ID] != tick.Alive {
		t.Error(got)
	}
	// decided without claims, and one is there when it is done
	delete(s.claims, in.Name)
	p, err := s.Plan(context.Background())
	if err != nil || len(p.Actions) != 1 {
		t.Fatal(p, err)
	}
	s.claims[in.Name] = 1
	if _, err := s.ChangeSession(context.Background(), p.config, p.Actions[0]); !(Outcome{Err: err}).IsSkipped() {
		t.Error(err)
	}
	s.clock = s.clock.Add(31 * time.Second)
	if got := s.tick(); got != "archive" || s.onlyInState(lifecycle.Archived).Managed.Reason != lifecycle.DrainTimeout || !slices.Equal(s.freed, []string{"session_archived"}) {
		t.Error(got, s.freed)
	}
	if s.runs[in.ID] != tick.Dead {
		t.Error("it runs")
	}
}

// A tick changes nothing if claims cannot be read. What a session claims after its work was
// accounted for is freed when its agent has ended. An idle session that has claimed
// something since is not suspended.
func TestWorkThatCannotBeRead(t *testing.T) {
	s := newScene(t, "[[agent]]\nname = \"w\"\nprovider = \"claude\"\nidle_timeout = \"1m\"\n")
	in, err := s.New(context.Background(), "w", nil)
	testenv.NoError(t, err)
	broken := errors.New("no answer")
	s.unread = broken
	if _, err := s.Tick(context.Background(), func(o Outcome) { t.Errorf("changed: %+v", o) }); !errors.Is(err, broken) {
		t.Error(err)
	}
	for what, do := range map[string]func() error{
		"suspend": func() error { return s.Suspend(context.Background(), in.ID) },
		"close":   func() error { return s.Close(context.Background(), in.ID, lifecycle.UserRequest) },
	} {
		if err := do(); !errors.Is(err, broken) || s.runs[in.ID] != tick.Alive || s.onlyInState(lifecycle.Active) == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.unread = nil
	s.sight[in.ID] = Status{Alive: tick.Alive, Idle: s.clock.Add(-time.Hour)}
	p, err := s.Plan(context.Background())
	if err != nil || len(p.Actions) != 1 {
		t.Fatal(p, err)
	}
	s.claims[in.Name] = 1
	if _, err := s.ChangeSession(context.Background(), p.config, p.Actions[0]); !(Outcome{Err: err}).IsSkipped() {
		t.Error(err)
	}
	if len(s.asked) != 1 || !s.asked[0].Ends {
		t.Errorf("an answer of a minute ago would do: %+v", s.asked)
	}
	delete(s.claims, in.Name)
	s.ending = func() { s.claims[in.Name] = 1 }
	if err := s.Suspend(context.Background(), in.ID); err != nil || s.claims[in.Name] != 0 || !slices.Equal(s.freed, []string{"session_suspended"}) {
		t.Error(err, s.claims, s.freed)
	}
}

// A crash is restarted in place and keeps its marker; too many are a quarantine, whose end
// takes it back, and whose counter survives the controller. [S4-33 S4-35 S4-36 S4-42 S4-43
// S4-44 S4-53]
func TestCrashes(t *testing.T) {
	text := "[[agent]]\nname = \"w\"\nprovider = \"claude\"\nmax_restarts_per_window = 2\n[agent.pool]\nmin = 1\nmax = 1\n"
	s := newScene(t, text)
	s.settle()
	in := s.onlyInState(lifecycle.Active)
	var told []string
	s.Notify = func(session, why string) { told = append(told, session+" "+why) }
	for i := range 2 {
		s.runs[in.ID] = tick.Dead
		if got := s.tick(); got != "restart" || s.marked() != 1 || s.onlyInState(lifecycle.Active).Managed.CrashCount != i+1 {
			t.Fatal(got)
		}
		s.clock = s.clock.Add(time.Second)
	}
	s.runs[in.ID] = tick.Dead
	s.claims[in.Name] = 2
	if got := s.tick(); got != "quarantine" || s.marked() != 0 || !slices.Equal(s.freed, []string{"session_quarantined"}) {
		t.Fatal(got, s.freed)
	}
	if len(told) != 2 || !strings.HasPrefix(told[0], in.Name+" it ended by itself") || !strings.Contains(told[1], "3 crashes") {
		t.Errorf("the person is told of the first death and of the end: %q", told)
	}
	if got := s.tick(); got != "" {
		t.Fatal(got)
	}
	s.clock = s.clock.Add(31 * time.Second)
	if got := s.tick(); got != "clear" || s.marked() != 1 {
		t.Fatal(got)
	}
	again := NewWorld(instance.Personal(s.Store.State, "")) // another controller
	if now, err := again.Store.Get(in.ID); err != nil || now.Managed.QuarantineCycle != 1 || now.Managed.CrashCount != 0 {
		t.Errorf("%+v %v", now.Managed.Session, err)
	}
}

// A restart in place that fails is another crash, which the next tick notices and counts; why
// it failed is kept. [S4-34]
func TestARestartThatFails(t *testing.T) {
	s := newScene(t, pool(1, 1, ""))
	s.settle()
	in := s.onlyInState(lifecycle.Active)
	s.runs[in.ID], s.broken = tick.Dead, errors.New("no terminal")
	for count := 1; count <= 3; count++ {
		if got := s.tick(); got != "restart!" {
			t.Fatal(got)
		}
		if m := s.onlyInState(lifecycle.Active).Managed; m.CrashCount != count || m.CrashReason != "no terminal" {
			t.Errorf("%d: %+v", count, m.Session)
		}
		s.clock = s.clock.Add(5 * time.Second)
	}
	s.broken = nil
	if got := s.tick(); got != "restart" || s.runs[in.ID] != tick.Alive {
		t.Error(got)
	}
}

// What a template allows no more is taken from a session's overlay when it is resumed, and
// what it allows stays. [S4-6, S4-127]
func TestOverlay(t *testing.T) {
	text := func(allow string) string {
		return "[[agent]]\nname = \"w\"\nprovider = \"claude\"\nenv = {KEY = \"own\"}\n[agent.defaults]\nallow_env_override = [" + allow + "]\n"
	}
	s := newScene(t, text(`"KEY"`))
	if _, err := s.New(context.Background(), "w", map[string]string{"env.OTHER": "x"}); !errors.Is(err, ErrOverlay) {
		t.Error(err)
	}
	in, err := s.New(context.Background(), "w", map[string]string{"env.KEY": "x", "model": "haiku"})
	if err != nil || s.env[0]["KEY"] != "x" {
		t.Fatal(err, s.env)
	}
	hash := in.Managed.Hash
	for _, c := range []struct{ allow, want string }{{`"KEY"`, "x"}, {``, "own"}} {
		s.config(text(c.allow))
		testenv.NoError(t, errors.Join(s.Suspend(context.Background(), in.ID), s.Resume(context.Background(), in.ID)))
		if got := s.env[len(s.env)-1]["KEY"]; got != c.want {
			t.Errorf("%s: %s", c.allow, got)
		}
	}
	after := s.onlyInState(lifecycle.Active)
	if !maps.Equal(after.Managed.Overlay, map[string]string{"model": "haiku"}) || after.Managed.Hash == hash {
		t.Error(after.Managed.Overlay, after.Managed.Hash)
	}
	if !slices.Contains(s.events, "session.overlay.stripped") || !slices.Contains(s.events, "session.drift") {
		t.Error(s.events)
	}
}

// An archived session that is never taken back has no secrets after their time; one too
// many is closed. [S4-132, S4-135, S4-136]
func TestRetained(t *testing.T) {
	s := newScene(t, pool(0, 3, "max_archived = 1\narchived_secret_ttl = \"1h\"\n[agent.defaults]\nallow_env_override = [\"KEY\"]"))
	for range 2 {
		in, err := s.New(context.Background(), "w", map[string]string{"env.KEY": "hunter2"})
		err = errors.Join(err, s.Drain(context.Background(), in.ID))
		testenv.NoError(t, err)
		s.clock = s.clock.Add(time.Second)
	}
	s.settle()
	if got := s.states(); got != "1 archived, 1 closed" {
		t.Error(got)
	}
	s.clock = s.clock.Add(time.Hour)
	if got := s.tick(); got != "note" {
		t.Error(got)
	}
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, _ error) error {
		if data, _ := os.ReadFile(path); strings.Contains(string(data), "hunter2") {
			t.Error(path)
		}
		return nil
	})
	if got := s.tick(); got != "" {
		t.Error(got)
	}
}

// A change of state, its reason and its times is one write of the record. [S4-55]
func TestOneWrite(t *testing.T) {
	s := newScene(t, pool(1, 1, ""))
	s.tick()
	was := s.allInstances()[0].Managed
	s.config(pool(0, 0, ""))
	for _, want := range []lifecycle.State{lifecycle.Active, lifecycle.Draining, lifecycle.Archived, lifecycle.Closed} {
		if want == lifecycle.Closed {
			testenv.NoError(t, s.Close(context.Background(), instance.ID(was.ID), lifecycle.UserRequest))
		}
		for i := 0; i < 3 && s.allInstances()[0].Managed.State == was.State; i++ {
			s.tick() // a shrink takes two
		}
		is := s.allInstances()[0].Managed
		if is.State != want || is.Revision != was.Revision+1 {
			t.Errorf("%s to %s: %d writes, not 1", was.State, is.State, is.Revision-was.Revision)
		}
		was = is
	}
}

// Whoever closes a session, whatever state it is in: its agent is ended, its work is
// blocked, and its marker gone. [S4-48, S4-51, S4-140]
func TestClosedWithWork(t *testing.T) {
	for _, row := range lifecycle.States {
		if row.State == lifecycle.Closed {
			continue
		}
		s := newScene(t, pool(0, 2, ""))
		in := s.put(row.State, true)
		s.runs[in.ID], s.claims[in.Name] = tick.Alive, 1
		if row.State == lifecycle.Active {
			testenv.NoError(t, s.Markers.Set("pool:w", in.Name))
		}
		if err := s.Close(context.Background(), in.ID, lifecycle.Manual); err != nil {
			t.Errorf("%s: %v", row.State, err)
			continue
		}
		after, err := s.Store.Get(in.ID)
		if err != nil || after.Managed.State != lifecycle.Closed || after.Managed.Reason != lifecycle.Manual {
			t.Errorf("%s: %v %v", row.State, after, err)
		}
		if s.runs[in.ID] != tick.Dead || s.marked() != 0 || !slices.Equal(s.freed, []string{"session_closed"}) {
			t.Errorf("%s: runs %v, %d markers, freed %v", row.State, s.runs[in.ID], s.marked(), s.freed)
		}
	}
}

// No tick waits for a worktree that is made, however long that takes, nor does one
// act on its session. What fails is tried again.
func TestWorktreesInBackground(t *testing.T) {
	text := strings.Replace(pool(1, 1, ""), "env =", "worktree = true\nenv =", 1)
	s := newScene(t, text)
	s.broken = errors.New("git failed")
	begun, gate := make(chan bool), make(chan bool)
	s.during = func() {
		begun <- true
		<-gate
	}
	waits := func(state string) {
		t.Helper()
		<-begun
		s.clock = s.clock.Add(time.Hour) // far beyond the creation timeout
		if got := s.tick(); got != "" || s.states() != state {
			t.Errorf("%s: %s", got, s.states())
		}
		p, err := s.Plan(context.Background())
		testenv.NoError(t, err)
		if len(p.Notes) == 0 || p.Notes[0].Text != "its worktree is being made" {
			t.Errorf("%+v", p.Notes)
		}
	}
	if got := s.tick(); got != "" {
		t.Fatal(got)
	}
	waits("1 creating")
	gate <- true
	s.Wait(context.Background())
	in := s.allInstances()[0]
	if in.Managed.CrashReason != "git failed" {
		t.Errorf("%+v", in.Managed)
	}
	s.broken = nil
	s.clock = s.clock.Add(time.Hour)
	_ = s.tick()
	waits("1 creating")
	gate <- true
	s.Wait(context.Background())
	if got := s.tick(); got != "complete" || len(s.allInstances()) != 1 {
		t.Fatal(got, s.states())
	}
}

// A marker that nobody may have goes; an unknown state is left alone. [S4-117, S4-138]
func TestStrays(t *testing.T) {
	s := newScene(t, pool(1, 1, ""))
	s.settle()
	for _, m := range [][2]string{{"pool:w", "nobody"}, {"old", s.allInstances()[0].Name}} {
		testenv.NoError(t, s.Markers.Set(m[0], m[1]))
	}
	s.tick()
	if s.marked() != 1 {
		t.Error(s.marked())
	}
	h, err := s.Store.Hold(s.allInstances()[0].ID, time.Second)
	testenv.NoError(t, err)
	h.Managed.State = "dreaming"
	err = errors.Join(h.Put(s.clock), s.Markers.Remove("pool:w", h.Name))
	h.Release()
	testenv.NoError(t, err)
	for range 3 {
		s.tick()
	}
	n := 0
	for _, e := range s.events {
		if e == tick.EventUnknownState {
			n++
		}
	}
	if n != 1 || s.states() != "1 dreaming" || s.marked() != 0 {
		t.Error(n, s.states(), s.marked())
	}
}

// What is wrong with a check, or with the program that runs the agents, is news once, until it
// is another or comes again. [S4-84 to S4-86]
func TestNews(t *testing.T) {
	s := newScene(t, pool(1, 3, ""))
	s.settle()
	news := func() (all []string) {
		p, err := s.Tick(context.Background(), func(Outcome) {})
		testenv.NoError(t, err)
		for _, n := range p.NewNotes() {
			all = append(all, n.Event+" "+n.Detail)
		}
		return all
	}
	in := s.onlyInState(lifecycle.Active)
	for i, c := range []struct {
		check, runs error
		want        []string
	}{
		{nil, nil, nil},
		{errors.New("exit status 3"), nil, []string{"session.check.failed exit status 3"}},
		{errors.New("exit status 3"), nil, nil},
		{errors.New("exit status 4"), nil, []string{"session.check.failed exit status 4"}},
		{nil, nil, nil},
		{errors.New("exit status 4"), nil, []string{"session.check.failed exit status 4"}},
		{nil, errors.New("no answer"), []string{"session.unseen no answer"}},
		{nil, errors.New("no answer"), nil},
		{nil, nil, nil},
	} {
		s.demand = map[string]tick.Demand{"w": {Wanted: 1, Err: c.check}}
		s.runs[in.ID], s.sight[in.ID] = tick.Alive, Status{Err: c.runs}
		if c.runs != nil {
			s.runs[in.ID] = tick.Unknown
		}
		logged := len(s.events)
		if got := news(); !slices.Equal(got, c.want) || len(s.events)-logged != len(c.want) {
			t.Errorf("%d: %q, not %q", i, got, c.want)
		}
	}
}

// The records of sessions that never ran are kept to a bound, also where none is ever started.
func TestFailedCreations(t *testing.T) {
	testenv.Sample(t, 4)
	s := newScene(t, pool(1, 1, "creation_timeout = \"1s\"\nquarantine_backoff_cap = \"0s\"\nmax_archived = 2"))
	s.broken, s.Warn = errors.New("no such program"), func(error) {}
	var left []instance.ID // whose worktrees are still there
	for i := range 300 {
		s.tick()
		for _, in := range s.allInstances() {
			if len(left) < 2 && !slices.Contains(left, in.ID) {
				path := t.TempDir()
				h, err := s.Store.Hold(in.ID, time.Second)
				testenv.NoError(t, err)
				h.Worktree = &instance.Worktree{Path: path, Branch: "b", Repository: "/repo", Ready: true}
				testenv.NoError(t, h.Put(s.clock))
				h.Release()
				left = append(left, in.ID)
			}
		}
		if s.clock = s.clock.Add(time.Minute); i < 20 {
			s.Wait(context.Background())
		}
	}
	closed, err := s.Store.ReadFolder(instance.Closed)
	stay := len(closed)
	closed = slices.DeleteFunc(closed, func(in *instance.Instance) bool { return slices.Contains(left, in.ID) })
	if len(left) != 2 || stay-len(closed) != 2 {
		t.Errorf("of %d records with a worktree, %d stay", len(left), stay-len(closed))
	}
	if err != nil || len(closed) > maxKeptFailed || len(closed) < maxKeptFailed {
		t.Error(len(closed), err)
	}
	for _, in := range closed {
		if in.Managed.CrashReason != "no such program" {
			t.Errorf("%+v", in.Managed.Session)
		}
	}
}
