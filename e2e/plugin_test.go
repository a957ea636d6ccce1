//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gt/e2e/client"
	"gt/e2e/model"
	"gt/internal/testenv"
)

// repository returns the path of the folder that clients take for a marketplace.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Installed as a plugin from the marketplace, gt tells a session who it is, saves it before a
// compaction and hands it over, each once, beside gt-hooks' own wiring too; gt-hooks names the
// plugin. Uninstalled it says nothing any more.
func TestClaudePlugin(t *testing.T) {
	w := newBareWorld(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "please hand over") {
			return model.Bash(handOver)
		}
		return model.Reply{}
	})
	w.gt("claude", "plugin", "marketplace", "add", repository(t))
	w.gt("claude", "plugin", "install", "gt@gt")
	if said := w.gt("gt-hooks", "status", "claude"); !matches(`(?m)^plugin +12 of 12 `, said) {
		t.Errorf("gt-hooks status says\n%s", said)
	}

	first := w.ask("hello")
	w.oneDocument("startup", w.asked("hello"))
	w.oneEvent("session_start", first.SessionID)
	w.oneEvent("session_end", first.SessionID)
	w.ask("/compact", "--resume", first.SessionID)
	w.oneEvent("handoff", first.SessionID)
	if n := len(w.notes()); n != 1 {
		t.Errorf("one compaction left %d notes", n)
	}
	w.ask("and now?", "--resume", first.SessionID)
	if after := w.asked("and now?"); after.Count("SessionStart:compact hook success")+after.Count("SessionStart:resume hook success") == 0 {
		t.Errorf("after the compaction the model is told\n%s", after.Told())
	}

	p := w.claude("max")
	pid := p.pid()
	p.typ("please hand over")
	w.waitFor("the successor is told the note", func() bool {
		last := w.model.Requests().Filter(func(r *model.Request) bool { return strings.Contains(r.Told(), "MESSAGE-CANARY") }).LastRequest()
		return p.pid() != pid && last != nil
	})
	if strings.Contains(p.screen(), "hook error") {
		t.Errorf("the client shows\n%s", p.screen())
	}
	w.noHookErrors()

	w.waitFor("gt-hooks prove has seen each hook", func() bool {
		said, err := w.run(w.project, nil, "gt-hooks", "prove", "claude")
		return err == nil && strings.HasPrefix(string(said), "claude: proved")
	})
	if said, err := w.run(w.project, nil, "gt-hooks", "prove", "claude", "--run", "--limit", patience.String()); err != nil || !strings.Contains(string(said), "proved") {
		t.Errorf("gt-hooks prove --run says (%v)\n%s", err, said)
	}

	// Wired by gt-hooks as well, each acts once.
	w.gt("gt-hooks", "install", "claude")
	second := w.ask("hello again")
	w.oneDocument("startup beside the settings", w.asked("hello again"))
	w.oneEvent("session_start", second.SessionID)
	w.gt("gt-hooks", "uninstall", "claude")

	w.gt("claude", "plugin", "uninstall", "gt@gt")
	third := w.ask("alone now")
	if n := w.asked("alone now").Count("ROLE-CANARY"); n > 0 || len(w.events("session_start", third.SessionID)) > 0 {
		t.Errorf("uninstalled, it tells the model %d times who it is", n)
	}
}

// The same in Codex, which gives the hooks of plugins no arguments apart from their command.
func TestCodexPlugin(t *testing.T) {
	w := newCodex(t)
	w.loginPath()
	w.codexSettings("model_auto_compact_token_limit = 1000")
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		reply := answerCodex(r)
		if strings.Contains(r.Asked(), "too long") {
			reply.Tokens = 5000
		}
		return reply
	})
	w.gt("codex", "plugin", "marketplace", "add", repository(t))
	w.gt("codex", "plugin", "add", "gt@gt")
	// It ends with 1, for Codex has not been told to trust the hooks.
	if said, _ := w.run(w.project, nil, "gt-hooks", "status", "codex"); !matches(`(?m)^plugin +9 of 9 `, string(said)) {
		t.Errorf("gt-hooks status says\n%s", said)
	}

	w.codexExec("--dangerously-bypass-hook-trust", "too long RUN[echo x]")
	id := w.onlySessionID()
	w.oneEvent("session_start", id)
	w.oneEvent("session_end", id)
	w.oneEvent("handoff", id)
	if n := w.model.Turns()[0].Count("ROLE-CANARY"); n != 1 {
		t.Errorf("the model is told %d times who it is", n)
	}
	if after := w.model.Turns().LastRequest(); after.Count("Context compacted. Continue your previous task.") != 1 || len(w.notes()) != 1 {
		t.Errorf("after the compaction there are notes %q, and the model is told:\n%s", w.notes(), after.Told())
	}

	p := w.open("cx", "codex", "--dangerously-bypass-hook-trust")
	p.codexReady()
	p.codexReplaced("RUN[gt-handoff -s SUBJECT-CANARY -m MESSAGE-CANARY]", p.pid())
	w.waitFor("the successor is told the note", func() bool {
		return w.model.Requests().Filter(func(r *model.Request) bool { return strings.Contains(r.Told(), "MESSAGE-CANARY") }).LastRequest() != nil
	})
	w.noHookFailed(p.screen())

	w.gt("codex", "plugin", "remove", "gt@gt")
	w.codexExec("--dangerously-bypass-hook-trust", "alone now")
	if n := w.asked("alone now").Count("ROLE-CANARY"); n > 0 {
		t.Errorf("removed, it tells the model %d times who it is", n)
	}
}

