package perform_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/cryptotest"
	"time"

	"pgregory.net/rapid"

	"gt/internal/runtimetest"
	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/mail"
	"gt/lib/state/work"
)

// The performer itself, on real files, with a runtime that runs nothing and a clock that
// the test moves: what must hold holds after each step of a random history, and when the
// trouble is over every pool comes to the size that is wanted.

// killed is what a controller that is killed panics with.
type killed struct{}

// sim is a place with its trouble.
type sim struct {
	dir      string
	store    instance.Store
	fake     *runtimetest.Fake
	work     work.Work
	now      time.Time
	text     string // of the town.toml
	broken   bool   // no agent starts
	mute     bool   // nothing answers
	unread   bool   // the town.toml cannot be read
	late     time.Duration
	demand   map[string]tick.Demand
	statuses map[string]perform.Status // by name, besides what the runtime tells
	ops      int
	stopAt   int // the op at which the controller is killed; 0 never
	version  int
	given    int
	closed   map[string]string
	limit    map[string]int
	force    bool
	changes  int
	looks    int
}

// ten templates: pools of each kind, some that depend on others, and two that nothing
// scales.
func (s *sim) write() {
	var b strings.Builder
	for i, extra := range []string{
		"[agent.pool]\nmin = 1\nmax = 1\n",
		"depends_on = [\"t0\"]\nmax_restarts_per_window = 1\n[agent.pool]\nmax = 4\n[agent.defaults]\nwake_mode = \"resume\"\n",
		"[agent.pool]\nmax = 3\norphaned_work = \"release\"\n",
		"[agent.pool]\nmin = 1\nmax = 5\narchive_order = \"fifo\"\nmax_unavailable = 2\nmax_archived = 2\n",
		"[agent.pool]\nmax = 2\narchive_order = \"idle-first\"\n[agent.defaults]\nwake_mode = \"resume\"\n",
		"depends_on = [\"t1\"]\n[agent.pool]\nmax = 3\nmax_archived = 0\n",
		"account = \"shared\"\n[agent.pool]\nmin = 1\nmax = 2\n",
		"account = \"shared\"\nmax_restarts_per_window = 0\n[agent.pool]\nmax = 3\nquarantine_max_attempts = 1\n",
		"idle_timeout = \"1h\"\n[agent.defaults]\nallow_env_override = [\"TARGET\"]\n",
		"depends_on = [\"t0\"]\n",
	} {
		head, rest := extra, ""
		if at := strings.Index(extra, "["); at >= 0 && strings.HasPrefix(extra[at:], "[agent") {
			head, rest = extra[:at], extra[at:]
		} else if at := strings.Index(extra, "\n[agent"); at >= 0 {
			head, rest = extra[:at+1], extra[at+1:]
		}
		fmt.Fprintf(&b, "[[agent]]\nname = \"t%d\"\nprovider = \"claude\"\npre_start = [\"v%d\"]\n%s%s", i, s.version, head, rest)
	}
	s.text = b.String()
}

func (s *sim) config() (*config.Config, error) {
	if s.unread {
		return nil, errors.New("cannot use 'town.toml': it is not what was trusted")
	}
	all, problems := template.Parse("town.toml", []byte(s.text))
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return &config.Config{File: "town.toml", Work: s.dir, Templates: all}, nil
}

// op counts what a controller does, and kills it.
func (s *sim) op() {
	if s.ops++; s.ops == s.stopAt {
		panic(killed{})
	}
}

// Status, Start and Stop make it what the performer has its agents by.
func (s *sim) Status(ctx context.Context, all []*instance.Instance) []perform.Status {
	s.op()
	refs := make([]runtime.Ref, len(all))
	for i, in := range all {
		refs[i] = s.ref(in)
	}
	statuses := make([]perform.Status, len(all))
	for i, r := range s.fake.Status(ctx, refs) {
		statuses[i] = s.statuses[all[i].Name]
		statuses[i].Alive, statuses[i].Attached = r.Alive, r.Attached
	}
	return statuses
}

