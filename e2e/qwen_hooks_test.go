//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A session of Qwen Code is told who it is, whole and once, headless and in front
// of a person, after /clear too; what is resumed is told no more than that. One
// that runs without a person is over when it has answered, though the client does
// not say so. A subagent is no session.
//
// S0-2 S0-10 S1-39 S1-62 S1-63
func TestQwenStart(t *testing.T) {
	w := newQwen(t)
	w.install("qwen")
	w.answers(190_000)
	w.longRole()
	w.headless("qwen", "-y", "-p", "the first prompt")
	w.toldOnce(w.asked("the first prompt"), "You work in "+strconv.Quote(w.project)+" on branch \"main\".", "ROLE-BEGIN", "ROLE-END", "gt-handoff -s SUBJECT")
	first := w.started()[0]
	w.waitFor("the session ended", func() bool { return w.record(first).Outcome == "done" })
	w.headless("qwen", "-y", "-p", "run: gt-checkpoint write --notes MIDDLE; gt-keepalive status --json; echo ID $QWEN_CODE_SESSION_ID.")
	second := w.started()[1]
	shown := w.model.Turns().Filter(func(r *model.Request) bool { return r.Result() != "" }).LastRequest().Result()
	if !strings.Contains(shown, "ID "+second+".") || !strings.Contains(shown, "MIDDLE") && !strings.Contains(shown, "checkpoint") {
		t.Errorf("a command of the model says\n%s", shown)
	}
	if n := w.asked("run: gt-checkpoint").Count("Crash recovery"); n != 0 {
		t.Error("a run that answered counts as a crash")
	}
	w.waitFor("the session ended", func() bool { return w.record(second).Outcome == "done" })
	for _, id := range []string{first, second} {
		w.oneEvent("session_end", id)
	}

	w.headless("qwen", "-y", "-r", first, "-p", "the resumed prompt")
	w.toldOnce(w.asked("the resumed prompt"), "Session resumed. Continue your previous task.")
	if n := w.asked("the resumed prompt").Count("ROLE-BEGIN"); n > 1 {
		t.Errorf("a session that is resumed has its start %d times", n)
	}
	w.headless("qwen", "-y", "-r", first, "-p", "resumed again")
	w.toldOnce(w.asked("resumed again"), "Session resumed. Continue your previous task.")

	p := w.open("q", "qwen", "-y", "-i", "in the pane")
	p.awaitScreen("ANSWER to in the pane")
	w.toldOnce(w.asked("in the pane"), "You work in "+strconv.Quote(w.project), "ROLE-BEGIN", "ROLE-END")
	w.toldOnce(p.tell("the next prompt"), "ROLE-BEGIN", "You work in "+strconv.Quote(w.project))
	third := w.latest()
	w.waitFor("the turn's end is noted", func() bool {
		return strings.Contains(w.read(w.runtime("keepalive.json")), `"state":"waiting"`)
	})
	if o := w.record(third).Outcome; o != "" {
		t.Errorf("in front of a person the session is over after a turn: %s", o)
	}
	p.enter("/clear")
	w.waitFor("the session is cleared", func() bool { return w.record(third).Outcome == "done" && w.latest() != third })
	w.toldOnce(p.tell("after the clearing"), "You work in "+strconv.Quote(w.project), "cleared on purpose", "ROLE-BEGIN", "ROLE-END")
	fourth := w.latest()
	if r := w.record(fourth); r.ParentID != third || r.Source != "clear" {
		t.Errorf("the record after /clear says %+v", r)
	}
	p.unharmed()
	p.enter("/quit")
	w.waitFor("the session ends", func() bool { return w.record(fourth).Outcome == "done" })

	before := len(w.started())
	w.model.Answer(func(r *model.Request) model.Reply {
		switch asked := r.Asked(); {
		case strings.Contains(asked, "delegate"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
				Name: "agent", Input: map[string]any{"description": "a child", "prompt": "You are the child: run it.", "subagent_type": "general-purpose"},
			}}}
		case strings.Contains(asked, "You are the child"):
			return shellCommand("echo E2E-OUTPUT")
		}
		return model.Say("It is done.")
	})
	w.headless("qwen", "-y", "-p", "delegate this")
	if n := len(w.started()); n != before+1 {
		t.Errorf("a session and its subagent are %d sessions", n-before)
	}
	w.waitFor("all have ended", func() bool {
		for _, r := range w.records() {
			if r.Outcome != "done" {
				return false
			}
		}
		return true
	})
	w.noHookErrors()
	if s := w.inSeance(fourth); s.Agent != "qwen" || s.Chain != third {
		t.Errorf("gt-seance lists it as %+v", s)
	}
}

// A compaction of Qwen Code, by itself or by a person, in a pane or headless, is
// preceded by one note; its summariser is told what to keep, and where the note
// is, in no more than it takes; and the session is told afterwards, once.
//
// S1-46 S1-47 S1-64 S1-65
func TestQwenCompaction(t *testing.T) {
	w := newQwen(t)
	w.install("qwen")
	w.answers(600_000)
	p := w.open("q", "qwen", "-y", "-i", "begin with FIRST-CANARY "+strings.Repeat("and a long request ", 60))
	p.awaitScreen("ANSWER to begin with")
	for i := range 3 {
		p.tell(fmt.Sprintf("short prompt %d", i))
	}
	p.tell("this is much")
	if n := len(w.notes()); n != 0 {
		t.Errorf("before the compaction there are %d notes", n)
	}
	check := func(notes int) {
		t.Helper()
		r := w.model.Requests().Kind(model.Compaction).LastRequest()
		if r == nil {
			t.Fatal("there was no compaction")
		}
		for _, text := range []string{"Keep in the summary, as exactly as they were said", "Everything from before the compaction is in `gt-mail read "} {
			if !strings.Contains(r.System+r.Text(), text) {
				t.Errorf("the summariser is not told %q:\n%.6000s", text, r.System)
			}
		}
		if n := len(w.notes()); n != notes {
			t.Errorf("there are %d notes, want %d", n, notes)
		}
	}
	p.tell("what compacts")
	check(1)
	// The client does not wait for what the start after a compaction says.
	w.toldOnce(p.tell("the next prompt"), "Context compacted. Continue your previous task.", "kept word for word")
	w.toldOnce(p.tell("the prompt after that"), "Context compacted.")
	p.tell("it is much again")
	p.enter("/compress")
	p.awaitScreen("compressed from")
	w.waitFor("there is a second note", func() bool { return len(w.notes()) == 2 })
	check(2)
	w.toldOnce(p.tell("after the person's own"), "Context compacted.")
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	p.unharmed()
	id := w.latest()
	p.enter("/quit")
	w.waitFor("the session ends", func() bool { return w.record(id).Outcome == "done" })

	w.headless("qwen", "-y", "-r", id, "-p", "/compress")
	check(3)
	w.headless("qwen", "-y", "-r", id, "-p", "headless afterwards")
	if n := w.asked("headless afterwards").Count("Context compacted."); n > 1 {
		t.Errorf("it is told %d times", n)
	}
	w.noHookErrors()
}

// A session of Qwen Code hands over to a fresh one in its pane, with its flags;
// it is listed and goes on; and one that is killed is recovered from.
//
// S1-9 S1-12 S1-15 S0-13 S0-37
func TestQwenHandover(t *testing.T) {
	w := newQwen(t)
	w.install("qwen")
	w.answers(190_000)
	w.handsOver("qwen", "--yolo", "-m", "another-model")
}
