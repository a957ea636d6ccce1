//go:build e2e

package e2e

import "testing"

// /clear begins a new session in the same process; it is the next one of the
// same chain, and starts with the whole start-up text.
//
// S0-6 S0-9 S0-40 S1-48
func TestClear(t *testing.T) {
	w := newWorld(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	p := w.claude("max")
	p.typ("good morning")
	old := w.asked("good morning").Session
	w.waitFor("the session has its record, and its turn is over", func() bool { return w.records()[old].TmuxSession != "" })
	pid := w.record(old).PID
	if pid != p.pid() {
		t.Errorf("the record says process %d, the client is %d", pid, p.pid())
	}

	p.typ("/clear")
	w.waitFor("another session starts", func() bool { return len(w.records()) == 2 })
	p.typ("good evening")
	first := w.asked("good evening")
	fresh := first.Session
	if fresh == old {
		t.Fatal("the client did not begin a new session")
	}
	w.oneDocument("after /clear", first)
	if got := w.latest(); got != fresh {
		t.Errorf("session_id says %s, want %s", got, fresh)
	}

	r := w.record(fresh)
	if r.ParentID != old || r.ChainID != old || r.PID != pid || r.TmuxSession != "max" || r.TmuxPane != p.id || r.EndedAt != "" {
		t.Errorf("the new record says %+v", r)
	}
	if r := w.record(old); r.ChildID != fresh || r.Outcome != "done" || r.EndedAt == "" {
		t.Errorf("the old record says %+v", r)
	}
	if e := w.oneEvent("session_start", fresh); e.Payload.ParentID != old || e.Payload.ChainID != old || e.Payload.Source != "clear" {
		t.Errorf("session_start says %+v", e.Payload)
	}
	w.oneEvent("session_end", old)

	p.typ("/exit")
	w.waitFor("the new session ends", func() bool { return w.record(fresh).Outcome == "done" })
	w.oneEvent("session_end", fresh)
}
