//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/e2e/model"
)

// What a person says at the beginning of a long task.
const (
	request = "Port the parser to the FIRST-CANARY grammar and keep going until all of it is done."
	rule    = "From now on never touch RULE-CANARY.go."
)

// One task goes through five generations of Claude Code and on to Codex: by a hand-over, a
// compaction, a /clear, a crash and a hand-over to the other agent. Each is told once what
// the person asked for first and what must never be done, what was handed over, and
// nothing that gt typed as if a person had asked for it.
//
// S0-17 S1-71
func TestGenerations(t *testing.T) { generations(t, "claude", "codex") }

// The same begins with Codex.
//
// S0-17 S1-71
func TestCodexGenerations(t *testing.T) { generations(t, "codex", "claude") }

func generations(t *testing.T, agent, other string) {
	w := newWorld(t)
	w.and("codex")
	w.wireCodex()
	w.trustHooks()
	var mu sync.Mutex
	var handover string // the command that hands over, once
	w.model.Answer(func(r *model.Request) model.Reply {
		mu.Lock()
		defer mu.Unlock()
		command := handover
		switch {
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case !strings.Contains(r.Asked(), "please hand over") || command == "":
			return model.Say("ANSWER it is.")
		}
		handover = ""
		if asks(r) == "codex" {
			return codexShell(r, command)
		}
		return model.Bash(command)
	})
	handsOver := func(p *pane, by, command string) *model.Request {
		t.Helper()
		mu.Lock()
		handover = command
		mu.Unlock()
		pid, n := p.pid(), len(w.model.All())
		if by == "codex" {
			p.codexReplaced("please hand over", pid)
		} else {
			p.typ("please hand over")
		}
		old := w.next(n, func(r *model.Request) bool { return strings.Contains(r.Asked(), "please hand over") }).Session
		return w.next(n, func(r *model.Request) bool { return r.Session != old })
	}

	// The first generation.
	p := w.begin(agent)
	w.says(p, agent, request)
	w.says(p, agent, rule+" Now step-one.")

	// The second, behind a hand-over.
	second := handsOver(p, agent, "gt-handoff -s 'SUBJECT of one' -m 'MESSAGE of one'")
	opening := second.Asked()
	if !strings.Contains(opening, "SUBJECT of one") {
		t.Errorf("the second generation is started with %q", opening)
	}
	w.knows(2, second, "MESSAGE of one")
	w.says(p, agent, "now step-two")

	// The third, behind a compaction: the summariser knows it, and who goes on is told.
	n := len(w.model.All())
	if agent == "codex" {
		p.codex("/compact", "Context compacted")
	} else {
		p.typ("/compact")
		p.awaitScreen("Compacted")
		w.until("the start after the compaction is told", func() bool { return len(w.markers()) == 0 })
		p.awaitScreen("? for shortcuts")
	}
	summariser := w.model.All()[n:].Kind(model.Compaction).Last()
	if summariser == nil {
		t.Fatal("there was no compaction")
	}
	third := w.says(p, agent, "now step-three")
	w.knows(3, third)

	// The fourth, behind a /clear.
	if agent == "codex" {
		p.codex("/clear", "Ask Codex to do anything")
	} else {
		p.typ("/clear")
		w.until("another session starts", func() bool { return len(w.records()) == 3 })
	}
	fourth := w.says(p, agent, "now step-four")
	w.knows(4, fourth)

	// The fifth, behind a crash. What the client had not written down by then is lost.
	w.until("the client has written down what it was asked", func() bool {
		found := false
		for _, store := range []string{".claude/projects", ".codex/sessions"} {
			filepath.WalkDir(filepath.Join(w.home, store), func(path string, d fs.DirEntry, err error) error {
				found = found || err == nil && strings.Contains(d.Name(), fourth.Session) && strings.Contains(w.read0(path), "now step-four")
				return nil
			})
		}
		return found
	})
	crashed := w.record(fourth.Session)
	if err := syscall.Kill(crashed.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.until("the pane is gone", func() bool { return !strings.Contains(w.tmuxOutput("list-sessions"), "max") })
	p = w.begin(agent)
	fifth := w.says(p, agent, "now step-five")
	w.knows(5, fifth, "MESSAGE of one", "now step-four")

	// The other agent.
	last := handsOver(p, agent, "gt-handoff --to "+other+" -s 'SUBJECT of five' -m 'MESSAGE of five'")
	w.knows(6, last, "MESSAGE of one", "MESSAGE of five", "now step-five")
	if asks(last) != other {
		t.Errorf("%s took over", asks(last))
	}

	for i, r := range []*model.Request{third, fourth, fifth, last} {
		if line, _, _ := strings.Cut(opening, "\n"); strings.Contains(hooksSaid(r), line) {
			t.Errorf("generation %d is told what gt typed to start the second:\n%s", i+3, around(r, line))
		}
	}
	var thread struct {
		Request      struct{ Text string }
		Instructions []struct{ Text string }
		Messages     []struct{ Subject string }
	}
	if err := json.Unmarshal([]byte(w.gt("gt-seance", "thread", "--json", last.Session)), &thread); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(thread); got != fmt.Sprintf("{{%s} [{%s}] [{SUBJECT of one} {SUBJECT of five}]}", request, rule) {
		t.Errorf("the thread is %s", got)
	}
	if errs := w.events("hook_error", ""); len(errs) > 0 {
		t.Errorf("hooks failed: %+v", errs)
	}
}

// begin starts an agent in the pane of the story.
func (w *world) begin(agent string) *pane {
	w.t.Helper()
	if agent == "claude" {
		return w.claude("max")
	}
	p := w.open("max", "codex", "-c", "hide_agent_reasoning=true") // its own process, without a server
	p.codexReady()
	return p
}

// says types a line, and returns the request in which the model is asked it once it is
// answered.
func (w *world) says(p *pane, agent, line string) *model.Request {
	w.t.Helper()
	if agent == "codex" {
		p.codex(line, "ANSWER it is.")
	} else {
		p.typ(line)
	}
	r := w.asked(line)
	w.until("the turn is over", func() bool {
		var k struct {
			Timestamp time.Time
			State     string
		}
		return json.Unmarshal([]byte(w.read0(w.runtime("keepalive.json"))), &k) == nil && k.State == "waiting" && k.Timestamp.After(r.At)
	})
	return r
}

// next waits for a turn that the model is asked for after its first n requests.
func (w *world) next(n int, is func(*model.Request) bool) *model.Request {
	w.t.Helper()
	r := w.model.Await(patience, func(all model.Requests) *model.Request {
		if i := slices.IndexFunc(all[n:], func(r *model.Request) bool { return r.Kind == model.Turn && is(r) }); i >= 0 {
			return all[n+i]
		}
		return nil
	})
	if r == nil {
		w.t.Fatal("nobody took over")
	}
	return r
}

// knows asserts that gt tells the model once what a person asked for first, and what
// holds, and what else is to be known. (What the person reads of a hook, as behind a
// /compact, Claude Code gives to the model too.)
func (w *world) knows(generation int, r *model.Request, more ...string) {
	w.t.Helper()
	for _, text := range append([]string{request, "- " + rule + "\n"}, more...) {
		if n := strings.Count(hooksSaid(r), text); n != 1 {
			w.t.Errorf("generation %d is told %d times %q:\n%s", generation, n, text, around(r, text))
		}
	}
}

// hooksSaid is what the model is told by neither the person nor itself, all of it.
func hooksSaid(r *model.Request) string {
	var all strings.Builder
	for _, m := range r.Msgs {
		if m.Role == "system" {
			all.WriteString(m.Text + "\n")
		}
	}
	return all.String()
}

// around is where a text stands in the messages.
func around(r *model.Request, text string) string {
	var all strings.Builder
	for _, m := range r.Msgs {
		for rest := m.Text; strings.Contains(rest, text); {
			before, after, _ := strings.Cut(rest, text)
			fmt.Fprintf(&all, "%s: …%s[%s]%s…\n", m.Role, before[max(0, len(before)-1000):], text, after[:min(len(after), 500)])
			rest = after
		}
	}
	return all.String()
}
