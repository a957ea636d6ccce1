//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"gt/e2e/model"
)

// An agent of gt-session that hands over to another client is that client's from then on,
// there and back: what is listed, sent, restarted, stopped and started again is what runs in
// its pane.
//
// S1-13 S1-60 S2-6 S2-31
func TestHandoverChangesAgent(t *testing.T) {
	w := newWorld(t)
	w.addClient("codex")
	w.wireAgent("codex")
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "please hand over to codex") {
			return model.Bash("gt-handoff --to codex -s 'from claude' -m 'CLAUDE-CANARY'")
		}
		return model.Say("It is done.")
	})
	a := w.agents()
	a.session("new", "-n", "web", "-m", "please say ONE", "--", "--model", "sonnet")
	w.asked("please say ONE")
	before := a.becomes("web", "waiting")

	is := func(when, client, session string) instance {
		t.Helper()
		var now instance
		a.waitFor(when+", web is a waiting "+client, func() bool {
			now = a.findListed("web")
			return now.Status == "waiting" && now.Agent == client && now.SessionID != "" && (session == "" || now.SessionID == session)
		})
		if now.Pane != before.Pane && session == "" {
			t.Errorf("%s, web is in pane %s, was in %s", when, now.Pane, before.Pane)
		}
		return now
	}
	goesOn := func(when string, of instance, mark string) {
		t.Helper()
		asked := "please go on " + strings.ReplaceAll(when, " ", "-")
		a.awaitBox("web")
		a.session("send", "web", asked)
		if r := w.asked(asked); !strings.Contains(string(r.Body), mark) {
			t.Errorf("%s, asked %q, it does not know of %s", when, asked, mark)
		}
		is(when, of.Agent, of.SessionID)
	}

	// There, by the agent itself.
	a.session("send", "web", "please hand over to codex")
	codex := is("handed over", "codex", "")
	if codex.SessionID == before.SessionID {
		t.Errorf("after the hand-over web is %+v", codex)
	}
	goesOn("handed over", codex, "CLAUDE-CANARY")
	a.session("restart", "web")
	goesOn("restarted", codex, "CLAUDE-CANARY")
	a.session("stop", "web")
	if out := a.session("restore"); out != "" {
		t.Errorf("a stopped agent is restored: %q", out)
	}
	a.session("start", "web")
	goesOn("started again", codex, "CLAUDE-CANARY")
	if err := syscall.Kill(a.pane("web").pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.becomes("web", "error")
	a.session("restore")
	goesOn("restored", codex, "CLAUDE-CANARY")
	before = a.findListed("web")

	// And back, by the person.
	if out, err := w.run(w.project, a.around, "gt-handoff", "web", "--now", "--to", "claude", "-m", "CODEX-CANARY"); err != nil {
		t.Fatalf("gt-handoff: %v\n%s", err, out)
	}
	w.asked("Handoff: CODEX-CANARY") // Claude Code can lose what is typed while it starts, of which send tells
	a.becomes("web", "waiting")
	claude := is("handed back", "claude", "")
	goesOn("handed back", claude, "CODEX-CANARY")
	a.session("restart", "web")
	goesOn("restarted as claude", claude, "CODEX-CANARY")
	a.session("fork", "web", "-n", "copy", "-m", "please say COPY")
	if r := w.asked("please say COPY"); !strings.Contains(string(r.Body), "CODEX-CANARY") {
		t.Error("the fork does not know what was said before")
	}
	if copy := a.becomes("copy", "waiting"); copy.Agent != "claude" {
		t.Errorf("the fork is %+v", copy)
	}
}
