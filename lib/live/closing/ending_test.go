package closing

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/handover"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

var testTime = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

// store returns a store with a running session s1.
func store(t *testing.T) session.Store {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"home", "town"} {
		testenv.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	h := home.NewHome(town.Town{Root: filepath.Join(dir, "town"), State: place.State(filepath.Join(dir, "state"))},
		identity.Identity{Role: identity.Crew, Rig: "gastown", Name: "max"}, filepath.Join(dir, "home"))
	testenv.NoError(t, h.Prepare())
	s := session.Store{Home: h, Warn: func(err error) {
		if err != nil {
			t.Error(err)
		}
	}}
	testenv.NoError(t, s.Put(&session.Record{ID: "s1", StartedAt: testTime}, atomicfile.Unsynced))
	testenv.NoError(t, keepalive.Touch(h, keepalive.Heartbeat{Timestamp: testTime, State: keepalive.Running, SessionID: "s1"}))
	return s
}

// Close closes the record and the keepalive file, once.
func TestClose(t *testing.T) {
	s, e := store(t), End{ID: "s1", Outcome: session.Killed, Reason: "stopped", At: testTime.Add(time.Minute)}
	testenv.NoError(t, e.Close(s, time.Second))
	r, err := s.Get("s1")
	if err != nil || !r.EndedAt.Equal(e.At) || r.Outcome != session.Killed || r.Reason != "stopped" {
		t.Errorf("%+v, %v", r, err)
	}
	if h := keepalive.Read(s.Home); h == nil || h.State != keepalive.Ended {
		t.Errorf("its sign of life is %+v", h)
	}
	again := e
	again.Outcome, again.At = session.Done, testTime.Add(time.Hour)
	if err := again.Close(s, time.Second); !errors.Is(err, session.ErrEnded) {
		t.Errorf("it ended again: %v", err)
	}
	if r, err = s.Get("s1"); err != nil || r.Outcome != session.Killed {
		t.Errorf("%+v, %v", r, err)
	}
	if err := (End{ID: "s2", Outcome: session.Done, At: testTime}).Close(s, time.Second); !errors.Is(err, session.ErrUnknown) {
		t.Errorf("a session that nobody knows ended: %v", err)
	}
}

// A session whose conversation goes on in another process is not ended by its client's
// report, but by any other.
func TestCloseCycle(t *testing.T) {
	s := store(t)
	r, err := s.Get("s1")
	testenv.NoError(t, err)
	r.Handoff = &handover.Handover{Kind: session.KindCycle, At: testTime}
	testenv.NoError(t, s.Put(r, atomicfile.Unsynced))
	for _, byClient := range []bool{true, false} {
		testenv.NoError(t, (End{ID: "s1", Outcome: session.Done, At: testTime, ByClient: byClient}).Close(s, time.Second))
		if r, err = s.Get("s1"); err != nil || r.Ended() == byClient {
			t.Errorf("by its client: %v, over: %v (%v)", byClient, r.Ended(), err)
		}
	}
}
