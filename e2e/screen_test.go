//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"gt/e2e/model"
	"gt/lib/client/agent"
)

// What the table says about an agent's command line and its screen is what the
// real one takes and shows: it begins with the prompt that it is given, is known by
// its screen, is busy until the model has answered, and is ready afterwards.
//
// S2-47 S2-50
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
	}{
		{"claude", newBareWorld}, {"codex", newCodex}, {"gemini", newGemini}, {"qwen", newQwen},
		{"copilot", newCopilot}, {"opencode", newOpenCode}, {"pi", newPi}, {"kimi", newKimi}, {"cline", newCline},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			c := agent.Builtin().FindClient(of.client)
			seen := w.gallery(of.client)
			answer := make(chan struct{})
			say := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(say)
			w.model.Answer(func(r *model.Request) model.Reply {
				switch {
				case r.Kind != model.Turn:
					return model.Reply{}
				case strings.Contains(r.Asked(), "please think"):
					<-answer
				}
				return model.Say("It is done.")
			})
			next := agent.NextRun{Prompt: "please think"}
			if c.TypesPrompt {
				next.Prompt = ""
			}
			p := w.open("screen", c.Restart(nil, next)...)
			if of.client == "cline" {
				p.cline("please think", "please think")
			} else if c.TypesPrompt {
				p.awaitScreen("│ > ")
				w.tmux("send-keys", "-t", p.id, "-l", "please think")
				p.awaitScreen("please think")
				p.pressWhile("Enter", func() bool { return len(w.model.Turns()) == 0 })
			}
			w.asked("please think")
			seen.shows(p, agent.Busy, "turn", "180")
			say()
			seen.shows(p, agent.Waiting, "ready", "180")
		})
	}
}

// Claude Code has a footer for each of its permission modes, and asks in several
// ways. All of them are known.
//
// S2-50
func TestScreensOfClaudeModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"default", "plan", "acceptEdits", "auto", "bypassPermissions"} {
		t.Run(mode, func(t *testing.T) {
			w := newBareWorld(t)
			c := agent.Builtin().FindClient("claude")
			seen := w.gallery("claude")
			w.Env = append(w.Env, "IS_SANDBOX=1") // without it root may not bypass permissions
			w.writeJSON(w.userSettings(), map[string]any{})
			answer := make(chan struct{})
			say := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(say)
			w.model.Answer(func(r *model.Request) model.Reply {
				last := r.Said() // beside it stands the result of what was declined before
				last = last[strings.LastIndex(last, "\n")+1:]
				tool := func(name string, input any) model.Reply {
					return model.Reply{Text: "I do.", Tools: []model.ToolUse{{Name: name, Input: input}}}
				}
				switch {
				case r.Kind != model.Turn:
					return model.Reply{}
				case strings.Contains(last, "please think"):
					<-answer
				case strings.Contains(last, "please run it"):
					return model.Bash("touch made")
				case strings.Contains(last, "please write it"):
					return tool("Write", map[string]string{"file_path": filepath.Join(w.project, "made"), "content": "one\ntwo\n"})
				case strings.Contains(last, "please ask me"):
					option := func(label string) any { return map[string]string{"label": label, "description": "as it is"} }
					return tool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
						"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{option("Red"), option("Blue")},
					}}})
				case strings.Contains(last, "please go on"):
					plan := filepath.Join(w.home, ".claude", "plans", "plan.md")
					w.write(plan, "# The plan\n\n1. Do it\n")
					return tool("ExitPlanMode", map[string]string{"plan": "# The plan\n\n1. Do it\n", "planFilePath": plan})
				}
				return model.Say("It is done.")
			})
			p := w.open("screen", "claude", "--permission-mode", mode)
			if mode == "bypassPermissions" {
				p.awaitScreen("Yes, I accept")
				seen.shows(p, agent.Waiting, mode+" warning")
				p.press("Down", "❯ No, exit", "❯ 1. No, exit")
				p.press("Enter", "Yes, I accept")
			}
			p.awaitPrompt()
			seen.shows(p, agent.Waiting, mode+" start")
			p.typ("please think")
			w.asked("please think")
			seen.shows(p, agent.Busy, mode+" turn")
			w.tmux("send-keys", "-t", p.id, "-l", "half a line")
			p.awaitScreen("half a line")
			seen.shows(p, agent.Busy, mode+" turn, typed")
			say()
			seen.shows(p, agent.Waiting, mode+" ready, typed")
			w.tmux("send-keys", "-t", p.id, "C-u")
			p.awaitPrompt()
			seen.shows(p, agent.Waiting, mode+" ready")

			prompts := map[string][]string{
				"default": {"run it", "write it", "ask me"}, "plan": {"run it", "ask me", "go on"},
			}[mode]
			if prompts == nil {
				prompts = []string{"ask me"}
			}
			for _, prompt := range prompts {
				p.typ("please " + prompt)
				w.waitFor("it asks", func() bool { return p.asks(c) })
				seen.shows(p, agent.Waiting, mode+" "+prompt)
				p.pressWhile("Escape", func() bool { return p.asks(c) })
				p.awaitPrompt()
				seen.shows(p, agent.Waiting, mode+" after "+prompt)
			}
		})
	}
}

// asks reports whether a client asks the person something, rather than being ready.
func (p *pane) asks(c agent.Client) bool {
	c.ReadyPrompt = nil
	return c.ScreenState(p.screen()) == agent.Waiting
}

// A gallery holds the screens of a client as they were seen.
type gallery struct {
	w      *world
	client string
}

func (w *world) gallery(client string) gallery { return gallery{w, client} }

// shows waits until the screen shows the state, at several widths of the window
// (80 and 120 columns), and by which agent. With GT_E2E_RECORD it keeps the screens as fixtures of
// lib/client/agent.
func (g gallery) shows(p *pane, want agent.State, what string, widths ...string) {
	g.w.Helper()
	table := agent.Builtin()
	c := table.FindClient(g.client)
	if widths == nil {
		widths = []string{"80", "120"}
	}
	for _, width := range widths {
		g.w.tmux("resize-window", "-t", p.id, "-x", width, "-y", "50")
		time.Sleep(500 * time.Millisecond) // the client draws it anew
		screen := ""
		g.w.waitFor(fmt.Sprintf("it is known and %v at %s columns (%s)", want, width, what), func() bool {
			screen = p.screen()
			return c.ScreenState(screen) == want && table.Detect(screen).Name == g.client
		})
		g.keep(fmt.Sprintf("%v: %s, %s columns", want, what, width), screen)
	}
}

// keeping has one test at a time write to a file of screens.
var keeping sync.Mutex

// keep writes a screen into the archive of its client and version.
func (g gallery) keep(name, screen string) {
	if os.Getenv("GT_E2E_RECORD") == "" {
		return
	}
	keeping.Lock()
	defer keeping.Unlock()
	path := filepath.Join("..", "lib", "client", g.client, "testdata", "screens", g.w.client.Version+".txtar")
	all := &txtar.Archive{}
	if data, err := os.ReadFile(path); err == nil {
		all = txtar.Parse(data)
	}
	all.Files = slices.DeleteFunc(all.Files, func(f txtar.File) bool { return f.Name == name })
	text := g.w.anonymous([]byte(trimLines(screen) + "\n"))
	all.Files = append(all.Files, txtar.File{Name: name, Data: bytes.ReplaceAll(text, []byte("gt-e2e-"), []byte("e2e-"))})
	slices.SortFunc(all.Files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	g.w.write(path, string(txtar.Format(all)))
}
