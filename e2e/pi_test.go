//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
	"gt/internal/readertest"
	"gt/lib/conversation"
)

// newPi makes a world with a pi that asks the world's model, as its user would set
// it up.
func newPi(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "pi")
	w.setUp("pi")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case strings.Contains(asked, "please echo"):
			return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{
				Name: "bash", Input: map[string]string{"command": "echo E2E-OUTPUT"},
			}}}
		case r.Result() != "":
			return model.Say("It is done.")
		}
		return model.Say("ANSWER to " + asked)
	})
	return w
}

// pi runs pi headless.
func (w *world) pi(args ...string) {
	w.Helper()
	w.headless("pi", append([]string{"-p"}, args...)...)
}

// piBusy is on pi's screen during a turn, which a /compact would break off.
const piBusy = "Working..."

// pi types a line into pi and waits until its screen shows what follows.
func (p *pane) pi(line, then string) {
	p.w.Helper()
	p.typed(line, then, piBusy, "")
}

// pi's sessions are found and read as they were held: headless, resumed, and
// forked.
//
// S0-17 S0-28
func TestPiConversations(t *testing.T) {
	w := newPi(t)
	w.pi("please echo")
	w.pi("--continue", "second prompt")
	first := w.held("pi", 1)
	id := first[0].Metadata.ID
	w.pi("--fork", string(id), "asked in the fork")

	all := w.held("pi", 2)
	for _, c := range all {
		f := c.Metadata
		if f.CWD != w.project || f.Model != "e2e-model" || f.ID != c.File.ID || f.Prompt != "please echo" ||
			f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour || f.FirstID != c.Entries[0].ID {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	c, fork := all[0], all[1]
	w.reads(c, "prompt answer call spent result answer spent prompt answer spent", map[conversation.Kind][]string{
		conversation.Prompt: {"please echo", "second prompt"}, conversation.Call: {"echo E2E-OUTPUT"}, conversation.Result: {"E2E-OUTPUT\n"},
		conversation.Answer: {"I run a command.", "It is done.", "ANSWER to second prompt"},
	})
	if f := fork.Metadata; f.ForkOf != id || f.FirstID != c.Metadata.FirstID || !slices.Contains(fork.Texts(conversation.Prompt), "asked in the fork") {
		t.Errorf("the fork is %+v", f)
	}
	w.cost(all, chats(len(w.model.Turns())))
	w.keepFixture("pi", "print", filepath.Join(w.home, ".pi", "agent"), paths(all)...)
}

// A conversation in front of a person has its name, what a compaction left, and
// not the way that the person went back on.
//
// S0-17 S0-28
func TestPiInPane(t *testing.T) {
	w := newPi(t)
	p := w.open("pi", "pi")
	p.awaitScreen("e2e-model")
	p.pi("please echo", "It is done.")
	p.pi("another way", "ANSWER to another way")
	p.pi("/name A fine name", "name set: A fine name")
	p.pi("/tree", "Session Tree")
	w.tmux("send-keys", "-t", p.id, "Up") // from the answer to the prompt
	w.tmux("send-keys", "-t", p.id, "Enter")
	p.awaitScreen("No summary")
	w.tmux("send-keys", "-t", p.id, "Enter")
	p.awaitScreen("Navigated to selected point")
	w.tmux("send-keys", "-t", p.id, "C-u")
	p.pi("the right way", "ANSWER to the right way")
	p.pi("/compact", "Compacted from")
	p.pi("after the compaction", "ANSWER to after the compaction")
	p.awaitIdle(piBusy)
	w.tmux("send-keys", "-t", p.id, "C-d")
	w.ended()

	c := w.heldInPane("pi", "A fine name", "please echo", "the right way", "after the compaction")
	if got := c.Texts(conversation.Summary); len(got) != 1 || !strings.Contains(got[0], "SUMMARY-CANARY") {
		t.Errorf("the compactions left %q", got)
	}
	// A compaction's own requests are told by newer versions only.
	turns, n := chats(len(w.model.Turns())), len(w.model.Requests())
	if got := w.spent([]readertest.Held{c}); got != turns && got != chats(n) {
		t.Errorf("%d requests cost %+v, want %+v", n, got, chats(n))
	}
	w.keepFixture("pi", "pane", filepath.Join(w.home, ".pi", "agent"), c.File.Path)
	if os.Getenv("GT_E2E_RECORD") != "" {
		t.Log(c.Kinds())
	}
}
