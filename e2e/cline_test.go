//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
)

// newCline makes a world with a Cline that asks the world's model, as its user would set it
// up.
func newCline(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "cline")
	w.setUp("cline")
	w.model.Answer(worker(clineShell, model.ToolUse{
		Name: "spawn_agent", Input: map[string]any{"systemPrompt": "You are a child.", "task": "You are the child."},
	}))
	return w
}

// clineShell replies with a command for Cline's shell tool.
func clineShell(command string) model.Reply {
	return model.Reply{Text: "I run a command.", Tools: []model.ToolUse{{Name: "run_commands", Input: map[string]any{"commands": []string{command}}}}}
}

// cline types a line into Cline and waits until its screen shows what follows. It drops
// what is typed before its screen has stood for a moment, and /compact while a turn is not
// over, which nothing on the screen tells: a person types it again.
func (p *pane) cline(line, then string) {
	p.w.Helper()
	p.awaitScreen("(Shift+Tab)")
	var last time.Time
	p.w.waitFor("the client shows "+line, func() bool {
		if strings.Contains(p.input(), line) {
			return true
		}
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			p.w.tmux("send-keys", "-t", p.id, "-l", line)
		}
		return false
	})
	last = time.Time{}
	p.w.waitFor("the client has taken "+line, func() bool {
		screen := p.screen()
		if last.IsZero() || strings.Contains(p.input(), line) {
			// It is not taken yet.
		} else if then == "" && screen == "" || then != "" && strings.Contains(screen, then) {
			return true
		}
		if line == "/compact" && !last.IsZero() && time.Since(last) > 10*time.Second {
			p.w.tmuxOutput("send-keys", "-t", p.id, "-l", line)
			p.awaitScreen(line)
		}
		if time.Since(last) > 2*time.Second && strings.Contains(p.input(), line) {
			last = time.Now()
			p.w.tmuxOutput("send-keys", "-t", p.id, "Enter")
		}
		return false
	})
}
