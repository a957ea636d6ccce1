//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/e2e/model"
)

// member is what gt-session lists of a session of a template.
type member struct {
	instance
	Template   string
	State      string
	Why        string `json:"state_reason"`
	Slot       int
	Generation int
	Routable   bool
}

// pools are the sessions that gt-reconcile keeps in the world's own tmux server.
type pools struct{ agents }

// tick makes one, and returns what it changed: a change in each line.
func (p pools) tick() string {
	p.Helper()
	out, err := p.run(p.project, p.around, "gt-reconcile", "tick")
	if err != nil {
		p.Fatalf("gt-reconcile tick: %v\n%s", err, out)
	}
	if len(out) > 0 {
		p.Logf("a tick:\n%s", out)
	}
	return string(out)
}

// ticks makes one that has to make so many changes whose lines begin with a text, and
// none besides.
func (p pools) ticks(n int, change string) {
	p.Helper()
	out := p.tick()
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, change) {
			p.Errorf("a tick of which %d of %q are expected has %s", n, change, line)
		}
	}
	if got := strings.Count(out, "\n"); got != n {
		p.Fatalf("a tick makes %d changes, %d of %q are expected", got, n, change)
	}
}

// membersInState are the sessions of a template that are in a state, the oldest first.
func (p pools) membersInState(template, state string) (all []member) {
	p.Helper()
	for line := range strings.Lines(p.session("list", "--json", "--all", "--template", template, "--state", state)) {
		var m member
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			p.Fatal(err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b member) int { return a.Slot - b.Slot })
	return all
}

// wants sets what a template's check prints.
func (p pools) wants(template string, n int) {
	p.write(filepath.Join(p.home, "wanted-"+template), fmt.Sprintln(n))
}

// rest waits until agents have stopped and wait for a person, so that what was said to
// them is written.
func (p pools) rest(all []member) {
	p.Helper()
	for _, m := range all {
		p.becomes(m.Name, "waiting")
	}
}

// asks sends a prompt to an agent, and returns the request that came of it.
func (p pools) asks(m member, prompt string) *model.Request {
	p.Helper()
	p.session("send", m.Name, prompt)
	r := p.asked(prompt)
	if strings.HasPrefix(prompt, "please run ") {
		p.waitFor("the model is told what came of "+prompt, func() bool {
			last := p.model.Turns().Session(r.Session).LastRequest()
			return last.N > r.N && last.Result() != ""
		})
	}
	p.becomes(m.Name, "waiting")
	return r
}

// knows asks an agent something, who has to go on with its conversation.
func (p pools) knows(m member, prompt string) {
	p.Helper()
	r := p.asks(m, prompt)
	if r.Session != m.SessionID || !strings.Contains(string(r.Body), "I am "+m.Name) {
		p.Errorf("asked %q, %s goes on in session %s, its own was %s, and does not know what it was told", prompt, m.Name, r.Session, m.SessionID)
	}
}

// crashes kills an agent, and waits until that is seen.
func (p pools) crashes(m member) {
	p.Helper()
	p.pane(m.Name).crash()
	p.becomes(m.Name, "error")
}

