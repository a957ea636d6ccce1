//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
	"gt/internal/readertest"
	"gt/lib/conversation"
)

// newCodex makes a world with a Codex that asks the world's model, as its user
// would set it up.
func newCodex(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "codex")
	w.setUp("codex")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case strings.Contains(asked, "delegate"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
				Name: "multi_agent_v1.spawn_agent", Input: map[string]any{"message": "You are the child.", "fork_context": false},
			}}}
		case strings.Contains(asked, "echo"):
			return codexShell(r, "echo E2E-OUTPUT")
		case r.Result() != "" && strings.Contains(r.Result(), "agent_id"):
			var out struct {
				ID string `json:"agent_id"`
			}
			json.Unmarshal([]byte(r.Result()), &out)
			return model.Reply{Text: "I wait.", Tools: []model.ToolUse{{
				Name: "multi_agent_v1.wait_agent", Input: map[string]any{"targets": []string{out.ID}, "timeout_ms": patience.Milliseconds()},
			}}}
		case r.Result() != "":
			return model.Say("It is done.")
		}
		return model.Say("ANSWER to " + asked)
	})
	return w
}

// codexShell replies with a command for the shell tool that this version has.
func codexShell(r *model.Request, command string) model.Reply {
	tool := model.ToolUse{Name: "shell", Input: map[string]any{"command": []string{"bash", "-lc", command}}}
	if slices.Contains(r.Tools, "exec_command") {
		tool = model.ToolUse{Name: "exec_command", Input: map[string]any{"cmd": command}}
	}
	return model.Reply{Thought: "A thought.", Text: "I run a command.", Tools: []model.ToolUse{tool}}
}

// codex runs Codex headless.
func (w *world) codex(args ...string) string {
	w.Helper()
	return w.headless("codex", args...)
}

// requests is what n requests to the model of the Responses API cost.
func requests(n int) conversation.Usage {
	return conversation.Usage{
		Input: int64(n * (100 - model.Cached)), CacheRead: int64(n * model.Cached), Output: int64(n * model.Output),
	}
}

// Codex's conversations are found and read as they were held: headless ones,
// resumed, forked and put into the archive, and those of subagents.
//
// S0-17 S0-28
func TestCodexConversations(t *testing.T) {
	w := newCodex(t)
	w.write(filepath.Join(w.project, "AGENTS.md"), "# AGENTS-CANARY\n")
	w.codex("exec", "please echo")
	first := w.held("codex", 1)
	id := string(first[0].Metadata.ID)
	w.codex("exec", "resume", id, "second prompt")
	w.codex("exec", "fork", id, "asked in the fork")
	w.codex("exec", "delegate this")
	w.codex("archive", id)

	all := w.held("codex", 4)
	for _, c := range all {
		f := c.Metadata
		if f.Version != w.client.Version || f.CWD != w.project || f.Branch != "main" || f.Model != "e2e-model" || !f.Headless ||
			f.ID != c.File.ID || f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	c := all[0]
	if f := c.Metadata; string(f.ID) != id || f.Prompt != "please echo" || f.ForkOf != "" || f.Parent != "" || !strings.Contains(c.File.Path, "archived_sessions") {
		t.Errorf("the first conversation in %s is %+v", c.File.Path, f)
	}
	w.reads(c, "prompt thought answer call spent result answer spent prompt answer spent", map[conversation.Kind][]string{
		conversation.Prompt: {"please echo", "second prompt"}, conversation.Call: {"echo E2E-OUTPUT"}, conversation.Thought: {"A thought."},
		conversation.Answer: {"I run a command.", "It is done.", "ANSWER to second prompt"},
	})
	if got := c.Texts(conversation.Result); len(got) != 1 || !strings.Contains(got[0], "E2E-OUTPUT\n") {
		t.Errorf("the command's result is %q", got)
	}

	fork := all[1]
	if string(fork.Metadata.ForkOf) != id || !slices.Contains(fork.Texts(conversation.Prompt), "asked in the fork") {
		t.Errorf("the fork is %+v, with %q", fork.Metadata, fork.Texts(conversation.Prompt))
	}
	parent, child := all[2], all[3]
	if parent.Metadata.Parent != "" || child.Metadata.Parent != parent.Metadata.ID || child.Metadata.Prompt != "You are the child." {
		t.Errorf("who delegated is %+v, the subagent %+v", parent.Metadata, child.Metadata)
	}
	w.cost(all, requests(len(w.model.Turns())))
	w.keepFixture("codex", "exec", filepath.Join(w.home, ".codex"), paths(all)...)
}

// A conversation in front of a person has its name, and what a compaction left.
//
// S0-17 S0-28
func TestCodexInPane(t *testing.T) {
	w := newCodex(t)
	p := w.open("cx", "codex", "please echo")
	w.waitFor("the model's answer is on the screen", func() bool { return strings.Contains(p.screen(), "It is done.") })
	p.codex("/rename A fine name", "A fine name")
	p.codex("/compact", "Context compacted")
	p.codex("after the compaction", "ANSWER to after")
	p.awaitIdle("esc to interrupt")
	p.codex("/quit", "")
	w.ended()

	c := w.heldInPane("codex", "A fine name", "please echo", "after the compaction")
	if got := c.Texts(conversation.Summary); !slices.Equal(got, []string{"SUMMARY-CANARY"}) {
		t.Errorf("the compactions left %q", got)
	}
	if slices.Contains(c.Texts(conversation.Answer), "SUMMARY-CANARY") {
		t.Error("a summary counts as an answer")
	}
	n := len(w.model.Turns()) + len(w.model.Requests().Kind(model.Compaction))
	w.cost([]readertest.Held{c}, requests(n))
	w.keepFixture("codex", "pane", filepath.Join(w.home, ".codex"), filepath.Join(w.home, ".codex", "session_index.jsonl"), c.File.Path)
}

// codex types a line into Codex, and waits until the screen shows what follows ("" if the pane
// closes) and nothing of what stood before. Codex refuses most commands until the hooks at a
// turn's end are through; a refused one is typed again.
func (p *pane) codex(line, then string, before ...string) {
	p.w.Helper()
	const refusal = "is disabled while a task is in progress"
	refusals := func() int { return strings.Count(p.screen(), refusal) }
	before = append(before, "› "+line+"\n\n  ")
	for known := -1; refusals() > known; {
		known = refusals()
		p.putLine(line)
		p.awaitScreen("› " + line)
		p.sendWhile(func() bool {
			screen := p.screen()
			has := func(text string) bool { return strings.Contains(screen, text) }
			return strings.Count(screen, refusal) <= known && (!showsNext(screen, then) || slices.ContainsFunc(before, has))
		})
	}
}

// putLine types a line. A path is pasted: at "/" Codex opens its menu of commands, and where keys
// come slowly it has completed "/s" to "/skills" before it reads on.
func (p *pane) putLine(line string) {
	p.w.Helper()
	if strings.Count(line, "/") < 2 {
		p.w.tmux("send-keys", "-t", p.id, "-l", line)
		return
	}
	p.w.tmux("set-buffer", "-b", "typed", line)
	p.w.tmux("paste-buffer", "-p", "-d", "-b", "typed", "-t", p.id)
}

// paths are the conversations' files.
func paths(all []readertest.Held) []string {
	var paths []string
	for _, c := range all {
		paths = append(paths, c.File.Path)
	}
	return paths
}
