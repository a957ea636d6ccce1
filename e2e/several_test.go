//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

// Two clients in one directory never meet: each has its own id and record, and
// takes up its own hand-over.
//
// S0-1 S0-6 S1-43 S1-60 S1-69
func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "anne, please hand over") {
			return model.Bash("gt-handoff -s 'from anne' -m 'ANNE-CANARY'")
		}
		if strings.Contains(r.Asked(), "ben, please hand over") {
			return model.Bash("gt-handoff -s 'from ben' -m 'BEN-CANARY'")
		}
		return model.Reply{}
	})
	anne, ben := w.claude("anne"), w.claude("ben")
	anne.typ("I am anne")
	ben.typ("I am ben")
	a, b := w.asked("I am anne").Session, w.asked("I am ben").Session
	for _, s := range []struct {
		id string
		p  *pane
	}{{a, anne}, {b, ben}} {
		// The tmux session's name is noted at the end of the first turn.
		w.waitFor("the record knows its tmux session", func() bool { return w.record(s.id).TmuxSession != "" })
		r := w.record(s.id)
		if r.PID != s.p.pid() || r.TmuxPane != s.p.id || r.TmuxSession != s.p.session || r.ParentID != "" || r.ChainID != s.id || r.EndedAt != "" {
			t.Errorf("the record of %s in process %d says %+v", s.p.session, s.p.pid(), r)
		}
	}

	// Both at once, so that two markers lie side by side.
	anne.typ("anne, please hand over")
	ben.typ("ben, please hand over")
	successor := func(name string, canary, other string, old string) {
		t.Helper()
		r := w.model.Await(patience, func(all model.Requests) *model.Request {
			for _, r := range all.Kind(model.Turn) {
				if r.Session != a && r.Session != b && r.Count(canary) > 0 {
					return r
				}
			}
			return nil
		})
		if r == nil {
			t.Errorf("nobody took over from %s", name)
			return
		}
		if r.Count(canary) != 1 || r.Count(other) != 0 {
			t.Errorf("the successor of %s reads its note %d times, and the other's %d times", name, r.Count(canary), r.Count(other))
		}
		if rec := w.record(r.Session); rec.ParentID != old || rec.ChainID != old || rec.TmuxSession != name {
			t.Errorf("the record of %s's successor says %+v", name, rec)
		}
		w.waitFor(name+" is over", func() bool { return w.record(old).EndedAt != "" })
		if rec := w.record(old); rec.Outcome != "handoff" || rec.ChildID != r.Session {
			t.Errorf("the record of %s says %+v", name, rec)
		}
	}
	successor("anne", "ANNE-CANARY", "BEN-CANARY", a)
	successor("ben", "BEN-CANARY", "ANNE-CANARY", b)
	w.waitFor("the markers are consumed", func() bool { return len(w.markers()) == 0 })

	// A crash of the one is nobody else's.
	ben.awaitPrompt()
	anne.awaitPrompt()
	anne.crash()
	ben.typ("/clear")
	ben.typ("ben again")
	fresh := w.asked("ben again")
	if r := w.record(fresh.Session); r.ChainID != b {
		t.Errorf("after anne's crash and ben's /clear, ben's record says %+v", r)
	}
	if fresh.Count("ANNE-CANARY") > 0 {
		t.Errorf("ben reads anne's note after her crash")
	}
}

