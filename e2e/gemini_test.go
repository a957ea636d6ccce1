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

// newGemini makes a world with a Gemini CLI that asks the world's model, as its
// user would set it up. The model knows the client's tools.
func newGemini(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "gemini")
	w.setUp("gemini")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Say("<state_snapshot>SUMMARY-CANARY</state_snapshot>")
		case strings.Contains(asked, "delegate"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
				Name: "invoke_agent", Input: map[string]any{"agent_name": "generalist", "prompt": "You are the child."},
			}}}
		case strings.Contains(asked, "You are the child"):
			return model.Reply{Tools: []model.ToolUse{{
				Name: "complete_task", Input: map[string]any{"result": map[string]any{"response": "CHILD-DONE"}},
			}}}
		case strings.Contains(asked, "echo"):
			return shellCommand("echo E2E-OUTPUT")
		case r.Result() != "":
			return model.Say("It is done.")
		case strings.Contains(asked, "much"):
			return model.Reply{Text: "ANSWER to " + asked, Tokens: 900_000}
		}
		return model.Say("ANSWER to " + asked)
	})
	return w
}

// shellCommand replies with a command for the shell tool of Gemini CLI, which
// Qwen Code has, too.
func shellCommand(command string) model.Reply {
	return model.Reply{Thought: "**Plan** A thought.", Text: "I run a command.", Tools: []model.ToolUse{{
		Name: "run_shell_command", Input: map[string]any{"command": command, "description": "Run a command", "is_background": false},
	}}}
}

