//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/e2e/argv"
	"gt/e2e/model"
)

// hookedCopilot makes a world in which gt is wired into Copilot as its user does
// it.
func hookedCopilot(t *testing.T) *world {
	t.Helper()
	w := newCopilot(t)
	w.model.Answer(copilotModel)
	w.install("copilot")
	w.role("You keep the lighthouse. ROLE-CANARY")
	return w
}

// copilotModel is the model of these tests: it runs what the prompt has behind
// "run:".
func copilotModel(r *model.Request) model.Reply {
	asked := copilotAsked(r)
	switch {
	case r.Kind == model.Compaction:
		return model.Say("<summary>SUMMARY-CANARY</summary>")
	case strings.Contains(asked, "delegate"):
		return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{Name: "task", Input: map[string]any{
			"agent_type": "task", "name": "child", "description": "a child", "prompt": "You are the child.", "mode": "sync",
		}}}}
	case strings.HasPrefix(asked, "please hand over"):
		return copilotBash(handOver)
	case strings.HasPrefix(asked, "run: "):
		return copilotBash(strings.TrimPrefix(asked, "run: "))
	case r.Result() != "":
		return model.Say("It is done.")
	}
	return model.Say("ANSWER to " + asked)
}

// copilotAsked is what the person asked, without what Copilot adds before and
// behind it.
func copilotAsked(r *model.Request) string {
	asked, _, _ := strings.Cut(r.Asked(), "\n\n<system_reminder>")
	return asked[strings.LastIndexByte(asked, '\n')+1:]
}

func copilotBash(command string) model.Reply {
	return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{
		Name: "bash", Input: map[string]any{"command": command, "description": "Run it"},
	}}}
}

// hooksOfCopilot checks what Copilot itself notes of its hooks: that there were
// some, and that each was a success to it.
func (w *world) hooksOfCopilot() {
	w.Helper()
	files, _ := filepath.Glob(filepath.Join(w.home, ".copilot", "session-state", "*", "events.jsonl"))
	ran := 0
	for _, file := range files {
		for line := range strings.Lines(w.read(file)) {
			var e struct {
				Type string
				Data struct {
					HookType string
					Success  bool
				}
			}
			if json.Unmarshal([]byte(line), &e) != nil || e.Type != "hook.end" {
				continue
			}
			if ran++; !e.Data.Success {
				w.Errorf("Copilot takes a hook for a failure: %s", line)
			}
		}
	}
	if ran == 0 {
		w.Error("Copilot ran no hook")
	}
	logs, _ := filepath.Glob(filepath.Join(w.home, ".copilot", "logs", "*.log"))
	for _, file := range logs {
		for line := range strings.Lines(w.read(file)) {
			if strings.Contains(line, "[rust:hooks]") {
				w.Errorf("Copilot says of its hooks: %s", line)
			}
		}
	}
	w.noHookErrors()
}

// A session of Copilot is told who it is, once and whole; and again when it is
// resumed, for the client keeps nothing of what a start was told. What its agent
// runs is known to be its.
//
// S0-1 S0-17 S0-38 S0-39 S1-7 S1-39 S1-45
func TestCopilotStart(t *testing.T) {
	w := hookedCopilot(t)
	w.copilot("-p", "run: env; gt-checkpoint write --notes NOTE-CANARY")
	id := w.newest()
	for _, r := range w.model.Turns() {
		w.oneDocument("startup", r)
	}
	if shown := w.model.Turns().LastRequest().Result(); !strings.Contains(shown, "COPILOT_AGENT_SESSION_ID="+id+"\n") {
		t.Errorf("a command of the model does not see its session:\n%s", shown)
	}
	if e := w.oneEvent("session_start", id); e.Payload.Source != "new" || e.Payload.ChainID != id || e.Payload.CWD != w.project {
		t.Errorf("session_start says %+v", e.Payload)
	}
	if e := w.oneEvent("session_end", id); e.Payload.Outcome != "done" {
		t.Errorf("session_end says %+v", e.Payload)
	}
	w.copilot("--resume="+id, "-p", "go on")
	w.copilot("--resume="+id, "-p", "and on")
	last := w.model.Turns().LastRequest()
	w.oneDocument("two resumes later", last)
	if n := last.Count("Session resumed. Continue your previous task."); n != 1 {
		t.Errorf("two resumes later the model is told %d times that it goes on:\n%s", n, last.Text())
	}
	w.oneEvent("session_start", id)
	if n, m := len(w.events("session_resume", id)), len(w.events("session_end", id)); n != 2 || m != 3 {
		t.Errorf("of one start and two resumes the log has %d resumes and %d ends", n, m)
	}
	if r := w.record(id); r.Outcome != "done" || r.EndedAt == "" {
		t.Errorf("the record says %+v", r)
	}
	if got := w.listed(); len(got) != 1 || got[id].Outcome != "done" {
		t.Errorf("gt-seance lists %+v", got)
	}
	w.hooksOfCopilot()
}

