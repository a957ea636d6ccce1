package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/instance"
)

var testTime = time.Date(2026, 1, 17, 6, 0, 0, 0, time.UTC)

func hosts(t *testing.T) (Hosts, place.State) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	return NewHosts(place.State(root)), place.State(root)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// An agent of another host is what its line says if the host was heard lately, otherwise
// nothing is known of what it does. Lines that are no agent's are left out.
func TestAgents(t *testing.T) {
	h, _ := hosts(t)
	box := Host{Name: "box", LastSeen: testTime.Add(-time.Minute)}
	if all, err := h.Agents(box, testTime); err != nil || all != nil {
		t.Errorf("without a file: %v, %v", all, err)
	}
	lines := []string{
		`{"name":"api","status":"running","reason":"x","session_id":"s1","path":"/x","pane":"%3","host":"lies"}`,
		`{"name":"web","status":"stopped"}`, `{"name":"away","status":"stopped","archived_at":"2026-01-02T03:04:05Z"}`, `{"name":"odd","status":"on fire"}`,
		`{"name":"../etc","status":"running"}`, `{"name":7}`, `{"name":"torn"`, ``, `null`, `[]`,
		`{"name":"long","title":"` + strings.Repeat("x", maxLine) + `"}`,
		`{"name":"old","status":"running","title":7}`,
	}
	path := h.Path("box", "instances.jsonl")
	write(t, path, strings.Join(lines, "\n"))
	for away, want := range map[time.Duration]string{0: "api running web stopped odd unknown", time.Hour: "api unknown web unknown odd unknown", -time.Hour: "api unknown web unknown odd unknown"} {
		all, err := h.Agents(box, testTime.Add(away))
		testenv.NoError(t, err)
		var got []string
		for _, a := range all {
			if got = append(got, a.Name, a.Status); a.Host != "box" || away != 0 && (a.Reason != "" || a.Runs()) {
				t.Errorf("%+v", a)
			}
		}
		if fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("after %v: %v", away, got)
		}
	}
	write(t, path, strings.Repeat(`{"name":"api"}`+"\n", mostLines+1))
	if all, err := h.Agents(box, testTime); err != nil || len(all) != mostLines {
		t.Errorf("%d agents, %v", len(all), err)
	}
	write(t, path, strings.Repeat("x", maxAgents+1))
	if _, err := h.Agents(box, testTime); err == nil {
		t.Error("a file without end was read")
	}
	testenv.NoError(t, os.Remove(path))
	write(t, h.Path("box", "real"), lines[0])
	testenv.NoError(t, os.Symlink("real", path))
	if all, err := h.Agents(box, testTime); err == nil {
		t.Errorf("through a link: %v", all)
	}
}

