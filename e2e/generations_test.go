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
	l := newLine(t, agent)
	w := l.w

	// The first generation.
	w.says(l.p, agent, request)
	w.says(l.p, agent, rule+" Now step-one.")

	// The second, behind a hand-over.
	second := l.handOver("gt-handoff -s 'SUBJECT of one' -m 'MESSAGE of one'")
	opening := second.Asked()
	if !strings.Contains(opening, "SUBJECT of one") {
		t.Errorf("the second generation is started with %q", opening)
	}
	w.knows(2, second, "MESSAGE of one")
	w.says(l.p, agent, "now step-two")

	// The third, behind a compaction: the summariser knows it, and who goes on is told.
	l.compact()
	third := w.says(l.p, agent, "now step-three")
	w.knows(3, third)

	// The fourth, behind a /clear.
	l.clear()
	fourth := w.says(l.p, agent, "now step-four")
	w.knows(4, fourth)

	// The fifth, behind a crash.
	l.crash(fourth, "now step-four")
	fifth := w.says(l.p, agent, "now step-five")
	w.knows(5, fifth, "MESSAGE of one", "now step-four")

	// The other agent.
	last := l.handOver("gt-handoff --to " + other + " -s 'SUBJECT of five' -m 'MESSAGE of five'")
	w.knows(6, last, "MESSAGE of one", "MESSAGE of five", "now step-five")
	if asks(last) != other {
		t.Errorf("%s took over", asks(last))
	}

	for i, r := range []*model.Request{third, fourth, fifth, last} {
		if line, _, _ := strings.Cut(opening, "\n"); strings.Contains(hooksSaid(r), line) {
			t.Errorf("generation %d is told what gt typed to start the second:\n%s", i+3, excerptAround(r, line))
		}
	}
	thread := l.thread(last)
	if got := fmt.Sprint(thread.Request, thread.Instructions, thread.Messages); got != fmt.Sprintf("{%s} [{%s}] [{SUBJECT of one} {SUBJECT of five}]", request, rule) {
		t.Errorf("the thread is %s", got)
	}
	w.noHookErrors()
}

// line is a line of sessions on one task, in one pane.
type line struct {
	w      *world
	agent  string // that runs now
	p      *pane
	starts int // of sessions

	mu       sync.Mutex
	handover string // the command that hands over, once
}

func newLine(t *testing.T, agent string) *line {
	w := newWorld(t)
	w.addClient("codex")
	w.wireCodex()
	w.trustHooks()
	l := &line{w: w, agent: agent, starts: 1}
	w.model.Answer(func(r *model.Request) model.Reply {
		l.mu.Lock()
		defer l.mu.Unlock()
		command := l.handover
		switch {
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case !strings.Contains(r.Asked(), "please hand over") || command == "":
			return model.Say("ANSWER it is.")
		}
		l.handover = ""
		if asks(r) == "codex" {
			return codexShell(r, command)
		}
		return model.Bash(command)
	})
	l.p = w.begin(agent)
	return l
}

// handOver lets the agent run a command that hands over, and returns what its successor
// asks the model first.
func (l *line) handOver(command string) *model.Request {
	l.w.Helper()
	l.mu.Lock()
	l.handover = command
	l.mu.Unlock()
	pid, n := l.p.pid(), len(l.w.model.Requests())
	if l.agent == "codex" {
		l.p.codexReplaced("please hand over", pid)
	} else {
		l.p.typ("please hand over")
	}
	old := l.w.awaitTurn(n, func(r *model.Request) bool { return strings.Contains(r.Asked(), "please hand over") }).Session
	r := l.w.awaitTurn(n, func(r *model.Request) bool { return r.Session != old })
	l.agent = asks(r)
	l.starts++
	return r
}

