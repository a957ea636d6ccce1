//go:build e2e

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gt/e2e/model"
)

// A predecessor that is asked, in one question or in a conversation, from any
// folder and by any account, knows all that it knew; nothing that its client
// keeps, nothing in the project and nothing in the event log differs afterwards,
// and what the model tries to do is not done.
//
// S1-76 S1-79 S1-80 S1-81
func TestTalkToClaude(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(talkative(w, model.ToolUse{Name: "Bash", Input: map[string]any{"command": "touch EVIL"}},
		model.ToolUse{Name: "Write", Input: map[string]any{"file_path": filepath.Join(w.project, "EVIL"), "content": "x"}}))
	id := w.ask("the HISTORY-CANARY").SessionID
	// The client tidies up once a day, in any process that lives for five seconds.
	w.write(filepath.Join(w.home, ".claude", ".last-cleanup"), "")
	w.testTalk(id, filepath.Join(w.home, ".claude"))

	w.part("by another account", func(t *testing.T) {
		account := w.Path("account")
		env := []string{"CLAUDE_CONFIG_DIR=" + account}
		w.askIn(w.unusedFolder(), env, "my first question")
		w.write(filepath.Join(account, ".last-cleanup"), "")
		w.traceless(func() {
			out := w.talk(w.unusedFolder(), env, id, "asked by the other account")
			if !strings.Contains(out, "ANSWER to asked by the other account") {
				t.Errorf("the answer is %q", out)
			}
		})
		w.heard("asked by the other account", "HISTORY-CANARY")
	})
	w.part("from within an agent", func(t *testing.T) {
		env := []string{
			"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=11111111-2222-4333-8444-555555555555", "CLAUDE_CODE_CHILD_SESSION=1",
			"CLAUDE_CODE_FORCE_SESSION_PERSISTENCE=1", "GT_SESSION_UUID=11111111-2222-4333-8444-555555555555", "GT_HOME=" + w.project,
		}
		w.traceless(func() { w.talk(w.unusedFolder(), env, id, "asked by an agent") })
		w.heard("asked by an agent", "HISTORY-CANARY")
	})
	w.part("of a folder that is gone", func(t *testing.T) {
		aside := w.project + " moved"
		if err := os.Rename(w.project, aside); err != nil {
			t.Fatal(err)
		}
		w.traceless(func() { w.talk(w.unusedFolder(), nil, id, "asked of nowhere") })
		w.heard("asked of nowhere", "HISTORY-CANARY")
		if err := os.Rename(aside, w.project); err != nil {
			t.Fatal(err)
		}
	})
}

// Who is asked in a project takes the person's settings and none of the project's,
// though nobody was asked whether the project can be trusted: no program that it
// names is run, and the question goes to the model that the person has chosen.
//
// S1-76
func TestTalkTakesThePersonsSettings(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(talkative(w))
	id := w.ask("the HISTORY-CANARY").SessionID
	w.Env = slices.DeleteFunc(w.Env, func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_") })
	w.writeJSON(w.userSettings(), map[string]any{
		"env":          map[string]string{"ANTHROPIC_BASE_URL": w.model.URL},
		"apiKeyHelper": "touch " + w.Path("PERSONS-HELPER") + "; echo " + w.key,
	})
	ran := func(what string) string { return "touch " + w.Path("RAN-"+what) }
	hook := func(what string) []any {
		return []any{map[string]any{"hooks": []any{map[string]string{"type": "command", "command": ran(what)}}}}
	}
	for _, file := range []string{"settings.json", "settings.local.json"} {
		w.writeJSON(filepath.Join(w.project, ".claude", file), map[string]any{
			"env":                        map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "NODE_OPTIONS": "--require=" + w.Path("evil.js")},
			"apiKeyHelper":               ran("helper-"+file) + "; echo none",
			"otelHeadersHelper":          ran("otel-" + file),
			"awsAuthRefresh":             ran("aws-" + file),
			"statusLine":                 map[string]string{"type": "command", "command": ran("status-" + file)},
			"hooks":                      map[string]any{"SessionStart": hook("start"), "UserPromptSubmit": hook("prompt"), "Stop": hook("stop"), "SessionEnd": hook("end")},
			"disableAllHooks":            false,
			"enableAllProjectMcpServers": true,
		})
	}
	w.writeJSON(filepath.Join(w.project, ".mcp.json"), map[string]any{"mcpServers": map[string]any{
		"evil": map[string]any{"command": "touch", "args": []string{w.Path("RAN-server")}},
	}})
	w.write(filepath.Join(w.project, ".env"), "ANTHROPIC_BASE_URL=http://127.0.0.1:1\n")
	w.write(filepath.Join(w.project, "evil.js"), "require('fs').writeFileSync("+strconv.Quote(w.Path("RAN-preload"))+", '')\n")
	w.write(filepath.Join(w.project, "bunfig.toml"), "preload = [\"./evil.js\"]\n")
	w.write(filepath.Join(w.project, "CLAUDE.md"), "PROJECT-MEMORY\n")

	if out := w.talk(w.project, nil, id, "what was it?"); out != "ANSWER to what was it?\n" {
		t.Errorf("the answer is %q", out)
	}
	w.heard("what was it?", "HISTORY-CANARY")
	if r := w.asked("what was it?"); r.Count("PROJECT-MEMORY") > 0 {
		t.Errorf("the project's own words were read: %s", r)
	}
	if left, _ := filepath.Glob(w.Path("RAN-*")); len(left) > 0 {
		t.Errorf("the project had programs run: %q", left)
	}
	if !exists(w.Path("PERSONS-HELPER")) {
		t.Error("the person's own settings were not taken")
	}
}