// What does not fit is cut by gt, and not by the client.
//
// S1-48
func TestCopilotLongStart(t *testing.T) {
	w := hookedCopilot(t)
	var role strings.Builder
	role.WriteString("ROLE-CANARY\n")
	for i := range 2000 {
		fmt.Fprintf(&role, "Rule %d: do it properly.\n", i)
	}
	w.role(role.String() + "LAST-RULE\n")
	w.copilot("-p", "hello")
	first := w.model.Turns().LastRequest()
	w.oneDocument("startup", first)
	if first.Count("LAST-RULE") > 0 || first.Count("Rule 300:") == 0 || first.Count("more lines are left out") != 1 {
		t.Errorf("the role is %d rules long for the model", first.Count(": do it properly"))
	}
	w.hooksOfCopilot()
}

// What a subagent of Copilot says to hooks, under an id of its own, makes no
// session and ends none.
//
// S0-17 S1-39
func TestCopilotSubagent(t *testing.T) {
	w := hookedCopilot(t)
	w.copilot("-p", "delegate this")
	if w.model.Turns().Filter(func(r *model.Request) bool { return strings.Contains(r.Asked(), "You are the child.") }).LastRequest() == nil {
		t.Fatal("there was no subagent")
	}
	if n := len(w.records()); n != 1 {
		t.Errorf("one session and its subagent left %d records", n)
	}
	w.oneEvent("session_start", w.newest())
	if n := len(w.events("session_start", "")); n != 1 {
		t.Errorf("one session and its subagent are %d starts in the log", n)
	}
	w.oneEvent("session_end", w.newest())
	w.hooksOfCopilot()
}

