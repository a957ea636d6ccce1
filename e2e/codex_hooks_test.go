//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/e2e/model"
)

// newHookedCodex makes a world in which gt is wired into Codex and trusted, and
// where the model runs what stands between the brackets of RUN[…].
func newHookedCodex(t *testing.T, settings ...string) *world {
	t.Helper()
	w := newCodex(t)
	w.wireCodex()
	w.codexSettings(settings...)
	w.trustHooks()
	return w
}

func (w *world) wireCodex() {
	w.gt("gt-hooks", "install", "codex")
	w.loginPath()
	w.model.Answer(answerCodex)
}

var toRun = regexp.MustCompile(`(?s)RUN\[(.*)\]`)

func answerCodex(r *model.Request) model.Reply {
	asked := r.Asked()
	switch cmd := toRun.FindStringSubmatch(asked); {
	case r.Kind == model.Compaction:
		return model.Say("SUMMARY-CANARY")
	case cmd != nil:
		return codexShell(r, cmd[1])
	case r.Result() != "":
		return model.Say("It is done.")
	}
	return model.Say("ANSWER to " + asked[:min(len(asked), 60)])
}

// codexSettings adds lines to the top of Codex's settings.
func (w *world) codexSettings(lines ...string) {
	path := filepath.Join(w.home, ".codex", "config.toml")
	w.write(path, strings.Join(append(lines, ""), "\n")+w.read(path))
}

// hookTrust are the trusted hooks as Codex keeps them: by the file, the event,
// the group and the place in it, the hash of what is wired.
func (w *world) hookTrust() map[string]string {
	w.Helper()
	path := filepath.Join(w.home, ".codex", "hooks.json")
	var wired struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Timeout int
			}
		}
	}
	if err := json.Unmarshal([]byte(w.read(path)), &wired); err != nil {
		w.Fatal(err)
	}
	trust := map[string]string{}
	for event, groups := range wired.Hooks {
		name := strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(event, "${1}_$2"))
		for i, g := range groups {
			for j, h := range g.Hooks {
				identity, err := json.Marshal(map[string]any{"event_name": name, "hooks": []any{
					map[string]any{"async": false, "command": h.Command, "timeout": h.Timeout, "type": "command"},
				}})
				if err != nil {
					w.Fatal(err)
				}
				trust[fmt.Sprintf("%s:%s:%d:%d", path, name, i, j)] = fmt.Sprintf("sha256:%x", sha256.Sum256(identity))
			}
		}
	}
	return trust
}

// trustHooks trusts all hooks, as TestCodexTrust does by hand.
func (w *world) trustHooks() {
	w.Helper()
	path := filepath.Join(w.home, ".codex", "config.toml")
	text := w.read(path)
	for key, hash := range w.hookTrust() {
		text += fmt.Sprintf("\n[hooks.state.%q]\ntrusted_hash = %q\n", key, hash)
	}
	w.write(path, text)
}

// codexExec runs Codex headless and returns all that it prints, which must not
// say that a hook has failed.
func (w *world) codexExec(args ...string) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.look("codex"), append([]string{"exec"}, args...)...)
	cmd.Dir, cmd.Env = w.project, append(slices.Clone(w.Env), "PWD="+w.project)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		w.Fatalf("codex exec %q: %v\n%s", args, err, out.Bytes())
	}
	w.noHookFailed(out.String())
	return out.String()
}

// noHookFailed looks for what Codex says of hooks that fail, or that it does not
// like.
func (w *world) noHookFailed(said string) {
	w.Helper()
	for _, bad := range []string{"Failed", "Stopped", "Blocked", "clamping", "timed out", "invalid", "hook exited"} {
		for line := range strings.Lines(said) {
			if strings.Contains(line, bad) {
				w.Errorf("Codex says: %s", line)
			}
		}
	}
	w.noHookErrors()
}

// onlySessionID is the id of the only session there is a record of.
func (w *world) onlySessionID() string {
	w.Helper()
	for id := range w.records() {
		if len(w.records()) == 1 {
			return id
		}
	}
	w.Fatalf("there are %d records, want one", len(w.records()))
	return ""
}

