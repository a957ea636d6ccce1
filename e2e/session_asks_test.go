//go:build e2e

package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

// What gt-session says of the other clients while they ask: a permission prompt is waiting
// (permission) until the person has answered it, works after that until its tool has ended,
// and has stopped where it was dismissed. While the model refuses because of a limit it is
// waiting (limited).
//
// S2-6 S2-7
func TestSessionAsks(t *testing.T) {
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
		asks   string // is on the screen where it asks for permission
	}{
		{"opencode", newAskingOpenCode, "Permission required"},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			w.wireAgent(of.client)
			a := w.agents()
			open := w.path("gate")
			limited := false
			w.model.Answer(func(r *model.Request) model.Reply {
				asked := r.Asked()
				switch {
				case r.Kind != model.Turn:
					return model.Reply{}
				case r.Result() != "":
					return model.Say("It is done.")
				case strings.Contains(asked, "please allow"):
					return model.Bash("touch begun; until test -e " + open + "; do sleep 0.1; done")
				case strings.Contains(asked, "please dismiss"):
					return model.Bash("touch dismissed")
				case strings.Contains(asked, "please limit") && !limited:
					limited = true
					return model.Reply{Text: "rate limit reached", Refuse: http.StatusTooManyRequests}
				}
				return model.Say("It is done.")
			})
			a.session("new", "-n", "api", "-a", of.client, "-m", "are you there?")
			w.asked("are you there?")
			a.awaits("api")
			p := a.pane("api")
			asks := func() bool { return strings.Contains(p.screen(), of.asks) }
			is := func(status, reason string) {
				t.Helper()
				var now instance
				w.until("it is "+status+" "+reason, func() bool {
					now = a.is("api")
					return now.Status == status && now.Reason == reason
				})
			}
			a.session("send", "api", "please allow it")
			is("waiting", "permission")
			w.until("it asks", asks)
			a.exits(75, "send", "api", "and more")
			p.pressWhile("Enter", asks)
			is("running", "") // the command waits at the gate
			w.until("the command runs", func() bool { return exists(filepath.Join(w.project, "begun")) })
			w.write(open, "open\n")
			is("waiting", "done")

			a.session("send", "api", "please dismiss it")
			is("waiting", "permission")
			w.until("it asks", asks)
			p.pressWhile("Escape", asks)
			is("waiting", "done")
			if exists(filepath.Join(w.project, "dismissed")) {
				t.Error("what was dismissed ran")
			}
			a.session("send", "api", "please limit it")
			is("waiting", "limited") // until the client asks the model again
			is("waiting", "done")
			a.session("stop", "api")
			a.becomes("api", "stopped")
		})
	}
}

// newAskingOpenCode makes a world with an OpenCode that asks before it runs a command.
func newAskingOpenCode(t *testing.T) *world {
	t.Helper()
	w := newOpenCode(t)
	path := filepath.Join(w.home, ".config", "opencode", "opencode.json")
	w.write(path, strings.Replace(w.read(path), `"bash": "allow"`, `"bash": "ask"`, 1))
	return w
}
