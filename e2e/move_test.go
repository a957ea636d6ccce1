//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moves is on how many machines a session goes on, one after another, in TestMove.
const moves = 3

// A session moves between two home folders and back with the real client, and each time
// goes on with its conversation, its thread and the files that are not committed. It never
// runs in both.
//
// S2-1
func TestMove(t *testing.T) {
	w := newWorld(t)
	here := w.agents()
	there := agents{w.machine("there"), here.around}
	w.git("clone", "-q", ".", there.project)
	w.git("checkout", "-q", "-b", "fix")
	w.write(filepath.Join(w.project, "README.md"), "a changed project\n")
	w.write(filepath.Join(w.project, "untracked"), "mine\n")

	here.session("new", "-n", "api", "-m", "please remember MARK-ONE and never push to main")
	first := w.asked("MARK-ONE")
	here.becomes("api", "waiting")
	w.awaitWritten("MARK-ONE")
	words := []string{"MARK-ONE"}

	at, folder := here, "--folder ." // afterwards it is known where its repository is
	for i := range moves {
		to := []agents{there, here}[i%2]
		parcel := w.Path("parcel")
		at.shell("gt-session pack api >'" + parcel + "'")
		if out := at.fails(1, "start", "api"); !strings.Contains(out, "it has moved") {
			t.Errorf("it starts where it was: %s", out)
		}
		var made struct{ Path string }
		if err := json.Unmarshal(to.shell("gt-session unpack --json "+folder+" <'"+parcel+"'"), &made); err != nil {
			t.Fatal(err)
		}
		folder = ""
		to.trust(to.project, made.Path) // the client asks about the main worktree
		to.session("start", "api")
		p := to.pane("api")
		word := "MARK-" + strings.Repeat("I", i+2)
		p.typ("please remember " + word)
		r := w.asked("please remember " + word)
		words = append(words, word)
		for _, word := range words {
			if !strings.Contains(string(r.Body), word) {
				t.Errorf("after %d moves, the client does not know %s", i+1, word)
			}
		}
		is := to.becomes("api", "waiting")
		if is.SessionID != first.Session || is.Path != made.Path {
			t.Errorf("after %d moves it is %+v", i+1, is)
		}
		for name, want := range map[string]string{"README.md": "a changed project\n", "untracked": strings.Repeat("mine\n", i+1)} {
			if got := w.read(filepath.Join(made.Path, name)); got != want {
				t.Errorf("after %d moves, %s is %q", i+1, name, got)
			}
		}
		if out, err := to.run(made.Path, nil, "gt-mail", "rule"); err != nil || !strings.Contains(string(out), "never push to main") {
			t.Errorf("after %d moves, its rules are %s, %v", i+1, out, err)
		}
		w.write(filepath.Join(made.Path, "untracked"), strings.Repeat("mine\n", i+2))
		at = to
		at.awaitWritten(word)
	}
	at.session("stop", "api")
}

// shell runs a command line in the project, as somebody in the tmux server does.
func (a agents) shell(line string) []byte {
	a.Helper()
	out, err := a.run(a.project, a.around, "sh", "-c", line)
	if err != nil {
		a.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// machine is another home folder in the world, as on another machine: with the same
// client, the same model, and no project yet.
func (w *world) machine(name string) *world {
	w.Helper()
	other := *w
	other.home, other.project = w.Path(name), w.Path(name, "project")
	if err := os.MkdirAll(other.home, 0o700); err != nil {
		w.Fatal(err)
	}
	other.Env = append(append([]string{}, w.Env...), "HOME="+other.home)
	other.setUp("claude")
	project := other.project
	other.project = other.home // where gt-hooks can run by now
	other.gt("gt-hooks", "install", "claude")
	other.project = project
	return &other
}
