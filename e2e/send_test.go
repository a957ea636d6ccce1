//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gt/e2e/model"
	"gt/lib/client/agent"
	claudehook "gt/lib/client/claude/hook"
)

// gt-session gives the real client prompts that are long, of many lines and hostile, one
// after the other, and each reaches the model whole (three of each; twenty where all is
// tested, or what GT_E2E_ROUNDS says);
// --wait prints the answer. It types nothing over a draft or into a question for
// permission, which answer answers.
//
// S2-51
func TestSend(t *testing.T) {
	w := newWorld(t)
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Said()
		switch {
		case r.Kind != model.Turn:
			return model.Reply{}
		case r.Result() != "":
			return model.Say("It answered.")
		case strings.HasSuffix(strings.TrimSpace(asked), "please write it"):
			return model.Reply{Text: "I do.", Tools: []model.ToolUse{{Name: "Write", Input: map[string]string{
				"file_path": filepath.Join(w.project, "made"), "content": "one\n",
			}}}}
		}
		lines := strings.Split(strings.TrimSpace(claudehook.Typed(asked)), "\n")
		return model.Say("ANSWER to " + lines[len(lines)-1])
	})
	a := w.agents()
	session := a.exits
	session(0, "new", "-n", "api", "--", "--permission-mode", "default")
	session(0, "wait", "api")

	w.sends(session, strings.Repeat("a long text of many words; ", 800))
	session(0, "wait", "api")
	if out := session(0, "send", "--wait", "api", "# what now?"); out != "ANSWER to # what now?\n" {
		t.Errorf("the answer is %q", out)
	}
	if out := session(0, "send", "--wait", "api", strings.Repeat("x", 100<<10)+"\nof 100 KB"); out != "ANSWER to of 100 KB\n" {
		t.Errorf("the answer is %.300q", out)
	}
	if out := session(0, "show", "api", "--last"); out != "ANSWER to of 100 KB\n" {
		t.Errorf("it said last %q", out)
	}
	// The client's tags around a long text are not the person's words.
	id := a.findListed("api").SessionID
	for _, args := range [][]string{{"gt-seance", "read", id}, {"gt-seance", "thread", id}} {
		if out := w.gt(args[0], args[1:]...); !strings.Contains(out, "of 100 KB") || strings.Contains(out, "pasted_content") {
			t.Errorf("%q prints %.300q", args, out)
		}
	}
	// What somebody types stays.
	p := &pane{w, "gt-api", w.tmux("list-panes", "-t", "=gt-api:", "-F", "#{pane_id}")}
	w.tmux("send-keys", "-t", p.id, "-l", "half a line")
	p.awaitScreen("half a line")
	session(75, "send", "api", "and more")
	if !strings.Contains(p.input(), "half a line") || strings.Contains(p.input(), "more") {
		t.Errorf("the input box shows %q", p.input())
	}
	w.tmux("send-keys", "-t", p.id, "C-u")
	p.awaitPrompt()

	// It asks for permission.
	session(1, "answer", "api", "1")
	session(75, "send", "--wait", "api", "please write it")
	session(75, "send", "api", "1")
	options := session(0, "answer", "api")
	if !strings.HasPrefix(options, "1. Yes\n") || exists(filepath.Join(w.project, "made")) {
		t.Errorf("it offers %q", options)
	}
	session(1, "answer", "api", "9")
	if out := session(0, "answer", "api", "1"); out != "answered api: 1. Yes\n" {
		t.Errorf("answer says %q", out)
	}
	w.waitFor("it is written", func() bool { return exists(filepath.Join(w.project, "made")) })
	session(0, "wait", "api")
	session(1, "answer", "api", "1")
	session(0, "stop", "api")
}