// Codex is asked without a trace too.
//
// S1-76 S1-81
func TestTalkToCodex(t *testing.T) {
	w := newCodex(t)
	config := filepath.Join(w.home, ".codex", "config.toml")
	w.write(config, "notify = [\"touch\", \"NOTIFIED\"]\n"+w.read(config)+fmt.Sprintf(`
[mcp_servers.evil]
command = "touch"
args = [%q]
`, w.Path("SERVER-STARTED")))
	w.model.Answer(talkative(w, model.ToolUse{Name: "exec_command", Input: map[string]any{"cmd": "touch EVIL"}},
		model.ToolUse{Name: "shell", Input: map[string]any{"command": []string{"touch", "EVIL"}}}))
	w.codex("exec", "the HISTORY-CANARY")
	for _, left := range []string{filepath.Join(w.project, "NOTIFIED"), w.Path("SERVER-STARTED")} {
		if err := os.Remove(left); err != nil {
			t.Fatalf("what the person has configured does not run: %v", err)
		}
	}
	id := strings.TrimSpace(w.gt("gt-seance", "find", "--agent", "codex"))
	w.testTalk(id, filepath.Join(w.home, ".codex"))
	if exists(w.Path("SERVER-STARTED")) {
		t.Error("a question started an MCP server")
	}
	for _, r := range w.model.Turns()[1:] {
		if slices.Contains(r.Tools, "exec_command") || slices.Contains(r.Tools, "shell") {
			t.Errorf("who was asked %q could run commands: %q", r.Asked(), r.Tools)
		}
	}
}

// A project that the person has trusted for work has no say in how its sessions
// are asked: Codex takes the person's settings alone.
//
// S1-76
func TestTalkToCodexTakesThePersonsSettings(t *testing.T) {
	w := newCodex(t)
	w.model.Answer(talkative(w))
	w.codex("exec", "the HISTORY-CANARY")
	id := strings.TrimSpace(w.gt("gt-seance", "find", "--agent", "codex"))
	w.write(filepath.Join(w.project, ".codex", "config.toml"), fmt.Sprintf(`
model = "projects-model"
notify = ["touch", %q]
developer_instructions = "PROJECT-INSTRUCTIONS"

[mcp_servers.evil]
command = "touch"
args = [%q]
`, w.Path("RAN-notify"), w.Path("RAN-server")))
	w.write(filepath.Join(w.project, "AGENTS.md"), "PROJECT-MEMORY\n")
	w.codex("exec", "in the project")
	if r := w.asked("in the project"); r.Model != "projects-model" || !exists(w.Path("RAN-server")) {
		t.Errorf("the project's settings do not count for work: %s", r)
	}
	for _, left := range []string{w.Path("RAN-notify"), w.Path("RAN-server")} {
		os.Remove(left)
	}

	if out := w.talk(w.project, nil, id, "what was it?"); out != "ANSWER to what was it?\n" {
		t.Errorf("the answer is %q", out)
	}
	w.heard("what was it?", "HISTORY-CANARY")
	if r := w.asked("what was it?"); r.Model != "e2e-model" || r.Count("PROJECT-INSTRUCTIONS") > 0 {
		t.Errorf("the project's settings were taken: the model is %s\n%s", r.Model, r)
	}
	if left, _ := filepath.Glob(w.Path("RAN-*")); len(left) > 0 {
		t.Errorf("the project had programs run: %q", left)
	}
}

