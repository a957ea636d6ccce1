//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A person who uses three agents has one thread: what Claude Code began is handed
// to Codex in the same pane, by it to Gemini CLI, and by that to a Claude Code
// again. Each knows what the one before wrote, and all are one chain.
//
// S1-9 S1-12 S1-62 S1-63 S2-48
func TestThreadAcrossAgents(t *testing.T) {
	w := newWorld(t)
	w.and("codex")
	w.and("gemini")
	w.wireCodex()
	w.trustHooks()
	w.gt("gt-hooks", "install", "gemini")
	// Else a person would have to allow Gemini the command.
	w.write(filepath.Join(w.home, ".config", "gt", "agents.toml"), "[agents.gemini]\ndangerous_mode = true\nenv = { LAMP = \"lit\" }\n")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Result() != "":
			return model.Say("It is done.")
		case strings.Contains(asked, "please hand over"):
			return model.Bash("gt-handoff --to codex -s 'one third' -m 'FIRST-CANARY next: the lamp'")
		case !strings.Contains(asked, "[GAS TOWN]"):
			return model.Reply{}
		case slices.Contains(r.Tools, "run_shell_command"):
			return shellCommand("gt-handoff --to claude -s \"three thirds, $LAMP\" -m 'THIRD-CANARY next: sleep'")
		case slices.Contains(r.Tools, "Bash"):
			return model.Say("I go on.")
		}
		return codexShell(r, "gt-handoff --to gemini -s 'two thirds' -m 'SECOND-CANARY next: the door'")
	})
	p := w.claude("max")
	before := p.get("#{session_id} #{session_created} #{pane_id} #{session_windows} #{window_panes}")
	p.typ("please hand over")

	last := w.model.Await(3*patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Where(func(r *model.Request) bool {
			return slices.Contains(r.Tools, "Bash") && strings.Contains(r.Asked(), "[GAS TOWN]")
		}).Last()
	})
	if last == nil {
		t.Fatal("the thread did not come back to Claude Code")
	}
	for _, said := range []string{"FIRST-CANARY next: the lamp", "SECOND-CANARY next: the door", "THIRD-CANARY next: sleep"} {
		told := w.model.Turns().Where(func(r *model.Request) bool { return strings.Contains(r.Asked(), "[GAS TOWN]") && r.Count(said) > 0 })
		if len(told) == 0 || told[0].Count(said) != 1 {
			t.Errorf("of %q a successor was told %d times", said, len(told))
		}
	}
	if last.Count("three thirds, lit") == 0 {
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
	}
	slices.Reverse(all) // the first one first
	var agents []string
	for i, l := range all {
		agents = append(agents, l.Agent)
		if l.Chain != all[0].ID || i > 0 && l.Parent != all[i-1].ID || i < len(all)-1 && l.Outcome != "handoff" {
			t.Errorf("session %d of the thread is %+v", i+1, l)
		}
	}
	if want := []string{"claude", "codex", "gemini", "claude"}; !slices.Equal(agents, want) {
		t.Errorf("the thread is one of %q, want %q", agents, want)
	}
	if errs := w.events("hook_error", ""); len(errs) > 0 {
		t.Errorf("hooks failed: %+v", errs)
	}
}
