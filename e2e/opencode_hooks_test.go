//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gt/e2e/client"
	"gt/e2e/model"
	"gt/internal/testenv"
)

// A client whose hooks are a program of its own: what the same story needs to be
// told of each.
type plugged struct {
	*world
	name        string
	hook        string // the file of the plugin
	projectHook string // below the project
	// ask runs the client headless.
	ask func(prompt string, flags ...string)
	// open starts the client in a tmux session and waits until it takes a prompt.
	openPane func(session string, flags ...string) *pane
	// typ types a line into it and waits until the screen shows what follows.
	typ func(p *pane, line, then string)
	// compacted is what the screen shows after /compact.
	compacted string
	// resume and fork are the flags that go on with a session, or a copy of it; nil if the
	// client does not without a person.
	resume, fork func(id string) []string
}

// lighthouse is how the model of these tests answers.
func lighthouse(r *model.Request) model.Reply {
	asked := lastLine(r.Asked()) // what stands before is what gt told
	bash := func(command string) model.Reply {
		if slices.Contains(r.Tools, "run_commands") {
			return clineShell(command)
		}
		return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{
			Name: "bash", Input: map[string]string{"command": command, "description": "Run"},
		}}}
	}
	switch {
	case strings.Contains(r.System, "title"):
		return model.Say("A fine title")
	case r.Kind == model.Compaction:
		return model.Say("SUMMARY-CANARY")
	case strings.Contains(asked, "show me the environment"):
		return bash("env")
	case strings.Contains(asked, "start the work"):
		return bash("echo changed >> README.md && gt-checkpoint write --step step-7 --notes 'CHECKPOINT-CANARY half of the lamp is done'")
	case strings.Contains(asked, "please hand over"):
		return bash(handOver)
	case strings.Contains(asked, "please cycle"):
		return bash("gt-handoff --cycle")
	case strings.Contains(asked, "delegate this"):
		return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
			Name: "task", Input: map[string]string{"description": "A part", "prompt": "You are the child.", "subagent_type": "general"},
		}}}
	case r.Result() != "":
		return model.Say("It is done.")
	}
	return model.Say(veryWell(asked))
}

// veryWell is what lighthouse says to a prompt.
func veryWell(prompt string) string { return "Very well: " + lastLine(prompt) }

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

func pluggedOpenCode(t *testing.T) *plugged {
	t.Helper()
	w := newOpenCode(t)
	w.model.Answer(lighthouse)
	w.install("opencode")
	return &plugged{
		world: w, name: "opencode", hook: filepath.Join(w.home, ".config", "opencode", "plugins", "gt.js"), projectHook: ".opencode/plugins/gt.js",
		ask: func(prompt string, flags ...string) { w.opencode(append(flags, prompt)...) },
		openPane: func(session string, flags ...string) *pane {
			p := w.open(session, append([]string{"opencode"}, flags...)...)
			p.awaitScreen("Ask anything")
			return p
		},
		typ: (*pane).opencode, compacted: "SUMMARY-CANARY",
		resume: func(id string) []string { return []string{"--session", id} },
		fork:   func(id string) []string { return []string{"--session", id, "--fork"} },
	}
}

// fetched is what OpenCode fetches for a folder of plugins at its first start. While that is
// not there it holds a lock that it leaves behind when it ends, for a minute, and each start
// with a plugin waits for it.
func (w *world) fetched(dir string) {
	w.Helper()
	version := client.Demand(w.TB, "opencode").Version
	deps := map[string]any{"dependencies": map[string]string{"@opencode-ai/plugin": version}}
	w.writeJSON(filepath.Join(dir, "package.json"), deps)
	w.writeJSON(filepath.Join(dir, "package-lock.json"), map[string]any{"lockfileVersion": 3, "packages": map[string]any{"": deps}})
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		w.Fatal(err)
	}
}

// say types a line into the client and waits for the answer, which is
// lighthouse's where then is empty.
func (w *plugged) say(p *pane, line, then string) {
	w.Helper()
	w.typ(p, line, cmp.Or(then, veryWell(line)))
}

// install wires gt into a client as its user does.
func (w *world) install(agent string) {
	w.Helper()
	w.gt("gt-hooks", "install", agent)
}

func TestOpenCodeHooks(t *testing.T) { tellPluggedStories(t, pluggedOpenCode) }