// Before a compaction the session's thread is saved; with the next prompt, for
// Copilot has no other place, it is told to go on, once, and that the note is
// there.
//
// S1-46 S1-47 S1-65 S1-73
func TestCopilotCompaction(t *testing.T) {
	w := hookedCopilot(t)
	p := w.open("max", "copilot", "--allow-all-tools")
	p.copilot("good morning", "ANSWER to good morning")
	p.copilot("please build the WIDGET parser", "ANSWER to please build")
	id := w.latest()
	p.copilot("/compact", "Compaction completed")
	if notes := w.notes(); len(notes) != 1 || !strings.Contains(notes[0], "WIDGET") {
		t.Errorf("what the person wanted is not in the one note: %q", notes)
	}
	w.oneEvent("handoff", id)
	p.copilot("and now?", "ANSWER to and now?")
	const goOn = "Context compacted. Continue your previous task."
	if after := w.asked("and now?"); after.Count(goOn) != 1 || after.Count("gt-mail read") != 1 || after.Count("SUMMARY-CANARY") == 0 {
		t.Errorf("after the compaction the model is told %d times to go on:\n%s", after.Count(goOn), after.Text())
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	p.copilot("and then?", "ANSWER to and then?")
	if again := w.asked("and then?"); again.Count(goOn) != 1 {
		t.Errorf("one prompt later the model is told %d times to go on", again.Count(goOn))
	}
	w.oneEvent("session_start", id)
	p.copilot("/exit", "")
	w.waitFor("the session ends", func() bool { return w.record(id).Outcome == "done" })
	w.hooksOfCopilot()
}

// A session that is cleared is followed by the next in the same process.
//
// S0-17 S1-41
func TestCopilotClear(t *testing.T) {
	w := hookedCopilot(t)
	p := w.open("max", "copilot", "--allow-all-tools")
	p.copilot("good morning", "ANSWER to good morning")
	old := w.latest()
	p.copilot("/clear", "Started a fresh session")
	p.copilot("what now?", "ANSWER to what now?")
	fresh := w.latest()
	if r := w.record(fresh); fresh == old || r.ParentID != old || r.ChainID != old {
		t.Errorf("after /clear the record says %+v", r)
	}
	if r := w.record(old); r.Outcome != "done" || r.ChildID != fresh {
		t.Errorf("the record of the session that was cleared says %+v", r)
	}
	w.hooksOfCopilot()
}

// The agent hands over in its pane: a fresh Copilot with the flags of the first
// goes on from its note. Both are found, and can be gone on with.
//
// S0-4 S0-6 S0-15 S0-25 S1-2 S1-3 S1-4 S1-49 S1-53 S1-59 S1-61 S1-62
func TestCopilotHandover(t *testing.T) {
	w := hookedCopilot(t)
	watch := argv.Watch(w.home, argv.Shortest)
	p := w.open("max", "copilot", "--allow-all-tools", "--no-custom-instructions", "-i", "good morning")
	p.awaitScreen("ANSWER to good morning")
	old := w.latest()
	before := p.get("#{session_id} #{pane_id} #{session_windows} #{window_panes}")
	p.copilot("please hand over", "Go on from the note.")
	w.waitFor("somebody takes over", func() bool { return w.latest() != old })
	fresh := w.latest()
	first := w.asked("Go on from the note.")
	for _, text := range append(strings.Split(message, "\n"), "ROLE-CANARY", "handoff") {
		if text != "" && first.Count(text) == 0 {
			t.Errorf("the successor's first request lacks %q:\n%s", text, first.Text())
		}
	}
	if n := first.Count("MESSAGE-CANARY"); n != 1 {
		t.Errorf("the successor's first request holds the message %d times", n)
	}
	if after := p.get("#{session_id} #{pane_id} #{session_windows} #{window_panes}"); after != before {
		t.Errorf("the pane was %s, and is %s", before, after)
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	w.waitFor("the old session is over", func() bool { return w.record(old).EndedAt != "" })
	if r := w.record(old); r.Outcome != "handoff" || r.ChildID != fresh {
		t.Errorf("the old record says %+v", r)
	}
	if r := w.record(fresh); r.ParentID != old || r.ChainID != old || r.EndedAt != "" || r.TmuxPane != p.id {
		t.Errorf("the new record says %+v", r)
	}
	if got := w.commandLine(w.record(fresh).PID); !strings.Contains(got, "--allow-all-tools --no-custom-instructions --interactive Handoff: ") ||
		strings.Contains(got, "good morning") {
		t.Errorf("the successor was started as %q", got)
	}
	p.copilot("do you know enough?", "ANSWER to do you know")
	if n := w.asked("do you know enough?").Count("MESSAGE-CANARY"); n != 1 {
		t.Errorf("the second request holds the message %d times", n)
	}
	got := w.listed()
	if got[old].Outcome != "handoff" || got[fresh].ParentID != old || got[fresh].ChainID != old || len(got) != 2 {
		t.Errorf("gt-seance lists %+v", got)
	}
	p.copilot("/exit", "")
	w.waitFor("the session ends", func() bool { return w.record(fresh).Outcome == "done" })

	// What it was handed is told again when it is gone on with.
	var shown struct{ Resume string }
	if err := json.Unmarshal([]byte(w.gt("gt-seance", "show", fresh, "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	w.gt("sh", "-c", shown.Resume+" -p 'what was it?' --allow-all-tools")
	if again := w.asked("what was it?"); again.Count("MESSAGE-CANARY") != 1 || again.Count("do you know enough?") == 0 {
		t.Errorf("%s: the note stands there %d times:\n%s", shown.Resume, again.Count("MESSAGE-CANARY"), again.Text())
	}
	w.oneEvent("session_start", fresh)

	seen, _ := watch.Stop()
	for _, process := range seen {
		if process.ContainsText(w.key) {
			t.Errorf("the key is on a command line: %v", process)
		}
	}
	w.hooksOfCopilot()
}

// gt-handoff --cycle goes on with the same conversation in a new process.
//
// S1-64 S1-66 S1-74
func TestCopilotCycle(t *testing.T) {
	w := hookedCopilot(t)
	p := w.open("max", "copilot", "--allow-all-tools", "-i", "good morning")
	p.awaitScreen("ANSWER to good morning")
	id, pid := w.latest(), p.pid()
	p.awaitScreen("\n❯")
	w.tmux("send-keys", "-t", p.id, "-l", "run: gt-handoff --cycle --reason compaction")
	p.awaitScreen("❯ run: gt-handoff")
	w.waitFor("a new process runs in the pane", func() bool {
		time.Sleep(300 * time.Millisecond) // an Enter that comes at once is taken for a part of a paste
		if strings.Contains(p.screen(), "\n❯ run: gt-handoff --cycle --reason compaction\n") {
			w.tmux("send-keys", "-t", p.id, "Enter")
		}
		return p.pid() != pid
	})
	after := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return r.Count("gt-handoff --cycle") > 0 && r.Asked() != "" && !strings.Contains(r.Asked(), "gt-handoff --cycle")
		}).LastRequest()
	})
	if after == nil {
		t.Fatal("the conversation did not go on")
	}
	w.oneDocument("after the cycle", after)
	if after.Count("good morning") == 0 || after.Count("Continue your previous task. You work in") != 1 {
		t.Errorf("the model is not told to go on: %+v", after.Msgs)
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	w.oneEvent("session_start", id)
	if r := w.record(id); r.EndedAt != "" || r.Outcome != "" {
		t.Errorf("the record says %+v", r)
	}
	w.hooksOfCopilot()
}

// A Copilot that is killed leaves its last checkpoint, which the next session is
// told of, once.
//
// S0-13 S0-15 S0-37 S1-5 S1-82 S1-84
func TestCopilotCrash(t *testing.T) {
	w := hookedCopilot(t)
	p := w.open("max", "copilot", "--allow-all-tools", "-i",
		"run: echo changed >> README.md && gt-checkpoint write --step step-7 --notes 'CHECKPOINT-CANARY half of the lamp is done'")
	p.awaitScreen("It is done.")
	old := w.latest()
	w.waitFor("the turn is over", func() bool { return strings.Contains(w.read(w.runtime("keepalive.json")), "waiting") })
	if err := syscall.Kill(w.record(old).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the client is gone", func() bool { return w.tmuxOutput("list-panes", "-a", "-F", "#{pane_id}") == "" })

	p = w.open("again", "copilot", "--allow-all-tools", "-i", "where are we?")
	p.awaitScreen("ANSWER to where are we?")
	fresh, first := w.latest(), w.asked("where are we?")
	for _, text := range []string{"- notes: CHECKPOINT-CANARY half of the lamp is done", "- step: step-7", "### Last request"} {
		if n := first.Count(text); n != 1 {
			t.Errorf("the session after the crash is told %q %d times:\n%s", text, n, first.Text())
		}
	}
	if r := w.record(old); r.Outcome != "crash" || r.ChildID != fresh {
		t.Errorf("the record of the crashed session says %+v", r)
	}
	if r := w.record(fresh); r.ParentID != old || r.ChainID != old {
		t.Errorf("the record of the session after it says %+v", r)
	}
	w.copilot("-p", "a new day")
	if n := w.asked("a new day").Count("CHECKPOINT-CANARY"); n != 0 {
		t.Errorf("one session later the crash is told %d times", n)
	}
}

// A Copilot whose terminal is closed did not come to its end, though it says so;
// one that is left in the middle of a turn did.
//
// S1-84
func TestCopilotClosed(t *testing.T) {
	w := hookedCopilot(t)
	p := w.open("max", "copilot", "--allow-all-tools", "-i", "run: echo E2E; sleep 40")
	w.waitFor("the agent works", func() bool {
		return strings.Contains(p.screen(), "Shell Run it") && len(w.records()) == 1
	})
	w.tmux("kill-session", "-t", "=max")
	w.waitFor("its end is noted", func() bool { return w.record(w.latest()).EndedAt != "" })
	first := w.latest()
	if r := w.record(first); r.Outcome != "killed" {
		t.Errorf("the record says %+v", r)
	}

	p = w.open("again", "copilot", "--allow-all-tools", "-i", "run: echo E2E; sleep 41")
	w.waitFor("the agent works again", func() bool { return strings.Contains(p.screen(), "Shell Run it") && w.latest() != first })
	w.tmux("send-keys", "-t", p.id, "C-c")
	w.waitFor("the turn is broken off", func() bool { return strings.Contains(p.screen(), "/ commands · ? help") })
	p.copilot("/exit", "")
	w.waitFor("its end is noted", func() bool { return w.record(w.latest()).EndedAt != "" })
	if r := w.record(w.latest()); r.Outcome != "done" {
		t.Errorf("the record says %+v", r)
	}
}

// Copilot runs a repository's Claude hooks too, without their arguments: they do
// what they are wired for, in Copilot's words, and together with its own once.
//
// S1-39 S1-45 S1-65
func TestCopilotRunsClaudeHooks(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"alone": false, "with its own": true} {
		t.Run(name, func(t *testing.T) {
			w := newCopilot(t)
			w.model.Answer(copilotModel)
			w.gt("gt-hooks", "install", "claude", "--scope", "project")
			if own {
				w.install("copilot")
			}
			w.role("You keep the lighthouse. ROLE-CANARY")
			p := w.open("max", "copilot", "--allow-all-tools", "-i", "good morning")
			p.awaitScreen("ANSWER to good morning")
			id, before := w.latest(), p.pid()
			w.oneDocument("startup", w.asked("good morning"))
			if e := w.oneEvent("session_start", id); e.Payload.Agent != "copilot" {
				t.Errorf("session_start says %+v", e.Payload)
			}
			w.waitFor("the turn is over", func() bool { return strings.Contains(w.read(w.runtime("keepalive.json")), "waiting") })
			p.copilot("more of it", "ANSWER to more of it")
			p.copilot("/compact", "Compaction completed")
			w.oneEvent("handoff", id)
			if n := len(w.notes()); n != 1 {
				t.Errorf("the compaction left %d notes", n)
			}
			if after := p.pid(); after != before || w.record(id).EndedAt != "" {
				t.Errorf("the hook before a compaction handed over: the pane ran %d, and runs %d", before, after)
			}
			p.copilot("and now?", "ANSWER to and now?")
			if n := w.asked("and now?").Count("Context compacted."); n > 1 || own && n == 0 {
				t.Errorf("after the compaction the model is told %d times to go on", n)
			}
			p.copilot("/exit", "")
			w.waitFor("the session ends", func() bool { return w.record(id).Outcome == "done" })
			w.oneEvent("session_end", id)
			if n := len(w.records()); n != 1 {
				t.Errorf("one session left %d records", n)
			}
			w.hooksOfCopilot()
		})
	}
}

// Of two agents, one started by the other, each is taken for what it is, and
// what each runs is its own.
//
// S0-17 S1-39
func TestCopilotAndClaude(t *testing.T) {
	w := hookedCopilot(t)
	w.addClient("claude")
	w.install("claude")
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.HasSuffix(r.Path, "/responses") {
			return copilotModel(r)
		}
		if command, ok := strings.CutPrefix(r.Asked(), "run: "); ok {
			return model.Bash(command)
		}
		return model.Reply{}
	})
	note := func(text string) string {
		return "run: gt-checkpoint write --notes " + text + "; cat ~/.local/state/gt/homes/*/checkpoint*.json"
	}
	t.Run("Claude Code in Copilot", func(t *testing.T) {
		w.write(filepath.Join(w.home, "key"), w.key) // Copilot keeps keys from its agent's commands
		w.copilot("-p", `run: ANTHROPIC_API_KEY=$(cat "$HOME/key") claude -p `+quote(note("INNER-1")))
		nested(t, w, "copilot", "claude", "INNER-1")
	})
	t.Run("Copilot in Claude Code", func(t *testing.T) {
		w.ask("run: copilot --allow-all-tools -p " + quote(note("INNER-2")))
		nested(t, w, "claude", "copilot", "INNER-2")
	})
}

