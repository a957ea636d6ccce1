//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"gt/e2e/model"
)

// A client that is killed leaves its last checkpoint, which the next session
// is told of, once.
//
// S0-13 S0-15 S0-37 S0-40 S1-5 S1-82 S1-84 S1-85 S1-88
func TestCrash(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "start the work") {
			return model.Bash("echo changed >> README.md && gt-checkpoint write --step step-7 --notes 'CHECKPOINT-CANARY half of the lamp is done'")
		}
		return model.Reply{}
	})
	p := w.claude("max")
	p.typ("start the work")
	old := w.asked("start the work").Session
	w.waitFor("the turn is over", func() bool { return strings.Contains(p.screen(), "● ok") })
	p.awaitPrompt()
	checkpoint := w.runtime("checkpoint.json")
	w.waitFor("the checkpoint is written", func() bool { return exists(checkpoint) })
	p.crash()
	if text := w.read(checkpoint); !strings.Contains(text, "CHECKPOINT-CANARY") || !strings.Contains(text, "README.md") {
		t.Errorf("the checkpoint lost what the model noted, or what it changed:\n%s", text)
	}

	p = w.claude("again")
	p.typ("where are we?")
	first := w.asked("where are we?")
	fresh := first.Session
	for _, text := range []string{"CHECKPOINT-CANARY half of the lamp is done", "step-7"} {
		if n := first.Count(text); n != 1 {
			t.Errorf("the session after the crash is told %q %d times:\n%s", text, n, first.Told())
		}
	}
	p.typ("go on")
	if n := w.asked("go on").Count("CHECKPOINT-CANARY"); n != 1 {
		t.Errorf("one prompt later it is told %d times", n)
	}
	if r := w.record(old); r.Outcome != "crash" || r.EndedAt == "" || r.ChildID != fresh {
		t.Errorf("the record of the crashed session says %+v", r)
	}
	if r := w.record(fresh); r.ParentID != old || r.ChainID != old {
		t.Errorf("the record of the session after it says %+v", r)
	}
	if e := w.oneEvent("session_end", old); e.Payload.Outcome != "crash" {
		t.Errorf("session_end says %+v", e.Payload)
	}

	p.typ("/exit")
	w.waitFor("the session ends", func() bool { return w.record(fresh).Outcome == "done" })
	w.ask("a new day")
	if n := w.asked("a new day").Count("CHECKPOINT-CANARY"); n != 0 {
		t.Errorf("the session after a clean end is told of the crash %d times", n)
	}
	w.oneEvent("session_end", old)
}