// Codex runs no hook that a person has not trusted, and says nothing of it when
// it runs without one; with a person it asks. Then a session starts at the first
// prompt, is told who it is, and knows in which pane it is.
//
// S1-9 S1-46 S1-62 S1-66
func TestCodexTrust(t *testing.T) {
	w := newCodex(t)
	w.wireCodex()
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.codexExec("untrusted")
	if n := w.asked("untrusted").Count("ROLE-CANARY"); n > 0 || len(w.records()) > 0 {
		t.Errorf("without trust the model is told %d times who it is, and there are records %+v", n, w.records())
	}

	p := w.open("cx", "codex")
	p.awaitScreen("Hooks need review")
	p.awaitScreen("9 hooks are new")
	p.press("Down", "› 1. Review hooks")
	p.awaitScreen("› 2. Trust all and continue")
	p.press("Enter", "› 2. Trust all and continue")
	p.codexReady()
	config := w.read(filepath.Join(w.home, ".codex", "config.toml"))
	for key, hash := range w.hookTrust() {
		if want := fmt.Sprintf("[hooks.state.%q]\ntrusted_hash = %q\n", key, hash); !strings.Contains(config, want) {
			t.Errorf("what Codex notes of a hook that is trusted is not\n%sin\n%s", want, config)
		}
	}
	if len(w.records()) > 0 {
		t.Errorf("before the first prompt there are records %+v", w.records())
	}
	p.codex("/hooks", "Lifecycle hooks")
	p.awaitScreen("SessionStart          1           1")
	w.tmux("send-keys", "-t", p.id, "Escape")
	p.codexReady()
	p.codex("hello", "ANSWER to hello")
	if n := w.asked("hello").Count("ROLE-CANARY"); n != 1 {
		t.Errorf("the model is told %d times who it is", n)
	}
	id := w.onlySessionID()
	if r := w.record(id); r.TmuxPane != p.id || r.PID == 0 {
		t.Errorf("the record says %+v, the pane is %s", r, p.id)
	}
	w.noHookFailed(p.screen())
	w.waitFor("the turn's end was noted", func() bool { return exists(w.runtime("checkpoint.json")) })
	w.waitFor("the sign of life says that it waits", func() bool {
		sign := w.read(w.runtime("keepalive.json"))
		return strings.Contains(sign, id) && strings.Contains(sign, `"waiting"`)
	})
}

// codexReady waits until Codex takes a prompt.
func (p *pane) codexReady() {
	p.w.Helper()
	p.awaitScreen("› Ask Codex to do anything")
}

// codexReplaced types a line into Codex and waits until another process than
// that runs in the pane.
func (p *pane) codexReplaced(line string, than int) {
	p.w.Helper()
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	p.awaitScreen("› " + line)
	var pressed pause
	p.w.waitFor("a new process runs in the pane", func() bool {
		if p.pid() != than {
			return true
		}
		if strings.Contains(p.screen(), "› "+line+"\n\n  ") && pressed.restart(takesKey) {
			time.Sleep(300 * time.Millisecond)
			p.w.tmuxOutput("send-keys", "-t", p.id, "Enter")
		}
		return false
	})
}

