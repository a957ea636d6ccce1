//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// The real client goes on with its conversation under another of its accounts, and with a
// copy of it in a git worktree of its own.
func TestSessionAccount(t *testing.T) {
	w := newWorld(t)
	a := w.agents()
	a.session("new", "-n", "api", "-m", "please remember MARK-ONE")
	first := w.asked("please remember MARK-ONE")
	a.becomes("api", "waiting")
	w.awaitWritten("MARK-ONE")

	a.session("fork", "api", "--worktree", "--trust", "-m", "please say FORKED")
	if r := w.asked("please say FORKED"); r.Session == first.Session || !strings.Contains(string(r.Body), "MARK-ONE") {
		t.Errorf("the fork goes on with session %s of %s, and knows: %.2000s", r.Session, first.Session, r.Body)
	}
	a.becomes("api-fork", "waiting")

	other := filepath.Join(w.home, "claude-b")
	w.write(filepath.Join(w.home, ".config", "gt", "agents.toml"), "[agents.claude]\naccounts = [\"~/claude-b\"]\n")
	for from, to := range map[string]string{filepath.Join(w.home, ".claude.json"): ".claude.json", w.userSettings(): "settings.json"} {
		w.write(filepath.Join(other, to), w.read(from))
	}
	for i, of := range []string{"claude-b", "default", "claude-b"} {
		a.session("restart", "--account", of, "--yes", "api")
		question := "please say " + strings.Repeat("again", i+1)
		(&pane{w, "gt-api", a.becomes("api", "waiting").Pane}).typ(question)
		r := w.asked(question)
		if r.Session != first.Session || !strings.Contains(string(r.Body), "MARK-ONE") || i > 0 && !strings.Contains(string(r.Body), "please say again") {
			t.Errorf("under %s it goes on with session %s of %s, and knows: %.2000s", of, r.Session, first.Session, r.Body)
		}
		a.becomes("api", "waiting")
		if path := w.records()[string(first.Session)].Transcript; strings.Contains(path, "/claude-b/") != (of == "claude-b") {
			t.Errorf("under %s its conversation is %s", of, path)
		}
	}
	a.session("stop", "--now", "--all")
}
