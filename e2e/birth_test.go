//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A fork of a running agent knows what was said to that one, under an id of its own; the
// other goes on and does not know what was said to the fork. Restarted, the fork goes on
// with its own conversation.
//
// S2-5 S2-42
func TestSessionFork(t *testing.T) {
	w := newWorld(t)
	a := w.agents()
	a.session("new", "-n", "api", "-m", "please remember MARK-ONE")
	first := w.asked("please remember MARK-ONE")
	before := a.awaits("api")
	w.awaitWritten("MARK-ONE")
	pid := a.pane("api").pid()

	a.session("fork", "api", "-n", "other", "-m", "please say FORKED")
	forked := w.asked("please say FORKED")
	if forked.Session == first.Session || !strings.Contains(string(forked.Body), "MARK-ONE") {
		t.Errorf("the fork of session %s is %s, and knows what was said: %v", first.Session, forked.Session, strings.Contains(string(forked.Body), "MARK-ONE"))
	}
	if is := a.awaits("other"); is.SessionID != forked.Session {
		t.Errorf("the fork's session is %s, not %s", is.SessionID, forked.Session)
	}
	w.awaitWritten("FORKED")

	// The parent is as it was.
	if is := a.awaits("api"); is.SessionID != before.SessionID || is.Pane != before.Pane || a.pane("api").pid() != pid {
		t.Errorf("the parent was %+v, and is %+v", before, is)
	}
	a.pane("api").typ("please say TWO")
	if r := w.asked("please say TWO"); r.Session != first.Session || strings.Contains(string(r.Body), "FORKED") {
		t.Errorf("the parent goes on with session %s, and knows what was said to the fork: %s", r.Session, r.Body)
	}

	a.session("restart", "other")
	a.awaits("other")
	a.pane("other").typ("please say THREE")
	r := w.asked("please say THREE")
	if r.Session != forked.Session || !strings.Contains(string(r.Body), "FORKED") || strings.Contains(string(r.Body), "say TWO") {
		t.Errorf("restarted, the fork goes on with session %s: %s", r.Session, r.Body)
	}
}

// An agent in a worktree of its own works on its branch, comes back there with its
// conversation, and its worktree goes with it once its work is merged.
//
// S1-30
func TestSessionWorktree(t *testing.T) {
	w := newWorld(t)
	beside := w.project + "-fix-it"
	w.trust(w.project, beside)
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "commit it") && !strings.Contains(string(r.Body), "tool_result") {
			return model.Bash("echo MARK-TREE > tree && git add tree && git commit -q -m tree && pwd")
		}
		return model.Reply{}
	})
	a := w.agents()
	a.session("new", "-n", "fix", "--worktree", "fix/it", "-m", "please commit it")
	first := w.asked("please commit it")
	a.awaits("fix")
	w.waitFor("it has committed", func() bool {
		return strings.TrimSpace(w.git("log", "--format=%s", "-1", "fix/it")) == "tree"
	})
	if _, err := os.Stat(filepath.Join(w.project, "tree")); err == nil {
		t.Error("it works in the person's own folder")
	}
	w.awaitWritten("commit it")
	a.session("restart", "fix")
	a.awaits("fix")
	a.pane("fix").typ("please say TWO")
	if r := w.asked("please say TWO"); r.Session != first.Session || !strings.Contains(string(r.Body), "commit it") {
		t.Errorf("restarted, session %s went on as %s", first.Session, r.Session)
	}
	a.awaits("fix")
	a.session("stop", "fix")
	if out, err := a.run(a.project, a.around, "gt-session", "rm", "fix"); err == nil || !strings.Contains(err.Error(), "1 commit that is neither pushed nor merged") {
		t.Errorf("rm: %v\n%s", err, out)
	}
	w.git("merge", "-q", "fix/it")
	a.session("rm", "fix")
	if _, err := os.Stat(beside); err == nil {
		t.Error("its worktree is left")
	}
}
