//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/e2e/argv"
	"gt/e2e/model"
)

// What a person might write: every character that a shell, tmux or a mail
// header would like to have a say in.
const (
	subject  = `It's "SUBJECT-CANARY" for $HOME; #{pane_id} & more`
	inQuotes = `"It's 'SUBJECT-CANARY' for $HOME; #{pane_id} & more"` // quoted, as a start says it
	message  = "First: don't `touch` the \"lamp\".\nSecond: MESSAGE-CANARY costs $5 #{session_name} \\n 100%;\n\nThird: äöü ✓"
)

// handOver is the command that the model is made to run.
var handOver = "gt-handoff -s " + quote(subject) + " -m " + quote(message)

// quote makes one word of a shell's command line.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// gt-handoff in a pane puts a fresh agent into the same pane, which knows what
// the old one wrote down.
//
// S0-4 S0-6 S0-11 S0-15 S0-25 S0-36 S0-40 S1-2 S1-3 S1-4 S1-41 S1-49 S1-53
// S1-56 S1-59 S1-60 S1-61 S1-62 S1-63 S1-69 S1-72
func TestHandover(t *testing.T) {
	w := newWorld(t)
	handoverStory(w, func() *pane { return w.claude("max") })
}

// The same where tmux knows nothing of the key: the person has it in the shell
// from which the client was started.
//
// S1-62
func TestHandoverFromShell(t *testing.T) {
	w := newWorld(t)
	kept := w.Env
	w.Env = nil
	for _, kv := range kept {
		if !strings.HasPrefix(kv, "ANTHROPIC_") {
			w.Env = append(w.Env, kv)
		}
	}
	rc := "PS1='shell> '\n"
	for _, kv := range kept {
		if k, v, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "ANTHROPIC_") {
			rc += "export " + k + "=" + quote(v) + "\n"
		}
	}
	w.write(filepath.Join(w.home, ".bashrc"), rc)
	handoverStory(w, func() *pane {
		p := w.open("max", "bash", "-i")
		p.awaitScreen("shell>")
		w.tmux("send-keys", "-t", p.id, "claude", "Enter")
		p.awaitPrompt()
		return p
	})
}

// A command in Claude Code's sandbox can reach neither tmux nor the client, nor write
// gt's state: what it hands over is a request in the project, and the pane is given
// away by the hook at the end of the turn, which runs outside. What gt notes in there leaves no session for dead.
//
// S1-15 S1-62 S1-63
func TestHandoverFromSandbox(t *testing.T) {
	w := newWorld(t)
	for _, program := range []string{"bwrap", "socat"} { // which its sandbox is made of
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no ", program)
		}
	}
	var settings map[string]any
	if err := json.Unmarshal([]byte(w.read(w.userSettings())), &settings); err != nil {
		t.Fatal(err)
	}
	settings["sandbox"] = map[string]any{
		"enabled": true, "autoAllowBashIfSandboxed": true, "allowUnsandboxedCommands": false,
	}
	w.writeJSON(w.userSettings(), settings)
	w.model.Answer(func(r *model.Request) model.Reply {
		switch asked := r.Asked(); {
		case strings.Contains(asked, "please look"):
			return model.Bash("touch ~/outside; gt-prime; gt-checkpoint write --notes x")
		case strings.Contains(asked, "please hand over"):
			return model.Bash("gt-handoff -s x -m MESSAGE-CANARY")
		}
		return model.Reply{}
	})
	p := w.claude("max")
	w.waitFor("the session is noted", func() bool { return len(w.records()) == 1 })
	old, pid := w.onlySessionID(), p.pid()
	was := w.record(old)
	p.typ("please look")
	w.waitFor("the command has run", func() bool {
		last := w.model.Turns().LastRequest()
		return last != nil && last.Result() != ""
	})
	if said := w.model.Turns().LastRequest().Result(); !strings.Contains(said, "cannot touch") {
		t.Skipf("there is no sandbox here: %s", said)
	}
	if r := w.record(old); r.PID != was.PID || r.TmuxPane != p.id || r.EndedAt != "" {
		t.Errorf("after a look from the sandbox the record says %+v", r)
	}
	p.typ("please hand over")
	w.waitFor("a new process runs in the pane", func() bool { return p.pid() != pid })
	said := w.model.Turns().Filter(func(r *model.Request) bool { return r.Session == old }).LastRequest().Result()
	if !strings.Contains(said, "gt-request sha256:") {
		t.Errorf("the agent is told:\n%s", said)
	}
	first := w.asked("Go on from the note.")
	if first.Session == old || first.Count("\nMESSAGE-CANARY\n") != 1 {
		t.Errorf("the successor is told:\n%s", first.Told())
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	if r := w.record(first.Session); r.ParentID != old || r.TmuxPane != p.id {
		t.Errorf("the successor's record says %+v", r)
	}
	w.oneEvent("handoff", old)
	w.waitFor("the old session is over", func() bool { return w.record(old).EndedAt != "" })
	w.oneEvent("session_end", old)
	if r := w.record(old); r.Outcome != "handoff" {
		t.Errorf("the record of who handed over says %+v", r)
	}
}