func (s *sim) Start(ctx context.Context, h *instance.Locked, _ template.Effective) error {
	s.op()
	h.StartedAt, h.SessionID = s.now, "0ff00ff0-1111-4222-8333-444444444444"
	if err := h.Put(s.now); err != nil {
		return err
	}
	s.op()
	delete(s.statuses, h.Name)
	err := s.fake.Start(ctx, runtime.Agent{Ref: s.ref(h.Instance)})
	s.op()
	return err
}

func (s *sim) Explain(context.Context, *instance.Instance, template.Effective) error { return nil }

func (s *sim) SameClient(*instance.Instance, template.Effective) bool { return true }

func (s *sim) Stop(ctx context.Context, in *instance.Instance) error {
	s.op()
	err := s.fake.Stop(ctx, s.ref(in))
	s.op()
	return err
}

func (s *sim) ref(in *instance.Instance) runtime.Ref {
	return runtime.Ref{ID: s.store.Name(in.ID), Name: in.TmuxSession, Agent: in.Agent}
}

// Claims, Leave, Keep and Free are those of the work, at which a controller can be killed,
// too.
func (s *sim) Claims(ctx context.Context, _ []perform.Claimant) (map[string]int, error) {
	s.op()
	return s.work.Claims(ctx)
}

func (s *sim) Leave(ctx context.Context, c perform.Claimant, reason string) error {
	s.op()
	defer s.op()
	return s.work.Leave(ctx, c.Name, reason)
}

func (s *sim) Keep(ctx context.Context, name string) error {
	s.op()
	defer s.op()
	return s.work.Keep(ctx, name)
}

func (s *sim) Free(ctx context.Context, c perform.Claimant, reason string) error {
	s.op()
	defer s.op()
	return s.work.Free(ctx, c.Name, reason)
}

func newSim(dir string) *sim {
	s := &sim{
		dir: dir, store: instance.Personal(place.State(dir), ""), now: time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC),
		demand: map[string]tick.Demand{}, statuses: map[string]perform.Status{}, closed: map[string]string{}, limit: map[string]int{},
	}
	s.store.Warn = func(error) {}
	s.fake = runtimetest.New(func() time.Time { return s.now })
	s.fake.Faults = func(word string, _ runtime.Ref) runtimetest.Fault {
		switch {
		case s.mute:
			return runtimetest.Fault{Err: runtime.ErrUnknown}
		case s.broken && word == "start":
			return runtimetest.Fault{Ends: true}
		}
		return runtimetest.Fault{Late: s.late}
	}
	s.work = work.NewWork(s.store)
	s.work.Release = func(name string) (bool, error) { return name == "t2", nil }
	s.write()
	return s
}

// world is what one controller has.
func (s *sim) world() *perform.World {
	w := perform.NewWorld(s.store)
	w.Config, w.Agents, w.Work, w.Force = s.config, s, s, s.force
	w.Now = func() time.Time { s.op(); return s.now }
	w.Check = func(context.Context, *config.Config) map[string]tick.Demand { return maps.Clone(s.demand) }
	return w
}

// alive runs a controller until it has done something or is killed.
func (s *sim) alive(do func(*perform.World)) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
		}
		s.stopAt = 0
	}()
	do(s.world())
}

// tick makes a tick, and returns how many changes it made.
func (s *sim) tick() (made int) {
	s.alive(func(w *perform.World) {
		_, _ = w.Tick(context.Background(), func(o perform.Outcome) {
			if o.Err == nil {
				made++
			}
		})
	})
	s.changes += made
	return made
}

// newlyClosed looks at the sessions that were closed since the last time: S4-23, S4-132. Of the
// others it reads all again once in a while.
func (s *sim) newlyClosed() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	dir := filepath.Join(s.dir, "instances", instance.Closed)
	entries, _ := os.ReadDir(dir)
	s.looks++
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		before, known := s.closed[id]
		if !ok || known && s.looks%500 != 0 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		in := new(instance.Instance)
		if err != nil || json.Unmarshal(data, in) != nil || in.Managed == nil {
			say("the record of %s is damaged: %v", id, err)
			continue
		}
		if in.SessionID != "" || in.Managed.Overlay["env.TARGET"] != "" || in.Managed.State != lifecycle.Closed || !in.Managed.State.Takes(in.Managed.Reason) {
			say("%s is closed, and has its secrets or a wrong reason (%s)", in.Name, in.Managed.Reason)
		}
		if known && before != string(data) {
			say("%s is closed, and has changed", in.Name)
		}
		s.closed[id] = string(data)
	}
	return all
}

