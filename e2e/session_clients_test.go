//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"gt/e2e/model"
)

// gt-session keeps each client's agent as it keeps Claude Code's (TestSession): started
// with a prompt, restarted in its pane, and brought back after a crash and after the
// server of tmux is gone, each time in its conversation; each prompt that is sent to it is
// known to be submitted.
//
// S1-13 S2-6 S2-31 S2-41
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
		flags  []string // that the client's person works with
	}{
		{"codex", newCodex, nil},
		{"gemini", newGemini, []string{"-m", "gemini-2.5-pro"}},
		{"qwen", newQwen, nil},
		{"opencode", newOpenCode, nil},
		{"pi", newPi, nil},
		{"copilot", newCopilot, nil},
		{"kimi", newKimi, nil},
		{"cline", newCline, nil},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			w.wireAgent(of.client)
			w.model.Answer(func(r *model.Request) model.Reply { return model.Say("It is done.") })
			a := w.agents()
			a.session(append([]string{"new", "-n", "api", "-a", of.client, "-m", "please remember MARK-ONE", "--"}, of.flags...)...)
			w.asked("please remember MARK-ONE")
			first := a.becomes("api", "waiting")
			if first.Reason != "done" || first.SessionID == "" {
				t.Errorf("after its first turn: %+v", first)
			}
			goesOn := func(question string) {
				t.Helper()
				a.awaitBox("api")
				a.session("send", "api", question)
				if r := w.asked(question); !strings.Contains(string(r.Body), "MARK-ONE") {
					t.Errorf("asked %q, it does not know what was said before", question)
				}
				if is := a.becomes("api", "waiting"); is.SessionID != first.SessionID {
					t.Errorf("asked %q, it is session %s, after %s", question, is.SessionID, first.SessionID)
				}
			}
			goesOn("please say TWO")
			a.session("restart", "api")
			if is := a.findListed("api"); is.Pane != first.Pane {
				t.Errorf("restarted in pane %s, it was in %s", is.Pane, first.Pane)
			}
			a.becomes("api", "waiting")
			goesOn("please say THREE")

			p := &pane{w, "gt-api", first.Pane}
			if err := syscall.Kill(p.pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			a.becomes("api", "error")
			a.session("restore")
			a.becomes("api", "waiting")
			goesOn("please say FOUR")

			w.tmux("kill-server")
			a.becomes("api", "error")
			a.session("restore")
			a.becomes("api", "waiting")
			goesOn("please say FIVE")

			a.session("stop", "api")
			a.becomes("api", "stopped")
			if out := a.session("restore"); out != "" {
				t.Errorf("a stopped agent is restored: %q", out)
			}
		})
	}
}