// A session that starts is told who it is, once and whole, however many bytes
// the characters have; a resume tells it that it goes on, and a fork is a session
// of its own. Its end is noted in the time that Codex gives.
//
// S0-3 S0-10 S0-24 S0-36 S0-38 S0-39 S0-40 S1-7 S1-45 S1-46 S1-48 S1-50
func TestCodexStart(t *testing.T) {
	w := newHookedCodex(t)
	var role strings.Builder
	role.WriteString("ROLE-CANARY\n")
	for i := range 500 {
		fmt.Fprintf(&role, "規則 %d: 日本語で丁寧に書くこと。\n", i)
	}
	w.role(role.String() + "LAST-RULE\n")
	w.codexExec("RUN[env]")
	id := w.onlySessionID()
	whole := func(when string, r *model.Request, documents int) {
		t.Helper()
		if r.Count("ROLE-CANARY") != documents || r.Count("Full hook output saved") > 0 || r.Count("tokens truncated") > 0 {
			t.Errorf("%s: the model has %d documents, want %d whole ones:\n%s", when, r.Count("ROLE-CANARY"), documents, r.Told())
		}
	}
	first := w.model.Turns()[0]
	whole("the start", first, 1)
	if n := first.Count("LAST-RULE") + first.Count("more lines are left out"); n != 1 || first.Count("規則 100:") != 1 {
		t.Errorf("the role was not cut by gt:\n%s", first.Told())
	}
	last := w.model.Turns().LastRequest()
	whole("the next request", last, 1)
	if !strings.Contains(last.Result(), "CODEX_SESSION_ID="+id+"\n") {
		t.Errorf("a command does not see its session's id:\n%s", last.Result())
	}
	if r := w.record(id); r.ChainID != id || r.EndedAt == "" || r.Outcome != "done" {
		t.Errorf("after its end the record says %+v", r)
	}
	if e := w.oneEvent("session_end", id); e.Payload.Outcome != "done" {
		t.Errorf("session_end says %+v", e.Payload)
	}

	for i := range 2 {
		w.codexExec("resume", id, fmt.Sprintf("go on %d", i))
	}
	last = w.model.Turns().LastRequest()
	whole("two resumes later", last, 1)
	if n := last.Count("Session resumed. Continue your previous task."); n != 2 {
		t.Errorf("two resumes told the model %d times that it goes on:\n%s", n, last.Told())
	}
	w.oneEvent("session_start", id)
	if n := len(w.events("session_resume", id)); n != 2 || len(w.events("session_end", id)) != 3 {
		t.Errorf("two resumes left %d events, and %d ends", n, len(w.events("session_end", id)))
	}

	w.codexExec("fork", id, "in the fork")
	fork := w.asked("in the fork")
	whole("the fork", fork, 2) // its own, and what the copied conversation had
	if r := w.record(fork.Session); fork.Session == id || r.Source != "fork" || r.Outcome != "done" {
		t.Errorf("the fork's record says %+v", r)
	}
	w.noHookErrors()
}

// Before a compaction the thread is saved, and after it the session is told to go
// on, where its note is, and not that it is new: in the middle of a turn when the
// conversation is too long, and with the next prompt when the person asks for it.
//
// S1-46 S1-47 S1-65 S1-69 S1-73
func TestCodexCompact(t *testing.T) {
	t.Parallel()
	story := func(t *testing.T, w *world, compact func(), ask func()) {
		w.role("You keep the lighthouse. ROLE-CANARY")
		w.gt("gt-mail", "hook", "--new", "-s", "WORK-CANARY repair the lamp", "-m", "The lamp flickers.")
		var notes, markers []string
		answer := func(r *model.Request) model.Reply {
			if r.Kind == model.Compaction {
				notes, markers = w.notes(), w.markers()
			}
			reply := answerCodex(r)
			if strings.Contains(r.Asked(), "too long") {
				reply.Tokens = 5000
			}
			return reply
		}
		w.model.Answer(answer)
		compact()
		if saved := strings.Join(notes, "\n"); !strings.Contains(saved, "WIDGET-CANARY") || len(markers) != 1 {
			t.Errorf("when the summariser is asked, the notes are %q and the markers %q", notes, markers)
		}
		ask()
		after := w.model.Turns().LastRequest()
		id := w.onlySessionID()
		if n := after.Count("Context compacted. Continue your previous task."); n != 1 || after.Count("SUMMARY-CANARY") == 0 {
			t.Errorf("after the compaction the model is told %d times to go on:\n%s", n, after.Text())
		}
		told := after.Told()
		if !strings.Contains(told, "gt-mail read ") || !strings.Contains(told, "WORK-CANARY") || strings.Contains(told, "handoff is DONE") {
			t.Errorf("after the compaction the model is told:\n%s", told)
		}
		w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
		w.oneEvent("session_start", id)
		w.oneEvent("handoff", id)
	}
	t.Run("auto", func(t *testing.T) {
		w := newHookedCodex(t, "model_auto_compact_token_limit = 1000")
		story(t, w, func() { w.codexExec("the WIDGET-CANARY parser is too long RUN[echo x]") }, func() {})
		if r := w.record(w.onlySessionID()); r.Outcome != "done" {
			t.Errorf("the record says %+v", r)
		}
	})
	t.Run("pane", func(t *testing.T) {
		w := newHookedCodex(t)
		p := w.open("cx", "codex")
		p.codexReady()
		p.codex("please build the WIDGET-CANARY parser", "ANSWER to please build")
		story(t, w, func() { p.codex("/compact", "Context compacted") }, func() {
			p.codex("and now?", "ANSWER to and now")
		})
		w.noHookFailed(p.screen())
	})
}

