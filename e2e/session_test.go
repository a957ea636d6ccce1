//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// gt-session starts the real client with a prompt, tells what it does by its hooks, and
// brings it back with its conversation: after a restart in the same pane, after a crash,
// and after the tmux server is gone. Stopped, it stays stopped.
//
// S1-13 S1-103 S2-6 S2-7 S2-9 S2-31 S2-32 S2-39
func TestSession(t *testing.T) {
	w := newWorld(t)
	a := w.agents()
	session := a.session

	session("new", "-n", "api", "-m", "please remember MARK-ONE")
	first := w.asked("please remember MARK-ONE")
	is := a.becomes("api", "waiting")
	if is.Reason != "done" || is.SessionID != first.Session {
		t.Errorf("after its first turn %+v, the client's session is %s", is, first.Session)
	}
	p := &pane{w, "gt-api", is.Pane}
	w.awaitWritten("MARK-ONE") // or it has no conversation to go on with

	// resumed asks the next thing, and the client must send what was said before, too.
	resumed := func(question string) {
		t.Helper()
		p.typ(question)
		r := w.asked(question)
		if r.Session != first.Session || !strings.Contains(string(r.Body), "MARK-ONE") {
			t.Errorf("asked %q, the client goes on with session %s, and does not know what was said in %s", question, r.Session, first.Session)
		}
		a.becomes("api", "waiting")
	}
	pid := p.pid()
	session("restart", "api")
	if now := a.findListed("api"); now.Pane != is.Pane || p.pid() == pid {
		t.Errorf("restarted from pane %s to %s, process %d to %d", is.Pane, now.Pane, pid, p.pid())
	}
	resumed("please say TWO")

	// It crashes, then the server of tmux does.
	if err := syscall.Kill(p.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.becomes("api", "error")
	if out := session("restore"); out != "started api\n" {
		t.Errorf("restore says %q", out)
	}
	p.id = a.becomes("api", "waiting").Pane
	resumed("please say THREE")
	w.tmux("kill-server")
	a.becomes("api", "error")
	session("restore")
	p.id = a.becomes("api", "waiting").Pane
	resumed("please say FOUR")

	session("stop", "api")
	a.becomes("api", "stopped")
	if out := session("restore"); out != "" {
		t.Errorf("a stopped agent is restored: %q", out)
	}
	if n := len(w.records()); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
}
