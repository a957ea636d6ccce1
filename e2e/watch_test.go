//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A person sees in gt-watch that Claude Code asks for permission, and for what, answers
// from there, sees it work and wait, and gives it the next prompt.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.trust(w.project)
	open := w.Path("gate")
	w.model.Answer(func(r *model.Request) model.Reply {
		switch {
		case r.Kind != model.Turn:
			return model.Reply{}
		case r.Result() == "" && strings.Contains(r.Asked(), "please allow"):
			return model.Bash("touch allowed; until test -e " + open + "; do sleep 0.1; done")
		case strings.Contains(r.Asked(), "please deny") && r.Result() == "":
			return model.Bash("touch denied")
		}
		return model.Say("It is done.")
	})
	a := w.agents()
	screen := &pane{w, "watch", w.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "watch", "-x", "120", "-y", "40", "-c", w.project, "gt-watch")}
	screen.awaitScreen("no agents yet")
	a.session("new", "-n", "api", "-a", "claude", "-m", "are you there?")
	screen.awaitScreen("● api")
	screen.awaitScreen("waiting (done)")
	screen.awaitScreen("It is done.") // its screen
	press := func(keys ...string) {
		t.Helper()
		w.tmux(append([]string{"send-keys", "-t", screen.id}, keys...)...)
	}
	send := func(text string) {
		t.Helper()
		press("s")
		screen.awaitScreen("send api:")
		press("-l", text)
		screen.awaitScreen("send api: " + text)
		press("Enter")
		screen.awaitScreen("gt-session send api -: sent to api")
	}

	send("please allow it")
	screen.awaitScreen("waiting (permission)")
	screen.awaitScreen("touch allowed;") // what it asks
	press("a")
	screen.awaitScreen("answer api with 1 to")
	press("1")
	screen.awaitScreen("gt-session answer api 1: answered api: 1. Yes")
	screen.awaitScreen("» api")
	screen.awaitScreen("1 running")
	w.until("the command runs", func() bool { return exists(filepath.Join(w.project, "allowed")) })
	w.write(open, "open\n")
	screen.awaitScreen("waiting (done)")

	send("please deny it")
	screen.awaitScreen("waiting (permission)")
	press("a")
	screen.awaitScreen("answer api with 1 to")
	lines := strings.Split(screen.screen(), "\n")
	no := ""
	for _, line := range lines {
		if n, ok := strings.CutSuffix(strings.TrimSpace(line), ". No"); ok {
			no = n
		}
	}
	if no == "" {
		t.Fatalf("there is no No:\n%s", screen.screen())
	}
	press(no)
	screen.awaitScreen("answered api: " + no + ". No")
	screen.awaitScreen("waiting (done)")
	if exists(filepath.Join(w.project, "denied")) {
		t.Error("what was denied ran")
	}

	press("x", "y")
	screen.awaitScreen("gt-session stop api: stopped api")
	screen.awaitScreen("1 stopped")
	press("q")
	w.until("gt-watch has ended", func() bool { return !strings.Contains(w.tmuxOutput("list-sessions"), "watch:") })
}