// The same of the clients whose input boxes look otherwise: Codex's and pi's scroll, or
// show a long text as a few words about it.
//
// S2-51
func TestSends(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
	}{
		{"codex", newCodex}, {"gemini", newGemini}, {"qwen", newQwen}, {"opencode", newOpenCode}, {"pi", newPi}, {"copilot", newCopilot}, {"kimi", newKimi}, {"cline", newCline},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			w.wireAgent(of.client)
			w.model.Answer(func(r *model.Request) model.Reply {
				lines := strings.Split(strings.TrimSpace(r.Asked()), "\n")
				return model.Say("ANSWER to " + lines[len(lines)-1])
			})
			a := w.agents()
			session := a.exits
			session(0, "new", "-n", "api", "-a", of.client, "-m", "are you there?")
			w.asked("are you there?")
			a.awaits("api")
			sends := session
			if agent.Builtin().FindClient(of.client).BusyDrops {
				sends = func(code int, args ...string) string {
					session(0, "wait", "api")
					return session(code, args...)
				}
			}
			w.sends(sends, strings.Repeat("a long text of many words; ", 800))
			session(0, "wait", "api")
			if out := session(0, "send", "--wait", "api", "# what now?"); out != "ANSWER to # what now?\n" {
				t.Errorf("the answer is %q", out)
			}
			if out := session(0, "show", "api", "--last"); out != "ANSWER to # what now?\n" {
				t.Errorf("it said last %q", out)
			}
			session(1, "answer", "api", "1")
			session(0, "stop", "api")
		})
	}
}

// Copilot drops a prompt that names a file while another one waits for the end of its turn.
// That is seen: the prompt is typed again, or refused where the turn goes on.
//
// S2-51
func TestCopilotDropsPrompts(t *testing.T) {
	w := newCopilot(t)
	w.wireAgent("copilot")
	turns := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(turns) })
	t.Cleanup(goOn)
	w.model.Answer(func(r *model.Request) model.Reply {
		if asked := r.Asked(); r.Kind == model.Turn && strings.Contains(asked, "please hold") {
			<-turns
		}
		return model.Say("It is done.")
	})
	a := w.agents()
	a.exits(0, "new", "-n", "api", "-a", "copilot", "-m", "please hold it")
	w.asked("please hold it")
	a.exits(0, "send", "api", "WAITS first")
	if said := a.fails(75, "send", "api", "see @README.md, NEVER"); !strings.Contains(said, "its client drops the text") {
		t.Errorf("it says %q", said)
	}
	dropped := func() int {
		paths, _ := filepath.Glob(filepath.Join(w.home, ".copilot", "session-state", "*", "events.jsonl"))
		return strings.Count(w.read(paths[0]), "Submission failed")
	}
	before := dropped()
	go func() {
		w.waitFor("it drops the prompt", func() bool { return dropped() > before })
		goOn()
	}()
	a.exits(0, "send", "api", "see @README.md, LAST")
	w.told("see @README.md, LAST")
	w.told("WAITS first")
	if r := w.model.Turns().LastRequest(); strings.Contains(string(r.Body), "NEVER") {
		t.Error("what was refused was told")
	}
}

