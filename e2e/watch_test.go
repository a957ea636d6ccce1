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
	w := newBareWorld(t)
	w.writeJSON(w.userSettings(), map[string]any{"permissions": map[string]any{"defaultMode": "default"}})
	w.gt("gt-hooks", "install", "claude")
	w.trust(w.project)
	w.model.Answer(func(r *model.Request) model.Reply {
		switch {
		case r.Kind != model.Turn:
			return model.Reply{}
		case r.Result() == "" && strings.Contains(r.Asked(), "please allow"):
			return model.Bash("touch allowed")
		case r.Result() == "" && strings.Contains(r.Asked(), "please deny"):
			return model.Bash("touch denied")
		}
		return model.Say("It is done.")
	})
	a := w.agents()
	screen := &pane{w, "watch", w.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "watch", "-x", "120", "-y", "40", "-c", w.project, "gt-watch")}
	screen.awaitScreen("no agents yet")
	a.session("new", "-n", "api", "-m", "are you there?", "--", "--permission-mode", "default")
	w.tmux("resize-window", "-t", "gt-api", "-x", "110", "-y", "30")
	screen.awaitScreen("● api  waiting (done)")
	screen.awaitScreen("It is done.") // what the agent shows
	press := func(keys ...string) {
		t.Helper()
		w.tmux(append([]string{"send-keys", "-t", screen.id}, keys...)...)
	}
	// answer sends a prompt, and takes an option of what the agent asks then.
	answer := func(prompt, command, option string) {
		t.Helper()
		press("s")
		screen.awaitScreen("send api:")
		press("-l", prompt)
		screen.awaitScreen("send api: " + prompt)
		press("Enter")
		screen.awaitScreen("waiting (permission)")
		screen.awaitScreen(command)
		screen.awaitScreen("Esc to cancel") // the last line of the question: one that is half drawn is another question
		press("a")
		screen.awaitScreen("answer api with 1 to")
		taken := screen.awaitMatch(`(?m)^ (\d)\. ` + option + ` *$`)
		press(taken)
		screen.awaitScreen("answered api: " + taken + ". " + option)
		screen.awaitScreen("waiting (done)")
	}
	answer("please allow it", "touch allowed", "Yes")
	answer("please deny it", "touch denied", "No")
	for name, want := range map[string]bool{"allowed": true, "denied": false} {
		if exists(filepath.Join(w.project, name)) != want {
			t.Errorf("%s: it is there or not, against the answer", name)
		}
	}
	press("x")
	screen.awaitScreen("stop api? y/n")
	press("y")
	screen.awaitScreen("gt-session stop api: stopped api")
	press("q")
	w.waitFor("gt-watch has ended", func() bool { return !strings.Contains(w.tmuxOutput("list-sessions"), "watch:") })
}
