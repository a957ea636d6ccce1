//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gt/e2e/model"
)

// watched is an agent in tmux whose status a story looks at, as a person does.
type watched struct {
	*world
	pane *pane
	name string
}

// watch has gt-session start a client in the world's own tmux server.
func (w *world) watch(agent string, args ...string) *watched {
	w.Helper()
	w.open("keep", "sleep", "3600") // a server of the world's own
	a := &watched{world: w, name: "api"}
	a.session(append([]string{"new", "-n", a.name, "-a", agent, "--"}, args...)...)
	a.pane = &pane{w, "gt-" + a.name, a.listed().Pane}
	w.tmux("resize-window", "-t", a.pane.id, "-x", "180", "-y", "50")
	return a
}

// session runs gt-session.
func (a *watched) session(args ...string) string {
	a.Helper()
	around := []string{fmt.Sprintf("TMUX=%s,1,0", filepath.Join(a.Path("tmux"), fmt.Sprintf("tmux-%d", os.Getuid()), "e2e")), "TMUX_PANE=%0"}
	out, err := a.run(a.project, around, "gt-session", args...)
	if err != nil {
		a.Fatalf("gt-session %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// listed is a line of gt-session list --json.
type listed struct {
	Status, Reason, Pane string
	Background           bool
	SessionID            string `json:"session_id"`
}

func (a *watched) listed() (l listed) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.session("list", "--json")), &l); err != nil {
		a.Fatal(err)
	}
	return l
}

// becomes waits until the agent has a status, "waiting (done)" or "running"; a plus behind it
// is for what runs in the background.
func (a *watched) becomes(want string) (is listed) {
	a.Helper()
	seen := ""
	a.waitFor("its status is "+want, func() bool {
		is = a.listed()
		now := is.Status
		if is.Reason != "" {
			now += " (" + is.Reason + ")"
		}
		if is.Background {
			now += " +"
		}
		if now != seen {
			seen = now
			a.Logf("%s: it is %s", want, now)
		}
		return now == want
	})
	return is
}

// stays looks a few times whether the agent has a status, and goes on having it.
func (a *watched) stays(want string) {
	a.Helper()
	a.becomes(want)
	for range 10 {
		if is := a.listed(); !strings.HasPrefix(want, is.Status) {
			a.Errorf("it was %s, and is %s (%s) without a cause", want, is.Status, is.Reason)
		}
	}
}

// press sends keys to the agent.
func (a *watched) keys(keys ...string) {
	a.Helper()
	a.tmux(append([]string{"send-keys", "-t", a.pane.id}, keys...)...)
}

// A gate holds back what the model or a command is about to do until it is opened.
type gate struct{ name, file string }

func (a *watched) gate(name string) gate { return gate{name, a.Path("gate-" + name)} }

// command waits for the gate. Clients ask before they let it run: it writes.
func (g gate) command() string {
	return "touch begun-" + g.name + "; until test -e " + g.file + "; do sleep 0.1; done"
}

// reached reports whether the command waits.
func (g gate) reached(w *world) bool { return exists(filepath.Join(w.project, "begun-"+g.name)) }

func (g gate) open(w *world) { w.write(g.file, "open\n") }

