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

// newOpenCode makes a world with an OpenCode that asks the world's model, as its
// user would set it up.
func newOpenCode(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "opencode")
	w.setUp("opencode")
	w.fetched(filepath.Join(w.home, ".config", "opencode"))
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case strings.Contains(r.System, "title"):
			return model.Say("A fine title")
		case r.Kind == model.Compaction:
			return model.Say("SUMMARY-CANARY")
		case strings.Contains(asked, "please echo"):
			return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{
				Name: "bash", Input: map[string]string{"command": "echo E2E-OUTPUT", "description": "Echo"},
			}}}
		case strings.Contains(asked, "delegate this"):
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{
				Name: "task", Input: map[string]string{"description": "A part", "prompt": "You are the child.", "subagent_type": "general"},
			}}}
		case r.Result() != "":
			return model.Say("It is done.")
		}
		return model.Say("ANSWER to " + strings.Trim(asked, `"`))
	})
	return w
}

// openCodeLog is what OpenCode logged in a world, and empty for another client's.
func (w *world) openCodeLog() string {
	data, _ := os.ReadFile(filepath.Join(w.home, ".local", "share", "opencode", "log", "opencode.log"))
	return string(data)
}

// hungBooting reports whether an OpenCode stopped for good within its turn where it boots its
// "location services", as people see it do without plugins (anomalyco/opencode issues 35870
// and 48669: a fiber that nobody resumes). Its hooks have answered by then, and what it asks
// its model comes after. An OpenCode that is slow or waits for a hook says none of this.
func hungBooting(log string) bool {
	turns := map[string]string{} // of each process the messages since its last turn began
	for line := range strings.Lines(log) {
		_, line, _ = strings.Cut(line, " run=")
		run, message, _ := strings.Cut(line, " message=")
		if strings.HasPrefix(message, "loop ") {
			turns[run] = ""
		}
		turns[run] += message
	}
	for _, turn := range turns {
		_, after, booting := strings.Cut(turn, `"booting location services"`)
		if booting && strings.HasPrefix(turn, "loop ") && !strings.Contains(after, "process session.id=") {
			return true
		}
	}
	return false
}

func TestHungBooting(t *testing.T) {
	const (
		start  = "timestamp=2026-11-30T06:48:12.380Z level=INFO run=08bbc377 message=init count=1\n"
		loop   = "timestamp=2026-11-30T06:48:27.377Z level=INFO run=08bbc377 message=loop session.id=ses_1 step=0\n"
		boot   = "timestamp=2026-11-30T06:48:29.299Z level=INFO run=08bbc377 message=\"booting location services\" directory=\"/a b\" workspaceID=undefined\n"
		copies = "timestamp=2026-11-30T06:48:46.767Z level=INFO run=08bbc377 message=\"project copy refresh started\" projectID=2d\n"
		turn   = "timestamp=2026-11-30T06:48:47.007Z level=INFO run=08bbc377 message=process session.id=ses_1 messageID=msg_1\n"
		other  = "timestamp=2026-11-30T06:48:48.007Z level=INFO run=11bbc377 message=process session.id=ses_2 messageID=msg_2\n"
	)
	for _, c := range []struct {
		log  string
		hung bool
	}{
		{"", false},
		{start, false},
		{start + boot, false}, // nobody asked it anything
		{start + loop, false},
		{start + loop + boot + copies, true},
		{start + loop + boot + copies + other, true},
		{start + loop + boot + turn, false},
		{start + loop + boot + turn + loop, false},
		{start + boot + loop + turn, false},
	} {
		if got := hungBooting(c.log); got != c.hung {
			t.Errorf("hungBooting is %v of\n%s", got, c.log)
		}
	}
}

// chats is what n requests to the model of the Chat Completions API cost.
func chats(n int) conversation.Usage {
	return conversation.Usage{
		Input: int64(n * (model.ChatTokens - model.ChatCached)), CacheRead: int64(n * model.ChatCached), Output: int64(n * model.ChatOutput),
	}
}

// opencode runs OpenCode headless.
func (w *world) opencode(args ...string) {
	w.Helper()
	w.headless("opencode", append([]string{"run"}, args...)...)
}