// tellPluggedStories tells the stories of a client, each in a world of its own: its main one,
// and of the others this turn's sample.
func tellPluggedStories(t *testing.T, plug func(*testing.T) *plugged, except ...string) {
	t.Parallel()
	for name, story := range pluggedStories {
		if slices.Contains(except, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if name != "handover" {
				testenv.Sample(t, turns)
			}
			story(plug(t))
		})
	}
}

// pluggedStories are what gt promises with any client that it is plugged into.
var pluggedStories = map[string]func(*plugged){
	"start": startPlugged, "long": longPlugged, "compaction": compactPlugged, "handover": handOverPlugged,
	"crash": crashPlugged, "killed": killPlugged, "missing": missingPlugged, "twice": twicePlugged,
	"cycle": cyclePlugged,
}

// A subagent's session is part of the one that asked for it: nobody is told who
// it is, and it has no record.
//
// S1-7
func TestOpenCodeHooksOfSubagent(t *testing.T) {
	w := pluggedOpenCode(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.ask("delegate this")
	if r := w.model.Turns().Filter(func(r *model.Request) bool { return r.Asked() == "You are the child." }).LastRequest(); r == nil || r.Count("ROLE-CANARY") > 0 {
		t.Errorf("the subagent was asked %v", r)
	}
	if n := len(w.records()); n != 1 {
		t.Errorf("%d sessions are recorded, want 1", n)
	}
	w.oneEvent("session_end", w.newest())
}

// A conversation that is compacted while it works goes on by itself, and knows
// that it does.
//
// S1-46 S1-47
func TestOpenCodeCompactsByItself(t *testing.T) {
	w := pluggedOpenCode(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		reply := lighthouse(r)
		// What is told after the compaction has the person's words in it.
		if r.Kind == model.Turn && strings.Contains(r.Asked(), "fill it up") && r.Count("Context compacted.") == 0 {
			reply = model.Reply{Text: "I run a command.", Tokens: 99_000, Tools: []model.ToolUse{{
				Name: "bash", Input: map[string]string{"command": "echo full", "description": "Run"},
			}}}
		}
		return reply
	})
	w.ask("please build the WIDGET-CANARY parser")
	id := w.newest()
	w.ask("fill it up", w.resume(id)...)
	on := w.asked("Continue if you have next steps")
	if n := on.Count("Context compacted. Continue your previous task."); n != 1 {
		t.Errorf("the model that goes on is told %d times that it does:\n%s", n, on.Text())
	}
	if n := len(w.events("handoff", id)); n != 1 {
		t.Errorf("the compaction left %d handoff events", n)
	}
	if len(w.markers()) > 0 {
		t.Error("the marker is still there")
	}
}

// listed are the sessions of gt-seance list, by their ids.
func (w *world) listed() map[string]sessionRecord {
	w.Helper()
	all := map[string]sessionRecord{}
	for line := range strings.Lines(w.gt("gt-seance", "list", "--json", "--all")) {
		var r sessionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.Fatalf("%v: %s", err, line)
		}
		all[r.ID] = r
	}
	return all
}

