//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent of gt-session was started in is what each of its starts is in: after a
// restart, after the tmux server is gone, in a fork, in what an export is imported as, and
// when it was taken over from a pane.
//
// S1-60 S1-62
func TestSessionLaunched(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("no bwrap")
	}
	w := newWorld(t)
	a := w.agents()
	session := a.session
	w.write(filepath.Join(w.home, ".ssh", "id"), "secret\n")
	w.write(filepath.Join(w.home, ".bash_profile"), "PATH="+quote(bin)+":"+quote(w.Path("bin"))+":$PATH; PS1='shell> '\n")

	// around waits for an agent that is not the one before, and returns what it runs in.
	around := func(name string, before int) (int, string) {
		t.Helper()
		is := a.becomes(name, "waiting")
		p := &pane{w, "gt-" + name, is.Pane}
		pid := 0
		w.waitFor(name+" runs", func() bool { pid = p.runs("claude"); return pid != 0 && pid != before })
		in, err := p.describeSurroundings(pid, "claude")
		if err != nil {
			t.Fatal(err)
		}
		return pid, in
	}
	session("new", "-n", "api", "--in", "bwrap --dev-bind / / --tmpfs ~/.ssh --unshare-ipc", "-m", "please remember MARK-ONE", "--", "--model", "sonnet")
	w.asked("please remember MARK-ONE")
	pid, first := around("api", 0)
	if !strings.Contains(first, "secret false") || !strings.Contains(first, "below bwrap") {
		t.Fatalf("it runs in\n%s", first)
	}
	w.awaitWritten("MARK-ONE")
	same := func(what, name string, before int) int {
		t.Helper()
		now, in := around(name, before)
		if in != first {
			t.Errorf("%s: it ran in\n%s\nand now in\n%s", what, first, in)
		}
		return now
	}

	session("restart", "api")
	pid = same("restart", "api", pid)
	session("fork", "api", "-n", "copy")
	same("fork", "copy", 0)
	w.tmux("kill-server")
	a.becomes("api", "error")
	session("restore")
	same("restore", "api", pid)
	same("restore of a fork", "copy", 0)

	file := w.Path("list.json")
	w.write(file, session("export"))
	session("stop", "--all")
	session("rm", "api")
	session("rm", "copy")
	session("import", file)
	session("start", "api")
	same("import", "api", pid)
	session("stop", "--all")

	p := w.open("by-hand", "bash", "-l")
	p.awaitScreen("shell>")
	w.tmux("send-keys", "-t", p.id, "-l", fmt.Sprintf("bwrap --dev-bind / / --tmpfs %s/.ssh --unshare-ipc claude --model sonnet 'please remember MARK-TWO'", w.home))
	w.tmux("send-keys", "-t", p.id, "Enter")
	w.asked("please remember MARK-TWO")
	w.awaitWritten("MARK-TWO")
	pid = p.runs("claude")
	session("import", "--tmux")
	session("restart", "by-hand")
	same("a restart of one that was taken over", "by-hand", pid)
}
