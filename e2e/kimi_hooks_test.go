//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gt/e2e/model"
)

// kimi opens a Kimi Code in a pane of its own.
func (w *world) kimi(session string, flags ...string) *pane {
	w.Helper()
	p := w.open(session, append([]string{"kimi", "--yolo"}, flags...)...)
	p.awaitScreen("│ > ")
	return p
}

// A session of Kimi Code is told who it is with its first prompt, whole and once, headless
// and in front of a person, after /new too; what is resumed is told no more than that. One
// that runs without a person is over when it has answered, though the client does not say
// so. A subagent is no session, and neither is a fork that the person makes aside. What is
// taken out of its settings leaves them as they were.
//
// S0-2 S0-10 S1-10 S1-39 S1-62 S1-63
func TestKimiStart(t *testing.T) {
	w := newKimi(t)
	settings := filepath.Join(w.home, ".kimi-code", "config.toml")
	before := w.read(settings)
	w.install("kimi")
	w.longRole()
	w.headless("kimi", "-p", "the first prompt")
	w.toldOnce(w.asked("the first prompt"), "You work in "+strconv.Quote(w.project)+" on branch \"main\".", "ROLE-BEGIN", "ROLE-END", "gt-handoff -s SUBJECT")
	first := w.started()[0]
	w.waitFor("the session ended", func() bool { return w.record(first).Outcome == "done" })
	w.headless("kimi", "-p", "run: gt-checkpoint write --notes MIDDLE; gt-keepalive show --json")
	second := w.started()[1]
	if said := w.model.Turns().LastRequest().Result(); !strings.Contains(said, second) {
		t.Errorf("a command of the model says\n%s", said)
	}
	if n := w.asked("run: gt-checkpoint").Count("Crash recovery"); n != 0 {
		t.Error("a run that answered counts as a crash")
	}
	w.waitFor("the session ended", func() bool { return w.record(second).Outcome == "done" })
	w.headless("kimi", "-S", first, "-p", "the resumed prompt")
	w.toldOnce(w.asked("the resumed prompt"), "Session resumed. Continue your previous task.", "ROLE-BEGIN")
	w.headless("kimi", "-p", "delegate this")
	if n := len(w.started()); n != 3 {
		t.Errorf("a session and its subagent are %d sessions", n-2)
	}

	p := w.kimi("k")
	w.toldOnce(p.kimiTell("in the pane"), "You work in "+strconv.Quote(w.project), "ROLE-BEGIN", "ROLE-END")
	w.toldOnce(p.kimiTell("the next prompt"), "ROLE-BEGIN", "You work in "+strconv.Quote(w.project))
	third := w.latest()
	w.waitFor("the turn's end is noted", func() bool {
		return strings.Contains(w.read(w.runtime("keepalive.json")), `"state":"waiting"`)
	})
	if o := w.record(third).Outcome; o != "" {
		t.Errorf("in front of a person the session is over after a turn: %s", o)
	}
	p.kimi("/fork", "Session forked")
	p.kimiTell("after the fork")
	if n := len(w.started()); n != 4 || w.latest() != third || w.record(third).Outcome != "" {
		t.Errorf("a fork aside makes %d sessions of 4, the latest %s", n, w.latest())
	}
	p.kimi("/new", "Started a new session")
	w.toldOnce(p.kimiTell("after the clearing"), "You work in "+strconv.Quote(w.project), "cleared on purpose", "ROLE-BEGIN", "ROLE-END")
	fourth := w.latest()
	if r := w.record(fourth); r.ParentID != third || r.Source != "clear" {
		t.Errorf("the record after /new says %+v", r)
	}
	p.kimi("/exit", "")
	w.waitFor("the session ends", func() bool { return w.record(fourth).Outcome == "done" })
	w.noHookErrors()
	if s := w.inSeance(fourth); s.Agent != "kimi" || s.Chain != third {
		t.Errorf("gt-seance lists it as %+v", s)
	}
	w.gt("gt-hooks", "uninstall", "kimi")
	if after := w.read(settings); after != before {
		t.Errorf("the settings were:\n%s\nand are:\n%s", before, after)
	}
}

// A compaction of Kimi Code, by a person or by itself, is preceded by one note, and the
// session is told afterwards, once.
//
// S1-46 S1-47 S1-64 S1-65
func TestKimiCompaction(t *testing.T) {
	w := newKimi(t)
	w.install("kimi")
	p := w.kimi("k")
	p.kimiTell("FIRST-CANARY prompt")
	p.kimi("/compact", "Compaction complete")
	w.waitFor("there is a note", func() bool { return len(w.notes()) == 1 })
	w.toldOnce(p.kimiTell("the next prompt"), "Context compacted. Continue your previous task.", "kept word for word")
	w.toldOnce(p.kimiTell("the prompt after that"), "Context compacted.")
	p.kimiTell("this is much")
	p.kimi("what compacts", "ANSWER to the same after a compaction")
	w.waitFor("there is a second note", func() bool { return len(w.notes()) == 2 })
	w.toldOnce(p.kimiTell("after its own"), "Context compacted.")
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	id := w.latest()
	p.kimi("/exit", "")
	w.waitFor("the session ends", func() bool { return w.record(id).Outcome == "done" })
	w.noHookErrors()
}

