//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gt/e2e/model"
)

// Several Codex agents in one folder are told apart: each has its own pane, conversation
// and status, also where a Codex of the person's has started the server that Codex shares
// between windows. Each is restarted, brought back after a kill and sent to in its own
// conversation.
//
// S1-13 S2-6 S2-31 S2-41
func TestCodexFleet(t *testing.T) {
	w := newCodex(t)
	w.wireAgent("codex")
	w.model.Answer(func(r *model.Request) model.Reply { return model.Say("It is done.") })
	a := w.agents()
	w.open("mine", "codex") // its server has this pane's environment
	names := []string{"c1", "c2", "c3"}
	each := func(do func(name string)) {
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() { do(name) })
		}
		all.Wait()
	}
	each(func(name string) {
		if out, err := w.run(w.project, a.around, "gt-session", "new", "-n", name, "-a", "codex", "-m", "MARK-"+name); err != nil {
			t.Errorf("new %s: %v\n%s", name, err, out)
		}
	})
	first := map[string]instance{}
	told := func(when string) {
		t.Helper()
		for _, name := range names {
			w.asked("MARK-" + name)
			is := a.becomes(name, "waiting")
			if first[name].SessionID == "" {
				first[name] = is
			}
			if is.SessionID != first[name].SessionID || is.Pane == "" {
				t.Errorf("%s, %s is %+v, after %+v", when, name, is, first[name])
			}
			if n := len(w.model.Turns().Filter(func(r *model.Request) bool {
				return strings.Contains(r.Asked(), "MARK-"+name) && r.Session == is.SessionID
			})); n == 0 {
				t.Errorf("%s, %s is said to be in session %s, which was not asked for it", when, name, is.SessionID)
			}
		}
	}
	goesOn := func(question string) {
		t.Helper()
		for _, name := range names {
			asked := fmt.Sprintf("please say %s %s", question, name)
			a.awaitBox(name)
			a.session("send", name, asked)
			if r := w.asked(asked); !strings.Contains(string(r.Body), "MARK-"+name) {
				t.Errorf("asked %q, %s does not know what was said before", asked, name)
			}
		}
		told("asked " + question)
		for _, name := range names { // Codex runs the hook of a start with the first prompt
			is := a.findListed(name)
			if r := w.record(is.SessionID); r.TmuxPane != is.Pane {
				t.Errorf("asked %s, %s is %+v; its record has pane %s", question, name, is, r.TmuxPane)
			}
		}
	}
	told("started")
	goesOn("ONE")

	a.session(append([]string{"restart"}, names...)...)
	told("restarted")
	goesOn("TWO")

	p := &pane{w, "gt-c2", a.findListed("c2").Pane}
	if err := syscall.Kill(p.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.becomes("c2", "error")
	a.awaits("c1")
	a.session("restore")
	told("restored")
	goesOn("THREE")

	a.session("fork", "c3", "-n", "c4", "-m", "please say FOUR")
	if r := w.asked("please say FOUR"); !strings.Contains(string(r.Body), "MARK-c3") {
		t.Error("the fork does not know what was said before")
	}
	if is := a.becomes("c4", "waiting"); is.SessionID == first["c3"].SessionID || is.SessionID == "" {
		t.Errorf("the fork is %+v", is)
	}
	a.session("stop", "c1")
	a.becomes("c1", "stopped")
	names = names[1:]
	told("c1 stopped")
}