// Logs are the host's own and those of its towns, never through a link.
func TestLogs(t *testing.T) {
	h, state := hosts(t)
	write(t, h.Path("box", "towns", "gas-1", logName), "")
	write(t, h.Path("box", "towns", "file"), "")
	testenv.NoError(t, os.Symlink(string(state), h.Path("box", "towns", "link")))
	logs, err := h.Logs("box")
	if got, want := strings.Join(logs, " "), h.Path("box", logName)+" "+h.Path("box", "towns", "gas-1", logName); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestStale(t *testing.T) {
	for _, c := range []struct {
		heard, current time.Duration
		want           string
	}{
		{-time.Minute, -time.Minute, ""},
		{-3*time.Hour - 20*time.Minute - 3*time.Second, 0, "last seen 3h20m ago"},
		{-50*time.Hour - time.Minute, 0, "last seen 2d2h ago"},
		{time.Hour, 0, "last seen 0s ago"},
		{-time.Minute, -2 * time.Hour, "its log as it was 2h ago"},
	} {
		h := Host{LastSeen: testTime.Add(c.heard), Current: testTime.Add(c.current)}
		if got := h.Stale(testTime); got != c.want {
			t.Errorf("%v, %v: %q, not %q", c.heard, c.current, got, c.want)
		}
	}
	if got := (Host{}).Stale(testTime); got != "never seen" {
		t.Error(got)
	}
}

// A letter lies in its host's folder under a name that says when it was written.
func TestOutbox(t *testing.T) {
	h, state := hosts(t)
	o := OutboxOf(state)
	first, err := o.Put("box", Note, []byte("one"), testTime)
	testenv.NoError(t, err)
	second, err := o.Put("box", Work, []byte("two"), testTime.Add(time.Second))
	testenv.NoError(t, err)
	if !first.Sent().Equal(testTime) || !second.Sent().Equal(testTime.Add(time.Second)) {
		t.Errorf("sent at %v, %v", first.Sent(), second.Sent())
	}
	write(t, o.Path(Letter{"box", "no-id", Note}), "")
	write(t, h.Path("box", "x"), "")
	all, err := o.ReadLetters()
	if err != nil || len(all) != 2 || all[0] != first || all[1] != second {
		t.Errorf("%v, %v", all, err)
	}
	if err := o.Remove(first); err != nil {
		t.Error(err)
	}
	for _, to := range []string{"", "../x", "BOX", "a..b"} {
		if _, err := o.Put(to, Note, nil, testTime); err == nil {
			t.Errorf("a letter for %q", to)
		}
	}
	if _, err := o.Put("box", Note, make([]byte, MaxLetter+1), testTime); err == nil {
		t.Error("a letter without end")
	}
}

// TestClaims shows that another host can claim only what left this one, and nothing once it is
// back.
func TestClaims(t *testing.T) {
	state := place.State(filepath.Join(t.TempDir(), "gt"))
	hosts := NewHosts(state)
	here := &instance.Instance{ID: "0b1c2d3e-0000-4000-8000-000000000001"}
	if all, err := hosts.Depart(here, 1); err != nil || all != nil {
		t.Errorf("in no fleet: %v, %v", all, err)
	}
	seed := func(s string) {
		t.Helper()
		testenv.NoError(t, state.Prepare(state.Path("relay")))
		testenv.NoError(t, os.WriteFile(state.Path("relay", "keys.json"), []byte(`{"seed":"`+s+`"}`), 0o600))
	}
	seed("SUA")
	left, err := hosts.Depart(here, 1)
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	says := func(agents ...Agent) {
		t.Helper()
		var lines []byte
		for _, a := range agents {
			data, err := json.Marshal(a)
			testenv.NoError(t, err)
			lines = append(append(lines, data...), '\n')
		}
		testenv.NoError(t, hosts.Put(Host{Name: "box", Key: "U1"}))
		testenv.NoError(t, os.WriteFile(hosts.Path("box", "instances.jsonl"), lines, 0o600))
	}
	moved := func(generation int) string {
		t.Helper()
		claims, err := hosts.Claims()
		testenv.NoError(t, err)
		in := &instance.Instance{ID: here.ID, Generation: generation}
		if MarkMoved(in, claims); in.Moved == nil {
			return ""
		}
		return in.Moved.To
	}
	its := Agent{ID: string(here.ID), Name: "api", Departures: left}
	says(its)
	if got := moved(0); got != "box" {
		t.Errorf("it is at %q", got)
	}
	if got := moved(2); got != "" {
		t.Errorf("it came back, and is at %q", got)
	}
	testenv.NoError(t, hosts.SetOwn(Host{Name: "laptop", Key: "U2"}))
	other := hosts.Show(left) // of another host
	testenv.NoError(t, hosts.SetOwn(Host{Name: "laptop", Key: "U1"}))
	its.Departures = hosts.Show(left)
	if says(its); moved(0) != "box" || its.Departures[0].Proof == left[0].Proof {
		t.Errorf("what box shows proves nothing: it is at %q", moved(0))
	}
	for what, a := range map[string]Agent{
		"another host's":   {ID: its.ID, Departures: other},
		"more moves":       {ID: its.ID, Departures: []instance.Departure{{Moves: 9, Proof: left[0].Proof}}},
		"no proof":         {ID: its.ID, Departures: []instance.Departure{{Moves: 1}}},
		"another instance": {ID: "0b1c2d3e-0000-4000-8000-000000000002", Departures: left},
		"it moved on":      {ID: its.ID, Departures: left, Moved: &instance.Moved{To: "x"}},
		"too many":         {ID: its.ID, Departures: append(make([]instance.Departure, MostDepartures), left...)},
	} {
		if says(a); moved(0) != "" {
			t.Errorf("%s: claimed", what)
		}
	}
	says(its)
	testenv.NoError(t, hosts.SetTrust("box", Trust{Key: "U1", Revoked: true}))
	if got := moved(0); got != "" {
		t.Errorf("a blocked host has it: %q", got)
	}
	testenv.NoError(t, hosts.SetTrust("box", Trust{Key: "U1"}))
	seed("SUB") // of another host
	if got := moved(0); got != "" {
		t.Errorf("another host's instance is at %q", got)
	}
}

// TestUnasked shows that an answer is kept only while somebody waits for it.
func TestUnasked(t *testing.T) {
	_, state := hosts(t)
	results, out := ResultsOf(state), OutboxOf(state)
	l, err := out.NewLetter("box", Command, testTime)
	testenv.NoError(t, err)
	testenv.NoError(t, results.Put("box", Answer{To: l.ID, Stdout: "unasked"}))
	if results.Open("box") {
		t.Error("a question is open")
	}
	testenv.NoError(t, results.Expect(l))
	testenv.NoError(t, results.Put("desk", Answer{To: l.ID, Stdout: "of another host"}))
	testenv.NoError(t, results.Put("box", Answer{To: l.ID, Stdout: "asked"}))
	if !results.Open("box") || results.Open("desk") {
		t.Error("the question is not open, or another one is")
	}
	if a, err := Await(t.Context(), state, Host{Name: "box"}, l); err != nil || a.Stdout != "asked" {
		t.Errorf("%+v, %v", a, err)
	}
	if entries, err := os.ReadDir(state.Path("relay", "results", "box")); err != nil || len(entries) > 0 || results.Open("box") {
		t.Errorf("%v is left, %v", entries, err)
	}
}

// TestWayOn shows which command goes on with a move, or brings a session back.
func TestWayOn(t *testing.T) {
	h, state := hosts(t)
	in := &instance.Instance{Name: "api", Moved: &instance.Moved{Parcel: "p1", To: "box"}}
	const goesOn, back = "gt-session move api --to box goes on with it", "on box, gt-session move api --to lap brings it back"
	want := func(want string) {
		t.Helper()
		if got := h.WayOn(in); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		h.Underway(in)
		listed := "moving to box"
		if want == back {
			listed = "moved to box"
		} else if in.Moved.Waits {
			listed += " (waits)"
		}
		if got := in.Moved.String(); got != listed {
			t.Errorf("%q, not %q", got, listed)
		}
	}
	want("") // in no fleet
	testenv.NoError(t, h.SetOwn(Host{Name: "lap"}))
	want("") // no such host
	testenv.NoError(t, h.Put(Host{Name: "box"}))
	want(goesOn)
	in.Moved.Complete = true
	want(back)
	out := OutboxOf(state)
	l, err := out.Put("box", Session, []byte("parcel"), testTime)
	testenv.NoError(t, err)
	testenv.NoError(t, out.RecordMove(l, in.Name, in.Moved.Parcel))
	want(goesOn) // box does not have it yet
	testenv.NoError(t, out.Remove(l))
	want(back)
}

// renames is a context that ends once a host was renamed.
type renames struct {
	context.Context
	rename func()
}

func (r renames) Err() error { r.rename(); return context.Canceled }

// TestRenamedMeanwhile shows that a command is taken back, and an answer found, under the name
// that a host was given since.
func TestRenamedMeanwhile(t *testing.T) {
	h, state := hosts(t)
	box := Host{Name: "box", Key: "U1"}
	testenv.NoError(t, h.Put(box))
	out := OutboxOf(state)
	l, err := out.Put("box", Session, []byte("parcel"), testTime)
	testenv.NoError(t, err)
	testenv.NoError(t, ResultsOf(state).Expect(l))
	ctx := renames{t.Context(), func() { testenv.NoError(t, h.Rename(box, "desk", testTime)) }}
	if _, err := Call(ctx, state, box, Ask{Command: "stop", Name: "api"}, testTime); !errors.Is(err, ErrUndelivered) {
		t.Error(err)
	}
	if all, err := out.ReadLetters(); err != nil || len(all) != 1 || all[0] != (Letter{"desk", l.ID, Session}) {
		t.Errorf("%+v wait, %v", all, err)
	}
	testenv.NoError(t, ResultsOf(state).Put("desk", Answer{To: l.ID, Stdout: "it runs"}))
	if a, err := Await(t.Context(), state, box, l); err != nil || a.Stdout != "it runs" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRename shows that a host that is renamed in the middle of a move has the new name
// everywhere, and that the move and its command go on.
func TestRename(t *testing.T) {
	h, state := hosts(t)
	store := instance.Personal(state, "")
	in := &instance.Instance{Name: "api", Path: string(state), Agent: "claude", Moved: &instance.Moved{Parcel: "p1", To: "box", Complete: true}}
	testenv.NoError(t, store.Create(in, testTime))
	box := Host{Name: "box", Key: "U1"}
	testenv.NoError(t, h.Put(box))
	out := OutboxOf(state)
	l, err := out.Put("box", Session, []byte("parcel"), testTime)
	if err == nil {
		err = out.RecordMove(l, in.Name, "p1")
	}
	if err == nil {
		err = out.SetTries("1795712515.M155504R00000001.x", Tries{Tries: []Try{{Host: "box", Key: "U1"}, {Host: "c", Key: "U2"}}, Late: "box"})
	}
	testenv.NoError(t, err)
	answered := make(chan error)
	go func() {
		a, err := Await(t.Context(), state, box, l)
		if err == nil && a.Stdout != "it runs" {
			err = fmt.Errorf("%+v", a)
		}
		answered <- err
	}()
	testenv.NoError(t, h.Rename(box, "desk", testTime))
	testenv.NoError(t, ResultsOf(state).Put("desk", Answer{To: l.ID, Stdout: "it runs"}))
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the move waits for the old name")
	}
	if in, err = store.Get(in.ID); err != nil || in.Moved.To != "desk" {
		t.Errorf("it moves to %+v, %v", in.Moved, err)
	}
	if _, waits, err := out.MovingTo("desk", "p1"); err != nil || !waits {
		t.Errorf("the parcel waits: %v, %v", waits, err)
	}
	if tries, err := out.Tries("1795712515.M155504R00000001.x"); err != nil || tries.Late != "desk" || tries.Tries[0].Host != "desk" || tries.Tries[1].Host != "c" {
		t.Errorf("%+v, %v", tries, err)
	}
	if all, err := h.ReadHosts(); err != nil || len(all) != 1 || all[0].Name != "desk" || all[0].Key != "U1" {
		t.Errorf("%+v, %v", all, err)
	}
}