func handoverStory(w *world, start func() *pane) {
	t := w.TB
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "please hand over") {
			return model.Bash(handOver)
		}
		return model.Reply{}
	})
	traced, pause := w.traceServer(), argv.Shortest
	if traced != nil {
		pause = 20 * time.Millisecond // the trace misses none; this sees the names that a process gives itself
	}
	watch := argv.Watch(w.home, pause)
	p := start()
	w.tmux("set-environment", "-t", "=max:", "KEPT", "yes")
	before := p.get("#{session_id} #{session_name} #{session_created} #{pane_id} #{session_windows} #{window_panes}")
	kept := w.tmux("show-options", "-p", "-A", "-v", "-t", p.id, "remain-on-exit")
	p.typ("please hand over")
	old := w.asked("please hand over").Session

	first := w.model.Await(patience, func(all model.Requests) *model.Request {
		for _, r := range all.Kind(model.Turn) {
			if r.Session != old {
				return r
			}
		}
		return nil
	})
	if first == nil {
		t.Fatal("nobody took over")
	}
	fresh := first.Session
	for _, text := range append(strings.Split(message, "\n"), inQuotes, "ROLE-CANARY") {
		if text != "" && first.Count(text) == 0 {
			t.Errorf("the successor's first request lacks %q:\n%s\n\n%s", text, first.Told(), first.Asked())
		}
	}
	if n := first.Count("MESSAGE-CANARY"); n != 1 {
		t.Errorf("the successor's first request holds the message %d times", n)
	}
	if first.Count("please hand over") > 0 && !strings.Contains(strings.ToLower(first.Told()), "handoff") {
		t.Errorf("the successor is not told that the hand-over is done:\n%s", first.Told())
	}
	if asked := first.Asked(); !strings.Contains(asked, "Handoff: ") || !strings.Contains(asked, ". Go on from the note.") || strings.Contains(asked, "GAS TOWN") {
		t.Errorf("the successor's first prompt does not say what is handed over: %q", asked)
	}
	if key := first.Header.Get("X-Api-Key"); key != w.key {
		t.Errorf("the successor came with the key %q", key)
	}

	if after := p.get("#{session_id} #{session_name} #{session_created} #{pane_id} #{session_windows} #{window_panes}"); after != before {
		t.Errorf("the pane was %s, and is %s", before, after)
	}
	if env := w.tmux("show-environment", "-t", "=max:"); !strings.Contains(env, "KEPT=yes") {
		t.Errorf("the tmux session lost its environment:\n%s", env)
	}
	w.waitFor("remain-on-exit is as it was", func() bool {
		return w.tmux("show-options", "-p", "-A", "-v", "-t", p.id, "remain-on-exit") == kept
	})
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })

	w.waitFor("the old session is over", func() bool { return w.record(old).EndedAt != "" })
	if r := w.record(old); r.Outcome != "handoff" || r.ChildID != fresh || r.ChainID != old {
		t.Errorf("the old record says %+v", r)
	}
	if r := w.record(fresh); r.ParentID != old || r.ChainID != old || r.EndedAt != "" || r.TmuxSession != "max" || r.TmuxPane != p.id {
		t.Errorf("the new record says %+v", r)
	}
	if got := w.latest(); got != fresh {
		t.Errorf("session_id says %s, want %s", got, fresh)
	}
	if e := w.oneEvent("handoff", old); e.Payload.Subject != subject {
		t.Errorf("the handoff event says %+v", e.Payload)
	}
	if e := w.oneEvent("session_end", old); e.Payload.Outcome != "handoff" {
		t.Errorf("session_end says %+v", e.Payload)
	}
	if e := w.oneEvent("session_start", fresh); e.Payload.ParentID != old || e.Payload.ChainID != old {
		t.Errorf("session_start says %+v", e.Payload)
	}

	// It works on, and is not told a second time.
	p.typ("do you know enough?")
	again := w.asked("do you know enough?")
	if again.Session != fresh || again.Count("MESSAGE-CANARY") != 1 {
		t.Errorf("the successor's second request, of session %s, holds the message %d times", again.Session, again.Count("MESSAGE-CANARY"))
	}
	// A session after that is not told at all that a hand-over is done.
	p.typ("/clear")
	p.typ("what happened?")
	if told := w.asked("what happened?").Told(); strings.Contains(told, "handoff is DONE") {
		t.Errorf("the session after the successor is told that the hand-over is done:\n%s", told)
	}

	seen, rounds := watch.Stop()
	if traced != nil {
		seen = append(seen, traced()...)
	}
	typed := 0
	for _, process := range seen {
		if process.ContainsText(w.key) {
			t.Errorf("the key is on a command line: %v", process)
		}
		if !process.ContainsText("MESSAGE-CANARY") {
			continue
		}
		if name := filepath.Base(process.Args[0]); name == "gt-handoff" || process.ContainsText("gt-handoff -s ") {
			typed++
			continue
		}
		t.Errorf("the message is on a command line: %v", process)
	}
	if typed == 0 {
		t.Errorf("in %d looks at /proc the command itself was not seen: the watch proves nothing", rounds)
	}
	w.noSecretInFiles()
}