// A session goes on where it worked, in the account that it is of, from any
// folder; while it runs it is not opened a second time, but a copy of it is.
//
// S1-79 S1-80
func TestResume(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(talkative(w))
	id := w.ask("the HISTORY-CANARY").SessionID
	p := w.open("resumed", "bash", "-c", "cd '"+w.unusedFolder()+"' && GT_SESSION_UUID=another CLAUDECODE=1 gt-seance resume "+id[:13])
	p.typ("what comes now?")
	if r := w.asked("what comes now?"); r.Session != id || r.Count("HISTORY-CANARY") == 0 {
		t.Errorf("the model was asked by %s", r)
	}
	out, err := w.run(w.unusedFolder(), nil, "gt-seance", "resume", id)
	if err == nil || !strings.Contains(err.Error(), "is already running, as process ") || !strings.Contains(err.Error(), " in tmux pane "+p.id) {
		t.Errorf("it was resumed a second time: %v\n%s", err, out)
	}
	copied := w.open("copied", "bash", "-c", "cd '"+w.unusedFolder()+"' && gt-seance resume --fork "+id)
	copied.typ("and in the copy?")
	if r := w.asked("and in the copy?"); r.Session == id || r.Count("HISTORY-CANARY") == 0 || r.Count("what comes now?") == 0 {
		t.Errorf("the model was asked by %s", r)
	}
}

// talkative answers what it is asked, after it has tried to use the tools where
// the person said so.
func talkative(w *world, tools ...model.ToolUse) model.Answer {
	return func(r *model.Request) model.Reply {
		question := lastLine(strings.TrimSpace(r.Asked())) // one that was interrupted may stand before it
		switch {
		case r.Result() != "":
			return model.Say("It answered: " + r.Result())
		case strings.Contains(r.Asked(), "try"):
			return model.Reply{Text: "I try.", Tools: tools}
		case strings.Contains(question, "slow"):
			w.waitFor("the answer is called off", func() bool { return exists(w.callOff(question)) })
		}
		return model.Say("ANSWER to " + question)
	}
}

// callOff is the file that ends the model's wait before it answers a slow question. Each has
// its own: else the next one is answered at once.
func (w *world) callOff(question string) string { return w.Path("called off: " + question) }

// part runs a part of the world's test.
func (w *world) part(name string, f func(t *testing.T)) {
	w.TB.(*testing.T).Run(name, func(t *testing.T) {
		defer func(whole testing.TB) { w.TB = whole }(w.TB)
		w.TB = t
		f(t)
	})
}

// unusedFolder is a folder that no session worked in.
func (w *world) unusedFolder() string {
	w.Helper()
	dir := w.Path("elsewhere")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	return dir
}