// The agent hands over from within Codex: a fresh one takes the pane, with the
// person's flags, and knows what the old one wrote down; also where a server runs
// the hooks of all windows, and another window is open in the same folder.
//
// S0-4 S0-6 S0-11 S0-15 S0-25 S1-2 S1-41 S1-49 S1-53 S1-56 S1-61 S1-62 S1-63
func TestCodexHandover(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"server": {"--model", "e2e-other", "--sandbox", "danger-full-access"},
		"alone":  {"-c", `model_reasoning_effort="low"`, "--model", "e2e-other"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHookedCodex(t)
			w.role("You keep the lighthouse. ROLE-CANARY")
			neighbour := w.open("neighbour", "codex")
			neighbour.codexReady()
			neighbour.codex("I am the neighbour", "ANSWER to I am the neighbour")
			next := w.asked("I am the neighbour").Session
			p := w.open("max", append(append([]string{"codex"}, flags...), "good morning")...)
			w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to good morning") })
			old := w.asked("good morning").Session
			if a, b := w.record(next), w.record(old); a.TmuxPane != neighbour.id || b.TmuxPane != p.id || b.ParentID != "" {
				t.Errorf("the neighbour is %+v, in %s; we are %+v, in %s", a, neighbour.id, b, p.id)
			}
			pid := p.pid()
			p.codexReplaced("RUN[gt-handoff -s SUBJECT-CANARY -m MESSAGE-CANARY]", pid)
			first := w.asked("Go on from the note.")
			if first.Session == old || first.Model != "e2e-other" {
				t.Errorf("the successor is session %s of %s", first.Session, first.Model)
			}
			for _, text := range []string{"\nMESSAGE-CANARY\n", "ROLE-CANARY", "you are the new session"} {
				if n := first.Count(text); n != 1 {
					t.Errorf("the successor is told %q %d times:\n%s", text, n, first.Told())
				}
			}
			w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
			if r := w.record(first.Session); r.ParentID != old || r.ChainID != old || r.TmuxPane != p.id {
				t.Errorf("the successor's record says %+v", r)
			}
			w.waitFor("the old session is over", func() bool { return w.record(old).EndedAt != "" })
			if r := w.record(old); r.Outcome != "handoff" || r.ChildID != first.Session {
				t.Errorf("the record of who handed over says %+v", r)
			}
			if r := w.record(next); r.EndedAt != "" || r.ChildID != "" {
				t.Errorf("the neighbour's record says %+v", r)
			}
			if name == "server" { // which runs the old turn to its end
				w.waitFor("who handed over is told to stop", func() bool {
					return len(w.model.Turns().Filter(func(r *model.Request) bool {
						return r.Session == old && strings.Contains(r.Result(), "End your turn now, and do nothing more.")
					})) == 1
				})
			}
			w.noHookFailed(p.screen() + neighbour.screen())
			w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to Handoff") })

			// All of it is listed, and what is shown goes on with it.
			list := w.gt("gt-seance", "list", "--json", "--agent", "codex")
			for _, id := range []string{old, next, first.Session} {
				if !strings.Contains(list, `"id":"`+id+`"`) {
					t.Errorf("session %s is not in the list:\n%s", id, list)
				}
			}
			if !regexp.MustCompile(`"id":"` + first.Session + `".*"chain_id":"` + old + `".*"parent_id":"` + old + `"`).MatchString(list) {
				t.Errorf("the list does not know the chain:\n%s", list)
			}
			command := regexp.MustCompile(`(?m)^.*\bcodex resume ` + old + `.*$`).FindString(w.gt("gt-seance", "show", old))
			if command == "" {
				t.Fatalf("gt-seance show has no command:\n%s", w.gt("gt-seance", "show", old))
			}
			_, command, _ = strings.Cut(command, ":")
			again := w.open("again", "bash", "-c", strings.TrimSpace(command))
			again.awaitScreen("MESSAGE-CANARY")
		})
	}
}