// openSessions are the sessions that are not closed, by id.
func (s *sim) openSessions() map[string]*instance.Instance {
	found := map[string]*instance.Instance{}
	for _, list := range []func() ([]*instance.Instance, error){
		func() ([]*instance.Instance, error) { return s.store.ReadFolder(instance.Archived) },
		s.store.ReadInstances,
	} {
		some, err := list()
		if err != nil {
			panic(err)
		}
		for _, in := range some {
			if _, closed := s.closed[string(in.ID)]; closed {
				continue // of two copies
			}
			if had := found[string(in.ID)]; had == nil || had.Managed.State != lifecycle.Closed && had.Managed.Revision < in.Managed.Revision {
				found[string(in.ID)] = in
			}
		}
	}
	return found
}

// problems are what does not hold.
func (s *sim) problems() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	all = s.newlyClosed()
	sessions := s.openSessions()
	names, occupied := map[string]*instance.Instance{}, map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		in := sessions[id]
		m := in.Managed
		if m.State == lifecycle.Closed {
			continue // on its way
		}
		if names[in.Name] != nil {
			say("two are called %s", in.Name)
		}
		names[in.Name] = in
		if m.Pool != "" && m.State.Occupies() {
			occupied[m.Pool]++
		}
		if row, ok := m.State.Row(); !ok || !m.State.Takes(m.Reason) || row.PoolOnly && m.Pool == "" {
			say("%s is %s for %s", in.Name, m.State, m.Reason)
		}
	}
	c, _ := (&sim{text: s.text, dir: s.dir}).config()
	for pool, n := range occupied { // INV-3
		most := s.limit[pool]
		if t := c.Find(pool); t != nil {
			most = max(most, t.Pool.Max)
		}
		if n > most {
			say("%s has %d of %d", pool, n, most)
		}
	}
	s.limit = occupied
	markers, err := s.world().Markers.ReadMarkers()
	if err != nil {
		say("%v", err)
	}
	for label, routed := range markers { // S4-117
		for _, name := range routed {
			if in := names[name]; in == nil || in.Managed.State != lifecycle.Active || in.Managed.Pool == "" {
				say("%s has a marker %s, and is %+v", name, label, in)
			}
			if aside, _ := filepath.Glob(filepath.Join(s.dir, "work/*/members", name, "leaving/*/*")); len(aside) > 0 {
				say("%s may be given work, and its own is put aside: %q", name, aside)
			}
		}
	}
	for id := range s.fake.Running() {
		if _, closed := s.closed[filepath.Base(id)]; sessions[filepath.Base(id)] == nil && !closed {
			say("%s runs, and is nobody's", id)
		}
	}
	notes := 0
	_ = filepath.WalkDir(filepath.Join(s.dir, "work"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasPrefix(d.Name(), ".") {
			notes++
		}
		return nil
	})
	if notes != s.given {
		say("%d notes of %d", notes, s.given)
	}
	return all
}