// gt-reconcile keeps a pool of the real Claude Code. It goes from none to three, to one
// and to three again, in which those that come back go on with their conversations; what
// an agent has claimed it may finish before it is retired. All come back after a reboot.
// One that crashes again and again is quarantined, and its work blocked, until a person
// takes it back. An edit of the template is rolled through one at a time, and a rate limit
// holds all of its account and nobody else.
//
// S4-1 S4-33 S4-36 S4-53 S4-91 S4-104 S4-106 S4-107 S4-109 S4-112 S4-113 S4-130
func TestPool(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(func(r *model.Request) model.Reply {
		last := r.Said()
		last = last[strings.LastIndex(last, "\n")+1:]
		command, runs := strings.CutPrefix(last, "please run ")
		switch {
		case r.Result() != "": // of a command
		case runs:
			return model.Bash(command)
		case strings.Contains(last, "please limit"):
			return model.Reply{Text: "the limit is reached", Refuse: http.StatusTooManyRequests}
		}
		return model.Say("It is done.")
	})
	p := pools{w.agents()}
	templates := func(model string) {
		w.write(filepath.Join(w.home, ".config", "gt", "town.toml"), fmt.Sprintf(`
[[agent]]
name = "worker"
provider = "claude"
work_dir = %q
prompt_template = "worker.md"
max_restarts_per_window = 1
[agent.pool]
max = 3
check = 'cat "$HOME/wanted-worker"'
[agent.defaults]
wake_mode = "resume"
model = %q

[[agent]]
name = "scribe"
provider = "claude"
work_dir = %q
account = "another"
[agent.pool]
max = 2
check = 'cat "$HOME/wanted-scribe"'
`, w.project, model, w.project))
	}
	templates("sonnet")
	w.write(filepath.Join(w.home, ".config", "gt", "worker.md"), "You are a worker: say hello.\n")
	p.wants("scribe", 0)

	// None to three.
	p.wants("worker", 3)
	p.ticks(3, "create ")
	p.ticks(3, "complete ")
	all := p.membersInState("worker", "active")
	for i, m := range all {
		if m.Slot != i+1 || m.Generation != 1 || !m.Routable {
			t.Errorf("%+v", m)
		}
	}
	hello := func() model.Requests {
		return w.model.Turns().Filter(func(r *model.Request) bool { return strings.Contains(r.Asked(), "You are a worker: say hello.") })
	}
	w.waitFor("three agents are told their prompt", func() bool { return len(hello()) >= 3 })
	p.rest(all)
	for _, m := range all {
		p.asks(m, "please remember: I am "+m.Name)
	}
	p.ticks(0, "")

	// Work is claimed by two of them, and by nobody else.
	w.gt("gt-mail", "work", "give", "worker", "-s", "Port the parser", "-m", "all of it")
	w.gt("gt-mail", "work", "give", "worker", "-s", "Fix the tests", "-m", "")
	holds := func(m member) bool { return strings.Contains(w.gt("gt-mail", "work"), m.Name+" has it") }
	for _, m := range all {
		p.asks(m, "please run gt-mail work claim # "+m.Name)
	}
	if !holds(all[0]) || !holds(all[1]) || holds(all[2]) {
		t.Fatalf("the work is with others:\n%s", w.gt("gt-mail", "work"))
	}
	claimed := w.model.Turns().Filter(func(r *model.Request) bool {
		return r.Session == all[0].SessionID && strings.Contains(r.Result(), "Port the parser") && strings.Contains(r.Result(), "all of it")
	})
	if len(claimed) == 0 {
		t.Error("the model was never told the work")
	}

	// Three to one: the newest are drained, and the one that has work ends when it is done.
	p.wants("worker", 1)
	p.ticks(0, "")
	p.ticks(2, "drain ")
	p.ticks(1, "archive ")
	if m := p.membersInState("worker", "archived"); len(m) != 1 || m[0].Name != all[2].Name {
		t.Fatalf("retired first: %+v", m)
	}
	p.asks(all[1], "please run gt-mail work done $(gt-mail work | grep \"$GT_SESSION_NAME has it\" | cut -c1-8)")
	p.ticks(1, "archive ")
	if m := p.membersInState("worker", "active"); len(m) != 1 || m[0].Name != all[0].Name {
		t.Fatalf("left: %+v", m)
	}
	if names := w.tmux("list-sessions", "-F", "#{session_name}"); strings.Count(names, "gt-worker-") != 1 {
		t.Errorf("in tmux there is\n%s", names)
	}

	// One to three, with their conversations.
	p.wants("worker", 3)
	p.ticks(2, "reactivate ")
	back := p.membersInState("worker", "active")
	if len(back) != 3 {
		t.Fatalf("%+v", back)
	}
	for _, m := range back {
		if want := 1 + b2i(m.Name != all[0].Name); m.Generation != want || !m.Routable {
			t.Errorf("%+v, of generation %d", m, want)
		}
	}
	p.rest(back)
	for _, m := range all {
		p.knows(m, "please say your name, "+m.Name)
	}

	// A reboot, in which one of them has work.
	p.tmux("kill-server")
	for _, m := range all {
		p.becomes(m.Name, "error")
	}
	p.ticks(3, "restart ")
	p.rest(all)
	for _, m := range all {
		p.knows(m, "please say it again, "+m.Name)
	}
	if !holds(all[0]) {
		t.Errorf("its work is gone:\n%s", w.gt("gt-mail", "work"))
	}

	// It crashes once more: that is a crash loop.
	p.crashes(all[0])
	p.ticks(1, "quarantine ")
	if list := w.gt("gt-mail", "work"); !strings.Contains(list, "blocked: "+all[0].Name+" had it (session_quarantined)") {
		t.Errorf("its work:\n%s", list)
	}
	p.ticks(0, "")
	if m := p.membersInState("worker", "quarantined"); len(m) != 1 || m[0].Routable {
		t.Errorf("%+v", m)
	}
	p.session("resume", all[0].Name)
	p.becomes(all[0].Name, "waiting")
	p.knows(all[0], "please say who was quarantined")

	// The template is edited: one at a time is replaced, and there are always two.
	templates("opus")
	for replaced := range 3 {
		p.ticks(1, "drain ")
		p.ticks(1, "archive ")
		p.ticks(1, "create ")
		if n := len(p.membersInState("worker", "active")); n != 2 {
			t.Errorf("%d are there while one is replaced", n)
		}
		p.ticks(1, "complete ")
		if n := len(p.membersInState("worker", "archived")); n != replaced+1 {
			t.Errorf("%d are replaced", n)
		}
	}
	p.ticks(0, "")
	w.waitFor("three more are told their prompt", func() bool { return len(hello()) >= 6 })
	for _, r := range hello()[3:] {
		if !strings.Contains(r.Model, "opus") {
			t.Errorf("a new one asks %s", r.Model)
		}
	}

	// A rate limit: of its account nothing is started, not even itself.
	p.wants("scribe", 1)
	p.ticks(1, "create ")
	p.ticks(1, "complete ")
	scribe := p.membersInState("scribe", "active")[0]
	p.becomes(scribe.Name, "waiting")
	p.session("send", scribe.Name, "please limit it")
	w.waitFor(scribe.Name+" is at its limit", func() bool {
		is := p.findListed(scribe.Name)
		return is.Status == "waiting" && is.Reason == "limited"
	})
	p.wants("scribe", 2)
	p.ticks(0, "")
	if out, _ := w.run(w.project, p.around, "gt-reconcile", "status"); !strings.Contains(string(out), "its account is at its limit until ") {
		t.Errorf("the status is\n%s", out)
	}
	p.crashes(scribe)
	p.ticks(1, "suspend ")
	p.ticks(0, "")
	if out, err := w.run(w.project, p.around, "gt-session", "new", "--template", "scribe"); err == nil || !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("a person gets one more of an account at its limit: %s", out)
	}
	p.session("close", p.membersInState("worker", "active")[0].Name)
	p.ticks(1, "create ")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