// talk asks a session from a folder.
func (w *world) talk(dir string, env []string, args ...string) string {
	w.Helper()
	out, err := w.run(dir, env, "gt-seance", append([]string{"talk"}, args...)...)
	if err != nil {
		w.Fatalf("gt-seance talk %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// testTalk asks the session id in each way that there is.
func (w *world) testTalk(id, store string) {
	w.part("a question", func(t *testing.T) {
		w.traceless(func() {
			if out := w.talk(w.unusedFolder(), nil, id[:13], "what was it?"); out != "ANSWER to what was it?\n" {
				t.Errorf("the answer is %q", out)
			}
		})
		w.heard("what was it?", "HISTORY-CANARY")
	})
	w.part("what the model tries", func(t *testing.T) {
		w.traceless(func() { w.talk(w.unusedFolder(), nil, id, "try it") })
		for _, dir := range []string{w.project, w.unusedFolder()} {
			if exists(filepath.Join(dir, "EVIL")) {
				t.Errorf("in %s was done what the model wanted", dir)
			}
		}
	})
	w.part("a conversation", func(t *testing.T) {
		w.traceless(func() {
			p := w.open("talk", "bash", "-c", "cd ../elsewhere && gt-seance talk "+id+`; echo "ended: $?"; sleep 600`)
			p.awaitScreen(">")
			p.say("the first question", "ANSWER to the first question")
			p.say("and the second", "and the second\n")
			p.w.tmux("send-keys", "-t", p.id, "-l", "a slow one")
			p.w.tmux("send-keys", "-t", p.id, "Enter")
			w.asked("a slow one")
			p.w.tmux("send-keys", "-t", p.id, "C-c")
			p.awaitScreen("warning: interrupted")
			w.write(w.callOff("a slow one"), "")
			p.say("the last one", "the last one\n")
			p.w.tmux("send-keys", "-t", p.id, "C-d")
			p.awaitScreen("ended: 0")
			p.w.tmux("kill-session", "-t", "="+p.session)
		})
		w.heard("the first question", "HISTORY-CANARY")
		w.heard("and the second", "HISTORY-CANARY", "the first question", "ANSWER to the first question")
		w.heard("the last one", "HISTORY-CANARY", "the first question", "ANSWER to and the second")
	})
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		question := "slow until " + sig.String()
		w.part(sig.String(), func(t *testing.T) {
			w.traceless(func() {
				cmd := exec.Command(w.look("gt-seance"), "talk", id, question)
				cmd.Dir, cmd.Env = w.unusedFolder(), w.Env
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				w.asked(question)
				cmd.Process.Signal(sig)
				if cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
					t.Errorf("it ended with %v", cmd.ProcessState)
				}
			})
			w.write(w.callOff(question), "")
		})
	}
}

// say types a question, and waits until the screen shows what follows.
func (p *pane) say(line, then string) {
	p.w.Helper()
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	p.w.tmux("send-keys", "-t", p.id, "Enter")
	p.w.waitFor("the answer to "+line, func() bool {
		_, after, found := strings.Cut(p.screen(), "> "+line)
		return found && strings.Contains(after, strings.TrimSpace(then)) && strings.Contains(after, "\n>")
	})
}

// heard asserts that the model was asked a question once, in a request that has
// all that it should know, each once.
func (w *world) heard(question string, known ...string) {
	w.Helper()
	asked := w.model.Turns().Filter(func(r *model.Request) bool { return strings.HasSuffix(strings.TrimSpace(r.Asked()), question) })
	if len(asked) != 1 {
		w.Errorf("the model was asked %q %d times", question, len(asked))
		return
	}
	for _, text := range append(known, question) {
		if n := asked[0].Count(text); n == 0 {
			w.Errorf("who was asked %q knew nothing of %q", question, text)
		}
	}
	if n := asked[0].Count(question); n != 1 {
		w.Errorf("%q stands %d times in what the model reads", question, n)
	}
}

// traceless asserts that nothing in the world differs after act, and that
// nothing that it started runs on.
func (w *world) traceless(act func()) {
	w.Helper()
	if _, err := w.run(w.unusedFolder(), nil, "gt-seance", "list"); err != nil { // nothing of ours is left to be made
		w.Fatal(err)
	}
	before, events, running := w.bytes(), w.read0(filepath.Join(w.town(), ".events.jsonl")), w.processes()
	act()
	w.waitFor("nothing more runs", func() bool {
		return !slices.ContainsFunc(w.processes(), func(pid int) bool { return !slices.Contains(running, pid) && !w.isTmux(pid) })
	})
	after := w.bytes()
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after[path] != before[path] {
			w.Errorf("%s was %s and is %s", path, before[path], after[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if before[path] == "" {
			w.Errorf("%s is new: %s", path, after[path])
		}
	}
	if now := w.read0(filepath.Join(w.town(), ".events.jsonl")); now != events {
		w.Errorf("the event log was\n%s and is\n%s", events, now)
	}
}

func (w *world) isTmux(pid int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.HasPrefix(string(name), "tmux")
}

// read0 is read for a file that need not be there.
func (w *world) read0(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// bytes is the state of all files in the world: kind and mode, when it changed,
// and what stands in it. What gt itself keeps to be faster is left out; and so
// is when the client last noted in a folder made for that which of its
// processes run, for it takes such a note back.
func (w *world) bytes() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, top := range []string{w.home, w.project, w.Path("elsewhere"), w.Path("account")} {
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			if path == filepath.Join(w.home, ".local") {
				return fs.SkipDir
			}
			state := fmt.Sprint(info.Mode())
			if !(d.IsDir() && (d.Name() == "sessions" && filepath.Base(filepath.Dir(path)) != ".codex" || d.Name() == "arg0-linux")) {
				state += info.ModTime().Format(" 15:04:05.000000000")
			}
			switch {
			case info.Mode().IsRegular():
				data, err := os.ReadFile(path)
				if err != nil {
					w.Error(err)
				}
				state += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
			case info.Mode()&fs.ModeSymlink != 0:
				target, _ := os.Readlink(path)
				state += " -> " + target
			}
			all[path] = state
			return nil
		})
	}
	return all
}