// step does one of the things that can happen. draw returns a number below n.
func (s *sim) step(draw func(n int) int) string {
	some := func(states ...lifecycle.State) *instance.Instance {
		sessions := s.openSessions()
		var fit []*instance.Instance
		for _, id := range slices.Sorted(maps.Keys(sessions)) {
			if slices.Contains(states, sessions[id].Managed.State) {
				fit = append(fit, sessions[id])
			}
		}
		if len(fit) == 0 {
			return nil
		}
		slices.SortStableFunc(fit, func(a, b *instance.Instance) int { return a.CreatedAt.Compare(b.CreatedAt) })
		return fit[draw(len(fit))]
	}
	ctx := context.Background()
	pool := fmt.Sprint("t", draw(8))
	switch what := draw(24); what {
	default:
		return fmt.Sprintf("tick: %d", s.tick())
	case 3:
		s.stopAt = s.ops + 1 + draw(40)
		return fmt.Sprintf("a tick that is killed: %d", s.tick())
	case 4: // on what another one has changed meanwhile
		s.alive(func(w *perform.World) {
			p, err := w.Plan(ctx)
			c, cerr := s.config()
			if err != nil || cerr != nil {
				return
			}
			s.tick()
			for _, a := range p.Actions {
				_, _ = w.ChangeSession(ctx, c, a)
			}
		})
		return "two controllers"
	case 5, 6:
		s.now = s.now.Add(time.Duration([]int{1, 5, 31, 61, 301, 3700, 40_000, -120}[draw(8)]) * time.Second)
		return "time"
	case 7, 8:
		s.demand[pool] = tick.Demand{Wanted: draw(7)}
		return "a check"
	case 9:
		s.demand[pool] = tick.Demand{Err: errors.New("exit status 1")}
		return "a check that fails"
	case 10, 11:
		if in := some(lifecycle.Active, lifecycle.Draining, lifecycle.Creating); in != nil {
			s.fake.Crash(s.ref(in))
			return "a crash of " + in.Name
		}
	case 12:
		s.fake.Reboot()
		return "a reboot"
	case 13:
		s.broken = !s.broken && draw(2) == 0
		return fmt.Sprint("starts fail: ", s.broken)
	case 14:
		s.mute = !s.mute && draw(2) == 0
		return fmt.Sprint("nothing answers: ", s.mute)
	case 15:
		s.unread = !s.unread && draw(2) == 0
		return fmt.Sprint("the town.toml cannot be read: ", s.unread)
	case 16:
		s.late = time.Duration(draw(3)) * 20 * time.Second
		return fmt.Sprint("late starts: ", s.late)
	case 17:
		s.version++
		s.write()
		return "an edit"
	case 18:
		full(func() { s.tick() })
		return "a full disk"
	case 19:
		if in := some(lifecycle.Active, lifecycle.Draining, lifecycle.Suspended); in != nil {
			s.fake.Change(s.ref(in), func(r *runtimetest.Run) { r.Hidden, r.Attached = draw(2) == 0, draw(2) == 0 })
			s.statuses[in.Name] = []perform.Status{{}, {Idle: s.now}, {Asks: true}, {EndedByPerson: true}, {Limited: true, LimitedAt: s.now}}[draw(5)]
			return "another sight of " + in.Name
		}
	case 20:
		id, err := s.work.Give(pool, mail.Note{Subject: "x"}, s.now)
		if err == nil {
			s.given++
		}
		return "work " + id
	case 21:
		if in := some(lifecycle.Active, lifecycle.Draining); in != nil {
			n, err := s.work.Claim(in.Managed.Template, in.Name)
			if err == nil && draw(2) == 0 {
				err = s.work.MarkDone(in.Name, n.ID)
			}
			return fmt.Sprint(in.Name, " claims ", n.ID, ": ", err)
		}
	case 22:
		overlay := map[string]string{}
		name := fmt.Sprint("t", 8+draw(2))
		if name == "t8" {
			overlay["env.TARGET"] = "hunter2"
		}
		s.alive(func(w *perform.World) {
			if len(s.openSessions()) < 60 {
				_, _ = w.New(ctx, name, overlay)
			}
		})
		return "a person makes one"
	case 23:
		if draw(8) == 0 {
			s.stopAt = s.ops + 1 + draw(12)
		}
		in := some(lifecycle.Active, lifecycle.Suspended, lifecycle.Draining, lifecycle.Quarantined, lifecycle.Archived, lifecycle.Creating)
		if in == nil {
			break
		}
		did := ""
		s.alive(func(w *perform.World) {
			switch draw(4) {
			case 0:
				did = fmt.Sprint("suspends ", w.Suspend(ctx, in.ID))
			case 1:
				did = fmt.Sprint("resumes ", w.Resume(ctx, in.ID))
			case 2:
				did = fmt.Sprint("drains ", w.Drain(ctx, in.ID))
			case 3:
				did = fmt.Sprint("closes ", w.Close(ctx, in.ID, lifecycle.UserRequest))
			}
		})
		return "a person " + did
	}
	return ""
}

// full is do on a disk that takes no more.
func full(do func()) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
		panic(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}()
	do()
}

