//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/e2e/model"
)

const inputLine = "Type your message" // of Gemini CLI and of Qwen Code

// tell types a line into Gemini CLI or Qwen Code and waits until the model was
// asked it and has answered. An Enter that comes at once would be taken for a
// line break of something pasted.
func (p *pane) tell(line string) *model.Request {
	p.w.Helper()
	p.enter(line)
	r := p.w.asked(line)
	p.awaitScreen("ANSWER to " + line)
	p.awaitScreen(inputLine)
	return r
}

// enter types a line into a client that is idle, and sends it. What is typed while the client
// draws its screen anew is lost, and typed again.
func (p *pane) enter(line string) {
	p.w.Helper()
	var typed, sent pause
	p.w.waitFor("the client takes "+line, func() bool {
		screen := p.screen()
		switch empty := screen == "" || strings.Contains(screen, inputLine); {
		case empty && !sent.began.IsZero():
			return true
		case empty && screen != "" && !strings.Contains(screen, "esc to cancel") && typed.restart(takesKey):
			p.w.tmux("send-keys", "-t", p.id, "C-u") // where it was not lost, but is late
			p.w.tmux("send-keys", "-t", p.id, "-l", line)
		case !empty && !typed.began.IsZero() && strings.Contains(screen, line) && sent.restart(takesKey):
			time.Sleep(300 * time.Millisecond)
			p.w.tmuxOutput("send-keys", "-t", p.id, "Enter")
		}
		return false
	})
}

// unharmed fails the test where the screen shows that a hook failed, or what it
// said to nobody in particular.
func (p *pane) unharmed() {
	p.w.Helper()
	for _, line := range strings.Split(p.screen(), "\n") {
		for _, bad := range []string{"failed for event", "blocked", "gt-prime:", "gt-keepalive:", "gt-handoff:", "gt-checkpoint:", "says:"} {
			if strings.Contains(line, bad) {
				p.w.Errorf("the screen shows %q", strings.TrimSpace(line))
			}
		}
	}
}

// toldOnce fails the test unless the model reads each text just once.
func (w *world) toldOnce(r *model.Request, texts ...string) {
	w.Helper()
	for _, text := range texts {
		if n := r.Count(text); n != 1 {
			w.Errorf("who is asked %q is told %q %d times:\n%.3000s", r.Asked(), text, n, r.Text())
		}
	}
}

// inSeance is what gt-seance says of a session.
func (w *world) inSeance(id string) (s struct {
	ID, Agent, Outcome string
	Chain              string `json:"chain_id"`
	Parent             string `json:"parent_id"`
	Child              string `json:"child_id"`
}) {
	w.Helper()
	for _, line := range strings.Split(strings.TrimSpace(w.gt("gt-seance", "list", "--json")), "\n") {
		if strings.Contains(line, `"id":"`+id) {
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				w.Fatal(err)
			}
			return s
		}
	}
	w.Errorf("gt-seance does not list %s", id)
	return s
}

// longRole writes a role that a start is just long enough for, and that ends in
// the canary.
func (w *world) longRole() {
	w.Helper()
	w.role("You keep the lighthouse. ROLE-BEGIN\n" +
		strings.Repeat("Its lamp is lit at dusk, äöü 𝄞 and trimmed every four hours of the night.\n", 110) + "ROLE-END\n")
}

// started are the ids of all sessions that started, in their order.
func (w *world) started() (ids []string) {
	w.Helper()
	for _, e := range w.events("session_start", "") {
		ids = append(ids, e.Payload.SessionID)
	}
	return ids
}

// answers is a model that runs the command in a request "run: …", and else says
// what it was asked; after "much" it claims to have read so many tokens.
func (w *world) answers(many int) {
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Reply{Text: "<state_snapshot>SUMMARY-CANARY</state_snapshot>", Tokens: many}
		case strings.Contains(asked, "SUGGESTION MODE"), strings.Contains(asked, "Managed memory"):
			return model.Say("Noted.")
		case r.Result() != "":
			return model.Say("It is done.")
		}
		for { // what hooks said
			before, rest, found := strings.Cut(asked, "<hook_context>")
			_, after, _ := strings.Cut(rest, "</hook_context>")
			if !found {
				break
			}
			asked = before + after
		}
		asked = strings.TrimSpace(asked)
		if command, ok := strings.CutPrefix(asked, "run: "); ok {
			return shellCommand(command)
		}
		reply := model.Say("ANSWER to " + asked)
		if strings.Contains(asked, "much") {
			reply.Tokens = many
		}
		return reply
	})
}