// opencode types a line into OpenCode and waits until its screen shows what follows. It knows a
// command by its menu alone.
func (p *pane) opencode(line, then string) {
	p.w.Helper()
	p.typed(line, "", "esc interrupt", "┃ ")
	var sent pause
	sent.restart(15 * takesKey)
	p.w.waitFor("it takes the line", func() bool { // it can lose an Enter on its first screen
		screen := p.screen()
		taken := !strings.Contains(screen, "█▀▀█ █▀▀█ █▀▀█ █▀▀▄") || !strings.Contains(screen, line)
		if !taken && sent.restart(15*takesKey) {
			p.w.tmuxOutput("send-keys", "-t", p.id, "Enter")
		}
		return taken
	})
	p.awaitScreen(then)
}

// OpenCode's conversations are found in its database and read as they were held:
// headless ones, resumed and forked, and those of subagents.
//
// S0-17 S0-28
func TestOpenCodeConversations(t *testing.T) {
	w := newOpenCode(t)
	w.opencode("please echo")
	w.opencode("--continue", "delegate this")
	w.opencode("--continue", "--fork", "asked in the fork")
	w.opencode("--title", "A fine name", "another")

	all := w.held("opencode", 4)
	for _, c := range all {
		f := c.Metadata
		if f.Version != w.client.Version || f.CWD != w.project || f.Model != "e2e-model" ||
			f.ID != c.File.ID || f.Last.Before(f.Started) || time.Since(f.Started) > time.Hour || f.FirstID != c.Entries[0].ID {
			t.Errorf("a conversation's facts are %+v", f)
		}
	}
	first, child, fork, named := all[0], all[1], all[2], all[3]
	if want := "prompt answer call result spent answer spent"; first.Kinds() != want+" "+want {
		t.Errorf("the first conversation is\n%s", first.Kinds())
	}
	if f := first.Metadata; !strings.Contains(f.Prompt, "please echo") || f.Title == "" || f.Parent != "" || !f.Headless {
		t.Errorf("the first conversation is %+v", f)
	}
	if got := first.Texts(conversation.Answer); !slices.Equal(got, []string{"I run a command.", "It is done.", "I delegate.", "It is done."}) {
		t.Errorf("the answers are %q", got)
	}
	if got := first.Texts(conversation.Call); got[0] != "echo E2E-OUTPUT" || !strings.Contains(got[1], "You are the child.") {
		t.Errorf("the calls are %q", got)
	}
	if got := first.Texts(conversation.Result); got[0] != "E2E-OUTPUT\n" || !strings.Contains(got[1], "ANSWER to You are the child.") {
		t.Errorf("the results are %q", got)
	}
	if f := child.Metadata; f.Parent != first.Metadata.ID || f.Prompt != "You are the child." || child.File.Parent != f.Parent || f.Headless {
		t.Errorf("the subagent is %+v", f)
	}
	if f := fork.Metadata; f.FirstID != first.Metadata.FirstID || f.Parent != "" || len(fork.Texts(conversation.Prompt)) != 3 {
		t.Errorf("the fork is %+v, and asked %q", f, fork.Texts(conversation.Prompt))
	}
	if f := named.Metadata; f.Title != "A fine name" || f.FirstID == first.Metadata.FirstID {
		t.Errorf("the conversation with a name is %+v", f)
	}
	w.cost(all, chats(len(w.model.Turns())))
}

// A conversation in front of a person has what a compaction left, and not what
// the person took back.
//
// S0-17 S0-28
func TestOpenCodeInPane(t *testing.T) {
	w := newOpenCode(t)
	p := w.open("oc", "opencode", "--prompt", "please echo")
	w.waitFor("the model's answer is on the screen", func() bool { return strings.Contains(p.screen(), "It is done.") })
	p.opencode("/compact", "SUMMARY-CANARY")
	p.opencode("after the compaction", "ANSWER to after the compaction")
	p.opencode("to be taken back", "ANSWER to to be taken back")
	p.opencode("/undo", "reverted")
	w.tmux("kill-server")
	w.waitFor("the client has ended", func() bool { return len(w.processes()) == 0 })

	c := w.heldInPane("opencode", "", "please echo", "after the compaction")
	if c.Metadata.Title == "" {
		t.Error("it has no name")
	}
	if got := c.Texts(conversation.Summary); !slices.Equal(got, []string{"SUMMARY-CANARY"}) {
		t.Errorf("the compactions left %q", got)
	}
}