// traceServer starts the world's tmux server under strace, where that is to be
// had, and returns what reads the programs started below it, nil without strace.
func (w *world) traceServer() (programs func() []argv.Process) {
	w.Helper()
	if !argv.Tracing() {
		w.Log("without strace: a process that is very short may pass unseen")
		return nil
	}
	trace, prefix := argv.NewTrace(w.Root)
	args := append(append(prefix, "tmux"), w.tmuxArgs([]string{"-D"})...)
	server := exec.Command(args[0], args[1:]...)
	server.Env, server.Dir = w.Env, w.Root
	if err := server.Start(); err != nil {
		w.Fatal(err)
	}
	go server.Wait()
	w.waitFor("the tmux server is up", func() bool { return exists(w.Path("tmux", fmt.Sprintf("tmux-%d", os.Getuid()), "e2e")) })
	return func() []argv.Process {
		all, err := trace.Programs()
		if err != nil {
			w.Fatal(err)
		}
		return all
	}
}

// noSecretInFiles looks for the key in all that gt keeps.
func (w *world) noSecretInFiles() {
	w.Helper()
	for _, dir := range []string{w.project, w.town()} {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			// What a hook replaces meanwhile is gone, and was a part of what takes its place.
			if err == nil && d.Type().IsRegular() && strings.Contains(w.read0(path), w.key) {
				w.Errorf("the key stands in %s", path)
			}
			return nil
		})
	}
}
