//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
	"gt/internal/readertest"
	"gt/lib/conversation"
)

// newQwen makes a world with a Qwen Code that asks the world's model, as its
// user would set it up. The model knows the client's tools.
func newQwen(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "qwen")
	w.setUp("qwen")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Reply{Text: "<state_snapshot>SUMMARY-CANARY</state_snapshot>", Tokens: 600_000}
		case strings.Contains(asked, "task-notification"), strings.Contains(asked, "SUGGESTION MODE"):
			return model.Say("Noted.")
		case strings.Contains(asked, "delegate"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
				Name: "agent", Input: map[string]any{"description": "a child", "prompt": "You are the child.", "subagent_type": "general-purpose"},
			}}}
		case strings.Contains(asked, "echo"):
			return shellCommand("echo E2E-OUTPUT")
		case r.Result() != "":
			return model.Say("It is done.")
		case strings.Contains(asked, "much"):
			return model.Reply{Text: "ANSWER to " + asked, Tokens: 600_000}
		}
		return model.Say("ANSWER to " + asked)
	})
	return w
}

// Qwen Code's conversations are found and read as they were held: headless
// ones, those that went on, forks, and those of subagents.
//
// S0-17 S0-28
func TestQwenConversations(t *testing.T) {
	w := newQwen(t)
	w.headless("qwen", "-y", "-p", "please echo")
	first := w.held("qwen", 1)
	id := string(first[0].Metadata.ID)
	w.headless("qwen", "-y", "-r", id, "-p", "second prompt")
	forks := strings.Contains(w.headless("qwen", "--help"), "--fork-session")
	if forks {
		w.headless("qwen", "-y", "-r", id, "--fork-session", "-p", "asked in the fork")
	}
	w.headless("qwen", "-y", "-p", "delegate this")

	all := spoken(w.conversations("qwen"))
	if want := map[bool]int{true: 4, false: 2}[forks]; len(all) < want {
		t.Fatalf("%d conversations are found, want %d", len(all), want)
	}
	for _, c := range all {
		f := c.Metadata
		if f.Version != w.client.Version || f.CWD != w.project || f.Branch != "main" || f.Model != "e2e-model" ||
			f.Headless != (f.Parent == "") || f.ID != c.File.ID || f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	c := all[0]
	w.isFirst(c, id, "please echo")
	if got := c.Texts(conversation.Call); len(got) != 1 || !strings.Contains(got[0], "echo E2E-OUTPUT") {
		t.Errorf("the call is %q", got)
	}
	if got := c.Texts(conversation.Result); len(got) != 1 || !strings.Contains(got[0], "Output: E2E-OUTPUT\n") {
		t.Errorf("the command's result is %q", got)
	}
	if forks {
		w.areFamily(c, all[1], all[2], all[3])
		// What it asks to keep its own notes is in no transcript.
		n := int64(len(w.model.Turns().Filter(func(r *model.Request) bool { return !strings.Contains(r.Asked(), "Managed memory") })))
		w.cost(all, qwenSpent(n*model.ChatTokens, n))
	}
	w.keepFixture("qwen", "headless", filepath.Join(w.home, ".qwen"), qwenFiles(w, all)...)
}

// qwenSpent is what n requests cost that read so many tokens together.
func qwenSpent(tokens, n int64) conversation.Usage {
	return conversation.Usage{Input: tokens - n*model.ChatCached, CacheRead: n * model.ChatCached, Output: n * model.ChatOutput}
}

// qwenFiles are the conversations' files and what else tells of them.
func qwenFiles(w *world, all []readertest.Held) []string {
	files := paths(all)
	for _, pattern := range []string{"projects/*/subagents/*/*.meta.json", "tmp/*/logs.json"} {
		more, _ := filepath.Glob(filepath.Join(w.home, ".qwen", pattern))
		files = append(files, more...)
	}
	return files
}

// A conversation in front of a person has its name, what a compaction left, and
// not what they took back.
//
// S0-17 S0-28
func TestQwenInPane(t *testing.T) {
	w := newQwen(t)
	p := w.open("q", "qwen", "-y")
	const mark = "Type your message"
	p.line(mark, "please echo", "It is done.")
	p.line(mark, "this is much", "ANSWER to this is much")
	p.line(mark, "/compress", "compressed from")
	p.line(mark, "after the compaction", "ANSWER to after")
	p.line(mark, "/rename A fine name", "renamed to")
	p.line(mark, "/quit", "")
	w.ended()

	c := w.heldInPane("qwen", "A fine name", "please echo", "this is much", "after the compaction")
	if c.Metadata.CWD != w.project {
		t.Errorf("it was held in %s", c.Metadata.CWD)
	}
	if got := c.Texts(conversation.Summary); len(got) != 1 || !strings.HasPrefix(got[0], "<state_snapshot>SUMMARY-CANARY</state_snapshot>") {
		t.Errorf("the compactions left %q", got)
	}
	w.cost([]readertest.Held{c}, qwenSpent(600_300, 4))
	w.keepFixture("qwen", "pane", filepath.Join(w.home, ".qwen"), qwenFiles(w, []readertest.Held{c})...)
}
