//go:build e2e

package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
)

// What gt-session says of the other clients while they ask: a permission prompt is waiting
// (permission) until the person has answered it, works after that until its tool has ended,
// and has stopped where it was dismissed, or where the person has stopped the tool. While
// the model refuses because of a limit a client that tells so is waiting (limited).
//
// S2-6 S2-7
func TestSessionAsks(t *testing.T) {
	t.Parallel()
	bash := func(_ *model.Request, command string) model.Reply {
		return model.Reply{Text: "I do.", Tools: []model.ToolUse{{Name: "bash", Input: map[string]any{"command": command, "description": "Run"}}}}
	}
	shell := func(_ *model.Request, command string) model.Reply { return shellCommand(command) }
	outside := func(r *model.Request, command string) model.Reply { // of Codex's sandbox
		reply := codexShell(r, command)
		input := reply.Tools[0].Input.(map[string]any)
		input["sandbox_permissions"], input["justification"], input["yield_time_ms"] = "require_escalated", "May I?", 30000
		return reply
	}
	for _, of := range []struct {
		client  string
		begin   func(*testing.T) *world
		flags   []string
		asks    string // is on the screen where it asks for permission, "" of one that does not
		command func(r *model.Request, command string) model.Reply
		limits  bool   // it tells that the model refuses
		stopped string // the hooks of which one tells that the person has stopped a tool, "" where none does
	}{
		{"opencode", newAskingOpenCode, nil, "Permission required", bash, true, ""},
		{"gemini", newGemini, nil, "Allow execution of", shell, false, ""},
		{"qwen", newQwen, []string{"--approval-mode", "default"}, "Allow execution of", shell, false, "Notification PostToolUseFailure"},
		{"codex", newCodex, []string{"-a", "on-request", "-s", "workspace-write"}, "Would you like to run", outside, true, "Interrupt"},
		{"copilot", newCopilot, nil, "Do you want to run this command?", bash, true, ""},
		{"pi", newPi, nil, "", bash, true, "Stop"},
		{"kimi", newKimi, nil, "Run this command?", func(_ *model.Request, command string) model.Reply { return model.Bash(command) }, false, "Interrupt"},
		{"cline", newCline, nil, "", func(_ *model.Request, command string) model.Reply { return clineShell(command) }, false, "Interrupt"},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			w.wireAgent(of.client)
			a := w.agents()
			open := w.Path("gate")
			limited := false
			w.model.Answer(func(r *model.Request) model.Reply {
				asked := r.Asked()
				switch {
				case r.Kind != model.Turn:
					return model.Reply{}
				case r.Result() != "":
					return model.Say("It is done.")
				case strings.Contains(asked, "please allow"):
					return of.command(r, "touch begun; until test -e "+open+"; do sleep 0.1; done")
				case strings.Contains(asked, "please dismiss"):
					return of.command(r, "touch dismissed")
				case strings.Contains(asked, "please stop"):
					return of.command(r, "touch stopped; sleep 600")
				case strings.Contains(asked, "please limit") && !limited:
					limited = true
					return model.Reply{Text: "rate limit reached", Refuse: http.StatusTooManyRequests}
				}
				return model.Say("It is done.")
			})
			a.session(append([]string{"new", "-n", "api", "-a", of.client, "-m", "are you there?", "--"}, of.flags...)...)
			w.asked("are you there?")
			a.awaits("api")
			p := a.pane("api")
			asks := func() bool { return strings.Contains(p.screen(), of.asks) }
			is := func(status, reason string) {
				t.Helper()
				var now instance
				w.waitFor("it is "+status+" "+reason, func() bool {
					now = a.findListed("api")
					return now.Status == status && now.Reason == reason
				})
			}
			made := func(name string) bool { return exists(filepath.Join(w.project, name)) }
			if of.asks != "" {
				a.session("send", "api", "please allow it")
				is("waiting", "permission")
				w.waitFor("it asks", asks)
				a.exits(75, "send", "api", "and more")
				a.session("answer", "api", "1")
				is("running", "") // the command waits at the gate
				w.waitFor("the command runs", func() bool { return made("begun") })
				is("running", "")
				w.write(open, "open\n")
				is("waiting", "done")

				a.session("send", "api", "please dismiss it")
				is("waiting", "permission")
				w.waitFor("it asks", asks)
				if of.client == "opencode" { // whose options stand beside each other
					if out := a.session("answer", "api", "3"); out != "answered api: 3. Reject\n" {
						t.Errorf("answer says %q", out)
					}
				} else {
					p.pressWhile("Escape", asks)
				}
				is("waiting", "done")
				if made("dismissed") {
					t.Error("what was dismissed ran")
				}
			}
			if of.limits {
				a.session("send", "api", "please limit it")
				is("waiting", "limited")
				if of.client != "copilot" && of.client != "codex" { // it asks the model again
					is("waiting", "done")
				}
			}
			if of.client != "opencode" { // which asks before it stops, and tells that its turn is over
				a.session("send", "api", "please stop it")
				if of.asks != "" {
					is("waiting", "permission")
					w.waitFor("it asks", asks)
					p.pressWhile("Enter", asks)
				}
				w.waitFor("the command runs", func() bool { return made("stopped") })
				is("running", "")
				p.pressWhile("Escape", func() bool {
					if of.client == "copilot" { // it wants it twice
						p.w.tmuxOutput("send-keys", "-t", p.id, "Escape")
						time.Sleep(200 * time.Millisecond)
					}
					return a.findListed("api").Status == "running"
				})
				is("waiting", "done")
				told := w.lastActivity(a.findListed("api").SessionID)
				if hooks := strings.Fields(of.stopped); len(hooks) > 0 && !slices.ContainsFunc(hooks, func(hook string) bool { return strings.Contains(told, `"source":"`+hook+`"`) }) {
					t.Errorf("no hook told of it, but %s", told)
				}
			}
			a.session("stop", "api")
			a.becomes("api", "stopped")
		})
	}
}

// lastActivity is what the hooks of a session told last.
func (w *world) lastActivity(id string) string {
	w.Helper()
	files, _ := filepath.Glob(filepath.Join(w.home, ".local", "state", "gt", "homes", "*", "sessions", id+".state"))
	if len(files) != 1 {
		w.Fatalf("there are %q of session %s", files, id)
	}
	return w.read(files[0])
}

// newAskingOpenCode makes a world with an OpenCode that asks before it runs a command.
func newAskingOpenCode(t *testing.T) *world {
	t.Helper()
	w := newOpenCode(t)
	path := filepath.Join(w.home, ".config", "opencode", "opencode.json")
	w.write(path, strings.Replace(w.read(path), `"bash": "allow"`, `"bash": "ask"`, 1))
	return w
}