// While the model refuses because of a limit, and the client waits to ask it again, a prompt
// is refused or arrives: none is lost.
//
// S2-51
func TestSendsAtALimit(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
	}{
		{"claude", newWorld}, {"codex", newCodex}, {"gemini", newGemini}, {"qwen", newQwen}, {"opencode", newOpenCode}, {"pi", newPi}, {"copilot", newCopilot}, {"kimi", newKimi}, {"cline", newCline},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			if of.client != "claude" {
				w.wireAgent(of.client)
			}
			var over atomic.Bool
			var refused atomic.Int32
			w.model.Answer(func(r *model.Request) model.Reply {
				if r.Kind == model.Turn && strings.Contains(string(r.Body), "please limit") && !over.Load() {
					refused.Add(1)
					return model.Reply{Text: "rate limit reached", Refuse: http.StatusTooManyRequests}
				}
				return model.Say("It is done.")
			})
			a := w.agents()
			a.exits(0, "new", "-n", "api", "-a", of.client, "-m", "are you there?")
			w.asked("are you there?")
			a.awaits("api")
			a.exits(0, "send", "api", "please limit it")
			w.waitFor("the model refuses", func() bool { return refused.Load() > 0 })
			refuses := func(why string) {
				if said := a.fails(75, "send", "api", "and then NEVER"); !strings.Contains(said, why) {
					t.Errorf("it says %q", said)
				}
			}
			limited := func() { // as one that gives up
				w.waitFor("it is known to be at a limit", func() bool {
					now := a.findListed("api")
					return now.Status == "waiting" && now.Reason == "limited"
				})
			}
			early := true
			switch of.client {
			case "pi": // which drops what it is told then
				w.waitFor("it waits to ask again", func() bool { return strings.Contains(a.pane("api").screen(), "Retrying (2/3)") })
				refuses("waits to ask its model again")
				early = false
			case "cline":
				refuses("may lose a prompt that arrives while it works")
				limited()
			case "codex":
				limited()
			}
			if early {
				a.exits(0, "send", "api", "and then EARLY")
			}
			over.Store(true)
			if early {
				w.told("and then EARLY")
			}
			a.awaits("api")
			a.exits(0, "send", "api", "and then LATE")
			w.told("and then LATE")
		})
	}
}

// wireAgent installs gt's hooks into a client, and has it trust them.
func (w *world) wireAgent(name string) {
	w.Helper()
	switch name {
	case "codex":
		w.wireCodex()
		w.trustHooks()
		return
	case "opencode":
		w.fetched(filepath.Join(w.home, ".config", "opencode"))
	}
	w.install(name)
}

// rounds is how often a story repeats what it shows: as GT_E2E_ROUNDS says, or else n times.
func rounds(n int) int {
	if set, err := strconv.Atoi(os.Getenv("GT_E2E_ROUNDS")); err == nil {
		return set
	}
	return n
}

// sends has each of several texts sent a number of times, one right after the other:
// the model is asked each of them, whole.
func (w *world) sends(session func(code int, args ...string) string, long string) {
	w.Helper()
	texts := map[string]string{
		"long":    long,
		"lines":   strings.Repeat("a line\n\n\tand another, `indented`\n", 20),
		"hostile": "\x1b[201~\r\x1b[A \x1b]0;x\x07 $(touch EVIL) `touch EVIL` #(touch EVIL) {\"json\"} ; \\\n@README.md\n/compact\n!touch EVIL\n\\",
	}
	n := rounds(3)
	for i := range n {
		for kind, text := range texts {
			session(0, "send", "api", fmt.Sprintf("MARK %s %d\n%s\nEND %s %d", kind, i, text, kind, i))
		}
	}
	arrived := 0
	defer func() { w.Logf("%d of %d texts arrived", arrived, n*len(texts)) }()
	for i := range n {
		for kind := range texts {
			said := w.told(fmt.Sprintf("MARK %s %d\n", kind, i))
			if !strings.Contains(said, fmt.Sprintf("END %s %d", kind, i)) {
				w.Errorf("%s %d did not arrive whole: %.300q", kind, i, said)
			}
			arrived++
		}
	}
	if exists(filepath.Join(w.project, "EVIL")) {
		w.Error("what it was told was run")
	}
}

// told waits until the model is told a text by the person, and returns the message that has
// it. A client can give what it was told while it was busy to its model at once, in several
// messages.
func (w *world) told(text string) (said string) {
	w.Helper()
	r := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return slices.ContainsFunc(r.Msgs, func(m model.Message) bool {
				if m.Role != "user" || !strings.Contains(m.Text, text) {
					return false
				}
				said = m.Text
				return true
			})
		}).LastRequest()
	})
	if r == nil {
		w.Fatalf("the model was never told %q", text)
	}
	return said
}