// A Codex that runs none of gt's hooks hands over all the same: it is known by
// what it tells its commands, and its successor's first prompt has it ask.
//
// S1-15 S1-62 S2-32
func TestCodexWithoutHooks(t *testing.T) {
	w := newCodex(t)
	w.wireCodex()
	w.gt("gt-hooks", "uninstall", "codex")
	p := w.open("max", "codex", "--model", "e2e-other", "good morning")
	w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to good morning") })
	pid := p.pid()
	p.codexReplaced("RUN[gt-handoff -s SUBJECT-CANARY -m MESSAGE-CANARY]", pid)
	first := w.asked("Go on from the note.")
	if first.Model != "e2e-other" || !strings.Contains(first.Asked(), "`gt-prime`") {
		t.Errorf("the successor is of %s, and asked %q", first.Model, first.Asked())
	}
	w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to Handoff") })
	p.codexReady()
	p.codex("RUN[gt-prime]", "It is done.")
	if told := w.model.Turns().LastRequest().Result(); strings.Count(told, "\nMESSAGE-CANARY\n") != 1 || !strings.Contains(told, "you are the new session") {
		t.Errorf("gt-prime says:\n%s", told)
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	r := w.record(first.Session)
	if r.ParentID == "" || r.Agent != "codex" || w.record(r.ParentID).Agent != "codex" {
		t.Errorf("the successor's record says %+v", r)
	}
}

// A command that Codex runs in its sandbox, as it does by default, can reach
// neither tmux nor Codex, nor write gt's state: what it hands over is a request in
// the project, and the pane is given away by the hook at the end of the turn, which
// Codex runs outside.
//
// S1-15 S1-62 S1-63
func TestCodexSandbox(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"server": {"--sandbox", "workspace-write"},
		"alone":  {"--sandbox", "workspace-write", "-c", `model_reasoning_effort="low"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHookedCodex(t)
			// What it needs of itself in a sandbox it puts into no folder of
			// temporary files, where our HOME is.
			tmp := w.Path("tmp")
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			w.Env = append(w.Env, "TMPDIR="+tmp)
			config := filepath.Join(w.home, ".codex", "config.toml")
			w.write(config, w.read(config)+"\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
			p := w.open("max", append(append([]string{"codex"}, flags...), "good morning")...)
			w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to good morning") })
			if out, err := w.run(w.project, nil, "codex", "sandbox", "--", "true"); err != nil {
				t.Skipf("there is no sandbox here: %v: %s", err, out)
			}
			old, pid := w.onlySessionID(), p.pid()
			p.codexReplaced("RUN[touch ~/outside; gt-handoff -s SUBJECT-CANARY -m MESSAGE-CANARY]", pid)
			if exists(filepath.Join(w.home, "outside")) {
				t.Fatal("the command ran outside of a sandbox")
			}
			said := w.model.Turns().Filter(func(r *model.Request) bool { return r.Session == old }).LastRequest().Result()
			if !strings.Contains(said, "gt-request sha256:") || !strings.Contains(said, "codex takes over as soon as your turn ends. End it now, and do nothing more.") {
				t.Errorf("the agent is told:\n%s", said)
			}
			first := w.asked("Go on from the note.")
			for _, text := range []string{"\nMESSAGE-CANARY\n", "you are the new session"} {
				if n := first.Count(text); n != 1 {
					t.Errorf("the successor is told %q %d times:\n%s", text, n, first.Told())
				}
			}
			w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
			if r := w.record(first.Session); r.ParentID != old || r.ChainID != old || r.TmuxPane != p.id {
				t.Errorf("the successor's record says %+v", r)
			}
			w.oneEvent("handoff", old)
			w.noHookFailed(p.screen())
			w.waitFor("the old session has ended", func() bool { return w.record(old).EndedAt != "" })
			if r := w.record(old); r.Outcome != "handoff" || r.ChildID != first.Session {
				t.Errorf("the record of who handed over says %+v", r)
			}
			w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to Handoff") })
		})
	}
}

// gt-handoff --cycle goes on with the same conversation in a new process, and
// with the person's flags.
//
// S1-64 S1-66 S1-74
func TestCodexCycle(t *testing.T) {
	w := newHookedCodex(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	p := w.open("max", "codex", "--model", "e2e-other", "good morning")
	w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to good morning") })
	id, pid := w.onlySessionID(), p.pid()
	p.codexReplaced("RUN[gt-handoff --cycle]", pid)
	after := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return r.Count("gt-handoff --cycle") > 0 && r.Asked() != "" && !strings.Contains(r.Asked(), "RUN[")
		}).LastRequest()
	})
	if after == nil {
		t.Fatal("the conversation did not go on")
	}
	if after.Session != id || after.Model != "e2e-other" || after.Count("ROLE-CANARY") != 1 || after.Count("Continue your previous task") == 0 {
		t.Errorf("session %s of %s goes on, and was %s:\n%s", after.Session, after.Model, id, after.Told())
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	w.oneEvent("session_start", id)
	if r := w.record(id); r.EndedAt != "" || r.TmuxPane != p.id {
		t.Errorf("the record says %+v", r)
	}
	w.noHookFailed(p.screen())
}

// A Codex that is killed is recovered by the next start. Where a server runs the
// conversation it goes on without its window, and nothing has crashed until the
// server has. One that was left is over.
//
// S0-13 S0-15 S0-37 S0-38 S1-5 S1-49
func TestCodexCrash(t *testing.T) {
	w := newHookedCodex(t)
	for _, flags := range [][]string{{"-c", "hide_agent_reasoning=true"}, nil} {
		served := flags == nil
		p := w.open("max", append(append([]string{"codex"}, flags...), "RUN[gt-checkpoint write --notes CHECKPOINT-CANARY]")...)
		w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "It is done.") })
		old := w.model.Turns().LastRequest().Session
		w.waitFor("the turn's end is noted", func() bool { return strings.Contains(w.read(w.runtime("keepalive.json")), `"waiting"`) })
		r := w.record(old)
		kill := func(pid int) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		kill(r.PID)
		w.waitFor("the pane is gone", func() bool { return !strings.Contains(w.tmuxOutput("list-sessions"), "max") })
		if served {
			w.codexExec("with the window gone")
			if told := w.asked("with the window gone").Told(); strings.Contains(told, "Crash recovery") || w.record(old).Outcome == "crash" {
				t.Errorf("a session without its window counts as crashed:\n%s", told)
			}
			var server struct {
				PID int `json:"server_pid"`
			}
			if err := json.Unmarshal([]byte(w.read(w.runtime("sessions", old+".json"))), &server); err != nil || server.PID == 0 {
				t.Fatalf("the record names no server: %v", err)
			}
			kill(server.PID)
		}
		ask := map[bool]string{true: "where are we now?", false: "where are we?"}[served]
		p = w.open("max", append(append([]string{"codex"}, flags...), ask)...)
		next := w.asked(ask)
		for _, text := range []string{"Crash recovery", "CHECKPOINT-CANARY"} {
			if !strings.Contains(next.Told(), text) {
				t.Errorf("after the crash (server: %v) the model is not told %q:\n%s", served, text, next.Told())
			}
		}
		if r := w.record(old); r.Outcome != "crash" || r.ChildID != next.Session {
			t.Errorf("the record of the crashed session says %+v", r)
		}
		if r := w.record(next.Session); r.ParentID != old || r.Outcome != "" {
			t.Errorf("the record of the session after it says %+v", r)
		}
		if !served {
			w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to "+ask) })
			p.codex("/quit", "")
			w.waitFor("it is over", func() bool { return w.record(next.Session).Outcome == "done" })
		}
	}
}

// A subagent is no session: it starts none, takes no marker, and its compaction
// is not its session's.
//
// S1-46 S1-47
func TestCodexSubagent(t *testing.T) {
	w := newHookedCodex(t, "model_auto_compact_token_limit = 1000")
	w.role("You keep the lighthouse. ROLE-CANARY")
	delegate := answerDelegating()
	w.model.Answer(delegate)
	w.codexExec("delegate this")
	id := w.onlySessionID()
	if w.model.Requests().Kind(model.Compaction).LastRequest() == nil {
		t.Error("the subagent's conversation was not compacted")
	}
	child := w.asked("You are the child")
	if n := child.Count("ROLE-CANARY"); n > 0 {
		t.Errorf("the subagent is told the role %d times", n)
	}
	if len(w.events("handoff", "")) > 0 || len(w.notes()) > 0 || len(w.markers()) > 0 {
		t.Errorf("the subagent's compaction left notes %q and markers %q", w.notes(), w.markers())
	}
	w.oneEvent("session_start", id)
	w.oneEvent("session_end", id)
	if text := w.read(w.runtime("sessions", id+".json")); !regexp.MustCompile(`"transcript_path": ".*` + id + `\.jsonl"`).MatchString(text) {
		t.Errorf("the transcript is another's:\n%s", text)
	}
}

// answerDelegating sends a subagent out, which runs a command and is too long.
func answerDelegating() model.Answer {
	return func(r *model.Request) model.Reply {
		switch {
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case strings.Contains(r.Asked(), "delegate this"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
				Name: "multi_agent_v1.spawn_agent", Input: map[string]any{"message": "You are the child.", "fork_context": false},
			}}}
		case strings.Contains(r.Asked(), "You are the child"):
			reply := codexShell(r, "echo CHILD")
			reply.Tokens = 5000
			return reply
		case strings.Contains(r.Result(), "agent_id"):
			var out struct {
				ID string `json:"agent_id"`
			}
			json.Unmarshal([]byte(r.Result()), &out)
			return model.Reply{Text: "I wait.", Tools: []model.ToolUse{{
				Name: "multi_agent_v1.wait_agent", Input: map[string]any{"targets": []string{out.ID}, "timeout_ms": patience.Milliseconds()},
			}}}
		}
		return model.Say("It is done.")
	}
}

// After /clear a new session follows the one that the window showed, and is not
// told that anything crashed.
//
// S1-46 S1-50
func TestCodexClear(t *testing.T) {
	w := newHookedCodex(t)
	p := w.open("max", "codex", "good morning")
	w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to good morning") })
	old := w.onlySessionID()
	p.codex("/clear", "Ask Codex to do anything", "• ANSWER")
	p.codex("what now?", "ANSWER to what now")
	fresh := w.asked("what now?")
	if told := fresh.Told(); fresh.Session == old || !strings.Contains(told, "was cleared on purpose") {
		t.Errorf("after /clear the model is told:\n%s", told)
	}
	if r := w.record(fresh.Session); r.ParentID != old || r.ChainID != old || r.Source != "clear" || r.TmuxPane != p.id {
		t.Errorf("the record says %+v", r)
	}
	if r := w.record(old); r.Outcome != "done" || r.ChildID != fresh.Session {
		t.Errorf("the record of the cleared session says %+v", r)
	}
	w.noHookFailed(p.screen())
}

// A conversation that a person resumes in a window goes on as the session that it
// was, in that pane, and is told so once. That the person leaves is its end.
//
// S1-45 S1-46 S1-50
func TestCodexResumeInPane(t *testing.T) {
	w := newHookedCodex(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.codexExec("good morning")
	id := w.onlySessionID()
	for i, flags := range [][]string{{"-c", "hide_agent_reasoning=true"}, nil} {
		prompt := fmt.Sprintf("resumed %d", i)
		p := w.open("max", append(append([]string{"codex"}, flags...), "resume", id, prompt)...)
		w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "ANSWER to "+prompt) })
		r := w.asked(prompt)
		if n, told := r.Count("ROLE-CANARY"), r.Count("Session resumed. Continue"); r.Session != id || n != 1 || told != i+1 {
			t.Errorf("session %s is told %d times who it is, and %d times that it goes on:\n%s", r.Session, n, told, r.Told())
		}
		if r := w.record(id); r.EndedAt != "" || r.TmuxPane != p.id || r.Source != "resume" {
			t.Errorf("the record says %+v, the pane is %s", r, p.id)
		}
		w.noHookFailed(p.screen())
		p.codex("/quit", "")
		if flags != nil {
			w.waitFor("its end is noted", func() bool { return w.record(id).Outcome == "done" })
		}
	}
	w.oneEvent("session_start", id)
}

// A Codex that the agent of another runs is a session of its own, in no pane, and
// takes nothing of the one that runs it.
//
// S1-46
func TestCodexInCodex(t *testing.T) {
	w := newHookedCodex(t)
	p := w.open("max", "codex", "RUN[codex exec 'the inner one RUN[gt-handoff --print -s x -m y]' </dev/null]")
	w.waitFor("the answer is on the screen", func() bool { return strings.Contains(p.screen(), "It is done.") })
	inner, outer := "", ""
	for id, r := range w.records() {
		switch {
		case r.TmuxPane == p.id && outer == "":
			outer = id
		case r.TmuxPane == "" && r.ParentID == "" && r.Outcome == "done":
			inner = id
		default:
			t.Errorf("there is a record %+v", r)
		}
	}
	if outer == "" || inner == outer || len(w.records()) != 2 {
		t.Errorf("the records are %+v", w.records())
	}
	if r := w.record(outer); r.EndedAt != "" || r.ChildID != "" {
		t.Errorf("the outer session's record says %+v", r)
	}
	if printed := w.model.Requests().Filter(func(r *model.Request) bool { return strings.Contains(r.Result(), "X-Gt-Session: "+inner) }); len(printed) == 0 {
		t.Error("a command of the inner session takes itself for another's")
	}
}

// Of two windows that nobody has typed into yet, nothing tells which one a session
// of their server is in: its hand-over is saved, and no pane is touched.
//
// S1-3 S1-53
func TestCodexWindowsAlike(t *testing.T) {
	w := newHookedCodex(t)
	a, b := w.open("a", "codex"), w.open("b", "codex")
	a.codexReady()
	b.codexReady()
	pids := []int{a.pid(), b.pid()}
	a.codex("RUN[gt-handoff -s SUBJECT-CANARY -m MESSAGE-CANARY]", "It is done.")
	if said := w.model.Turns().LastRequest().Result(); !strings.Contains(said, "codex") {
		t.Errorf("gt-handoff does not say how to go on:\n%s", said)
	}
	if now := []int{a.pid(), b.pid()}; !slices.Equal(now, pids) {
		t.Errorf("the panes ran %v, and now %v", pids, now)
	}
	if r := w.record(w.onlySessionID()); r.TmuxPane != "" || r.PID != 0 || r.EndedAt != "" {
		t.Errorf("the record says %+v", r)
	}
	if len(w.markers()) != 1 || !strings.Contains(strings.Join(w.notes(), ""), "MESSAGE-CANARY") {
		t.Errorf("the markers are %q, the notes %q", w.markers(), w.notes())
	}
	w.noHookFailed(a.screen() + b.screen())
}

// Wired twice, for the person and in the project, gt acts once.
//
// S1-39 S1-69
func TestCodexWiredTwice(t *testing.T) {
	w := newCodex(t)
	w.wireCodex()
	w.gt("gt-hooks", "install", "codex", "--scope", "project")
	w.codexSettings("model_auto_compact_token_limit = 1000")
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		reply := answerCodex(r)
		if strings.Contains(r.Asked(), "too long") {
			reply.Tokens = 5000
		}
		return reply
	})
	w.codexExec("--dangerously-bypass-hook-trust", "too long RUN[echo x]")
	id := w.onlySessionID()
	w.oneEvent("session_start", id)
	w.oneEvent("session_end", id)
	w.oneEvent("handoff", id)
	if n := w.model.Turns()[0].Count("ROLE-CANARY"); n != 1 {
		t.Errorf("the model is told %d times who it is", n)
	}
	if after := w.model.Turns().LastRequest(); after.Count("Context compacted. Continue your previous task.") != 1 || len(w.notes()) != 1 || len(w.markers()) != 0 {
		t.Errorf("after the compaction there are notes %q and markers %q, and the model is told:\n%s", w.notes(), w.markers(), after.Told())
	}
}
