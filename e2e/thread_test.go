//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/e2e/model"
)

// relay is the order in which a thread goes through the agents.
var relay = []string{"claude", "codex", "gemini", "qwen", "opencode", "pi", "copilot", "kimi", "cline", "claude"}

// asks says which client a request is of.
func asks(r *model.Request) string {
	has := func(tool string) bool { return slices.Contains(r.Tools, tool) }
	switch {
	case has("AgentSwarm"):
		return "kimi"
	case has("run_commands"):
		return "cline"
	case strings.HasSuffix(r.Path, "/messages"):
		return "claude"
	case strings.HasSuffix(r.Path, "/responses") && has("bash"):
		return "copilot"
	case strings.HasSuffix(r.Path, "/responses"):
		return "codex"
	case !strings.HasSuffix(r.Path, "/chat/completions"):
		return "gemini"
	case has("run_shell_command"):
		return "qwen"
	case has("webfetch"):
		return "opencode"
	}
	return "pi"
}

// handsOver is how the model of a client hands over to the next: with what only
// its successor is told.
func handsOver(r *model.Request) model.Reply {
	from := asks(r)
	command := fmt.Sprintf("gt-handoff --to %s -s 'from %s' -m 'CANARY of %s for the next'", relay[slices.Index(relay, from)+1], from, from)
	switch from {
	case "claude", "kimi":
		return model.Bash(command)
	case "codex":
		return codexShell(r, command)
	case "cline":
		return clineShell(command)
	case "gemini", "qwen":
		return shellCommand(strings.Replace(command, "from "+from, "from "+from+", '$LAMP'", 1))
	}
	return model.Reply{Tools: []model.ToolUse{{Name: "bash", Input: map[string]any{"command": command, "description": "Hand over"}}}}
}

// A person who uses several agents has one thread: what Claude Code began is handed
// to Codex in the same pane, by it to Gemini CLI, and so on through all that can be
// run here, to a Claude Code again. Each knows what the one before wrote, and all
// are one chain.
//
// What gt types to start them is nobody's request, in no client's form.
//
// S1-9 S1-12 S1-62 S1-63 S2-48
func TestThreadAcrossAgents(t *testing.T) {
	w := newWorld(t)
	for _, name := range relay[1 : len(relay)-1] {
		w.addClient(name)
		w.install(name)
	}
	w.wireCodex()
	w.trustHooks()
	w.fetched(filepath.Join(w.home, ".config", "opencode"))
	// Else a person would have to allow them the command.
	w.write(filepath.Join(w.home, ".config", "gt", "agents.toml"), `
[agents.gemini]
dangerous_mode = true
env = { LAMP = "lit" }
[agents.qwen]
dangerous_mode = true
[agents.copilot]
dangerous_mode = true
[agents.kimi]
dangerous_mode = true
`)
	var mu sync.Mutex
	handed := map[string]bool{}
	w.model.Answer(func(r *model.Request) model.Reply {
		mu.Lock()
		defer mu.Unlock()
		from, asked := asks(r), r.Asked()
		switch {
		case r.Result() != "" || r.Kind != model.Turn: // OpenCode asks for a title first
			return model.Say("It is done.")
		case !strings.Contains(asked, "please hand over") && !strings.Contains(asked, "Go on from the note.") || handed[from]:
			return model.Say("I go on.")
		}
		handed[from] = true
		if from == "claude" {
			w.awaitWritten("please hand over")
		}
		return handsOver(r)
	})
	p := w.claude("max")
	before := p.get("#{session_id} #{session_created} #{pane_id} #{session_windows} #{window_panes}")
	p.typ("please hand over")

	last := w.model.Await(2*patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return asks(r) == "claude" && strings.Contains(r.Asked(), "Go on from the note.")
		}).LastRequest()
	})
	if last == nil {
		t.Fatal("the thread did not come back to Claude Code")
	}
	for i, from := range relay[:len(relay)-1] {
		said := "CANARY of " + from + " for the next"
		told := w.model.Turns().Filter(func(r *model.Request) bool {
			return asks(r) == relay[i+1] && strings.Contains(r.Asked(), "Go on from the note.")
		})
		if len(told) == 0 || told[0].Count(said) != 1 {
			t.Errorf("%s was not told what %s wrote: %v", relay[i+1], from, told)
		}
	}
	if n := w.model.Turns().Filter(func(r *model.Request) bool { return r.Count("from gemini, lit") > 0 }); len(n) == 0 {
		t.Error("Gemini did not have what its block in agents.toml gives it")
	}
	if after := p.get("#{session_id} #{session_created} #{pane_id} #{session_windows} #{window_panes}"); after != before {
		t.Errorf("the pane was %s, and is %s", before, after)
	}
	if env := w.tmux("show-environment", "-t", "=max:"); !strings.Contains(env, "GT_AGENT=claude\n") {
		t.Errorf("tmux holds\n%s", env)
	}

	// One chain, whose sessions follow each other, also as seance tells it.
	type listed struct {
		ID      string `json:"id"`
		Agent   string `json:"agent"`
		Chain   string `json:"chain_id"`
		Parent  string `json:"parent_id"`
		Outcome string `json:"outcome"`
	}
	var all []listed
	for line := range strings.Lines(w.gt("gt-seance", "list", "--json")) {
		var l listed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
		if strings.Contains(line, "Go on from the note.") {
			t.Errorf("what gt typed is listed as what a person asked: %s", line)
		}
	}
	if known := w.gt("gt-seance", "thread", "--json"); !strings.Contains(known, "please hand over") || strings.Contains(known, "Go on from the note.") {
		t.Errorf("the thread says\n%s", known)
	}
	slices.Reverse(all) // the first one first
	var agents []string
	for i, l := range all {
		agents = append(agents, l.Agent)
		if l.Chain != all[0].ID || i > 0 && l.Parent != all[i-1].ID || i < len(all)-1 && l.Outcome != "handoff" {
			t.Errorf("session %d of the thread is %+v", i+1, l)
		}
	}
	if !slices.Equal(agents, relay) {
		t.Errorf("the thread is one of %q, want %q", agents, relay)
	}
	w.noHookErrors()
}

// awaitWritten waits until Claude Code has written down what it was asked, as it has long
// before a model answers: what it had not written when its pane is given away, nobody can
// read.
func (w *world) awaitWritten(asked string) {
	for deadline := time.Now().Add(patience / 4); time.Now().Before(deadline); time.Sleep(glance) {
		paths, _ := filepath.Glob(filepath.Join(w.home, ".claude", "projects", "*", "*.jsonl"))
		for _, path := range paths {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), asked) {
				return
			}
		}
	}
}