// A session of Gemini CLI is told who it is, whole and once, headless and in
// front of a person; what the client drops at /clear comes with the next prompt;
// and what is resumed is told no more than that. Every turn leaves its signs.
//
// S0-2 S0-10 S1-39 S1-62 S1-63
func TestGeminiStart(t *testing.T) {
	w := newGemini(t)
	w.install("gemini")
	w.answers(900_000)
	w.longRole()
	w.headless("gemini", "-y", "-p", "the first prompt")
	first := w.asked("the first prompt")
	w.toldOnce(first, "You work in "+strconv.Quote(w.project)+" on branch \"main\".", "ROLE-BEGIN", "ROLE-END", "gt-handoff -s SUBJECT")
	ids := w.started()
	if len(ids) != 1 {
		t.Fatalf("%q started", ids)
	}
	w.waitFor("the session ended", func() bool { return w.record(ids[0]).Outcome == "done" })
	if e := w.oneEvent("session_end", ids[0]); e.Payload.Outcome != "done" {
		t.Errorf("its end is %+v", e.Payload)
	}
	if n := len(w.notes()); n != 0 {
		t.Errorf("a session that was not compacted left %d notes", n)
	}

	p := w.open("g", "gemini", "-y", "-i", "the second prompt")
	p.awaitScreen("ANSWER to the second prompt")
	w.toldOnce(w.asked("the second prompt"), "You work in "+strconv.Quote(w.project), "ROLE-BEGIN", "ROLE-END")
	// Gemini CLI loses now and then what a command has printed at its end: its terminal closes first.
	out := filepath.Join(w.home, "shown")
	p.enter("run: (gt-keepalive show --json; gt-checkpoint read; gt-seance list --active --json) >" + out)
	p.awaitScreen("It is done.")
	shown := w.read(out)
	for _, want := range []string{`"state":"running"`, `"last_command":"UserPromptSubmit"`, "- branch: main", "last words: ANSWER to the second prompt"} {
		if !strings.Contains(shown, want) {
			t.Errorf("in the middle of a turn there is no %q:\n%s", want, shown)
		}
	}
	w.waitFor("the turn's end is noted", func() bool {
		return strings.Contains(w.read(w.runtime("keepalive.json")), `"state":"waiting"`)
	})
	w.toldOnce(p.tell("the third prompt"), "ROLE-BEGIN", "You work in "+strconv.Quote(w.project))
	second := w.started()[1]
	p.enter("/clear")
	w.waitFor("the session is cleared", func() bool { return w.record(second).Outcome == "done" })
	w.toldOnce(p.tell("after the clearing"), "You work in "+strconv.Quote(w.project), "cleared on purpose", "ROLE-BEGIN", "ROLE-END")
	w.toldOnce(p.tell("once more"), "You work in "+strconv.Quote(w.project), "ROLE-BEGIN")
	third := w.started()[2]
	if r := w.record(third); r.ParentID != second || r.ChainID != second || r.Source != "clear" {
		t.Errorf("the record after /clear says %+v", r)
	}
	p.unharmed()
	p.enter("/quit")
	w.ended()
	w.waitFor("the session ended", func() bool { return w.record(third).Outcome == "done" })

	p = w.open("r", "gemini", "-y", "-r", third)
	again := p.tell("after the resume")
	w.toldOnce(again, "ROLE-BEGIN", "Session resumed. Continue your previous task.")
	w.toldOnce(p.tell("still there"), "Session resumed.")
	w.oneEvent("session_resume", third)
	p.unharmed()
	p.enter("/quit")
	w.ended()
	w.noHookErrors()
	if s := w.inSeance(third); s.Agent != "gemini" || s.Chain != second {
		t.Errorf("gt-seance lists it as %+v", s)
	}
}