func (l *line) compact() {
	l.w.Helper()
	n := len(l.w.model.Requests())
	if l.agent == "codex" {
		l.p.codex("/compact", "Context compacted")
	} else {
		l.p.typ("/compact")
		l.p.awaitScreen("Compacted")
		l.w.waitFor("the start after the compaction is told", func() bool { return len(l.w.markers()) == 0 })
		l.p.awaitScreen("? for shortcuts")
	}
	if l.w.model.Requests()[n:].Kind(model.Compaction).LastRequest() == nil {
		l.w.Fatal("there was no compaction")
	}
}

func (l *line) clear() {
	l.w.Helper()
	if l.agent == "codex" {
		l.p.codex("/clear", "Ask Codex to do anything", "• ANSWER")
	} else {
		l.p.typ("/clear")
		l.w.waitFor("another session starts", func() bool { return len(l.w.records()) == l.starts+1 })
	}
	l.starts++
}

// crash kills the agent and starts another one. What the client had not written down by then
// would be lost to its summary, so crash waits for what was said last in a request.
func (l *line) crash(r *model.Request, said string) {
	l.w.Helper()
	l.w.waitFor("the client has written down what it was asked", func() bool {
		found := false
		for _, store := range []string{".claude/projects", ".codex/sessions"} {
			filepath.WalkDir(filepath.Join(l.w.home, store), func(path string, d fs.DirEntry, err error) error {
				found = found || err == nil && strings.Contains(d.Name(), r.Session) && strings.Contains(l.w.read0(path), said)
				return nil
			})
		}
		return found
	})
	if err := syscall.Kill(l.w.record(r.Session).PID, syscall.SIGKILL); err != nil {
		l.w.Fatal(err)
	}
	l.w.waitFor("the pane is gone", func() bool { return !strings.Contains(l.w.tmuxOutput("list-sessions"), "max") })
	l.p = l.w.begin(l.agent)
	l.starts++
}

// thread is what gt-seance thread prints of a session's chain.
type thread struct {
	Request      struct{ Text string }
	Instructions []struct{ Text string }
	Messages     []struct{ Subject string }
	Prompts      []struct{ Text, Session string }
}

func (l *line) thread(r *model.Request) (t thread) {
	l.w.Helper()
	if err := json.Unmarshal([]byte(l.w.gt("gt-seance", "thread", "--json", r.Session)), &t); err != nil {
		l.w.Fatal(err)
	}
	return t
}

// begin starts an agent in the pane of the story.
func (w *world) begin(agent string) *pane {
	w.Helper()
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
	w.Helper()
	n := len(w.model.Requests())
	if agent == "codex" {
		p.codex(line, "ANSWER it is.")
	} else {
		p.typ(line)
	}
	r := w.awaitTurn(n, func(r *model.Request) bool { return strings.Contains(r.Asked(), line) })
	w.waitFor("the turn is over", func() bool {
		var k struct {
			Timestamp time.Time
			State     string
		}
		return json.Unmarshal([]byte(w.read0(w.runtime("keepalive.json"))), &k) == nil && k.State == "waiting" && k.Timestamp.After(r.At)
	})
	return r
}

// awaitTurn waits for a turn that the model is asked for after its first n requests.
func (w *world) awaitTurn(n int, is func(*model.Request) bool) *model.Request {
	w.Helper()
	r := w.model.Await(patience, func(all model.Requests) *model.Request {
		if i := slices.IndexFunc(all[n:], func(r *model.Request) bool { return r.Kind == model.Turn && is(r) }); i >= 0 {
			return all[n+i]
		}
		return nil
	})
	if r == nil {
		w.Fatal("the model was not asked")
	}
	return r
}

// knows asserts that gt tells the model once what a person asked for first, and what
// holds, and what else is to be known. (What the person reads of a hook, as behind a
// /compact, Claude Code gives to the model too.)
func (w *world) knows(generation int, r *model.Request, more ...string) {
	w.Helper()
	for _, text := range append([]string{request, "- " + rule + "\n"}, more...) {
		if n := strings.Count(hooksSaid(r), text); n != 1 {
			w.Errorf("generation %d is told %d times %q:\n%s", generation, n, text, excerptAround(r, text))
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

// excerptAround is where a text stands in the messages.
func excerptAround(r *model.Request, text string) string {
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