// A conversation that is continued stays one session; a fork and a child have
// ids of their own and take nothing from the session that they came from.
//
// S0-1 S0-6 S0-15 S0-26 S0-39 S0-40
func TestContinueForkChild(t *testing.T) {
	t.Parallel()
	t.Run("continue", func(t *testing.T) {
		w := newWorld(t)
		first := w.ask("hello")
		if r := w.ask("go on", "--continue"); r.SessionID != first.SessionID {
			t.Fatalf("--continue made session %s of %s", r.SessionID, first.SessionID)
		}
		w.oneEvent("session_start", first.SessionID)
		if all := w.records(); len(all) != 1 {
			t.Errorf("one conversation has %d records: %+v", len(all), all)
		}
		if r := w.record(first.SessionID); r.ParentID != "" || r.ChainID != first.SessionID || r.Outcome != "done" {
			t.Errorf("the record says %+v", r)
		}
	})

	t.Run("fork", func(t *testing.T) {
		w := newWorld(t)
		w.model.Answer(func(r *model.Request) model.Reply {
			if strings.Contains(r.Asked(), "note it") {
				return model.Bash("gt-handoff -s 'from the fork' -m 'FORK-CANARY'")
			}
			return model.Reply{}
		})
		first := w.ask("hello")
		was := w.record(first.SessionID)
		fork := w.ask("note it", "--resume", first.SessionID, "--fork-session")
		if fork.SessionID == first.SessionID {
			t.Fatal("the client did not fork")
		}
		r := w.record(fork.SessionID)
		if r.ParentID != "" && r.ParentID != first.SessionID {
			t.Errorf("the record of the fork says %+v", r)
		}
		w.oneEvent("session_start", fork.SessionID)
		w.oneEvent("session_start", first.SessionID)
		w.oneEvent("handoff", fork.SessionID)
		if n := len(w.events("handoff", first.SessionID)); n != 0 {
			t.Errorf("what the fork handed over is the original's in %d events", n)
		}
		if now := w.record(first.SessionID); now.Outcome != was.Outcome || now.PID != was.PID {
			t.Errorf("the fork changed the original's record from %+v to %+v", was, now)
		}
	})

	t.Run("child", func(t *testing.T) {
		w := newWorld(t)
		elsewhere := w.Path("elsewhere")
		w.write(filepath.Join(elsewhere, "file"), "")
		w.trust(w.project, elsewhere)
		w.model.Answer(func(r *model.Request) model.Reply {
			switch {
			case strings.Contains(r.Asked(), "ask two children"):
				return model.Bash("claude -p 'I am a child' && cd " + quote(elsewhere) + " && claude -p 'I am a far child'")
			case strings.Contains(r.Asked(), "please hand over"):
				return model.Bash("gt-handoff -s 'from the parent' -m 'PARENT-CANARY'")
			}
			return model.Reply{}
		})
		p := w.claude("max")
		p.typ("ask two children")
		parent := w.asked("ask two children").Session
		child, far := w.asked("I am a child").Session, w.asked("I am a far child").Session
		w.waitFor("the far child is over", func() bool { return len(w.events("session_end", far)) > 0 })

		if r := w.record(child); r.ParentID != "" || r.ChainID != child || r.Outcome != "done" {
			t.Errorf("the record of a child of a live session says %+v", r)
		}
		if _, ok := w.records()[far]; ok {
			t.Error("the record of a child in another folder lies in the parent's")
		}
		if !exists(w.kept(elsewhere, "sessions", far+".json")) {
			t.Error("a child in another folder has no record there")
		}
		if r := w.record(parent); r.EndedAt != "" || r.PID != p.pid() {
			t.Errorf("with its children gone the parent's record says %+v", r)
		}

		// The parent is still itself. What is typed before its turn is over
		// would be part of that turn.
		w.waitFor("the parent's turn is over", func() bool { return strings.Contains(p.screen(), "● ok") })
		p.typ("please hand over")
		first := w.model.Await(patience, func(all model.Requests) *model.Request {
			return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
				return r.Session != parent && r.Count("PARENT-CANARY") > 0
			}).LastRequest()
		})
		if first == nil {
			t.Fatal("nobody took over from the parent")
		}
		w.oneEvent("handoff", parent)
		if r := w.record(first.Session); r.ParentID != parent || r.ChainID != parent {
			t.Errorf("the record of the parent's successor says %+v", r)
		}
	})
}