// A compaction of Gemini CLI, by itself or by a person, is preceded by one note
// and followed by a word with the next prompt; all other prompts and requests by
// neither.
//
// S1-46 S1-47 S1-64 S1-65
func TestGeminiCompaction(t *testing.T) {
	w := newGemini(t)
	w.install("gemini")
	w.answers(900_000)
	p := w.open("g", "gemini", "-y", "-i", "the first prompt")
	p.awaitScreen("ANSWER to the first prompt")
	for i := range 5 {
		p.tell(fmt.Sprintf("short prompt %d", i))
	}
	p.tell("this is much")
	if n := len(w.notes()); n != 0 {
		t.Errorf("before the compaction there are %d notes", n)
	}
	compacted := p.tell("what compacts")
	if w.model.Requests().Kind(model.Compaction).LastRequest() == nil {
		t.Fatal("there was no compaction")
	}
	if n := compacted.Count("SUMMARY-CANARY"); n == 0 {
		t.Error("the conversation was not compacted")
	}
	if n := len(w.notes()); n != 1 {
		t.Errorf("a compaction left %d notes", n)
	}
	after := p.tell("the next prompt")
	w.toldOnce(after, "Context compacted. Continue your previous task.", "kept word for word")
	for i := range 3 {
		w.toldOnce(p.tell(fmt.Sprintf("later prompt %d", i)), "Context compacted.")
	}
	if n := len(w.notes()); n != 1 {
		t.Errorf("one compaction left %d notes", n)
	}
	p.tell("it is much again")
	p.enter("/compress")
	p.awaitScreen("compressed from")
	w.waitFor("there is a second note", func() bool { return len(w.notes()) == 2 })
	w.toldOnce(p.tell("after the person's own"), "Context compacted.")
	if n := len(w.notes()); n != 2 {
		t.Errorf("two compactions left %d notes", n)
	}
	if m := w.markers(); len(m) != 0 {
		t.Errorf("the markers %q are left", m)
	}
	p.unharmed()
	w.noHookErrors()
}

// A session of Gemini CLI hands over to a fresh one in its pane, with its flags;
// it is listed and goes on; and one that is killed is recovered from.
//
// S1-9 S1-12 S1-15 S0-13 S0-37
func TestGeminiHandover(t *testing.T) {
	w := newGemini(t)
	w.install("gemini")
	w.answers(900_000)
	w.handsOver("gemini", "--yolo", "-m", "gemini-2.5-pro")
}

