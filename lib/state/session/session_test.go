package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"gt/internal/testenv"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/handover"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

var testTime = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

func newStore(t *testing.T) Store {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"home", "town"} {
		testenv.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	h := home.NewHome(
		town.Town{Root: filepath.Join(dir, "town"), State: place.State(filepath.Join(dir, "state"))},
		identity.Identity{Role: identity.Crew, Rig: "gastown", Name: "max"}, filepath.Join(dir, "home"))
	testenv.NoError(t, h.Prepare())
	return Store{Home: h}
}

// agent is a process that lives until the test ends or kill is called.
func agent(t *testing.T) (p process.Proc, kill func()) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	testenv.NoError(t, cmd.Start())
	over := false
	kill = func() {
		if !over {
			over = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(kill)
	p, err := process.Find(cmd.Process.Pid)
	testenv.NoError(t, err)
	return p, kill
}

// events returns what the log holds, as "type id outcome parent chain".
func events(t *testing.T, s Store) []string {
	t.Helper()
	var all []string
	err := s.log().Read(func(e eventlog.Event) bool {
		var p struct {
			SessionID ID `json:"session_id"`
			Outcome   Outcome
			Parent    ID `json:"parent_id"`
			Chain     ID `json:"chain_id"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Error(err)
		}
		if e.Actor != "gastown/crew/max" {
			t.Errorf("actor %q", e.Actor)
		}
		all = append(all, strings.Join(strings.Fields(fmt.Sprint(e.Type, " ", p.SessionID, " ", p.Outcome, " ", p.Parent, " ", p.Chain)), " "))
		return true
	})
	testenv.NoError(t, err)
	return all
}

func start(t *testing.T, s Store, at time.Time, f StartParams) Started {
	t.Helper()
	all, err := s.ReadRecords()
	testenv.NoError(t, err)
	st, err := s.Start(at, all, f)
	testenv.NoError(t, err)
	return st
}

func get(t *testing.T, s Store, id ID) *Record {
	t.Helper()
	r, err := s.Get(id)
	if err != nil || r == nil {
		t.Fatalf("%s: %v, %v", id, r, err)
	}
	return r
}

func want(t *testing.T, s Store, lines ...string) {
	t.Helper()
	if got := events(t, s); !slices.Equal(got, lines) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestStartOfANewSession(t *testing.T) {
	s := newStore(t)
	p, _ := agent(t)
	st := start(t, s, testTime, StartParams{ID: "s1", Source: "startup", Agent: "claude", Process: p, CWD: "/x", Branch: "main", TmuxSession: "gt-crew-max", TmuxPane: "%1", TmuxServer: "/sock"})
	if st.Parent != nil || st.Continued || st.Duplicate || st.Others != nil {
		t.Errorf("%+v", st)
	}
	r := get(t, s, "s1")
	if r.ChainID != "s1" || r.ParentID != "" || r.Ended() || !r.Live() || r.Actor != "gastown/crew/max" || r.Rig != "gastown" || r.Role != "crew" {
		t.Errorf("%+v", r)
	}
	want(t, s, "session_start s1 s1")
	data, err := os.ReadFile(s.path("s1"))
	testenv.NoError(t, err)
	var fields map[string]any
	testenv.NoError(t, json.Unmarshal(data, &fields))
	delete(fields, "disk") // not on every file system
	got := slices.Sorted(maps.Keys(fields))
	if want := strings.Fields("actor agent boot_id branch chain_id cwd id pid pid_ns pid_start rig role source started_at tmux_pane tmux_server tmux_session"); !slices.Equal(got, want) {
		t.Errorf("fields %v", got)
	}
}

func TestWhomASessionFollows(t *testing.T) {
	type old struct {
		id      ID
		pane    string
		process string // alive, gone, same, "" for unknown
		ended   string // outcome
		reason  string
		kind    string // of a prepared hand-over
		age     time.Duration
	}
	const startOf = time.Hour
	for name, c := range map[string]struct {
		before      []old
		predecessor ID
		parent      ID
		how         Outcome
		events      []string // those between the first ones and the start
	}{
		"nobody":                  {},
		"who lives is no parent":  {before: []old{{id: "a", process: "alive", pane: "%1"}}},
		"who ended is no parent":  {before: []old{{id: "a", process: "gone", ended: "done"}}},
		"a hand-over":             {before: []old{{id: "a", process: "gone", kind: KindHandoff}}, predecessor: "a", parent: "a", how: Handoff, events: []string{"session_end a handoff"}},
		"a hand-over, ended":      {before: []old{{id: "a", process: "gone", ended: "handoff"}}, predecessor: "a", parent: "a", how: Handoff},
		"a hand-over, killed":     {before: []old{{id: "a", process: "gone"}}, predecessor: "a", parent: "a", how: Handoff, events: []string{"session_end a handoff"}},
		"/clear, told":            {before: []old{{id: "a", process: "same", ended: "done", reason: "clear"}}, parent: "a", how: Done},
		"/clear, untold":          {before: []old{{id: "a", process: "same"}}, parent: "a", how: Done, events: []string{"session_end a done"}},
		"/clear in Copilot":       {before: []old{{id: "a", process: "same", ended: "done", reason: "user_exit"}}, parent: "a", how: Done},
		"an end of Copilot's":     {before: []old{{id: "a", process: "gone", ended: "done", reason: "user_exit"}}},
		"another end, same agent": {before: []old{{id: "a", process: "same", ended: "done", reason: "logout"}}},
		"a crash":                 {before: []old{{id: "a", process: "gone"}}, parent: "a", how: Crash, events: []string{"session_end a crash"}},
		"a crash, no process":     {before: []old{{id: "a", age: 25 * time.Hour}}, parent: "a", how: Crash, events: []string{"session_end a crash"}},
		"no process, too young":   {before: []old{{id: "a", age: 23 * time.Hour}}},
		"the latest crash": {before: []old{{id: "a", process: "gone", age: 2 * startOf}, {id: "b", process: "gone", age: startOf}},
			parent: "b", how: Crash, events: []string{"session_end b crash", "session_end a crash"}},
		"the crash in its pane": {before: []old{{id: "a", process: "gone", pane: "%1", age: 2 * startOf}, {id: "b", process: "gone", pane: "%2", age: startOf}},
			parent: "a", how: Crash, events: []string{"session_end b crash", "session_end a crash"}},
		"the latest in its pane": {before: []old{{id: "a", process: "gone", pane: "%1", age: 3 * startOf}, {id: "b", process: "gone", pane: "%1", age: 2 * startOf}, {id: "c", process: "gone", age: startOf}},
			parent: "b", how: Crash, events: []string{"session_end c crash", "session_end b crash", "session_end a crash"}},
		"/clear before a crash": {before: []old{{id: "a", process: "gone", pane: "%1"}, {id: "b", process: "same", age: 2 * startOf}},
			parent: "b", how: Done, events: []string{"session_end a crash", "session_end b done"}},
		"a hand-over before all": {before: []old{{id: "a", process: "gone", pane: "%1"}, {id: "b", process: "same"}, {id: "c", process: "gone", kind: KindHandoff, age: startOf}},
			predecessor: "c", parent: "c", how: Handoff, events: []string{"session_end a crash", "session_end b done", "session_end c handoff"}},
		"a crash after it prepared a hand-over": {before: []old{{id: "a", process: "gone", kind: KindHandoff}},
			parent: "a", how: Crash, events: []string{"session_end a handoff"}},
		"a crash after it was saved": {before: []old{{id: "a", process: "gone", kind: KindAuto}},
			parent: "a", how: Crash, events: []string{"session_end a crash"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			mine, _ := agent(t)
			alive, _ := agent(t)
			gone, kill := agent(t)
			kill()
			procs := map[string]process.Proc{"same": mine, "alive": alive, "gone": gone}
			for i, o := range c.before {
				r := &Record{ID: o.id, ChainID: "chain-" + o.id, Actor: "gastown/crew/max", TmuxPane: o.pane, TmuxServer: "/sock", StartedAt: testTime.Add(-o.age - time.Duration(i))}
				r.SetProcess(procs[o.process])
				if o.ended != "" {
					r.EndedAt, r.Outcome, r.Reason = testTime.Add(-time.Second), Outcome(o.ended), o.reason
				}
				if o.kind != "" {
					r.Handoff = &handover.Handover{Kind: o.kind, Reason: "r"}
				}
				testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
			}
			f := StartParams{ID: "new", Process: mine, ClearReason: "user_exit", TmuxPane: "%1", TmuxServer: "/sock", Predecessor: c.predecessor}

			// Asking changes nothing.
			all, err := s.ReadRecords()
			r, how := FindPredecessor(testTime, Observe(testTime, all), f)
			if err != nil || how != c.how || (r == nil) != (c.parent == "") || r != nil && r.ID != c.parent {
				t.Errorf("Follows: %+v %q %v", r, how, err)
			}
			if _, err := os.Stat(s.Home.Town.Events()); err == nil {
				t.Error("asking left an event")
			}

			st := start(t, s, testTime, f)
			r = get(t, s, "new")
			chain := ID("new")
			if c.parent != "" {
				chain = "chain-" + c.parent
				if p := get(t, s, c.parent); p.ChildID != "new" || !p.Ended() {
					t.Errorf("the parent: %+v", p)
				}
				if st.Parent == nil || st.Parent.ID != c.parent {
					t.Errorf("Started.Parent: %+v", st.Parent)
				}
			}
			if r.ParentID != c.parent || r.ChainID != chain {
				t.Errorf("parent %q chain %q", r.ParentID, r.ChainID)
			}
			last := strings.Join(strings.Fields(fmt.Sprint("session_start new ", c.parent, " ", chain)), " ")
			want(t, s, append(slices.Clone(c.events), last)...)
			for _, o := range c.before {
				if o.process == "alive" && get(t, s, o.id).Ended() {
					t.Errorf("%s lives and was ended", o.id)
				}
			}
		})
	}
}

// A child follows its parent once: who starts after it follows nobody.
func TestACrashIsFollowedOnce(t *testing.T) {
	s := newStore(t)
	p, kill := agent(t)
	start(t, s, testTime, StartParams{ID: "a", Process: p})
	kill()
	b, _ := agent(t)
	if st := start(t, s, testTime.Add(time.Minute), StartParams{ID: "b", Process: b}); st.Parent == nil {
		t.Fatal("not followed")
	}
	c, _ := agent(t)
	if st := start(t, s, testTime.Add(time.Minute), StartParams{ID: "c", Process: c}); st.Parent != nil {
		t.Errorf("followed again: %+v", st.Parent)
	}
	want(t, s, "session_start a a", "session_end a crash", "session_start b a a", "session_start c c")
}

func TestResumeReopensWithoutASecondStart(t *testing.T) {
	s := newStore(t)
	p, kill := agent(t)
	start(t, s, testTime, StartParams{ID: "a", Process: p, Source: "startup", TmuxPane: "%1", TmuxServer: "/sock", Transcript: "/t"})

	// The same process goes on, as after a compaction: nothing to log.
	if st := start(t, s, testTime.Add(time.Minute), StartParams{ID: "a", Process: p, Source: "compact"}); !st.Continued || st.Parent != nil {
		t.Errorf("%+v", st)
	}
	want(t, s, "session_start a a")

	if _, err := s.End(testTime.Add(time.Hour), "a", Done, "logout"); err != nil {
		t.Fatal(err)
	}
	kill()
	q, _ := agent(t)
	start(t, s, testTime.Add(2*time.Hour), StartParams{ID: "a", Process: q, Source: "resume"})
	r := get(t, s, "a")
	if r.Ended() || r.Outcome != "" || r.Reason != "" || r.Process() != q || r.Source != "resume" || r.TmuxPane != "" || r.Transcript != "/t" || !r.StartedAt.Equal(testTime) {
		t.Errorf("%+v", r)
	}
	want(t, s, "session_start a a", "session_end a done", "session_resume a")

	// A command of the agent's own says neither how it began nor what tmux calls it.
	r.TmuxSession, r.TmuxPane, r.TmuxServer = "name", "%1", "/sock"
	testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	start(t, s, testTime.Add(2*time.Hour), StartParams{ID: "a", Process: q, TmuxPane: "%1", TmuxServer: "/sock"})
	if r := get(t, s, "a"); r.Source != "resume" || r.TmuxSession != "name" {
		t.Errorf("%+v", r)
	}
	start(t, s, testTime.Add(2*time.Hour), StartParams{ID: "a", Process: q, TmuxPane: "%2", TmuxServer: "/sock"})
	if r := get(t, s, "a"); r.TmuxSession != "" {
		t.Errorf("in another pane: %+v", r)
	}

	// It ends again, and that is logged again.
	if _, err := s.End(testTime.Add(3*time.Hour), "a", Killed, ""); err != nil {
		t.Fatal(err)
	}
	want(t, s, "session_start a a", "session_end a done", "session_resume a", "session_end a killed")
}

// An end before a resume stays among the runs, and so does a crash that only the
// resume shows; the log tells of each.
func TestRuns(t *testing.T) {
	s := newStore(t)
	p, kill := agent(t)
	start(t, s, testTime, StartParams{ID: "a", Process: p, CWD: "/x", WorkUnit: "gt-1"})
	if _, err := s.End(testTime.Add(time.Minute), "a", Done, "logout"); err != nil {
		t.Fatal(err)
	}
	kill()
	q, kill := agent(t)
	r := start(t, s, testTime.Add(time.Hour), StartParams{ID: "a", Process: q, Source: "resume"}).Record
	first := Run{testTime, testTime.Add(time.Minute), Done, "logout"}
	if !slices.Equal(r.Runs, []Run{first}) || r.Ended() {
		t.Errorf("%+v", r)
	}
	kill()
	p, _ = agent(t)
	r = start(t, s, testTime.Add(2*time.Hour), StartParams{ID: "a", Process: p, Source: "resume"}).Record
	second := Run{testTime.Add(time.Hour), testTime.Add(2 * time.Hour), Crash, "its process is gone"}
	if !slices.Equal(r.Runs, []Run{first, second}) || r.Ended() {
		t.Errorf("%+v", r)
	}
	want := []string{"session_start a a", "session_end a done", "session_resume a", "session_end a crash", "session_resume a"}
	if got := events(t, s); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if log, err := os.ReadFile(string(s.log())); err != nil || bytes.Count(log, []byte(`"work_unit":"gt-1","cwd":"/x"`)) != 2 || !bytes.Contains(log, []byte(`"crash","reason":"its process is gone","work_unit":"gt-1","cwd":"/x","last_seen":"2026-01-17T02:00:00Z"}`)) {
		t.Errorf("its ends lack what it worked on: %v\n%s", err, log)
	}
	// A cycle goes on in another process, and is no crash.
	r.Handoff = &handover.Handover{Kind: KindCycle, At: testTime.Add(2 * time.Hour)}
	r.SetProcess(q)
	testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	if r = start(t, s, testTime.Add(3*time.Hour), StartParams{ID: "a", Process: p, Source: "resume"}).Record; len(r.Runs) != 2 {
		t.Errorf("%+v", r)
	}
	for i := range maxRuns + 5 {
		r.EndedAt = testTime.Add(time.Duration(i) * time.Hour)
		r.reopen(testTime)
	}
	if len(r.Runs) != maxRuns || !r.Runs[maxRuns-1].EndedAt.Equal(testTime.Add((maxRuns+4)*time.Hour)) {
		t.Errorf("%d runs", len(r.Runs))
	}
}

// Who ends a session on purpose notes that first: however its end is found, it was
// killed. A session that lived on was not.
func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		sign time.Duration // of life, after the stop
		find func(t *testing.T, s Store)
		want Outcome
	}{
		"its client says that it is done": {0, func(t *testing.T, s Store) {
			if _, err := s.End(testTime.Add(time.Minute), "a", Done, "other"); err != nil {
				t.Fatal(err)
			}
		}, Killed},
		"the next start finds it dead": {0, func(t *testing.T, s Store) {
			p, _ := agent(t)
			start(t, s, testTime.Add(time.Minute), StartParams{ID: "b", Process: p})
		}, Killed},
		"it was spared and crashed later": {time.Hour, func(t *testing.T, s Store) {
			p, _ := agent(t)
			start(t, s, testTime.Add(2*time.Hour), StartParams{ID: "b", Process: p})
		}, Crash},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			p, kill := agent(t)
			start(t, s, testTime, StartParams{ID: "a", Process: p})
			testenv.NoError(t, s.Stop("a", Stop{Reason: "reaped", Until: testTime.Add(time.Second)}))
			r, err := s.Get("a")
			testenv.NoError(t, err)
			r.Hook = &HookDedup{At: testTime.Add(c.sign)}
			testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
			kill()
			c.find(t, s)
			if r, err = s.Get("a"); err != nil || r.Outcome != c.want || r.Stop != nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func TestTheSameInputTwiceActsOnce(t *testing.T) {
	s := newStore(t)
	p, _ := agent(t)
	f := StartParams{ID: "a", Process: p, HookKey: "k1"}
	if st := start(t, s, testTime, f); st.Duplicate {
		t.Error("the first counts as the second")
	}
	if st := start(t, s, testTime.Add(time.Second), f); !st.Duplicate {
		t.Error("acted twice")
	}
	f.HookKey = "k2"
	if st := start(t, s, testTime.Add(2*time.Second), f); st.Duplicate {
		t.Error("another input counts as the same")
	}
	if st := start(t, s, testTime.Add(time.Minute), f); st.Duplicate {
		t.Error("the same input a minute later is a new one")
	}
	r := get(t, s, "a")
	for i, first := range []bool{true, false} {
		if ok := r.Claim(testTime.Add(2*time.Minute), "k3"); ok != first {
			t.Error(i, ok)
		}
	}
	if !r.Claim(testTime, "") {
		t.Error("without an input everybody acts")
	}
	want(t, s, "session_start a a")
}

// Killed between the event and the record, it does not log the event again.
func TestKilledBetweenEventAndRecord(t *testing.T) {
	s := newStore(t)
	p, _ := agent(t)
	start(t, s, testTime, StartParams{ID: "a", Process: p})
	before, err := os.ReadFile(s.path("a"))
	testenv.NoError(t, err)
	testenv.NoError(t, atomicfile.Remove(s.path("a")))
	start(t, s, testTime.Add(time.Second), StartParams{ID: "a", Process: p})
	want(t, s, "session_start a a")

	if _, err := s.End(testTime.Add(time.Minute), "a", Done, ""); err != nil {
		t.Fatal(err)
	}
	testenv.NoError(t, os.WriteFile(s.path("a"), before, 0o600))
	if _, err := s.End(testTime.Add(2*time.Minute), "a", Done, ""); err != nil {
		t.Fatal(err)
	}
	if r := get(t, s, "a"); r.Outcome != Done {
		t.Errorf("%+v", r)
	}
	want(t, s, "session_start a a", "session_end a done")
}

// Nobody knows whether a session handed over while its hand-over cannot be read. It does not
// end as done then: that would have its checkpoint removed.
func TestEndWithUnreadHandover(t *testing.T) {
	s := newStore(t)
	start(t, s, testTime, StartParams{ID: "a"})
	path := s.Home.Path("handover")
	testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	if _, err := s.End(testTime, "a", Done, ""); !errors.Is(err, syscall.ENOTDIR) || get(t, s, "a").Ended() {
		t.Error(err)
	}
	testenv.NoError(t, os.Remove(path))
	if _, err := s.End(testTime, "a", Done, ""); err != nil {
		t.Error(err)
	}
}

func TestEnd(t *testing.T) {
	s := newStore(t)
	if _, err := s.End(testTime, "none", Done, ""); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	p, _ := agent(t)
	start(t, s, testTime, StartParams{ID: "a", Process: p})
	if r, err := s.End(testTime.Add(time.Minute), "a", Killed, "nuke"); err != nil || r.Outcome != Killed {
		t.Error(r, err)
	}
	before, _ := os.ReadFile(s.path("a"))
	if _, err := s.End(testTime.Add(time.Hour), "a", Done, ""); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	if after, _ := os.ReadFile(s.path("a")); string(after) != string(before) {
		t.Errorf("changed:\n%s", after)
	}

	// Who prepared a hand-over ends by it; who only saved does not.
	for kind, outcome := range map[string]Outcome{KindHandoff: Handoff, KindAuto: Done, KindCycle: Done} {
		id := ID("with-" + kind)
		start(t, s, testTime, StartParams{ID: id})
		r := get(t, s, id)
		r.Handoff = &handover.Handover{Kind: kind, Reason: "why"}
		testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
		if r, err := s.End(testTime, id, Done, "x"); err != nil || r.Outcome != outcome || (r.Reason == "why") != (outcome == Handoff) {
			t.Errorf("%s: %+v %v", kind, r, err)
		}
	}
	if got := events(t, s); slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, "none") }) {
		t.Error(got)
	}
}

// A session of another PID namespace is alive for all that anybody knows: until it
// has given no sign of life for twelve hours, ended, or the machine booted anew.
func TestAnotherNamespace(t *testing.T) {
	p, _ := agent(t)
	if p.NS == "" {
		t.Skip("this system has no PID namespaces")
	}
	other := testenv.PIDNamespace(t)
	now := time.Now()
	conversation := filepath.Join(t.TempDir(), "c.jsonl")
	testenv.NoError(t, os.WriteFile(conversation, nil, 0o600))
	writtenLater := func(by time.Duration) string {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		testenv.NoError(t, os.WriteFile(path, nil, 0o600))
		testenv.NoError(t, os.Chtimes(path, now, now.Add(by)))
		return path
	}
	host, err := os.Hostname()
	testenv.NoError(t, err)
	long := now.Add(-13 * time.Hour)
	for name, c := range map[string]struct {
		r          Record
		live, gone bool
	}{
		"began just now":            {Record{StartedAt: now, PIDNS: other}, true, false},
		"on another host":           {Record{StartedAt: now, PIDNS: other, Host: "not-" + host}, true, false},
		"silent":                    {Record{StartedAt: long, PIDNS: other}, false, true},
		"silent on another host":    {Record{StartedAt: long, PIDNS: other, Host: "not-" + host}, false, true},
		"a hook ran":                {Record{StartedAt: long, PIDNS: other, Hook: &HookDedup{At: now.Add(-time.Hour)}}, true, false},
		"the machine slept":         {Record{StartedAt: long, PIDNS: other, Hook: &HookDedup{At: long, Awake: process.Awake()}}, true, false},
		"its machine slept":         {Record{StartedAt: long, PIDNS: other, BootID: "another", Host: "not-" + host, Hook: &HookDedup{At: long, Awake: process.Awake()}}, false, true},
		"it wrote after that sleep": {Record{StartedAt: long, PIDNS: other, Transcript: conversation, Hook: &HookDedup{At: long, Awake: process.Awake()}}, true, false},
		"it writes just now":        {Record{StartedAt: long, PIDNS: other, Transcript: writtenLater(time.Millisecond), Hook: &HookDedup{At: long, Awake: process.Awake()}}, true, false},
		"it writes in the future":   {Record{StartedAt: long, PIDNS: other, Transcript: writtenLater(20 * time.Hour), Hook: &HookDedup{At: now.Add(-time.Hour), Awake: process.Awake()}}, true, false},
		"the clock was set back":    {Record{StartedAt: now.Add(13 * time.Hour), PIDNS: other, Hook: &HookDedup{At: now.Add(13 * time.Hour), Awake: process.Awake()}}, true, false},
		"it handed over":            {Record{StartedAt: long, PIDNS: other, Handoff: &handover.Handover{At: now.Add(-time.Hour)}}, true, false},
		"its conversation goes on":  {Record{StartedAt: long, PIDNS: other, Transcript: conversation}, true, false},
		"ended":                     {Record{StartedAt: now, PIDNS: other, EndedAt: now}, false, false},
		"of another boot":           {Record{StartedAt: now, PIDNS: other, BootID: "another", Host: host}, false, true},
		"of ours":                   {Record{StartedAt: long, PIDNS: p.NS}, true, false},
		"from before it was noted":  {Record{StartedAt: long}, true, false},
		"of ours on another host":   {Record{StartedAt: now, PIDNS: p.NS, BootID: "another", Host: "not-" + host}, true, false},
		"of this boot, renamed":     {Record{StartedAt: now, PIDNS: p.NS, PID: 1 << 30, Host: "not-" + host}, false, true},
		"booted, with a domain":     {Record{StartedAt: now, PIDNS: p.NS, BootID: "another", Host: strings.ToUpper(host) + ".lan"}, false, true},
		"long on another host":      {Record{StartedAt: long, PIDNS: p.NS, BootID: "another", Host: "not-" + host}, false, true},
		"of ours under no process":  {Record{StartedAt: now, PIDNS: p.NS, PID: 1 << 30}, false, true},
		"elsewhere and no process":  {Record{StartedAt: now, PIDNS: other, PID: 1 << 30}, true, false},
		"of a server elsewhere":     {Record{StartedAt: now, PIDNS: other, ServerPID: 1 << 30, ServerStart: "1"}, true, false},
		"its clock is a year ahead": {Record{StartedAt: now.AddDate(1, 0, 0), PIDNS: other}, false, true},
	} {
		r := c.r
		if r.ID = "s1"; r.PID == 0 {
			r.PID = p.PID
		}
		if r.PIDStart = p.Start; r.BootID == "" {
			r.BootID = p.Boot
		}
		if live, gone := r.Live(), r.Crashed(now); live != c.live || gone != c.gone {
			t.Errorf("%s: live %v, gone %v", name, live, gone)
		}
	}
	// Nobody takes its place, whatever number its process has.
	s := newStore(t)
	r := Record{ID: "s1", Actor: "gastown/crew/max", StartedAt: now, PID: os.Getpid(), PIDStart: "1", BootID: p.Boot, PIDNS: other, TmuxPane: "%1", TmuxServer: "/s", Host: "not-" + host}
	testenv.NoError(t, s.Put(&r, atomicfile.Unsynced))
	st := start(t, s, now, StartParams{ID: "s2", Source: "startup", Process: p, TmuxPane: "%1", TmuxServer: "/s", Host: host})
	if st.Parent != nil || len(st.Others) != 1 {
		t.Errorf("%+v", st)
	}
	if r := get(t, s, "s1"); r.Ended() || r.ChildID != "" {
		t.Errorf("%+v", r)
	}
}

func TestOthersOfTheSameName(t *testing.T) {
	s := newStore(t)
	a, _ := agent(t)
	dead, kill := agent(t)
	kill()
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	for id, r := range map[ID]Record{
		"live":       {Actor: "gastown/crew/max", PID: a.PID, PIDStart: a.Start, BootID: a.Boot},
		"elsewhere":  {Actor: "gastown/crew/joe", PID: a.PID, PIDStart: a.Start, BootID: a.Boot},
		"dead":       {Actor: "gastown/crew/max", PID: dead.PID, PIDStart: dead.Start, BootID: dead.Boot},
		"ended":      {Actor: "gastown/crew/max", PID: a.PID, PIDStart: a.Start, BootID: a.Boot, EndedAt: testTime, Outcome: Done},
		"around":     {Actor: "gastown/crew/max", PID: self.PID, PIDStart: self.Start, BootID: self.Boot},
		"handing on": {Actor: "gastown/crew/max", PID: a.PID, PIDStart: a.Start, BootID: a.Boot, Handoff: &handover.Handover{Kind: KindHandoff, Respawn: true}},
	} {
		r.ID, r.StartedAt = ID(strings.ReplaceAll(string(id), " ", "-")), testTime
		testenv.NoError(t, s.Put(&r, atomicfile.Unsynced))
	}
	child, _ := agent(t) // a child of this process, which is "around"
	st := start(t, s, testTime, StartParams{ID: "new", Process: child})
	if len(st.Others) != 1 || st.Others[0].ID != "live" {
		t.Errorf("%+v", st.Others)
	}
}

func TestPrune(t *testing.T) {
	s := newStore(t)
	p, _ := agent(t)
	put := func(id ID, age time.Duration, ended bool) {
		r := &Record{ID: id, StartedAt: testTime.Add(-age)}
		r.SetProcess(p)
		if ended {
			r.EndedAt, r.Outcome = testTime.Add(-age), Done
		}
		testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	}
	put("old-and-live", 100*24*time.Hour, false)
	put("old", 8*24*time.Hour, true)
	for _, id := range []string{"old", "old-and-live"} {
		testenv.NoError(t, os.WriteFile(s.Home.Path("sessions", id+".tail"), nil, 0o600))
	}
	for i := range 60 {
		put(ID(fmt.Sprint("e", i)), time.Duration(i)*time.Minute, true)
	}
	for id, age := range map[ID]time.Duration{"waits": 2 * time.Hour, "waited": 9 * 24 * time.Hour} {
		put(id, age, true)
		r, _ := s.Get(id)
		r.Handoff = &handover.Handover{Kind: KindHandoff, Marker: "handoff"}
		testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	}
	start(t, s, testTime, StartParams{ID: "new"})
	all, err := s.ReadRecords()
	testenv.NoError(t, err)
	if !s.Exists("waits") || s.Exists("waited") {
		t.Error("a record goes whose hand-over waits, or stays for ever")
	}
	if len(all) != keepEnded+3 || s.Exists("old") || !s.Exists("old-and-live") || !s.Exists("e0") || s.Exists("e50") {
		t.Errorf("%d records are left", len(all))
	}
	for id, want := range map[string]bool{"old": false, "old-and-live": true} {
		if _, err := os.Stat(s.Home.Path("sessions", id+".tail")); (err == nil) != want {
			t.Errorf("the tail of %s: %v", id, err)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b *Record) int { return b.StartedAt.Compare(a.StartedAt) }) {
		t.Error("not the newest first")
	}
}

// A record that cannot be parsed counts as none. Reading leaves it in place; a start of
// that session sets it aside, because it writes a new one.
func TestACorruptRecordIsSetAside(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "torn": `{"id":"a","started`, "garbage": "\x00\xff", "another's": `{"id":"b","started_at":"2026-01-17T01:00:00Z"}`, "null": "null", "a list": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			testenv.NoError(t, s.Put(&Record{ID: "a", StartedAt: testTime}, atomicfile.Unsynced))
			testenv.NoError(t, os.WriteFile(s.path("a"), []byte(text), 0o600))
			if r, err := s.Get("a"); r != nil || err != nil {
				t.Errorf("%+v %v", r, err)
			}
			if all, err := s.ReadRecords(); len(all) > 0 || err != nil {
				t.Error(all, err)
			}
			if data, err := os.ReadFile(s.path("a")); err != nil || string(data) != text {
				t.Errorf("after a look: %q %v", data, err)
			}
			start(t, s, testTime, StartParams{ID: "a"})
			if data, err := os.ReadFile(s.path("a") + ".bad"); err != nil || string(data) != text {
				t.Errorf("%q %v", data, err)
			}
			if r, err := s.Get("a"); r == nil || err != nil {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

// Ids stand in files that others write too: what is none leads to no file.
func TestNoIDHasNoRecord(t *testing.T) {
	store := newStore(t)
	for _, id := range []ID{"", "../x", "../../canary", "a/b", "x\x00", ".", "-rf"} {
		path := filepath.Clean(store.Home.Path("sessions", string(id)+".json"))
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		text := []byte(fmt.Sprintf(`{"id":%q,"started_at":"2026-01-17T01:00:00Z"}`, id))
		_ = os.WriteFile(path, text, 0o600) // a name with NUL is none at all
		if r, err := store.Get(id); r != nil || err != nil {
			t.Errorf("%q: %+v, %v", id, r, err)
		}
		if store.Exists(id) {
			t.Errorf("%q exists", id)
		}
		if err := store.Put(&Record{ID: id}, atomicfile.Unsynced); err == nil {
			t.Errorf("%q was written", id)
		}
	}
}

// What cannot be read hides no other record, and stops no start.
func TestAnUnreadableRecordHidesNoOther(t *testing.T) {
	s := newStore(t)
	testenv.NoError(t, s.Put(&Record{ID: "good", StartedAt: testTime}, atomicfile.Unsynced))
	for _, err := range []error{
		os.Symlink("/etc/passwd", s.path("link")),
		os.Mkdir(s.path("folder"), 0o700),
		os.WriteFile(s.path("huge"), make([]byte, maxRecord+1), 0o600),
		os.WriteFile(filepath.Join(s.dir(), "..json"), nil, 0o600),
		os.WriteFile(filepath.Join(s.dir(), "notes.txt"), nil, 0o600),
	} {
		testenv.NoError(t, err)
	}
	all, err := s.ReadRecords()
	if err != nil || len(all) != 1 || all[0].ID != "good" {
		t.Errorf("%v %v", all, err)
	}
	start(t, s, testTime, StartParams{ID: "new"})
	var warned error
	s.Warn = func(err error) { warned = errors.Join(warned, err) }
	if r, err := s.Get("link"); r != nil || err != nil || !errors.Is(warned, atomicfile.ErrNotRegular) {
		t.Errorf("%v %v %v", r, err, warned)
	}
}

// A damaged record is set aside and replaced by an earlier generation, but never by one
// from before the session ended or continued.
func TestATornRecordIsMended(t *testing.T) {
	s := newStore(t)
	var warned []string
	s.Warn = func(err error) { warned = append(warned, err.Error()) }
	p, _ := agent(t)
	r := start(t, s, testTime, StartParams{ID: "a", Process: p}).Record
	tear := func() {
		t.Helper()
		testenv.NoError(t, os.WriteFile(s.path("a"), []byte(`{"id":"a","star`), 0o600))
	}
	put := func() {
		t.Helper()
		testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	}
	r.Branch = "one"
	put()
	r.Branch = "two"
	put()
	tear()
	if got := get(t, s, "a"); got.Branch != "one" || len(warned) != 1 || !strings.Contains(warned[0], "using the version before it, 'a.json.bak', from 20") {
		t.Errorf("%v %q", got, warned)
	}
	warned = nil
	for range 2 {
		all, err := s.Repair()
		if err != nil || len(all) != 1 || all[0].Branch != "one" {
			t.Errorf("%v %v", all, err)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "it was set aside as 'a.json.bad'; using") {
		t.Errorf("%q", warned)
	}

	// It ends: nothing says any more that it lives.
	if _, err := s.End(testTime, "a", Done, ""); err != nil {
		t.Fatal(err)
	}
	tear()
	if got, err := s.Get("a"); got != nil || err != nil {
		t.Errorf("an ended session came back: %+v, %v", got, err)
	}
	if all, err := s.Repair(); err != nil || len(all) > 0 {
		t.Error(all, err)
	}

	// It goes on after an end: nothing says any more that it is over.
	r = start(t, s, testTime, StartParams{ID: "b", Process: p}).Record
	if _, err := s.End(testTime, "b", Done, ""); err != nil {
		t.Fatal(err)
	}
	start(t, s, testTime, StartParams{ID: "b", Process: p, Source: "resume"})
	if left, _ := filepath.Glob(s.path("b") + ".bak*"); len(left) > 0 {
		t.Error(left)
	}

	// What is pruned is gone with all that was before it.
	r = get(t, s, "b")
	r.Branch = "three"
	put()
	r.EndedAt, r.Outcome = testTime.Add(-2*keep), Done
	put()
	r.Branch = "four"
	put()
	start(t, s, testTime, StartParams{ID: "c"})
	if left, _ := filepath.Glob(s.path("b") + "*"); len(left) > 0 {
		t.Error(left)
	}
}

// Unknown fields survive a change. S0-8.
func TestUnknownFieldsSurvive(t *testing.T) {
	s := newStore(t)
	text := `{"id":"a","started_at":"2026-01-17T01:00:00Z","cost":{"usd":1.50,"big":12345678901234567890},"tags":["x"],"handoff":{"kind":"auto","at":"2026-01-17T01:00:00Z"}}`
	testenv.NoError(t, atomicfile.EnsurePrivateDir(s.dir()))
	testenv.NoError(t, os.WriteFile(s.path("a"), []byte(text), 0o600))
	r := get(t, s, "a")
	r.Branch = "main"
	testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	var got struct {
		Branch string
		Cost   json.RawMessage
		Tags   []string
	}
	data, err := os.ReadFile(s.path("a"))
	testenv.NoError(t, err)
	testenv.NoError(t, json.Unmarshal(data, &got))
	if got.Branch != "main" || len(got.Tags) != 1 || strings.Join(strings.Fields(string(got.Cost)), "") != `{"big":12345678901234567890,"usd":1.50}` &&
		strings.Join(strings.Fields(string(got.Cost)), "") != `{"usd":1.50,"big":12345678901234567890}` {
		t.Errorf("%s", data)
	}
}

// Any JSON that is taken for a record is written so that it reads the same.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"id":"a","started_at":"2026-01-17T01:00:00Z","new":{"x":[1,null]},"outcome":"done","pid":3}`))
	f.Add([]byte(`{"id":"a","handoff":{"kind":"auto"},"hook":{"key":"k"},"commits":["x"]}`))
	f.Add([]byte(`{"":1,"ID":"b","id":"a","é":"\u2028"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again Record
		if json.Unmarshal(data, &r) != nil {
			return
		}
		line, err := json.Marshal(&r)
		if err != nil {
			if y := r.StartedAt.UTC().Year(); y < 1 || y > 9998 {
				return
			}
			t.Skip(err) // a time that RFC 3339 cannot say
		}
		if err := json.Unmarshal(line, &again); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if again.ID != r.ID || again.PID != r.PID || len(again.unknown) != len(r.unknown) {
			t.Fatalf("%q became %q", data, line)
		}
	})
}

func TestParseID(t *testing.T) {
	for _, s := range []string{"a", "0", "0f5c0c6e-7d0b-4f0e-9d3c-1a2b3c4d5e6f", "ses_1a2B", "a.b-c_d", "a..b", strings.Repeat("x", 128)} {
		if id, err := ParseID(s); string(id) != s || err != nil {
			t.Errorf("%q: %q %v", s, id, err)
		}
	}
	for _, s := range []string{
		"", ".", "..", "../x", "/etc/passwd", "a/b", `a\b`, ".hidden", "-rf", "_x", "a b", "a\n", "a\x00b", "\x1b[31m", "é", "a:b", "a*", "%s", "~",
		"a\u202e", "$(id)", strings.Repeat("x", 129), "\xff",
	} {
		if id, err := ParseID(s); err == nil {
			t.Errorf("%q is taken for %q", s, id)
		}
	}
	a, b := NewID(), NewID()
	if _, err := ParseID(string(a)); err != nil || a == b {
		t.Error(a, b, err)
	}
	if made, err := uuid.Parse(string(a)); err != nil || made.Version() != 4 || made.Variant() != uuid.RFC4122 || made.String() != string(a) {
		t.Error(a, err)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("a-b")
	f.Add("../x")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseID(s); err == nil && (!filepath.IsLocal(string(id)) || filepath.Base(string(id)) != s || strings.HasPrefix(s, ".")) {
			t.Fatalf("%q", s)
		}
	})
}

func TestParseOutcome(t *testing.T) {
	for _, s := range []string{"handoff", "done", "crash", "killed"} {
		if o, err := ParseOutcome(s); string(o) != s || err != nil {
			t.Error(s, err)
		}
	}
	for _, s := range []string{"", "Done", "active", "crashed"} {
		if _, err := ParseOutcome(s); err == nil {
			t.Errorf("%q is an outcome", s)
		}
	}
}

func TestCurrent(t *testing.T) {
	clientVars := []string{"CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID", "GEMINI_SESSION_ID", "COPILOT_AGENT_SESSION_ID"}
	for name, c := range map[string]struct {
		vars    string
		command ID
		hook    ID
	}{
		"nothing":                 {"", "around", "around"},
		"Claude Code":             {"CLAUDE_CODE_SESSION_ID=a CLAUDE_SESSION_ID=b", "a", "a"},
		"Claude of old":           {"CLAUDE_SESSION_ID=b", "b", "b"},
		"Gemini":                  {"GEMINI_SESSION_ID=g", "g", "g"},
		"Copilot":                 {"COPILOT_AGENT_SESSION_ID=c", "c", "c"},
		"Copilot in Claude Code":  {"CLAUDE_CODE_SESSION_ID=a COPILOT_AGENT_SESSION_ID=around", "around", "around"},
		"Claude Code in Copilot":  {"COPILOT_AGENT_SESSION_ID=other CLAUDE_CODE_SESSION_ID=around GT_SESSION_UUID=u", "around", "around"},
		"ours for a command only": {"GT_SESSION_UUID=u", "u", "around"},
		"the client before ours":  {"GT_SESSION_UUID=u CLAUDE_CODE_SESSION_ID=a GT_SESSION_ID=w", "a", "w"},
		"the wiring":              {"GT_SESSION_ID=w", "w", "w"},
		"ours before the wiring":  {"GT_SESSION_UUID=u GT_SESSION_ID=w", "u", "w"},
		"what is no id":           {"GT_SESSION_ID=../x CLAUDE_CODE_SESSION_ID=/ GT_SESSION_UUID=-", "around", "around"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			parent, err := process.Find(os.Getppid())
			testenv.NoError(t, err)
			other, _ := agent(t)
			for id, p := range map[ID]process.Proc{"around": parent, "other": other, "reused": {PID: parent.PID, Start: "1", Boot: parent.Boot}} {
				r := &Record{ID: id, StartedAt: testTime}
				r.SetProcess(p)
				testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
			}
			getenv := testenv.Getenv(strings.Fields(c.vars)...)
			if got := s.Current(getenv, clientVars, false); got != c.command {
				t.Errorf("command: %q", got)
			}
			if got := s.Current(getenv, clientVars, true); got != c.hook {
				t.Errorf("hook: %q", got)
			}
		})
	}
	if got := newStore(t).Current(func(string) string { return "" }, clientVars, false); got != "" {
		t.Errorf("from nowhere: %q", got)
	}
}

func TestPersist(t *testing.T) {
	s := newStore(t)
	if got := s.Persisted(); got != "" {
		t.Errorf("%q", got)
	}
	testenv.NoError(t, s.Persist("a", testTime))
	if data, _ := os.ReadFile(s.Home.Path("session_id")); string(data) != "a\n2026-01-17T01:00:00Z\n" {
		t.Errorf("%q", data)
	}
	for text, want := range map[string]ID{"a\n": "a", "a": "a", " a \r\nx": "a", "": "", "../x\n": "", "\n": ""} {
		testenv.NoError(t, os.WriteFile(s.Home.Path("session_id"), []byte(text), 0o600))
		if got := s.Persisted(); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Each field of the record has a name of its own in the file.
func TestEveryFieldHasAName(t *testing.T) {
	for f := range reflect.TypeFor[Record]().Fields() {
		if f.IsExported() && f.Tag.Get("json") == "" {
			t.Errorf("%s has none", f.Name)
		}
	}
}

// Persisted returns only valid ids.
func FuzzPersisted(f *testing.F) {
	for _, seed := range []string{"a-b\n2026-01-17T01:00:00Z\n", "", "\n", "../x\n", " a \r\n", "\xef\xbb\xbfa", "a\x00", strings.Repeat("x", 200)} {
		f.Add([]byte(seed))
	}
	s := Store{Home: home.HomeOutsideTown(place.State(f.TempDir()), f.TempDir())}
	if err := s.Home.Prepare(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		testenv.NoError(t, os.WriteFile(s.Home.Path(idFile), data, 0o600))
		id := s.Persisted()
		if _, err := ParseID(string(id)); id != "" && err != nil {
			t.Fatalf("%q gave %q", data, id)
		}
		if id != "" && !bytes.HasPrefix(bytes.TrimSpace(data), []byte(id)) {
			t.Fatalf("%q gave %q", data, id)
		}
	})
}

// An end that was killed after it was logged and before it was noted is what
// the log says, whatever the next start takes it for.
func TestAnEndThatWasLoggedIsNotDecidedAgain(t *testing.T) {
	s := newStore(t)
	p, kill := agent(t)
	start(t, s, testTime, StartParams{ID: "a", Process: p})
	before := get(t, s, "a")
	if _, err := s.End(testTime.Add(time.Minute), "a", Done, "logout"); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(before, atomicfile.Synced); err != nil { // as if it had not come to that
		t.Fatal(err)
	}
	kill()
	q, _ := agent(t)
	start(t, s, testTime.Add(time.Hour), StartParams{ID: "b", Process: q})
	if r := get(t, s, "a"); r.Outcome != Done || r.Reason != "logout" || !r.EndedAt.Equal(testTime.Add(time.Minute).Truncate(time.Millisecond)) {
		t.Errorf("%+v", r)
	}
	// It looked like a crash until then, and is followed like one: what it left
	// is told once too often and not lost.
	want(t, s, "session_start a a", "session_end a done", "session_start b a a")
}
