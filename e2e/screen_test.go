//go:build e2e

package e2e

import (
	"sync"
	"testing"

	"gt/e2e/model"
	"gt/lib/client/agent"
)

// What the table says of an agent's command line and of its screen is what the
// real one takes and shows: it begins with the prompt that it is given, is known by
// its screen, works while the model has not answered, and waits when it has.
//
// S2-47 S2-50
func TestScreens(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) *world{
		"claude": newBareWorld, "codex": newCodex, "gemini": newGemini, "qwen": newQwen,
		"copilot": newCopilot, "opencode": newOpenCode, "pi": newPi,
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			table := agent.Builtin()
			c := table.Of(name)
			answer := make(chan struct{})
			say := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(say)
			w.model.Answer(func(r *model.Request) model.Reply {
				if r.Kind == model.Turn {
					<-answer
				}
				return model.Say("It is done.")
			})
			p := w.open("screen", c.Restart(nil, agent.Next{Prompt: "please think"})...)
			w.until("it is known by its screen", func() bool { return table.Detect(p.screen()).Name == name })
			w.asked("please think")
			w.until("it works", func() bool { return c.ScreenState(p.screen()) == agent.Busy })
			say()
			w.until("it waits", func() bool { return c.ScreenState(p.screen()) == agent.Waiting })
		})
	}
}