// calm ends all trouble, and returns what is not as it should be then.
func (s *sim) calm() (problems []string) {
	s.broken, s.mute, s.unread, s.late, s.force = false, false, false, 0, true
	clear(s.statuses)
	ctx := context.Background()
	s.now = s.now.Add(24 * time.Hour)
	for _, in := range s.openSessions() {
		s.fake.Change(s.ref(in), func(r *runtimetest.Run) { r.Hidden, r.Attached = false, false })
	}
	for i := range 8 {
		s.demand[fmt.Sprint("t", i)] = tick.Demand{Wanted: 2}
	}
	claims, _ := s.work.Claims(ctx)
	for name := range claims {
		_ = s.work.Free(ctx, name, "over")
	}
	for range 3 {
		for _, in := range s.openSessions() { // whom a person has suspended stays so, and takes a place
			if in.Managed.State == lifecycle.Suspended && in.Managed.Reason == lifecycle.UserRequest {
				s.alive(func(w *perform.World) { _ = w.Resume(ctx, in.ID) })
			}
		}
		for range 12 {
			for n := 0; ; n++ {
				if s.tick()+s.tick() == 0 { // what shrinks waits for two that agree
					break
				}
				if n == 60 {
					return []string{"it never comes to rest"}
				}
				s.now = s.now.Add(time.Second)
			}
			s.now = s.now.Add(time.Hour)
		}
	}
	c, err := s.config()
	if err != nil {
		return []string{err.Error()}
	}
	active := map[string]int{}
	markers, _ := s.world().Markers.ReadMarkers()
	running := s.fake.Running()
	for _, in := range s.openSessions() {
		m := in.Managed
		t := c.Find(m.Template)
		row, _ := m.State.Row()
		_, runs := running[s.store.Name(in.ID)]
		if runs != row.Runs {
			problems = append(problems, fmt.Sprintf("%s is %s (%s), and runs: %v", in.Name, m.State, m.Reason, runs))
		}
		if m.State != lifecycle.Active || m.Pool == "" {
			continue
		}
		active[m.Pool]++
		e := c.Effective(*t, m.Overlay)
		if m.Hash != e.Hash() {
			problems = append(problems, fmt.Sprintf("%s has an old configuration", in.Name))
		}
		if !slices.Contains(markers[t.RoutingLabel], in.Name) {
			problems = append(problems, fmt.Sprintf("%s gets no work", in.Name))
		}
	}
	for _, t := range c.Templates {
		if t.Pool != nil && active[t.Name] != min(2, t.Pool.Max) {
			problems = append(problems, fmt.Sprintf("%s has %d, not %d", t.Name, active[t.Name], min(2, t.Pool.Max)))
		}
	}
	before := s.written()
	s.tick()
	if after := s.written(); after != before { // S4-95
		problems = append(problems, "a tick with nothing to do writes")
	}
	return problems
}

// written tells which files there are, and when each was written.
func (s *sim) written() string {
	var b strings.Builder
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && !strings.HasSuffix(path, "lock") {
			fmt.Fprintln(&b, path, info.ModTime().UnixNano())
		}
		return nil
	})
	return b.String()
}

func (s *sim) String() string {
	var lines []string
	sessions := s.openSessions()
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		if in := sessions[id]; in.Managed.State != lifecycle.Closed {
			lines = append(lines, fmt.Sprintf("%s %s (%s) crashes %d cycle %d", in.Name, in.Managed.State, in.Managed.Reason, in.Managed.CrashCount, in.Managed.QuarantineCycle))
		}
	}
	return strings.Join(lines, "\n")
}

func TestMain(m *testing.M) {
	signal.Ignore(syscall.SIGXFSZ)
	flag.Parse()
	flag.Set("test.testlogfile", "") // go test's own, which a full disk (see full) takes for broken
	for name, value := range map[string]string{"rapid.steps": "60", "rapid.checks": "8", "rapid.nofailfile": "true"} {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue {
			flag.Set(name, value)
		}
	}
	os.Exit(m.Run())
}

func TestHistories(t *testing.T) {
	testenv.SeedRapid(t)
	rapid.Check(t, func(rt *rapid.T) {
		cryptotest.SetGlobalRandom(t, 1) // ids, which decide between what is equal
		dir, remove, err := testenv.Folder()
		testenv.NoError(t, err)
		defer remove()
		s := newSim(dir)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			did := s.step(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") })
			if p := s.problems(); p != nil {
				rt.Fatalf("after %s: %s\n%s", did, strings.Join(p, "\n"), s)
			}
		}
		if p := append(s.calm(), s.problems()...); p != nil {
			rt.Fatalf("when all is calm: %s\n%s", strings.Join(p, "\n"), s)
		}
	})
}

