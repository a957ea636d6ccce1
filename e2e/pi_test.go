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
	if out, err := w.run(w.project, nil, "pi", append([]string{"-p"}, args...)...); err != nil {
		w.Fatalf("pi -p %q: %v\n%s", args, err, out)
	}
}

// pi's sessions are found and read as they were held: headless, resumed, and
// forked.
//
// S0-17 S0-28
func TestPiConversations(t *testing.T) {
	w := newPi(t)
	w.pi("please echo")
	w.pi("--continue", "second prompt")
	first := w.conversations("pi")
	if len(first) != 1 {
		t.Fatalf("one conversation was held, %d are found", len(first))
	}
	id := first[0].Metadata.ID
	w.pi("--fork", string(id), "asked in the fork")

	all := w.conversations("pi")
	if len(all) != 2 {
		t.Fatalf("%d conversations are found, want 2", len(all))
	}
	for _, c := range all {
		f := c.Metadata
		if f.CWD != w.project || f.Model != "e2e-model" || f.ID != c.File.ID || f.Prompt != "please echo" ||
			f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour || f.First != c.entries[0].ID {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	c, fork := all[0], all[1]
	if want := "prompt answer call spent result answer spent prompt answer spent"; c.kinds() != want {
		t.Errorf("the conversation is\n%s, want\n%s", c.kinds(), want)
	}
	for kind, want := range map[conversation.Kind][]string{
		conversation.Prompt: {"please echo", "second prompt"}, conversation.Call: {"echo E2E-OUTPUT"}, conversation.Result: {"E2E-OUTPUT\n"},
		conversation.Answer: {"I run a command.", "It is done.", "ANSWER to second prompt"},
	} {
		if got := c.said(kind); !slices.Equal(got, want) {
			t.Errorf("%ss are %q, want %q", kind, got, want)
		}
	}
	if f := fork.Metadata; f.ForkOf != id || f.First != c.Metadata.First || !slices.Contains(fork.said(conversation.Prompt), "asked in the fork") {
		t.Errorf("the fork is %+v", f)
	}
	if got, want := w.spent(all), chats(len(w.model.Turns())); got != want {
		t.Errorf("%d requests cost %+v, want %+v", len(w.model.Turns()), got, want)
	}
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
	w.tmux("send-keys", "-t", p.id, "C-d")
	w.until("the client has ended", func() bool { return w.tmuxOutput("list-panes", "-a", "-F", "#{pane_id}") == "" })

	c := w.heldInPane("pi", "A fine name", "please echo", "the right way", "after the compaction")
	if got := c.said(conversation.Summary); len(got) != 1 || !strings.Contains(got[0], "SUMMARY-CANARY") {
		t.Errorf("the compactions left %q", got)
	}
	// A compaction's own requests are told by newer versions only.
	turns, n := chats(len(w.model.Turns())), len(w.model.All())
	if got := w.spent([]told{c}); got != turns && got != chats(n) {
		t.Errorf("%d requests cost %+v, want %+v", n, got, chats(n))
	}
	w.keepFixture("pi", "pane", filepath.Join(w.home, ".pi", "agent"), c.File.Path)
	if os.Getenv("GT_E2E_RECORD") != "" {
		t.Log(c.kinds())
	}
}

// pi types a line into pi, and waits until the screen shows what follows.
func (p *pane) pi(line, then string) {
	p.w.Helper()
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	p.awaitScreen(line)
	time.Sleep(300 * time.Millisecond) // the menu of commands opens
	p.w.tmux("send-keys", "-t", p.id, "Enter")
	p.awaitScreen(then)
}
