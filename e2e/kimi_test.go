//go:build e2e

package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
	"gt/internal/readertest"
	"gt/lib/conversation"
)

// newKimi makes a world with a Kimi Code that asks the world's model, as its user would set
// it up.
func newKimi(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "kimi")
	w.setUp("kimi")
	w.kimiAnswers()
	return w
}

// kimiAnswers is worker; after "much" it claims to have read nearly as much as there is room
// for.
func (w *world) kimiAnswers() {
	works := worker(model.Bash, model.ToolUse{
		Name: "Agent", Input: map[string]any{"description": "a child", "prompt": "You are the child.", "subagent_type": "coder"},
	})
	w.model.Answer(func(r *model.Request) model.Reply {
		reply := works(r)
		if strings.HasPrefix(reply.Text, "ANSWER to - Reading: ") { // the end of a compaction in a turn
			reply.Text = "ANSWER to the same after a compaction"
		}
		if strings.Contains(reply.Text, "much") {
			reply.Tokens = 95_000
		}
		return reply
	})
}

// worker returns a model that runs the command in a request "run: …" with the client's
// shell tool, delegates, and else says what it was asked.
func worker(shell func(command string) model.Reply, delegate model.ToolUse) model.Answer {
	return func(r *model.Request) model.Reply {
		asked := lastLine(strings.TrimSpace(r.Asked())) // gt, and a compaction, put more before it into the same message
		command, runs := strings.CutPrefix(asked, "run: ")
		switch {
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case r.Result() != "":
			return model.Say("It is done.")
		case strings.Contains(asked, "delegate"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{delegate}}
		case runs:
			return shell(command)
		}
		return model.Say("ANSWER to " + asked)
	}
}

// kimi types a line into Kimi Code and waits until its screen shows what follows.
func (p *pane) kimi(line, then string) {
	p.w.Helper()
	p.line("│ > ", line, then)
}

// kimiTell is kimi for a prompt that is answered.
func (p *pane) kimiTell(line string) *model.Request {
	p.w.Helper()
	p.kimi(line, "ANSWER to "+line)
	return p.w.asked(line)
}

// Kimi Code's conversations are found and read as they were held: headless ones, those that
// went on, forks, and those of subagents.
//
// S0-17 S0-28
func TestKimiConversations(t *testing.T) {
	w := newKimi(t)
	w.headless("kimi", "-p", "run: echo E2E-OUTPUT")
	first := w.held("kimi", 1)
	id := string(first[0].Metadata.ID)
	w.headless("kimi", "-S", id, "-p", "second prompt")
	forked := regexp.MustCompile(`session_[0-9a-f-]+`).FindString(w.headless("kimi", "fork", id))
	w.headless("kimi", "-S", forked, "-p", "asked in the fork")
	w.headless("kimi", "-p", "delegate this")

	all := w.held("kimi", 4)
	for _, c := range all {
		f := c.Metadata
		if f.CWD != w.project || f.Model != "e2e" || f.Headless != (f.Parent == "" && f.ForkOf == "") || f.ID != c.File.ID ||
			f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	w.isFirst(all[0], id, "run: echo E2E-OUTPUT")
	if got := all[0].Texts(conversation.Result); !slices.Equal(got, []string{"E2E-OUTPUT\n"}) {
		t.Errorf("the command's result is %q", got)
	}
	if got := string(all[1].Metadata.ID); got != forked {
		t.Errorf("the fork is %s, not %s", got, forked)
	}
	w.areFamily(all[0], all[1], all[2], all[3])
	w.keepFixture("kimi", "headless", filepath.Join(w.home, ".kimi-code"), kimiFiles(w, all)...)
}

// kimiFiles are the conversations' files and their sessions' states.
func kimiFiles(w *world, all []readertest.Held) []string {
	states, _ := filepath.Glob(filepath.Join(w.home, ".kimi-code", "sessions", "*", "*", "state.json"))
	return append(paths(all), states...)
}

// A conversation in front of a person has its name, what a compaction left, and not what
// they took back.
//
// S0-17 S0-28
func TestKimiInPane(t *testing.T) {
	w := newKimi(t)
	p := w.open("k", "kimi", "--yolo")
	p.kimi("run: echo E2E-OUTPUT", "It is done.")
	p.kimiTell("the second prompt")
	p.kimi("/compact", "Compaction complete")
	p.kimiTell("after the compaction")
	p.kimiTell("taken back")
	w.tmux("send-keys", "-t", p.id, "-l", "/undo 1")
	p.awaitScreen("/undo 1")
	p.pressWhile("Enter", func() bool { return p.shows([]string{"ANSWER to taken back"}) })
	p.kimi("/title A fine name", "Session title set to")
	p.kimi("/exit", "")
	w.ended()

	c := w.heldInPane("kimi", "A fine name", "run: echo E2E-OUTPUT", "the second prompt", "after the compaction")
	if c.Metadata.CWD != w.project {
		t.Errorf("it was held in %s", c.Metadata.CWD)
	}
	if got := c.Texts(conversation.Summary); len(got) != 1 || !strings.HasPrefix(got[0], "SUMMARY-CANARY") {
		t.Errorf("the compaction left %q", got)
	}
	w.keepFixture("kimi", "pane", filepath.Join(w.home, ".kimi-code"), kimiFiles(w, []readertest.Held{c})...)
}