// What a person asks for that ends a session is killed at each of its steps: the next ticks
// leave it active with the work that it had, or gone and its work blocked for that. [S4-51,
// S4-52, S4-54, S4-57]
func TestCutShort(t *testing.T) {
	testenv.Sample(t, 3)
	ctx := context.Background()
	for _, c := range []struct {
		end    func(*perform.World, instance.ID) error
		resume bool // before any tick has seen it
		state  lifecycle.State
		reason string
	}{
		{func(w *perform.World, id instance.ID) error { return w.Suspend(ctx, id) }, false, lifecycle.Suspended, "session_suspended"},
		{func(w *perform.World, id instance.ID) error { return w.Suspend(ctx, id) }, true, lifecycle.Active, "session_suspended"},
		{func(w *perform.World, id instance.ID) error { return w.Close(ctx, id, lifecycle.UserRequest) }, false, lifecycle.Closed, "session_closed"},
	} {
		stays, goes := 0, 0
		for stop, whole := 1, false; !whole; stop++ {
			s := newSim(t.TempDir())
			for range 3 {
				s.tick() // t0 has one
			}
			var in *instance.Instance
			for _, found := range s.openSessions() {
				if found.Managed.Template == "t0" {
					in = found
				}
			}
			if _, err := s.work.Give("t0", mail.Note{Subject: "x"}, s.now); err != nil {
				t.Fatal(err)
			}
			s.given++
			if _, err := s.work.Claim("t0", in.Name); err != nil {
				t.Fatal(err)
			}
			s.stopAt = s.ops + stop
			s.alive(func(w *perform.World) {
				testenv.NoError(t, c.end(w, in.ID))
				whole = true
			})
			if c.resume {
				_ = s.world().Resume(ctx, in.ID)
			}
			for range 3 {
				s.tick()
			}
			after, err := s.store.Get(in.ID)
			testenv.NoError(t, err)
			notes, err := s.work.List()
			if err != nil || len(notes) != 1 || notes[0].Holder != in.Name {
				t.Fatalf("%+v, %v", notes, err)
			}
			switch is := after.Managed.State; {
			case is == lifecycle.Active && notes[0].Blocked == "" && !whole:
				stays++
			case is == c.state && notes[0].Blocked == c.reason:
				goes++
			default:
				t.Errorf("killed at step %d it is %s, and its work: %q", stop, is, notes[0].Blocked)
			}
			for _, p := range s.problems() {
				t.Errorf("killed at step %d: %s", stop, p)
			}
		}
		if stays < 2 || goes < 2 {
			t.Errorf("%s: %d kills before it was written, %d behind that", c.state, stays, goes)
		}
	}
}

var year = flag.Uint64("year", 0, "simulate a year of a town, with this seed")

// Simulates a year of a town with ten templates. Each day has troubles and calm.
func TestYear(t *testing.T) {
	if *year == 0 {
		t.Skip("takes minutes; -year 1 does it")
	}
	cryptotest.SetGlobalRandom(t, *year)
	dir, remove, err := testenv.Folder()
	testenv.NoError(t, err)
	defer remove()
	s := newSim(dir)
	r := rand.New(rand.NewPCG(*year, 0))
	steps := 0
	for end := s.now.AddDate(1, 0, 0); s.now.Before(end); steps++ {
		did := s.step(r.IntN)
		if p := s.problems(); p != nil {
			t.Fatalf("step %d, %s, after %s: %s\n%s", steps, s.now, did, strings.Join(p, "\n"), s)
		}
		s.now = s.now.Add(time.Duration(r.IntN(4*3600)) * time.Second)
	}
	if p := append(s.calm(), s.problems()...); p != nil {
		t.Fatalf("when all is calm: %s\n%s", strings.Join(p, "\n"), s)
	}
	t.Logf("%d steps, %d changes, %d sessions closed", steps, s.changes, len(s.closed))
}