// headless runs a client that answers a prompt and ends.
func (w *world) headless(name string, args ...string) string {
	w.Helper()
	out, err := w.run(w.project, nil, name, args...)
	if err != nil {
		w.giveUp("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// line types a line into a client that shows what is typed behind mark, and
// waits until the screen shows what follows.
func (p *pane) line(mark, line, then string) {
	p.w.Helper()
	p.awaitScreen(mark)
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	p.awaitScreen(line)
	p.sendBoxed(then, func(screen string) bool {
		if mark == inputLine { // stands in an empty box
			return !strings.Contains(screen, mark) && strings.Contains(screen, line)
		}
		return strings.Contains(screen, mark+line)
	})
}

// ended waits until the client in the only pane has ended.
func (w *world) ended() {
	w.Helper()
	w.waitFor("the client has ended", func() bool { return w.tmuxOutput("list-panes", "-a", "-F", "#{pane_id}") == "" })
}

// spoken are the conversations in which something was said: of the others their
// reader says nothing.
func spoken(all []readertest.Held) []readertest.Held {
	return slices.DeleteFunc(all, func(c readertest.Held) bool { return c.Metadata.ID == "" })
}

// geminiSpent is what n requests cost, of which the n-th read so many tokens.
func geminiSpent(input ...int) (u conversation.Usage) {
	for _, n := range input {
		u.Input += int64(n - model.GeminiCached)
		u.CacheRead += model.GeminiCached
		u.Output += model.GeminiOutput + model.GeminiThoughts
	}
	return u
}

// Gemini CLI's conversations are found and read as they were held: headless
// ones, those that went on, and those of subagents.
//
// S0-17 S0-28 S2-45
func TestGeminiConversations(t *testing.T) {
	w := newGemini(t)
	w.headless("gemini", "-y", "-p", "please echo")
	first := w.held("gemini", 1)
	id := string(first[0].Metadata.ID)
	w.headless("gemini", "-y", "-p", "delegate this")
	// A client that goes on without a person forgets what stands in the file if it
	// began in the same minute; else it leaves a second file that it then takes for
	// broken, and its next start deletes both. So this comes last.
	w.headless("gemini", "-y", "-r", id, "-p", "second prompt")

	all := w.held("gemini", 3)
	for _, c := range all {
		f := c.Metadata
		if f.CWD != w.project || !strings.HasPrefix(f.Model, "gemini-") || f.Headless != (f.Parent == "") ||
			f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	c := all[0]
	if f := c.Metadata; string(f.ID) != id || f.Prompt != "please echo" || f.ForkOf != "" || f.Parent != "" {
		t.Errorf("the first conversation is %+v", f)
	}
	w.reads(c, "prompt spent thought answer call result spent answer prompt spent answer", map[conversation.Kind][]string{
		conversation.Prompt: {"please echo", "second prompt"}, conversation.Thought: {"Plan\nA thought."},
		conversation.Answer: {"I run a command.", "It is done.", "ANSWER to second prompt"},
	})
	if got := c.Texts(conversation.Call); len(got) != 1 || !strings.Contains(got[0], "echo E2E-OUTPUT") {
		t.Errorf("the call is %q", got)
	}
	if got := c.Texts(conversation.Result); len(got) != 1 || !strings.Contains(got[0], "Output: E2E-OUTPUT\n") {
		t.Errorf("the command's result is %q", got)
	}
	parent, child := all[1], all[2]
	if parent.Metadata.Parent != "" || child.Metadata.Parent != parent.Metadata.ID || child.Metadata.Prompt != "You are the child." {
		t.Errorf("who delegated is %+v, the subagent %+v", parent.Metadata, child.Metadata)
	}
	w.cost(all, geminiSpent(slices.Repeat([]int{model.GeminiInput}, len(w.model.Turns()))...))
	w.keepFixture("gemini", "headless", filepath.Join(w.home, ".gemini"), geminiFiles(w, all)...)
}

// geminiFiles are the conversations' files and what else tells of them.
func geminiFiles(w *world, all []readertest.Held) []string {
	files := append(paths(all), filepath.Join(w.home, ".gemini", "projects.json"))
	for _, pattern := range []string{"logs.json", ".project_root"} {
		more, _ := filepath.Glob(filepath.Join(w.home, ".gemini", "tmp", "*", pattern))
		files = append(files, more...)
	}
	return files
}

// A conversation in front of a person has what a compaction left, and not what
// they took back.
//
// S0-17 S0-28 S2-45
func TestGeminiInPane(t *testing.T) {
	w := newGemini(t)
	p := w.open("g", "gemini", "-y")
	const mark = "Type your message"
	p.line(mark, "please echo", "It is done.")
	p.line(mark, "this is much", "ANSWER to this is much")
	p.line(mark, "/compress", "compressed from")
	p.line(mark, "after the compaction", "ANSWER to after")
	p.line(mark, "taken back", "ANSWER to taken back")
	p.line(mark, "/rewind", "Stay at current position")
	p.w.tmux("send-keys", "-t", p.id, "Up")
	p.awaitScreen("● taken back")
	p.w.tmux("send-keys", "-t", p.id, "Enter")
	p.awaitScreen("Confirm Rewind")
	p.w.tmux("send-keys", "-t", p.id, "Enter")
	p.awaitScreen("* taken back") // it is put into the input line, to be changed
	w.waitFor("the input line is empty", func() bool {
		p.w.tmux("send-keys", "-t", p.id, "C-u")
		time.Sleep(100 * time.Millisecond)
		return strings.Contains(p.screen(), mark)
	})
	p.line(mark, "at last", "ANSWER to at last")
	p.line(mark, "/quit", "")
	w.ended()

	c := w.heldInPane("gemini", "", "please echo", "this is much", "after the compaction", "at last")
	if c.Metadata.CWD != w.project {
		t.Errorf("it was held in %s", c.Metadata.CWD)
	}
	if got := c.Texts(conversation.Summary); !slices.Equal(got, []string{"<state_snapshot>SUMMARY-CANARY</state_snapshot>"}) {
		t.Errorf("the compactions left %q", got)
	}
	if got, want := c.Texts(conversation.Answer), []string{"I run a command.", "It is done.", "ANSWER to this is much",
		"ANSWER to after the compaction", "ANSWER to at last"}; !slices.Equal(got, want) {
		t.Errorf("the answers are %q, want %q", got, want)
	}
	w.cost([]readertest.Held{c}, geminiSpent(100, 100, 900_000, 100, 100, 100))
	w.keepFixture("gemini", "pane", filepath.Join(w.home, ".gemini"), geminiFiles(w, []readertest.Held{c})...)
}
