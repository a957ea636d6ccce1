//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/e2e/model"
)

// A server behind Codex tells of an agent's end a minute later, and alike for one that was
// left and one that was killed. One that was left is stopped; one that was killed, or whose
// session or server of tmux is gone, should run, and restore brings it back.
//
// S2-7 S2-9 S2-31
func TestCodexLeft(t *testing.T) {
	for _, of := range []struct {
		how    string
		ends   func(w *world, p *pane)
		status string
	}{
		{"quit", func(w *world, p *pane) {
			w.tmux("send-keys", "-t", p.id, "-l", "/quit")
			p.awaitScreen("› /quit")
			var last time.Time
			for strings.Contains(p.screen(), "› /quit") {
				if time.Since(last) > 2*time.Second { // it may take a key that comes early for a line break
					last = time.Now()
					w.tmuxOutput("send-keys", "-t", p.id, "Enter")
				}
				time.Sleep(glance)
			}
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
			w.until("its pane is gone", func() bool { return w.tmuxOutput("list-panes", "-t", "=gt-api:") == "" })
			w.until("its end is told", func() bool { return w.record(id).EndedAt != "" })
			if is := a.is("api"); is.Status != of.status {
				t.Errorf("it is %s, not %s", is.Status, of.status)
			}
			if of.status == "error" {
				a.session("restore")
				a.session("send", "api", "please say TWO")
				w.asked("please say TWO")
			} else if out := a.session("restore"); out != "" {
				t.Errorf("what was left is restored: %q", out)
			}
			a.session("stop", "--now", "api")
		})
	}
}