// A session that starts is told who it is, once and whole, before the prompt,
// and neither a resume nor a fork tells it again; what the client makes for
// itself, a title, is made without it.
//
// S0-1 S0-17 S0-38 S0-39 S1-7 S1-39 S1-45
func startPlugged(w *plugged) {
	t := w.TB
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.ask("show me the environment")
	id := w.newest()
	first := w.model.Turns()[0]
	if !w.oneDocument("startup", first) {
		return
	}
	if text := first.Text(); strings.Index(text, "ROLE-CANARY") > strings.Index(text, "show me the environment") {
		t.Errorf("the prompt stands before the document:\n%s", text)
	}
	for _, r := range w.model.Requests() {
		if r.Kind != model.Turn && r.Count("ROLE-CANARY") > 0 {
			t.Errorf("the document is in a request for something else:\n%s", r.Text())
		}
	}
	for _, want := range []string{"GT_SESSION_UUID=" + id, "GT_HOME=" + w.project} {
		if w.name == "cline" { // which only tells gt's own commands
			break
		}
		if shown := w.model.Turns().LastRequest().Result(); !strings.Contains(shown, want+"\n") {
			t.Errorf("a command of the model does not see %s:\n%s", want, shown)
		}
	}
	if e := w.oneEvent("session_start", id); e.Payload.Source != "startup" || e.Payload.ChainID != id || e.Payload.CWD != w.project {
		t.Errorf("session_start says %+v", e.Payload)
	}
	if e := w.oneEvent("session_end", id); e.Payload.Outcome != "done" {
		t.Errorf("session_end says %+v", e.Payload)
	}
	var alive struct {
		State   string
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(w.read(w.runtime("keepalive.json"))), &alive); err != nil || alive.State != "ended" || alive.Session != id {
		t.Errorf("keepalive.json says %+v (%v)", alive, err)
	}

	if w.resume == nil { // a person can, on the screen
		return
	}
	for range 2 {
		w.ask("go on", w.resume(id)...)
	}
	last := w.model.Turns().LastRequest()
	w.oneDocument("two resumes later", last)
	if n := last.Count("Session resumed. Continue your previous task."); n != 1 {
		t.Errorf("after two resumes the model is told %d times to go on:\n%s", n, last.Text())
	}
	w.oneEvent("session_start", id)
	if n := len(w.events("session_resume", id)); n != 2 {
		t.Errorf("two resumes left %d events", n)
	}

	w.ask("another way", w.fork(id)...)
	fork := w.newest()
	if e := w.oneEvent("session_start", fork); fork == id || e.Payload.Source != "fork" {
		t.Errorf("the fork's start says %+v", e.Payload)
	}
	w.oneDocument("in the fork", w.model.Turns().LastRequest())

	all := w.listed()
	if r := all[id]; r.Outcome != "done" || r.ChainID != id {
		t.Errorf("gt-seance lists %+v", r)
	}
	show := w.gt("gt-seance", "show", id)
	resume := strings.Join(append([]string{w.name}, w.resume(id)...), " ")
	if !strings.Contains(show, resume) {
		t.Errorf("gt-seance show does not say %q:\n%s", resume, show)
	}
	w.noHookErrors()
	if status := w.git("status", "--porcelain"); status != "" {
		t.Errorf("git shows what gt keeps:\n%s", status)
	}
}

// A text that fills what a session may be told arrives whole.
//
// S1-48
func longPlugged(w *plugged) {
	t := w.TB
	var role strings.Builder
	role.WriteString("ROLE-CANARY\n")
	for i := range 2000 {
		fmt.Fprintf(&role, "Rule %d: do it properly.\n", i)
	}
	w.role(role.String() + "LAST-RULE\n")
	w.ask("hello")
	first := w.model.Turns().LastRequest()
	w.oneDocument("startup", first)
	if first.Count("LAST-RULE") > 0 || first.Count("Rule 300:") == 0 || first.Count("lines are left out") != 1 {
		t.Errorf("the role is %d rules long for the model:\n%s", first.Count(": do it properly"), first.Text())
	}
}

// Before a compaction the thread is saved, and the summariser is told what to
// keep; after it the session is told to go on, and not that it is new.
//
// S1-46 S1-47 S1-65 S1-69 S1-73
func compactPlugged(w *plugged) {
	t := w.TB
	w.role("You keep the lighthouse. ROLE-CANARY")
	p := w.openPane("max")
	w.say(p, "please build the WIDGET-CANARY parser", "")
	id := w.latest()
	w.gt("gt-mail", "hook", "--new", "-s", "WORK-CANARY repair the lamp", "-m", "The lamp flickers.")
	w.say(p, "good morning", "")
	w.waitFor("the turn is over", func() bool { return strings.Contains(w.read(w.runtime("keepalive.json")), `"waiting"`) })
	w.say(p, "/compact", w.compacted)
	keep := w.model.Requests().Kind(model.Compaction).Filter(func(r *model.Request) bool {
		return r.Count("Keep in the summary, as exactly as they were said") == 1 && r.Count("WORK-CANARY") == 1
	})
	if len(keep) != 1 { // pi may ask for two parts of a summary
		t.Errorf("%d requests say what the summary must keep", len(keep))
	}
	notes := w.notes() // with the work
	if len(notes) != 2 || !strings.Contains(strings.Join(notes, "\n"), "WIDGET-CANARY") {
		t.Errorf("the compaction left %d notes:\n%s", len(notes), notes)
	}
	if n := len(w.events("handoff", id)); n != 1 {
		t.Errorf("the compaction left %d handoff events", n)
	}
	w.waitFor("the start after the compaction is told", func() bool { return len(w.markers()) == 0 })

	w.say(p, "and now?", "")
	after := w.asked("and now?")
	if n := after.Count("Context compacted. Continue your previous task."); n != 1 {
		t.Errorf("after the compaction the model is told %d times to go on:\n%s", n, after.Text())
	}
	if n := after.Count("is kept word for word"); n != 1 {
		t.Errorf("after the compaction the model is told %d times of the note:\n%s", n, after.Text())
	}
	w.say(p, "and then?", "")
	if n := w.asked("and then?").Count("Context compacted. Continue your previous task."); n != 1 {
		t.Errorf("a prompt later it is told %d times to go on", n)
	}
	w.oneEvent("session_start", id)
	if r := w.record(id); r.ParentID != "" || r.ChainID != id || r.EndedAt != "" || r.TmuxSession != "max" {
		t.Errorf("after the compaction the record says %+v", r)
	}
}

