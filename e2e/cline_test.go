//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"gt/e2e/model"
)

// newCline makes a world with a Cline that asks the world's model, as its user would set it
// up.
func newCline(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "cline")
	w.setUp("cline")
	w.model.Answer(clineModel)
	return w
}

// clineModel is the model of Cline's stories.
var clineModel = worker(clineShell, model.ToolUse{
	Name: "spawn_agent", Input: map[string]any{"systemPrompt": "You are a child.", "task": "You are the child."},
})

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
	compactions := func() int { return len(p.w.model.Requests().Kind(model.Compaction)) }
	before := compactions()
	var typed, sent pause
	p.w.waitFor("the client has taken "+line, func() bool {
		screen, boxed := p.screen(), strings.Contains(p.input(), line)
		switch dropped := sent.began.IsZero() || line == "/compact" && compactions() == before; {
		case boxed && sent.restart(takesKey):
			p.w.tmuxOutput("send-keys", "-t", p.id, "Enter")
		case !boxed && !sent.began.IsZero() && showsNext(screen, then):
			return true
		case !boxed && dropped && screen != "" && typed.restart(5*takesKey):
			p.w.tmux("send-keys", "-t", p.id, "C-u") // where it was not dropped, but is late
			p.w.tmux("send-keys", "-t", p.id, "-l", line)
		}
		return false
	})
}