// nested checks the last two sessions: who they were, and that what the inner one
// noted is its own.
func nested(t *testing.T, w *world, outer, inner, note string) {
	t.Helper()
	starts := w.events("session_start", "")
	if len(starts) < 2 {
		t.Fatalf("there are %d sessions", len(starts))
	}
	a, b := starts[len(starts)-2].Payload, starts[len(starts)-1].Payload
	if a.Agent != outer || b.Agent != inner || b.ParentID != "" {
		t.Errorf("the outer session is %+v, the inner %+v", a, b)
	}
	told := w.model.Turns().Filter(func(r *model.Request) bool {
		return strings.HasSuffix(r.Path, "/responses") == (inner == "copilot") && strings.Contains(r.Result(), note)
	}).LastRequest()
	if told == nil || told.Count("ROLE-CANARY") != 1 {
		t.Fatalf("the inner session was not told who it is: %v\n%s", told, w.model.Turns().LastRequest().Result())
	}
	if i := strings.Index(told.Result(), b.SessionID); i < 0 || strings.Contains(told.Result(), a.SessionID) && !strings.Contains(told.Result()[i:], note) {
		t.Errorf("what the inner session %s noted is not its own:\n%s", b.SessionID, told.Result())
	}
	for _, e := range []string{a.SessionID, b.SessionID} {
		if got := w.oneEvent("session_end", e).Payload.Outcome; got != "done" {
			t.Errorf("session %s ended as %s", e, got)
		}
	}
}