// What the oldest and the newest Claude Code believe of the person's own settings they believe
// after gt is wired in, too: a command that is denied stays denied, a hook of theirs runs. And
// gt's own hooks fire.
func TestClaudeVersions(t *testing.T) {
	if !testenv.Thorough() {
		t.Skip("npm has to install two more Claude Codes")
	}
	for _, version := range []string{"1.0.85", "latest"} {
		t.Run(version, func(t *testing.T) {
			w := newWorldWith(t, "claude", client.DemandVersion(t, "claude", version))
			w.setUpClaude()
			w.role("You keep the lighthouse. ROLE-CANARY")
			w.writeJSON(w.userSettings(), map[string]any{
				"permissions": map[string]any{"allow": []string{"Bash"}, "deny": []string{"Bash(touch:*)"}},
				"env":         map[string]string{"MINE": "MINE-CANARY"},
				"hooks": map[string]any{"SessionStart": []any{map[string]any{"hooks": []any{
					map[string]any{"type": "command", "command": "echo OWN-$MINE"},
				}}}},
			})
			w.model.Answer(func(r *model.Request) model.Reply {
				if strings.Contains(r.Asked(), "touch it") && r.Result() == "" {
					return model.Bash("touch denied")
				}
				return model.Say("It is done.")
			})
			believes := func(prompt string) *model.Request {
				t.Helper()
				w.ask(prompt + ", touch it")
				if exists(filepath.Join(w.project, "denied")) {
					t.Errorf("%s: what is denied was done", prompt)
				}
				last := w.model.Turns().LastRequest()
				if !regexp.MustCompile(`(?i)denied`).MatchString(last.Result()) {
					t.Errorf("%s: the client says %q", prompt, last.Result())
				}
				if last.Count("OWN-MINE-CANARY") == 0 {
					t.Errorf("%s: the person's own hook did not run:\n%s", prompt, last.Told())
				}
				return last
			}
			before := believes("before gt")
			w.gt("gt-hooks", "install", "claude")
			after := believes("with gt")
			if before.Count("ROLE-CANARY") != 0 {
				t.Error("gt tells something before it is installed")
			}
			w.oneDocument("startup", after)
			w.noHookErrors()
			if n := len(w.events("session_end", "")); n != 1 {
				t.Errorf("%d ends of a session were noted", n)
			}
			if said := w.gt("gt-hooks", "status", "claude"); !matches(`(?m)^user +(\d+) of (\d+) `, said) {
				t.Errorf("gt-hooks status says\n%s", said)
			}
			w.gt("gt-hooks", "uninstall", "claude")
			believes("without gt")
		})
	}
}

// withoutGT runs a client with a plugin of gt's, but without gt: a first session is told so, where
// the person sees it or the model reads it, a second one of nothing, and no hook fails.
func (w *world) withoutGT(name string, flags ...string) {
	w.Helper()
	path := "PATH=" + w.Path("bin") + ":" + os.Getenv("PATH")
	p := w.open("without", slices.Concat([]string{"env", path, name}, flags, []string{"-i", "without gt"})...)
	const missing = "The plugin gt does nothing"
	r := w.asked("without gt")
	w.waitFor("it is said that gt is missing", func() bool { return strings.Contains(p.screen(), missing) || r.Count(missing) == 1 })
	shown := p.screen()
	w.tmux("kill-session", "-t", "=without")
	out, err := w.WithEnv(path).Command(w.project, slices.Concat([]string{w.look(name)}, flags, []string{"-p", "once more"})...).CombinedOutput()
	if err != nil {
		w.Errorf("%s: %v", name, err)
	}
	if r := w.asked("once more"); r.Count(missing) > 0 || strings.Contains(string(out), missing) {
		w.Errorf("%s says twice that gt is missing", name)
	}
	for line := range strings.Lines(shown + string(out)) {
		if harmed.MatchString(line) {
			w.Errorf("without gt %s shows %q", name, strings.TrimSpace(line))
		}
	}
}

