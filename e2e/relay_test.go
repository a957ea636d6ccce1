//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// A session with the real client moves to another host of the fleet and back, by name. It
// goes on there with its conversation, its thread and what is not committed. The stand-in
// for ssh runs the command in the other host's home folder.
//
// S2-1
func TestRelayMove(t *testing.T) {
	w := newWorld(t)
	here := w.agents()
	there := agents{w.machine("there"), here.around}
	w.git("clone", "-q", ".", there.project)
	there.trust(there.project)
	w.write(filepath.Join(w.project, "untracked"), "mine\n")
	if out, err := there.run(there.project, there.around, "gt-mail", "send", "self", "-s", "x", "-m", "x"); err != nil { // so that its clone is known
		t.Fatal(err, string(out))
	}

	ssh := w.Path("ssh-bin")
	if err := os.MkdirAll(ssh, 0o700); err != nil {
		t.Fatal(err)
	}
	var vars strings.Builder
	for _, kv := range append(append([]string{}, there.Env...), there.around...) {
		fmt.Fprintf(&vars, " '%s'", strings.ReplaceAll(kv, "'", `'\''`))
	}
	script := "#!/bin/sh\nfor a; do cmd=$a; done\ncd / && exec env -i" + vars.String() + " sh -c \"$cmd\"\n"
	if err := testenv.WriteProgram(filepath.Join(ssh, "ssh"), []byte(script)); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + ssh + ":" + w.Getenv("PATH")
	if out, err := here.run(w.project, append([]string{path}, here.around...), "gt-relay", "join", "--name", "here", "ssh://there"); err != nil {
		t.Fatal(err, string(out))
	}
	relay := w.WithEnv(append([]string{path}, here.around...)...).Command(w.home, w.look("gt-relay"), "run")
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = relay.Process.Kill()
		_ = relay.Wait()
		there.shell("kill $(cat " + filepath.Join(there.home, ".local/state/gt/relay/hub/pid") + ")")
	})
	for at, host := range map[*agents]string{&here: "there", &there: "here"} {
		at.waitFor("it knows the other host", func() bool {
			out, err := at.run(at.project, nil, "gt-relay")
			return err == nil && strings.Contains(string(out), "connected to") && strings.Contains(string(out), host)
		})
		if out, err := at.run(at.project, nil, "gt-relay", "allow", host, "move"); err != nil {
			t.Fatal(err, string(out))
		}
	}

	here.session("new", "-n", "api", "-m", "please remember MARK-ONE and never push to main")
	first := w.asked("MARK-ONE")
	here.becomes("api", "waiting")
	w.awaitWritten("MARK-ONE")
	at, to, host := here, there, "there"
	words := []string{"MARK-ONE"}
	for i := range 2 {
		at.session("move", "api", "--to", host)
		if out := at.session("show", "api", "--json"); !strings.Contains(out, `"to":"`+host+`"`) || !strings.Contains(out, `"complete":true`) {
			t.Errorf("it has not moved: %s", out)
		}
		p := to.pane("api")
		word := "MARK-" + strings.Repeat("I", i+2)
		p.typ("please remember " + word)
		r := w.asked("please remember " + word)
		words = append(words, word)
		for _, word := range words {
			if !strings.Contains(string(r.Body), word) {
				t.Errorf("on %s, the client does not know %s", host, word)
			}
		}
		is := to.becomes("api", "waiting")
		if is.SessionID != first.Session {
			t.Errorf("on %s it is %+v", host, is)
		}
		if got := w.read(filepath.Join(is.Path, "untracked")); got != "mine\n" {
			t.Errorf("on %s, untracked is %q", host, got)
		}
		if out, err := to.run(is.Path, nil, "gt-mail", "rule"); err != nil || !strings.Contains(string(out), "never push to main") {
			t.Errorf("on %s, its rules are %s, %v", host, out, err)
		}
		to.awaitWritten(word)
		at, to, host = there, here, "here"
	}
	here.session("stop", "api")
}
