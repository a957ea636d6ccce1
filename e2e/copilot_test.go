//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
	"gt/internal/readertest"
	"gt/lib/conversation"
)

// newCopilot makes a world with a Copilot that asks the world's model, as its
// user would set it up: with a provider of one's own it needs no account.
func newCopilot(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "copilot")
	w.setUp("copilot")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		asked = asked[strings.LastIndexByte(asked, '\n')+1:] // behind what Copilot adds
		switch {
		case r.Kind == model.Compaction:
			return model.Say("<summary>SUMMARY-CANARY</summary>")
		case strings.Contains(asked, "delegate"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{Name: "task", Input: map[string]any{
				"agent_type": "task", "name": "child", "description": "a child", "prompt": "You are the child.", "mode": "sync",
			}}}}
		case strings.Contains(asked, "echo"):
			return model.Reply{Thought: "A thought.", Text: "I run a command.", Tools: []model.ToolUse{{
				Name: "bash", Input: map[string]any{"command": "echo E2E-OUTPUT", "description": "Say it"},
			}}}
		case r.Result() != "":
			return model.Say("It is done.")
		}
		return model.Say("ANSWER to " + asked)
	})
	return w
}

// copilot runs Copilot headless.
func (w *world) copilot(args ...string) string {
	w.Helper()
	return w.headless("copilot", append(args, "--allow-all-tools")...)
}

// Copilot's conversations are found and read as they were held: headless ones,
// resumed ones, and what subagents cost.
//
// S0-17 S0-28
func TestCopilotConversations(t *testing.T) {
	w := newCopilot(t)
	w.copilot("-p", "please echo")
	first := w.held("copilot", 1)
	w.copilot("--resume="+string(first[0].Metadata.ID), "-p", "second prompt")
	w.copilot("-p", "delegate this")

	all := w.held("copilot", 2)
	for _, c := range all {
		f := c.Metadata
		if f.Version != w.client.Version || f.CWD != w.project || f.Branch != "main" || f.Model != "gpt-5.4" || !f.Headless || f.Title != "" ||
			f.ID != c.File.ID || f.Parent != "" || f.ForkOf != "" || f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	c := all[0]
	if c.Metadata.ID != first[0].Metadata.ID || c.Metadata.Prompt != "please echo" {
		t.Errorf("the first conversation is %+v", c.Metadata)
	}
	w.reads(c, "prompt spent thought answer call result spent answer prompt spent answer", map[conversation.Kind][]string{
		conversation.Prompt: {"please echo", "second prompt"}, conversation.Call: {"echo E2E-OUTPUT"}, conversation.Thought: {"A thought."},
		conversation.Answer: {"I run a command.", "It is done.", "ANSWER to second prompt"},
	})
	if got := c.Texts(conversation.Result); len(got) != 1 || !strings.Contains(got[0], "E2E-OUTPUT\n") {
		t.Errorf("the command's result is %q", got)
	}
	if got := all[1].Texts(conversation.Prompt); !slices.Equal(got, []string{"delegate this"}) {
		t.Errorf("who delegated was asked %q", got)
	}
	w.cost(all, requests(len(w.model.Turns())))
	w.keepFixture("copilot", "prompt", filepath.Join(w.home, ".copilot"), withWorkspaces(all)...)
}

// A conversation in front of a person has its name, what a compaction left, and
// its forks.
//
// S0-17 S0-28
func TestCopilotInPane(t *testing.T) {
	w := newCopilot(t)
	p := w.open("cp", "copilot", "--allow-all-tools", "-i", "please echo")
	w.waitFor("the model's answer is on the screen", func() bool { return strings.Contains(p.screen(), "It is done.") })
	p.copilot("/rename A fine name", "renamed to: A fine name")
	p.copilot("/compact", "Compaction completed")
	p.copilot("after the compaction", "ANSWER to after")
	p.copilot("/fork", "Forked from")
	p.copilot("asked in the fork", "ANSWER to asked in the fork")
	p.copilot("/exit", "Forked this session into") // back to where it was forked from
	p.copilot("/exit", "")
	w.ended()

	all := w.held("copilot", 2)
	c, fork := all[0], all[1]
	if f := c.Metadata; f.Headless || f.Title != "A fine name" || f.Prompt != "please echo" || f.ForkOf != "" {
		t.Errorf("the conversation's facts are %+v", f)
	}
	if f := fork.Metadata; f.Headless || f.ForkOf != c.Metadata.ID || f.FirstID != c.Metadata.FirstID || f.Started.Equal(c.Metadata.Started) {
		t.Errorf("the fork's facts are %+v", f)
	}
	if got := c.Texts(conversation.Prompt); !slices.Equal(got, []string{"please echo", "after the compaction"}) {
		t.Errorf("the person asked %q", got)
	}
	if got := fork.Texts(conversation.Prompt); !slices.Equal(got, []string{"please echo", "after the compaction", "asked in the fork"}) {
		t.Errorf("in the fork the person asked %q", got)
	}
	if got := c.Texts(conversation.Summary); len(got) != 1 || !strings.Contains(got[0], "SUMMARY-CANARY") {
		t.Errorf("the compaction left %q", got)
	}
	n := len(w.model.Turns())
	w.cost(all, requests(n+len(w.model.Requests().Kind(model.Compaction))))
	w.keepFixture("copilot", "pane", filepath.Join(w.home, ".copilot"), withWorkspaces(all)...)
}

// copilot types a line into Copilot, and waits until the screen shows what
// follows.
func (p *pane) copilot(line, then string) {
	p.w.Helper()
	p.w.waitFor("Copilot takes a prompt", func() bool {
		return strings.Contains(p.screen(), "\n❯") && !strings.Contains(p.screen(), "esc interrupt")
	})
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	boxed := func(screen string) bool { // behind a line feed, where an Enter came late
		return strings.Contains(screen[strings.LastIndex(screen, "❯")+1:], line)
	}
	p.w.waitFor("Copilot shows what is typed", func() bool { return boxed(p.screen()) })
	p.sendBoxed(then, boxed)
}

// withWorkspaces are the conversations' files, and what lies beside them.
func withWorkspaces(all []readertest.Held) []string {
	var files []string
	for _, path := range paths(all) {
		files = append(files, path, filepath.Join(filepath.Dir(path), "workspace.yaml"))
	}
	return files
}
