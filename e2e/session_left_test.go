//go:build e2e

package e2e

import (
	"syscall"
	"testing"

	"gt/e2e/model"
)

// A Codex that gt started has no server behind it, so that no hook tells of an agent that was
// killed, or whose session or server of tmux is gone: it should run, and restore brings it
// back. One that the person left is stopped.
//
// S2-7 S2-9 S2-31
func TestCodexLeft(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		how    string
		ends   func(w *world, p *pane)
		status string
	}{
		{"quit", func(w *world, p *pane) {
			w.tmux("send-keys", "-t", p.id, "-l", "/quit")
			p.awaitScreen("› /quit")
			p.press("Enter", "› /quit") // it may take a key that comes early for a line break
		}, "stopped"},
		{"killed", func(w *world, p *pane) { syscall.Kill(p.pid(), syscall.SIGKILL) }, "error"},
		{"session", func(w *world, p *pane) { w.tmux("kill-session", "-t", "=gt-api") }, "error"},
		{"server", func(w *world, p *pane) { w.tmux("kill-server") }, "error"},
	} {
		t.Run(of.how, func(t *testing.T) {
			w := newCodex(t)
			w.wireAgent("codex")
			w.model.Answer(func(r *model.Request) model.Reply { return model.Say("It is done.") })
			a := w.agents()
			a.session("new", "-n", "api", "-a", "codex", "-m", "please remember MARK-ONE")
			w.asked("please remember MARK-ONE")
			id := a.awaits("api").SessionID
			of.ends(w, a.pane("api"))
			w.waitFor("its pane is gone", func() bool { return w.tmuxOutput("list-panes", "-t", "=gt-api:") == "" })
			a.becomes("api", of.status)
			if ended := w.record(id).EndedAt != ""; ended != (of.how == "quit") {
				t.Errorf("an end is told: %v", ended)
			}
			if of.status == "error" {
				a.session("restore")
				a.awaitBox("api")
				a.session("send", "api", "please say TWO")
				w.asked("please say TWO")
			} else if out := a.session("restore"); out != "" {
				t.Errorf("what was left is restored: %q", out)
			}
			a.session("stop", "--now", "api")
		})
	}
}