// A conversation goes on in a new process in its pane, and is told so: at once, or
// when the person has said a word.
//
// S1-64 S1-66 S1-74
func cyclePlugged(w *plugged) {
	t := w.TB
	p := w.openPane("max", "--model", "e2e/e2e-model")
	w.say(p, "FIRST-CANARY prompt", "")
	id, before := w.latest(), p.get("#{pane_pid}")
	w.typ(p, "please cycle", "please cycle") // the pane is taken over at once
	w.waitFor("the pane has a fresh client", func() bool { return p.get("#{pane_pid}") != before })
	if w.name == "opencode" { // which takes no prompt together with a session
		p.awaitScreen("please cycle")
		p.awaitScreen("ctrl+p commands")
		w.typ(p, "well then", veryWell("well then"))
	}
	r := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return r.Count("Context compacted. Continue your previous task.") > 0
		}).LastRequest()
	})
	if r == nil || r.Count("FIRST-CANARY") == 0 {
		t.Fatalf("the conversation does not go on: %v", r)
	}
	w.waitFor("the marker is taken", func() bool { return len(w.markers()) == 0 })
	if all := w.records(); len(all) != 1 || w.latest() != id || all[id].EndedAt != "" {
		t.Errorf("the sessions are %+v, and should be %s, which goes on", all, id)
	}
	w.noHookErrors()
}

// gt-handoff, run by the agent, puts a fresh one with the same flags into the
// same pane, which knows what the old one wrote down.
//
// S0-4 S0-6 S0-11 S0-15 S1-2 S1-53 S1-62 S1-63
func handOverPlugged(w *plugged) {
	t := w.TB
	w.role("You keep the lighthouse. ROLE-CANARY")
	flags := []string{"--model", "e2e/e2e-model"}
	if w.name == "pi" {
		flags = append(flags, "--api-key", w.key)
	}
	p := w.openPane("max", flags...)
	pane := p.get("#{session_id} #{session_name} #{pane_id}")
	w.typ(p, "please hand over", "please hand over") // the pane is taken over at once
	old := ""
	first := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return strings.Contains(r.Asked(), "Go on from the note.")
		}).LastRequest()
	})
	if first == nil {
		t.Fatal("nobody took over")
	}
	w.waitFor("the old session is over", func() bool {
		for id, r := range w.records() {
			if r.EndedAt != "" && r.ChildID != "" {
				old = id
			}
		}
		return old != ""
	})
	fresh := w.record(old).ChildID
	for _, text := range append(strings.Split(message, "\n"), inQuotes, "ROLE-CANARY") {
		if text != "" && first.Count(text) == 0 {
			t.Errorf("the successor's first request lacks %q:\n%s", text, first.Text())
		}
	}
	if n := first.Count("MESSAGE-CANARY"); n != 1 {
		t.Errorf("the successor's first request holds the message %d times", n)
	}
	if after := p.get("#{session_id} #{session_name} #{pane_id}"); after != pane {
		t.Errorf("the pane was %s, and is %s", pane, after)
	}
	if args := w.startedWith(p); !strings.Contains(strings.ReplaceAll(args, `","`, " "), "--model e2e/e2e-model") || strings.Contains(args, `"--api-key`) {
		t.Errorf("the successor runs as %s", args)
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	if r := w.record(old); r.Outcome != "handoff" || r.ChainID != old {
		t.Errorf("the old record says %+v", r)
	}
	w.waitFor("the first turn is over", func() bool { return w.record(fresh).TmuxSession != "" })
	if r := w.record(fresh); r.ParentID != old || r.ChainID != old || r.EndedAt != "" || r.TmuxSession != "max" || r.TmuxPane != p.id {
		t.Errorf("the new record says %+v", r)
	}
	if r := w.listed()[fresh]; r.ParentID != old || r.ChainID != old {
		t.Errorf("gt-seance lists the successor as %+v", r)
	}
	w.say(p, "do you know enough?", "")
	if n := w.asked("do you know enough?").Count("MESSAGE-CANARY"); n != 1 {
		t.Errorf("a prompt later the message stands there %d times", n)
	}
	w.noSecretInFiles()
}