// In each other client that has plugins or extensions, gt's tells a session once who it is, saves
// it before a compaction and hands it over; gt-hooks names it, removed it says nothing any more,
// and without gt only what is missing, once.
func pluginStory(w *world, name string, flags []string, install [][]string, remove []string, inPane func()) {
	w.role("You keep the lighthouse. ROLE-CANARY")
	for _, args := range install {
		w.gt(name, args...)
	}
	run := func(prompt string) { w.headless(name, append(flags, "-p", prompt)...) }
	w.open("keep", "sleep", "1000") // else tmux ends with the client
	w.withoutGT(name, flags...)
	if said, _ := w.run(w.project, nil, "gt-hooks", "status", name); !matches(`(?m)^plugin +(\d+) of \d+ `, string(said)) {
		w.Errorf("gt-hooks status says\n%s", said)
	}
	run("hello there")
	if n := w.asked("hello there").Count("ROLE-CANARY"); n != 1 {
		w.Errorf("the model is told %d times who it is", n)
	}
	w.oneEvent("session_start", w.onlySessionID())
	inPane()
	w.noHookErrors()
	w.gt(name, remove...)
	run("alone now")
	if n := w.asked("alone now").Count("ROLE-CANARY"); n > 0 {
		w.Errorf("removed, it tells the model %d times who it is", n)
	}
}

// geminiPlugin has Gemini CLI, or Qwen Code, compact in a pane and hand over to a fresh one.
func (w *world) geminiPlugin(name string) {
	w.answers(900_000)
	var long strings.Builder // else there is nothing to compact; and no text that repeats itself, which Gemini CLI asks about
	for i := range 300 {
		fmt.Fprintf(&long, " %d", i)
	}
	p := w.open("g", name, "--yolo", "-i", "the first prompt"+long.String())
	p.awaitScreen("ANSWER to the first prompt")
	p.awaitScreen(inputLine)
	p.tell("short prompt")
	p.tell("this is much")
	id := w.latest()
	p.enter("/compress")
	p.awaitScreen("compressed from")
	w.waitFor("the compaction is noted", func() bool { return len(w.notes()) == 1 && len(w.events("handoff", id)) == 1 })
	p.awaitScreen(inputLine)
	w.toldOnce(p.tell("after the compaction"), "Context compacted. Continue your previous task.", "kept word for word")
	before := p.get("#{pane_pid}")
	p.enter("run: gt-handoff -s 'half is done' -m MESSAGE-CANARY")
	w.waitFor("the pane has a fresh client", func() bool { return p.get("#{pane_pid}") != before })
	// The predecessor's last request, of which the note tells, has the message too.
	w.toldOnce(w.asked("Go on from the note."), "Handoff complete: you are the new session", "\nMESSAGE-CANARY\n", "ROLE-CANARY")
	w.waitFor("the first handed over", func() bool { return w.record(id).Outcome == "handoff" && len(w.events("session_end", id)) == 1 })
	p.awaitScreen("ANSWER to Handoff")
	p.unharmed()
}

func TestCopilotPlugin(t *testing.T) {
	w := newCopilot(t)
	w.model.Answer(copilotModel)
	pluginStory(w, "copilot", []string{"--allow-all-tools"}, [][]string{{"plugin", "marketplace", "add", repository(t)}, {"plugin", "install", "gt@gt"}},
		[]string{"plugin", "uninstall", "gt@gt"}, func() {
			p := w.open("max", "copilot", "--allow-all-tools", "-i", "good morning")
			p.awaitScreen("ANSWER to good morning")
			id, before := w.latest(), p.pid()
			p.copilot("/compact", "Compaction completed")
			w.oneEvent("handoff", id)
			p.copilot("and now?", "ANSWER to and now?")
			if after := w.asked("and now?"); after.Count("Context compacted. Continue your previous task.") != 1 || len(w.notes()) != 1 {
				t.Errorf("after the compaction there are notes %q, and the model is told:\n%s", w.notes(), after.Text())
			}
			p.copilot("please hand over", "Go on from the note.")
			w.waitFor("the pane has a fresh client", func() bool { return p.pid() != before })
			w.toldOnce(w.asked("Go on from the note."), "MESSAGE-CANARY", "ROLE-CANARY")
			w.waitFor("the first handed over", func() bool { return w.record(id).Outcome == "handoff" })
			p.copilot("do you know enough?", "ANSWER to do you know")
			p.copilot("/exit", "")
			w.hooksOfCopilot()
		})
}

func TestGeminiPlugin(t *testing.T) {
	w := newGemini(t)
	pluginStory(w, "gemini", []string{"--yolo"}, [][]string{{"extensions", "install", "--consent", filepath.Join(repository(t), "plugins", "gemini")}},
		[]string{"extensions", "uninstall", "gt"}, func() { w.geminiPlugin("gemini") })
}

func TestQwenPlugin(t *testing.T) {
	w := newQwen(t)
	pluginStory(w, "qwen", []string{"--yolo"}, [][]string{{"extensions", "install", "--consent", filepath.Join(repository(t), "plugins", "qwen")}},
		[]string{"extensions", "uninstall", "gt"}, func() { w.geminiPlugin("qwen") })
}
