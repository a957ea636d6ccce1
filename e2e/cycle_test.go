//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"gt/e2e/model"
)

// gt-handoff --cycle goes on with the same conversation in a new process.
//
// S1-64 S1-66 S1-74
func TestCycle(t *testing.T) {
	w := newWorld(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "please cycle") {
			return model.Bash("gt-handoff --cycle --reason compaction")
		}
		return model.Reply{}
	})
	p := w.claude("max")
	pid := p.pid()
	p.typ("good morning")
	id := w.asked("good morning").Session
	p.typ("please cycle")
	w.asked("please cycle")

	w.waitFor("a new process runs in the pane", func() bool { return p.pid() != pid })
	after := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return r.Count("please cycle") > 0 && r.Asked() != "" && !strings.Contains(r.Asked(), "please cycle")
		}).LastRequest()
	})
	if after == nil {
		t.Fatal("the conversation did not go on")
	}
	if after.Session != id || after.Count("good morning") != 1 {
		t.Errorf("what goes on is session %s, not %s, and knows of the morning %d times", after.Session, id, after.Count("good morning"))
	}
	w.oneDocument("after the cycle", after)
	if told := after.Told(); !strings.Contains(strings.ToLower(told), "continue your previous task") {
		t.Errorf("the model is not told to go on:\n%s", told)
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	w.oneEvent("session_start", id)
	if r := w.record(id); r.EndedAt != "" || r.PID != p.pid() {
		t.Errorf("the record says %+v, the client is process %d", r, p.pid())
	}
}