// startedWith are the arguments that the client in a pane was started with.
func (w *plugged) startedWith(p *pane) string {
	w.Helper()
	if w.name == "pi" { // which overwrites them
		w.say(p, "show me the environment", "It is done.")
		return w.model.Turns().LastRequest().Result()
	}
	return w.commandLine(p.pid())
}

// A client that is killed leaves its last checkpoint, which the person's next session is
// told of, once. A run without a person between them is told of it and takes nothing.
//
// S0-13 S0-37 S1-5 S1-84 S1-88
func crashPlugged(w *plugged) {
	t := w.TB
	p := w.openPane("max")
	w.say(p, "start the work", "It is done.")
	old := w.latest()
	checkpoint := w.runtime("checkpoint.json")
	w.waitFor("the checkpoint of the turn is written", func() bool {
		return exists(checkpoint) && strings.Contains(w.read(checkpoint), "README.md")
	})
	w.waitFor("the turn is over", func() bool { return strings.Contains(w.read(w.runtime("keepalive.json")), `"waiting"`) })
	pid := w.record(old).PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the client is dead", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})

	w.ask("what is here?")
	if n := w.asked("what is here?").Count("No person sees this run"); n != 1 {
		t.Errorf("a run without a person is told %d times that it takes nothing", n)
	}
	if r := w.record(old); r.Outcome != "" || r.ChildID != "" {
		t.Errorf("after a run without a person the record of the crashed session says %+v", r)
	}

	w.say(w.openPane("again"), "where are we?", "")
	fresh := w.latest()
	first := w.asked("where are we?")
	for _, text := range []string{"CHECKPOINT-CANARY half of the lamp is done", "step-7"} {
		if n := first.Count(text); n != 1 {
			t.Errorf("the session after the crash is told %q %d times:\n%s", text, n, first.Text())
		}
	}
	if r := w.record(old); r.Outcome != "crash" || r.ChildID != fresh {
		t.Errorf("the record of the crashed session says %+v", r)
	}
	if r := w.listed()[fresh]; r.ParentID != old || r.ChainID != old {
		t.Errorf("gt-seance lists the session after it as %+v", r)
	}
	w.ask("a new day")
	if n := w.asked("a new day").Count("CHECKPOINT-CANARY"); n != 0 {
		t.Errorf("one session later the crash is told %d times", n)
	}
}

// A client whose terminal is closed leaves its thread to who comes next; one
// that a person leaves does not.
//
// S0-13 S1-5
func killPlugged(w *plugged) {
	t := w.TB
	p := w.openPane("max")
	w.say(p, "start the work", "It is done.")
	old := w.latest()
	w.waitFor("the turn is over", func() bool { return strings.Contains(w.read(w.runtime("keepalive.json")), `"waiting"`) })
	pid := w.record(old).PID
	w.tmux("kill-session", "-t", "=max")
	w.waitFor("the client is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	w.say(w.openPane("again"), "where are we?", "")
	if n := w.asked("where are we?").Count("CHECKPOINT-CANARY"); n != 1 {
		t.Errorf("the next session is told %d times what was noted", n)
	}
	if r := w.record(old); r.Outcome != "crash" && r.Outcome != "killed" || r.ChildID != w.latest() {
		t.Errorf("the record says %+v", r)
	}
}

// Wired twice, for the person and for the project, gt acts once.
//
// S1-39 S1-69
func twicePlugged(w *plugged) {
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.write(filepath.Join(w.project, w.projectHook), w.read(w.hook))
	if w.name == "opencode" {
		w.fetched(filepath.Join(w.project, ".opencode"))
	}
	w.ask("show me the environment")
	id := w.newest()
	w.oneDocument("startup", w.model.Turns().LastRequest())
	w.oneEvent("session_start", id)
	w.oneEvent("session_end", id)
	w.noHookErrors()
}

// Without the binaries the client works as ever.
//
// S0-24
func missingPlugged(w *plugged) {
	t := w.TB
	w.write(w.hook, strings.ReplaceAll(w.read(w.hook), bin+"/gt-", w.Path("nowhere")+"/gt-"))
	p := w.openPane("max")
	w.say(p, "good morning", "")
	for _, word := range []string{"ENOENT", "rror", "nowhere"} {
		if screen := p.screen(); strings.Contains(screen, word) {
			t.Errorf("the screen shows %q:\n%s", word, screen)
		}
	}
	if exists(w.runtime()) {
		t.Error("something was kept: the test proves nothing")
	}
}