// A session of Kimi Code hands over to a fresh one in its pane, whose first prompt is typed;
// it is listed and goes on; and one that is killed is recovered from.
//
// S1-9 S1-12 S1-15 S0-13 S0-37
func TestKimiHandover(t *testing.T) {
	w := newKimi(t)
	w.install("kimi")
	w.open("keep", "sleep", "1000") // else tmux ends with the client
	note := w.Path("note")
	w.write(note, "next: NOTE-CANARY the other half\n")
	p := w.kimi("h")
	p.kimiTell("the first prompt")
	first, before := w.started()[0], p.get("#{pane_pid}")
	// The successor asks: a hand-over cannot know that its predecessor did not.
	p.kimi("run: gt-handoff -s 'half is done' -m - <"+note, "ANSWER to Handoff: half is done")
	w.waitFor("the pane has a fresh client", func() bool { return p.get("#{pane_pid}") != before })
	r := w.asked("Go on from the note.")
	w.toldOnce(r, "Handoff complete: you are the new session", "NOTE-CANARY the other half")
	if n := len(r.Msgs); n > 1 {
		t.Errorf("the successor has its predecessor's conversation:\n%.3000s", r.Text())
	}
	w.waitFor("two sessions are known", func() bool { return len(w.started()) == 2 })
	second := w.started()[1]
	w.waitFor("the first handed over", func() bool { return w.record(first).Outcome == "handoff" })
	if r := w.record(second); r.ParentID != first || r.ChainID != first {
		t.Errorf("the successor's record says %+v", r)
	}
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	w.toldOnce(p.kimiTell("what now"), "NOTE-CANARY the other half")
	if s := w.inSeance(second); s.Agent != "kimi" || s.Chain != first || s.Parent != first || s.Outcome != "active" {
		t.Errorf("gt-seance lists the successor as %+v", s)
	}

	pid := w.record(second).PID
	syscall.Kill(-p.pid(), syscall.SIGKILL) // what is left of it could end the session in order
	w.tmuxOutput("kill-session", "-t", "=h")
	w.waitFor("it is gone", func() bool { return !exists(fmt.Sprintf("/proc/%d", pid)) })
	p = w.kimi("c")
	w.toldOnce(p.kimiTell("where are we"), "Crash recovery")
	third := w.started()[2]
	if s := w.inSeance(third); s.Parent != second || s.Chain != first {
		t.Errorf("gt-seance lists who recovered as %+v", s)
	}
	p.kimi("/exit", "")
	w.waitFor("the session ends", func() bool { return w.record(third).Outcome == "done" })

	p = w.open("r", "gt-seance", "resume", second)
	r = p.kimiTell("on we go")
	w.toldOnce(r, "Session resumed.")
	if r.Count("Go on from the note.") == 0 {
		t.Errorf("what was said before the crash is gone:\n%.3000s", r.Text())
	}
	w.oneEvent("session_resume", second)
	w.noHookErrors()
}

// A conversation of Kimi Code goes on in a new process in its pane, and is told so once.
//
// S1-73 S1-74
func TestKimiCycle(t *testing.T) {
	w := newKimi(t)
	w.install("kimi")
	w.open("keep", "sleep", "1000")
	p := w.kimi("c")
	p.kimiTell("FIRST-CANARY prompt")
	id, before := w.latest(), p.get("#{pane_pid}")
	p.kimi("run: gt-handoff --cycle", "Context compacted.")
	w.waitFor("the pane has a fresh client", func() bool { return p.get("#{pane_pid}") != before })
	var r *model.Request
	w.waitFor("it is told", func() bool {
		r = w.model.Turns().LastRequest()
		return r.Count("What was saved before the compaction is kept word for word") == 1
	})
	if r.Count("FIRST-CANARY") == 0 {
		t.Errorf("the conversation does not go on:\n%.3000s", r.Text())
	}
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	if ids := w.started(); len(ids) != 1 || w.latest() != id {
		t.Errorf("the sessions are %q, the latest %s, want %s", ids, w.latest(), id)
	}
	w.noHookErrors()
}

// A person types /handoff in Kimi Code.
func TestKimiCommand(t *testing.T) {
	w := newKimi(t)
	commandStory(w, "kimi", "/handoff", func(_ *model.Request, c string) model.Reply { return model.Bash(c) },
		func() *pane {
			p := w.kimi("k")
			p.kimiTell("please begin")
			return p
		}, func(p *pane, line string) { p.kimi(line, "SUBJECT-CANARY") })
	if _, err := os.Stat(filepath.Join(w.home, ".kimi-code", "skills", "handoff", "SKILL.md")); err != nil {
		t.Error(err)
	}
}
