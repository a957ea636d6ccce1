//go:build e2e

package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"gt/e2e/model"
)

// handoffAsk is what a client's command of ours has the model do; the program is named as it
// stands there.
var handoffAsk = regexp.MustCompile(`hand this session's work over to a fresh session[\s\S]*?\n +(\S.*gt-handoff'?) -s 'SUBJECT'`)

// commanded has the model do what the command asks for, once.
func (w *world) commanded(shell func(r *model.Request, command string) model.Reply) {
	done := false
	w.model.Answer(func(r *model.Request) model.Reply {
		var said string
		for _, m := range r.Msgs {
			said += m.Text + "\n" + m.Result + "\n"
		}
		if m := handoffAsk.FindStringSubmatch(said); m != nil && !done && r.Kind == model.Turn {
			done = true
			return shell(r, m[1]+" -s 'SUBJECT-CANARY' -m 'it'\\''s the\nMESSAGE-CANARY'")
		}
		return model.Say("ANSWER to " + r.Asked())
	})
}

// handedOver waits until a fresh agent in the pane has been told the note.
func (w *world) handedOver(p *pane, pid int) {
	w.Helper()
	w.waitFor("a new process runs in the pane", func() bool { now := p.pid(); return now != pid && now != 0 })
	w.waitFor("the model is asked to go on", func() bool {
		last := w.model.Turns().Filter(func(r *model.Request) bool {
			return strings.Contains(r.Text(), "Go on from the note") && strings.Contains(r.Text(), "MESSAGE-CANARY") && strings.Contains(r.Text(), "it's the")
		}).LastRequest()
		return last != nil
	})
}

// A person types /handoff: the agent writes the note and hands over, and nobody is asked
// for a permission, in a client that asks for one before each command. Another command is
// asked for as before. What was installed is proved to have worked, and an uninstallation
// leaves nothing.
func TestHandoffCommand(t *testing.T) {
	w := newBareWorld(t)
	w.writeJSON(w.userSettings(), map[string]any{"permissions": map[string]any{"defaultMode": "default"}})
	before := w.read(w.userSettings())
	w.gt("gt-hooks", "install", "claude")
	w.commanded(func(_ *model.Request, command string) model.Reply { return model.Bash(command) })
	p := w.claude("max")
	p.typ("please begin")
	p.awaitScreen("ANSWER to please begin")
	pid := p.pid()
	p.submit("/handoff mind the lamp")
	w.handedOver(p, pid)
	asked := w.model.Turns().Filter(func(r *model.Request) bool { return handoffAsk.MatchString(r.Text()) }).LastRequest()
	if asked == nil || !strings.Contains(asked.Text(), "mind the lamp") {
		t.Error("what the person added does not reach the model")
	}

	type row struct {
		Hook    string
		Session string `json:"session_id"`
	}
	var rows []row
	for line := range strings.Lines(w.gt("sh", "-c", "gt-hooks prove claude --json || :")) {
		var r row
		json.Unmarshal([]byte(line), &r)
		rows = append(rows, r)
	}
	proved := false
	for _, r := range rows {
		proved = proved || r.Hook == "/handoff" && r.Session != ""
	}
	if !proved {
		t.Errorf("/handoff is not proved: %+v", rows)
	}

	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "please touch") {
			return model.Bash("touch lamp")
		}
		return model.Say("ok")
	})
	p.typ("please touch")
	p.awaitScreen("touch lamp")
	p.awaitScreen("Do you want to proceed?")

	w.gt("gt-hooks", "uninstall", "claude")
	if after := w.read(w.userSettings()); after != before {
		t.Errorf("the settings were:\n%s\nand are:\n%s", before, after)
	}
	if exists(w.Path("home", ".claude", "commands")) {
		t.Error("the command is still there")
	}
}

// The same in the other clients that have commands of their own, which run the command
// without a question here.
func commandStory(w *world, name, typed string, shell func(*model.Request, string) model.Reply, open func() *pane, submit func(p *pane, line string)) {
	w.Helper()
	w.gt("gt-hooks", "install", name)
	w.commanded(shell)
	p := open()
	pid := p.pid()
	submit(p, typed)
	w.handedOver(p, pid)
}

func TestGeminiCommand(t *testing.T) {
	w := newGemini(t)
	commandStory(w, "gemini", "/handoff", func(_ *model.Request, c string) model.Reply { return shellCommand(c) },
		func() *pane { return w.open("g", "gemini", "-y") },
		func(p *pane, line string) { p.line("Type your message", line, "SUBJECT-CANARY") })
}

func TestQwenCommand(t *testing.T) {
	w := newQwen(t)
	commandStory(w, "qwen", "/handoff", func(_ *model.Request, c string) model.Reply { return shellCommand(c) },
		func() *pane { return w.open("q", "qwen", "-y") },
		func(p *pane, line string) { p.line("Type your message", line, "SUBJECT-CANARY") })
}

func TestPiCommand(t *testing.T) {
	w := newPi(t)
	commandStory(w, "pi", "/handoff", func(_ *model.Request, c string) model.Reply {
		return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{Name: "bash", Input: map[string]string{"command": c}}}}
	}, func() *pane {
		p := w.open("pi", "pi")
		p.awaitScreen("e2e-model")
		return p
	}, func(p *pane, line string) { p.pi(line, "SUBJECT-CANARY") })
}

func TestOpenCodeCommand(t *testing.T) {
	w := newOpenCode(t)
	commandStory(w, "opencode", "/handoff", func(_ *model.Request, c string) model.Reply {
		return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{Name: "bash", Input: map[string]string{"command": c, "description": "Hand over"}}}}
	}, func() *pane {
		p := w.open("oc", "opencode", "--prompt", "please begin")
		p.awaitScreen("ANSWER to please begin")
		return p
	}, func(p *pane, line string) {
		w.tmux("send-keys", "-t", p.id, "-l", line)
		// The first Enter may choose the command from the menu.
		asked := func() bool {
			return w.model.Requests().Filter(func(r *model.Request) bool { return handoffAsk.MatchString(r.Text()) }).LastRequest() != nil
		}
		p.pressWhile("Enter", func() bool { return !asked() })
	})
}

func TestCopilotCommand(t *testing.T) {
	w := newCopilot(t)
	commandStory(w, "copilot", "/handoff", func(_ *model.Request, c string) model.Reply {
		return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{Name: "bash", Input: map[string]any{"command": c, "description": "Hand over"}}}}
	}, func() *pane {
		p := w.open("cp", "copilot", "-i", "please begin")
		p.awaitScreen("ANSWER to ")
		return p
	}, func(p *pane, line string) { p.copilot(line, "SUBJECT-CANARY") })
}

func TestCodexCommand(t *testing.T) {
	w := newCodex(t)
	commandStory(w, "codex", "$handoff", codexShell,
		func() *pane {
			p := w.open("cx", "codex", "--dangerously-bypass-hook-trust", "please begin")
			p.awaitScreen("ANSWER to please begin")
			return p
		}, func(p *pane, line string) { p.codex(line, "SUBJECT-CANARY") })
}