// handsOver is what a client of this kind does from the first start to the
// recovery of a crash.
func (w *world) handsOver(agent string, flags ...string) {
	t := w.TB
	t.Helper()
	start := func(session, prompt string) *pane {
		return w.open(session, slices.Concat([]string{agent}, flags, []string{"-i", prompt})...)
	}
	w.open("keep", "sleep", "1000") // else tmux ends with the client
	note := w.Path("note")
	w.write(note, "next: NOTE-CANARY the other half\n")
	p := start("h", "the first prompt")
	p.awaitScreen("ANSWER to the first prompt")
	first := w.started()[0]
	before := p.get("#{pane_pid}")
	p.enter("run: gt-handoff -s 'half is done' -m - <" + note)
	w.waitFor("the pane has a fresh client", func() bool { return p.get("#{pane_pid}") != before })
	r := w.asked("Go on from the note.")
	w.toldOnce(r, "Handoff complete: you are the new session", "NOTE-CANARY the other half")
	if n := len(r.Msgs); n > 3 {
		t.Errorf("the successor has its predecessor's conversation:\n%.3000s", r.Text())
	}
	w.waitFor("two sessions are known", func() bool { return len(w.started()) == 2 })
	second := w.started()[1]
	w.waitFor("the first handed over", func() bool { return w.record(first).Outcome == "handoff" })
	if r := w.record(second); r.ParentID != first || r.ChainID != first {
		t.Errorf("the successor's record says %+v", r)
	}
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	if e := w.oneEvent("session_end", first); e.Payload.Outcome != "handoff" {
		t.Errorf("the first ended by %+v", e.Payload)
	}
	pid := w.record(second).PID
	args := w.commandLine(pid)
	for _, want := range flags {
		if !strings.Contains(args, " "+want+" ") {
			t.Errorf("the successor was started without %s: %q", want, args)
		}
	}
	if strings.Contains(args, "the first prompt") {
		t.Errorf("the successor was started with the first prompt: %q", args)
	}
	p.awaitScreen("ANSWER to Handoff")
	p.awaitScreen(inputLine)
	w.toldOnce(p.tell("what now"), "NOTE-CANARY the other half")
	p.unharmed()

	if s := w.inSeance(second); s.Agent != agent || s.Chain != first || s.Parent != first || s.Outcome != "active" {
		t.Errorf("gt-seance lists the successor as %+v", s)
	}
	if s := w.inSeance(first); s.Outcome != "handoff" || s.Child != second {
		t.Errorf("gt-seance lists the first as %+v", s)
	}

	// It is killed in the middle of its work.
	syscall.Kill(pid, syscall.SIGKILL)
	w.tmuxOutput("kill-session", "-t", "=h")
	w.waitFor("it is gone", func() bool { return !exists(fmt.Sprintf("/proc/%d", pid)) })
	p = start("c", "where are we")
	p.awaitScreen("ANSWER to where are we")
	w.toldOnce(w.asked("where are we"), "Crash recovery")
	if r := w.record(second); r.Outcome != "crash" && r.Outcome != "killed" {
		t.Errorf("who was killed ended as %q", r.Outcome)
	}
	third := w.started()[2]
	if s := w.inSeance(third); s.Parent != second || s.Chain != first {
		t.Errorf("gt-seance lists who recovered as %+v", s)
	}
	p.unharmed()
	p.enter("/quit")
	w.waitFor("the session ends", func() bool { return w.record(third).Outcome == "done" })

	// Who was found can be gone on with.
	shown := w.gt("gt-seance", "show", second)
	if !strings.Contains(shown, agent) || !strings.Contains(shown, second) {
		t.Errorf("gt-seance show says\n%s", shown)
	}
	p = w.open("r", "gt-seance", "resume", second)
	p.enter("on we go")
	r = w.asked("on we go")
	w.toldOnce(r, "Session resumed.")
	if r.Count("Go on from the note.") == 0 { // the last turn need not have reached the transcript
		t.Errorf("what was said before the crash is gone:\n%.3000s", r.Text())
	}
	p.awaitScreen(inputLine)
	w.oneEvent("session_resume", second)
	p.unharmed()
	w.noHookErrors()
}

// A conversation of Gemini CLI, and one of Qwen Code, goes on in a new process in
// its pane, with its flags, and is told so once.
//
// S1-73 S1-74
func TestGeminiCycle(t *testing.T) {
	w := newGemini(t)
	w.install("gemini")
	w.answers(900_000)
	w.cycles("gemini", "--yolo", "-m", "gemini-2.5-pro")
}

func TestQwenCycle(t *testing.T) {
	w := newQwen(t)
	w.install("qwen")
	w.answers(190_000)
	w.cycles("qwen", "--yolo", "-m", "another-model")
}

func (w *world) cycles(agent string, flags ...string) {
	t := w.TB
	t.Helper()
	w.open("keep", "sleep", "1000") // else tmux ends with the client
	p := w.open("c", slices.Concat([]string{agent}, flags, []string{"-i", "FIRST-CANARY prompt"})...)
	p.awaitScreen("ANSWER to FIRST-CANARY prompt")
	id, before := w.latest(), p.get("#{pane_pid}")
	p.tell("the second prompt")
	p.enter("run: gt-handoff --cycle")
	w.waitFor("the pane has a fresh client", func() bool { return p.get("#{pane_pid}") != before })
	r := w.asked("Context compacted. Continue your previous task.")
	if r.Count("FIRST-CANARY") == 0 {
		t.Errorf("the conversation does not go on:\n%.3000s", r.Text())
	}
	if n := r.Count("kept word for word"); n != 1 {
		t.Errorf("it is told of its note %d times:\n%.3000s", n, r.Text())
	}
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	if ids := w.started(); len(ids) != 1 || w.latest() != id {
		t.Errorf("the sessions are %q, the latest %s, want %s", ids, w.latest(), id)
	}
	args := w.commandLine(w.record(id).PID)
	for _, want := range append(flags, "--resume", id) {
		if !strings.Contains(args, " "+want+" ") {
			t.Errorf("it was started without %s: %q", want, args)
		}
	}
	p.awaitScreen(inputLine)
	p.unharmed()
	w.noHookErrors()
}
