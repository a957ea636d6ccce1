//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

func pluggedCline(t *testing.T) *plugged {
	t.Helper()
	w := newCline(t)
	w.model.Answer(lighthouse)
	w.install("cline")
	return &plugged{
		world: w, name: "cline", hook: filepath.Join(w.home, ".cline", "plugins", "gt.js"), projectHook: ".cline/plugins/gt.js",
		ask: func(prompt string, flags ...string) {
			if !strings.Contains(prompt, " ") {
				prompt = "I say " + prompt // a single word would be a command
			}
			w.headless("cline", append(flags, prompt)...)
		},
		openPane: func(session string, flags ...string) *pane {
			p := w.open(session, append([]string{"cline", "--tui"}, flags...)...)
			p.awaitScreen("(Shift+Tab)")
			return p
		},
		typ: (*pane).cline, compacted: "Compacted",
	}
}

func TestClineHooks(t *testing.T) {
	tellPluggedStories(t, pluggedCline, "compaction") // see TestClineCompaction
}

// Cline tells nobody before a compaction. The next request shows it: then the note is
// saved from the conversation, which is still whole, and the session is told, once. What is
// resumed or cleared is told who it is, a subagent is no session, and what is taken out
// leaves no file.
//
// S1-46 S1-47 S1-62 S1-64
func TestClineCompaction(t *testing.T) {
	w := newCline(t)
	w.install("cline")
	w.role("You keep the lighthouse. ROLE-CANARY")
	p := w.open("c", "cline", "--tui")
	tell := func(line string) *model.Request {
		p.cline(line, "ANSWER to "+line)
		return w.asked(line)
	}
	w.toldOnce(tell("FIRST-CANARY prompt"), "You work in ", "ROLE-CANARY")
	tell("a second prompt")
	first := w.latest()
	p.cline("/compact", "Context compacted (manual)")
	w.waitFor("the model has summed up", func() bool { return len(w.model.Requests().Kind(model.Compaction)) == 1 })
	// What takes longer than Cline waits for a hook comes with the next request of the turn: the
	// first is answered once the session has taken its note.
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "the next prompt") {
			w.waitFor("the note is taken", func() bool { return len(w.events("handoff", first)) == 1 && len(w.markers()) == 0 })
		}
		return clineModel(r)
	})
	p.cline("run: echo the next prompt", "It is done.")
	w.toldOnce(w.model.Turns().LastRequest(), "Context compacted. Continue your previous task.", "kept word for word")
	w.waitFor("there is a note", func() bool { return len(w.notes()) == 1 && strings.Contains(w.notes()[0], "FIRST-CANARY") })
	w.toldOnce(tell("the prompt after that"), "Context compacted.")
	p.cline("delegate this", "It is done.")
	if r := w.asked("You are the child."); r.Count("ROLE-CANARY") > 0 {
		t.Errorf("the subagent is told who it is:\n%.3000s", r.Text())
	}
	if n := len(w.started()); n != 1 {
		t.Errorf("they are %d sessions", n)
	}
	p.cline("/clear", "What can I do for you?")
	w.toldOnce(tell("after the clearing"), "You work in ", "ROLE-CANARY", "cleared on purpose")
	second := w.latest()
	if r := w.record(second); r.ParentID != first || r.Source != "clear" && r.Source != "startup" {
		t.Errorf("the record after /clear says %+v", r)
	}
	w.open("keep", "sleep", "1000") // else tmux ends with the client
	p.cline("/quit", "")
	w.waitFor("the session ends", func() bool { return w.record(second).Outcome == "done" })
	w.waitFor("the client is gone", func() bool { return !strings.Contains(w.tmux("list-panes", "-a", "-F", "#{pane_id} "), p.id+" ") })
	p = w.open("r", "gt-seance", "resume", second)
	r := tell("on we go")
	w.toldOnce(r, "Session resumed.", "ROLE-CANARY")
	if r.Count("after the clearing") == 0 {
		t.Errorf("what was said before is gone:\n%.3000s", r.Text())
	}
	w.noHookErrors()
	w.gt("gt-hooks", "uninstall", "cline")
	if exists(filepath.Join(w.home, ".cline", "plugins", "gt.js")) || exists(filepath.Join(w.home, ".cline", "workflows", "handoff.md")) {
		t.Error("gt's files are still there")
	}
}

// What Cline asks its person is answered by gt-session: its model's question, which a hook
// tells, and whether it may run a command, which only the screen shows.
//
// S2-6 S2-7
func TestClineAsks(t *testing.T) {
	w := newCline(t)
	w.wireAgent("cline")
	w.model.Answer(func(r *model.Request) model.Reply {
		switch {
		case r.Result() != "":
			return model.Say("It is done.")
		case strings.Contains(r.Asked(), "please ask"):
			return model.Reply{Text: "I ask.", Tools: []model.ToolUse{{
				Name: "ask_question", Input: map[string]any{"question": "Which colour?", "options": []string{"Red", "Blue"}},
			}}}
		case strings.Contains(r.Asked(), "please run"):
			return clineShell("touch made")
		}
		return model.Say("It is done.")
	})
	a := w.agents()
	is := func(reason string) {
		t.Helper()
		w.waitFor("it is waiting "+reason, func() bool { now := a.findListed("api"); return now.Status == "waiting" && now.Reason == reason })
	}
	a.session("new", "-n", "api", "-a", "cline", "-m", "are you there?", "--", "--auto-approve", "false")
	w.asked("are you there?")
	is("done")
	a.session("send", "api", "please ask me")
	is("question")
	a.pane("api").awaitScreen("Type a response")
	a.exits(75, "send", "api", "and more")
	if out := a.session("answer", "api", "2"); out != "answered api: 2. Blue\n" {
		t.Errorf("answer says %q", out)
	}
	is("done")
	if got := w.model.Turns().LastRequest().Result(); !strings.Contains(got, "Blue") {
		t.Errorf("the model is told %q", got)
	}
	a.session("send", "api", "please run it")
	a.pane("api").awaitScreen("Approve tool call?")
	if exists(filepath.Join(w.project, "made")) {
		t.Error("it did not ask")
	}
	if out := a.session("answer", "api", "1"); out != "answered api: 1. [y] Approve\n" {
		t.Errorf("answer says %q", out)
	}
	is("done")
	if !exists(filepath.Join(w.project, "made")) {
		t.Error("it did not run what was approved")
	}
	a.session("stop", "api")
}

// A person types /handoff in Cline.
func TestClineCommand(t *testing.T) {
	w := newCline(t)
	commandStory(w, "cline", "/handoff", func(_ *model.Request, c string) model.Reply { return clineShell(c) },
		func() *pane { return w.open("c", "cline", "--tui") },
		func(p *pane, line string) { p.cline(line, "SUBJECT-CANARY") })
}
