package catalog

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

var base = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

// minutesAfter returns a time some minutes after base.
func minutesAfter(minutes int) time.Time { return base.Add(time.Duration(minutes) * time.Minute) }

// story is a log of events, by minute.
func story(t *testing.T, events ...[3]string) eventlog.Log {
	t.Helper()
	log := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	var b strings.Builder
	for i, e := range events {
		fmt.Fprintf(&b, `{"ts":%q,"type":%q,"actor":%q,"payload":{%s}}`+"\n", minutesAfter(i).Format(time.RFC3339), e[0], e[1], e[2])
	}
	testenv.NoError(t, os.WriteFile(string(log), []byte(b.String()), 0o600))
	return log
}

func read(t testing.TB, log eventlog.Log) Catalog {
	t.Helper()
	r, err := Read(log, nil)
	testenv.NoError(t, err)
	return r
}

// The last event of each session counts.
func TestOutcome(t *testing.T) {
	start := [3]string{"session_start", "a", `"session_id":"s"`}
	resume := [3]string{"session_resume", "a", `"session_id":"s"`}
	end := [3]string{"session_end", "a", `"session_id":"s","outcome":"killed","reason":"r"`}
	over := [3]string{"handoff", "a", `"session_id":"s","to_session":true`}
	saved := [3]string{"handoff", "a", `"session_id":"s","to_session":false`}
	foreign := [3]string{"handoff", "a", `"to_session":true`}
	person := [3]string{"handoff", "a", `"to_session":true,"kind":"handoff"`}
	cycle := [3]string{"handoff", "a", `"session_id":"s","to_session":true,"kind":"cycle"`}
	for _, c := range []struct {
		name   string
		events [][3]string
		want   session.Outcome
		ended  int // the minute, or -1
	}{
		{"started", [][3]string{start}, Gone, -1},
		{"ended", [][3]string{start, end}, session.Killed, 1},
		{"resumed", [][3]string{start, end, resume}, Gone, -1},
		{"ended twice", [][3]string{start, end, resume, end}, session.Killed, 3},
		{"started again, as Gas Town logs it", [][3]string{start, end, start}, Gone, -1},
		{"handed over", [][3]string{start, over}, session.Handoff, 1},
		{"saved only", [][3]string{start, saved}, Gone, -1},
		{"handed over by Gas Town", [][3]string{start, foreign}, session.Handoff, 1},
		{"a person handed over", [][3]string{start, person}, Gone, -1},
		{"cycled", [][3]string{start, cycle}, Gone, -1},
		{"handed over, came back", [][3]string{start, over, resume}, Gone, -1},
		{"handed over, then ended", [][3]string{start, over, end}, session.Killed, 2},
		{"end without a start", [][3]string{end}, session.Killed, 0},
	} {
		r := slices.Collect(read(t, story(t, c.events...)).Sessions())
		if len(r) != 1 {
			t.Fatalf("%s: %d sessions", c.name, len(r))
		}
		s := r[0]
		s.ResolveOutcome(place.State(t.TempDir()))
		var want time.Time
		if c.ended >= 0 {
			want = minutesAfter(c.ended)
		}
		if s.Outcome != c.want || !s.EndedAt.Equal(want) {
			t.Errorf("%s: %s at %v", c.name, s.Outcome, s.EndedAt)
		}
		if s.Outcome != session.Killed && s.Reason != "" {
			t.Errorf("%s: reason %q", c.name, s.Reason)
		}
	}
}

// A session without an end is active only if its record says that its process runs. An
// end in the record counts.
func TestSettle(t *testing.T) {
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	dead := self
	dead.Start = "1"
	for _, c := range []struct {
		name string
		rec  *session.Record
		want session.Outcome
	}{
		{"no record", nil, Gone},
		{"live", &session.Record{ID: "s"}, Active},
		{"dead", &session.Record{ID: "s", PID: 1}, session.Crash},
		{"ended", &session.Record{ID: "s", EndedAt: minutesAfter(9), Outcome: session.Done}, session.Done},
	} {
		dir, state := t.TempDir(), place.State(t.TempDir())
		if c.rec != nil {
			if c.rec.PID == 1 {
				c.rec.SetProcess(dead)
			} else {
				c.rec.SetProcess(self)
			}
			store := session.Store{Home: home.HomeOutsideTown(state, dir)}
			testenv.NoError(t, store.Home.Prepare())
			testenv.NoError(t, state.FixHome("s", store.Home.Runtime()))
			testenv.NoError(t, store.Put(c.rec, false))
		}
		r := slices.Collect(read(t, story(t, [3]string{"session_start", "a", fmt.Sprintf(`"session_id":"s","cwd":%q`, dir)})).Sessions())
		r[0].ResolveOutcome(state)
		if r[0].Outcome != c.want {
			t.Errorf("%s: %s", c.name, r[0].Outcome)
		}
		// An active session matches any Since.
		fits := Filter{Since: minutesAfter(1000)}.Matches(r[0])
		if want := c.want == Active; fits != want {
			t.Errorf("%s: since: %v", c.name, fits)
		}
	}
}