// What gt-session says of the real Claude Code is what a person in front of it sees: it
// asks for permission or with a question, which nothing but the person decides, works once
// that is answered though no hook says so, has stopped when it was denied or interrupted,
// has reached a limit or had no answer of the model, works while a subagent does that it
// waits for, and has stopped while a subagent or a command runs in the background, which is
// told beside. After /clear it waits.
//
// S2-6 S2-7 S2-9
func TestSessionStatus(t *testing.T) {
	w := newBareWorld(t)
	w.writeJSON(w.userSettings(), map[string]any{"permissions": map[string]any{"defaultMode": "default"}})
	w.gt("gt-hooks", "install", "claude")
	release := make(chan struct{})
	var once sync.Once
	letGo := func() { once.Do(func() { close(release) }) }
	t.Cleanup(letGo)
	var a *watched
	w.model.Answer(func(r *model.Request) model.Reply {
		last := r.Said() // beside it stands the result of what was declined before
		last = last[strings.LastIndex(last, "\n")+1:]
		tool := func(name string, input map[string]any) model.Reply {
			return model.Reply{Text: "I do.", Tools: []model.ToolUse{{Name: name, Input: input}}}
		}
		switch {
		case r.Kind != model.Turn:
			return model.Reply{}
		case strings.Contains(last, "please allow"):
			return model.Bash(a.gate("allowed").command())
		case strings.Contains(last, "please deny"):
			return model.Bash("touch denied")
		case strings.Contains(last, "please dismiss"):
			return model.Bash("touch dismissed")
		case strings.Contains(last, "please interrupt"):
			return model.Bash(a.gate("never").command())
		case strings.Contains(last, "please ask"):
			option := func(label string) any { return map[string]string{"label": label, "description": "as it is"} }
			return tool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
				"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{option("Red"), option("Blue")},
			}}})
		case strings.Contains(last, "please think"):
			<-release
		case strings.Contains(last, "please limit"):
			return model.Reply{Text: "the limit is reached", Refuse: http.StatusTooManyRequests}
		case strings.Contains(last, "please break"):
			return model.Reply{Text: "it is broken", Refuse: http.StatusInternalServerError}
		case strings.Contains(last, "please background"):
			return tool("Bash", map[string]any{"command": a.gate("background").command(), "description": "Wait", "run_in_background": true})
		case strings.Contains(last, "You are the child"):
			<-release
			return model.Say("The child is done.")
		case strings.Contains(last, "please delegate"):
			name := "Task"
			for _, offered := range r.Tools {
				if offered == "Agent" {
					name = offered
				}
			}
			return tool(name, map[string]any{
				"description": "a child", "prompt": "You are the child.", "subagent_type": "general-purpose", "run_in_background": false,
			})
		}
		return model.Say("It is done.")
	})
	a = w.watch("claude", "--permission-mode", "default")
	p := a.pane
	tell := func(line string) {
		t.Helper()
		a.keys("C-u") // a prompt that was interrupted stands in the input again
		p.submit(line)
	}
	asks := func() bool { return p.shows([]string{"Do you want to proceed?", "Enter to select"}) }
	asked := func() {
		t.Helper()
		w.waitFor("it asks", asks)
	}
	said := func(text string) func() bool {
		return func() bool {
			return w.model.Turns().Filter(func(r *model.Request) bool { return strings.Contains(r.Said()+r.Msgs[len(r.Msgs)-1].Result, text) }).LastRequest() != nil
		}
	}
	p.awaitPrompt()
	a.becomes("waiting (done)")

	tell("please allow it")
	a.becomes("waiting (permission)")
	asked() // no hook has decided
	a.stays("waiting (permission)")
	p.pressWhile("Enter", asks)
	a.stays("running") // and no hook says so: the command waits at the gate
	a.gate("allowed").open(w)
	a.becomes("waiting (done)")

	tell("please deny it")
	a.becomes("waiting (permission)")
	asked()
	p.pressWhile(p.awaitMatch(`(\d)\. No`), asks)
	a.stays("waiting (done)")
	tell("please dismiss it")
	a.becomes("waiting (permission)")
	asked()
	p.pressWhile("Escape", asks)
	a.stays("waiting (done)")
	for _, name := range []string{"denied", "dismissed"} {
		if exists(filepath.Join(w.project, name)) {
			t.Errorf("what was %s ran", name)
		}
	}

	tell("please ask me")
	a.becomes("waiting (question)")
	asked()
	p.pressWhile("Enter", asks)
	a.becomes("waiting (done)")

	// Esc, while a command runs and while the model thinks.
	tell("please interrupt it")
	a.becomes("waiting (permission)")
	asked()
	p.pressWhile("Enter", asks)
	a.becomes("running")
	// An Esc before that stops the turn, and the command runs on in the background.
	w.waitFor("the command runs", func() bool { return a.gate("never").reached(w) })
	p.pressWhile("Escape", func() bool { return a.listed().Status == "running" })
	a.stays("waiting (done)")
	tell("please think")
	a.becomes("running")
	a.waitFor("the model thinks", said("please think"))
	p.pressWhile("Escape", func() bool { return a.listed().Status == "running" })
	a.stays("waiting (done)")

	tell("please limit it")
	a.stays("waiting (limited)")
	tell("please break it")
	a.stays("waiting (failed)")

	// A newer client has each of its subagents work in the background.
	tell("please delegate it")
	a.waitFor("the subagent works", said("You are the child."))
	inBackground := func() bool { return p.shows([]string{"Backgrounded agent"}) }
	a.waitFor("it waits for its subagent or does not", func() bool { return inBackground() || p.shows([]string{"to run in background"}) })
	if inBackground() {
		a.stays("waiting (done) +")
	} else {
		a.stays("running")
	}
	letGo()
	a.becomes("waiting (done)")

	before := a.listed().SessionID
	tell("/clear")
	a.waitFor("another session is its own", func() bool { return a.listed().SessionID != before })
	a.stays("waiting (done)")

	tell("please background it")
	w.waitFor("the command is in the background, or it asks", func() bool { return asks() || p.shows([]string{"1 shell"}) })
	if asks() {
		p.pressWhile("Enter", asks)
	}
	a.stays("waiting (done) +")
	a.gate("background").open(w)
	a.becomes("waiting (done)")
}