// A parent's child is its last successor, and never itself.
func TestChild(t *testing.T) {
	r := slices.Collect(read(t, story(t,
		[3]string{"session_start", "a", `"session_id":"one","parent_id":"one"`},
		[3]string{"session_start", "a", `"session_id":"two","parent_id":"one"`},
		[3]string{"session_start", "a", `"session_id":"three","parent_id":"one"`},
		[3]string{"session_start", "a", `"session_id":"four","parent_id":"pruned"`},
	)).Sessions())
	got := ""
	for _, s := range r {
		got += fmt.Sprintf("%s<%s>%s ", s.ParentID, s.ID, s.ChildID)
	}
	if want := "pruned<four> one<three> one<two> one<one>three "; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestAbout(t *testing.T) {
	for _, c := range []struct {
		s    Session
		want string
	}{
		{Session{}, ""},
		{Session{Branch: "main"}, "(main)"},
		{Session{Topic: "cold-start", Branch: "main"}, "(main)"},
		{Session{Topic: "cold-start", Role: "mayor", Branch: "main"}, "cold-start (main)"},
		{Session{WorkUnit: "1fe2016d", Title: "Lamps"}, "Lamps"},
		{Session{Topic: "cold-start", Subject: "Port it", Branch: "main"}, "Port it (main)"},
		{Session{Topic: "handoff", Subject: "Port it", WorkUnit: "x-1"}, "Port it"},
		{Session{Topic: "assigned", WorkUnit: "x-1", Branch: "main"}, "x-1 (main)"},
		{Session{Topic: "handoff", Received: "Port it", Title: "Handoff: Port it", Prompt: "go on", Branch: "main"}, "Port it (main)"},
		{Session{Topic: "handoff:mol-1", Prompt: "go on"}, "go on"},
		{Session{Topic: "review", Received: "Port it", Subject: "Port the rest"}, "review: Port the rest"},
	} {
		if got := c.s.Headline(); got != c.want {
			t.Errorf("%+v: %q, not %q", c.s, got, c.want)
		}
	}
}

func TestFindAndShort(t *testing.T) {
	var events [][3]string
	ids := []string{"0198a1b2-aaaa", "0198a1b2-aabb", "0198a1b2-aabbcc", "short", "77777777777"}
	for _, id := range ids {
		events = append(events, [3]string{"session_start", "a", fmt.Sprintf(`"session_id":%q`, id)})
	}
	r := read(t, story(t, events...))
	short := r.IDShortener()
	want := []string{"0198a1b2-aaa", "0198a1b2-aabb", "0198a1b2-aabbc", "short", "77777777"}
	for i, id := range ids {
		if got := short(session.ID(id)); got != want[i] {
			t.Errorf("%s: %s, not %s", id, got, want[i])
		}
		if found := r.Find(short(session.ID(id))); len(found) != 1 || string(found[0].ID) != id {
			t.Errorf("%s: its short form finds %d", id, len(found))
		}
	}
	if n := len(r.Find("0198")); n != 3 {
		t.Errorf("0198 finds %d", n)
	}
	if n := len(r.Find("0198A1B2-A")); n != 3 {
		t.Errorf("in capitals it finds %d", n)
	}
	if found := r.Find("0198A1B2-AABB"); len(found) != 1 || found[0].ID != "0198a1b2-aabb" {
		t.Errorf("in capitals it finds %+v", found)
	}
	if n := len(r.Find("")) + len(r.Find("x")) + len(r.Find("SHORT")); n != 0 {
		t.Errorf("found %d", n)
	}
}

// Reading costs time by the log and memory by the sessions.
func BenchmarkRead(b *testing.B) {
	log := eventlog.Log(filepath.Join(b.TempDir(), ".events.jsonl"))
	var text strings.Builder
	for i := range 100_000 {
		id, ts := i%10_000, minutesAfter(i).Format(time.RFC3339)
		switch i / 10_000 {
		case 0:
			fmt.Fprintf(&text, `{"ts":%q,"source":"gt","type":"session_start","actor":"demo/crew/a%d","payload":{"session_id":"%08x-0000-4000-8000-000000000000","role":"crew","cwd":"/home/u/src/demo","agent":"claude","source":"startup","branch":"main"},"visibility":"feed"}`+"\n", ts, id%50, id)
		case 9:
			fmt.Fprintf(&text, `{"ts":%q,"source":"gt","type":"session_end","actor":"demo/crew/a%d","payload":{"session_id":"%08x-0000-4000-8000-000000000000","outcome":"done"},"visibility":"feed"}`+"\n", ts, id%50, id)
		default:
			fmt.Fprintf(&text, `{"ts":%q,"source":"gt","type":"patrol_started","actor":"demo/witness","payload":{"rig":"demo","polecat":"p%d"},"visibility":"feed"}`+"\n", ts, id)
		}
	}
	testenv.NoError(b, os.WriteFile(string(log), []byte(text.String()), 0o600))
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Read(log, nil)
		if err != nil || r.CountSessions() != 10_000 {
			b.Fatal(r.CountSessions(), err)
		}
		r.IDShortener()
	}
}
