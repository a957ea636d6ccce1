//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gt/e2e/model"
	"gt/internal/readertest"
	"gt/lib/conversation"
)

// What the real Claude Code keeps is found and read: sessions, what a fork
// copied, a subagent's below its session, a compaction, tools, tokens; and
// gt-seance tells of all of it from another directory, and changes nothing.
//
// S0-33 S0-42 S0-48 S1-79 S1-81
func TestClaudeConversations(t *testing.T) {
	w := newBareWorld(t)
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Reply{}
		case strings.Contains(asked, "echo"):
			return model.Bash("echo E2E-OUTPUT")
		case strings.Contains(asked, "delegate"):
			tool := "Task"
			if slices.Contains(r.Tools, "Agent") {
				tool = "Agent"
			}
			return model.Reply{Text: "I delegate.", Tools: []model.ToolUse{{Name: tool, Input: map[string]any{
				"description": "a child", "prompt": "You are the child.", "subagent_type": "general-purpose", "run_in_background": false,
			}}}}
		case strings.Contains(asked, "You are the child"):
			return model.Say("The child is done.")
		case r.Result() != "":
			return model.Say("It is done.")
		}
		return model.Say("ANSWER to " + asked[strings.LastIndex(asked, "\n")+1:])
	})
	id := w.ask("please echo, \"max\" & <co>").SessionID
	w.ask("now delegate", "--resume", id)
	fork := w.ask("and the fork", "--resume", id, "--fork-session").SessionID
	w.ask("/compact", "--resume", id)
	w.ask("after it", "--resume", id)

	found := w.conversations("claude")
	var main, other, child *readertest.Held
	for i := range found {
		switch c := &found[i]; {
		case c.Metadata.ID == "" || c.Metadata.Parent != "":
			child = c
		case string(c.Metadata.ID) == id:
			main = c
		case string(c.Metadata.ID) == fork:
			other = c
		}
	}
	if len(found) != 3 || main == nil || other == nil || child == nil {
		t.Fatalf("%d conversations were found: %+v", len(found), found)
	}
	w.keepFixture("claude", "print", filepath.Join(w.home, ".claude"), main.File.Path, other.File.Path, child.File.Path)
	f := main.Metadata
	if f.CWD != w.project || f.Branch != "main" || !f.Headless || f.Model == "" || f.Version != w.client.Version ||
		f.Prompt != `please echo, "max" & <co>` || f.Started.IsZero() || !f.Last.After(f.Started) {
		t.Errorf("%+v", f)
	}
	if other.Metadata.FirstID != f.FirstID || f.FirstID == "" || !other.Metadata.Started.After(f.Started) {
		t.Errorf("a fork is not known for one: %+v", other.Metadata)
	}
	if string(child.Metadata.Parent) != id || child.Metadata.Prompt != "You are the child." || !slices.Contains(child.Texts(conversation.Answer), "The child is done.") {
		t.Errorf("%+v: %s", child.Metadata, child.Kinds())
	}
	for kind, want := range map[conversation.Kind][]string{
		conversation.Prompt: {`please echo, "max" & <co>`, "now delegate", "after it"},
		conversation.Answer: {"I run a command.", "It is done.", "I delegate.", "It is done.", "ANSWER to after it"},
	} {
		if got := main.Texts(kind); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	if got := main.Texts(conversation.Result); len(got) != 2 || !strings.Contains(got[0], "E2E-OUTPUT") || !strings.Contains(got[1], "The child is done.") {
		t.Errorf("results: %q", got)
	}
	if got := main.Texts(conversation.Summary); len(got) != 1 || !strings.Contains(got[0], "SUMMARY-OF-THE-MODEL") {
		t.Errorf("summaries: %q", got)
	}
	if got := other.Texts(conversation.Prompt); !slices.Equal(got, []string{`please echo, "max" & <co>`, "now delegate", "and the fork"}) {
		t.Errorf("the fork: %q", got)
	}
	// Every answer of the model is in the bill, and none twice. The client asks
	// for a summary and a title too, of which it keeps no record.
	turns := 0
	for _, r := range w.model.Turns() {
		if r.Kind == model.Turn {
			turns++
		}
	}
	if u := w.spent(found); u.Output != int64(10*turns) {
		t.Errorf("%+v after %d turns", u, turns)
	}

	// As its user sees it, from anywhere.
	before := snapshot(t, filepath.Join(w.home, ".claude"))
	seance := func(args ...string) string {
		out, err := w.run("/", nil, "gt-seance", args...)
		if err != nil {
			t.Errorf("gt-seance %q: %v", args, err)
		}
		return string(out)
	}
	list := seance("list")
	for _, want := range []string{id[:8], fork[:8] + ".*fork of " + id[:8]} {
		if !matches(want, list) {
			t.Errorf("%q is not in the list:\n%s", want, list)
		}
	}
	if strings.Contains(list, "child") {
		t.Errorf("a subagent is in the list:\n%s", list)
	}
	for want, args := range map[string][]string{
		`subagent of ` + id[:8] + `: You are the child`: {"list", "--all"},
		`Forks: +` + fork:                     {"show", id},
		`Turns: +3`:                           {"show", id[:10]},
		`(?s)\[1\] you.*\[2\] claude.*\[3\]`:  {"read", id},
		`(?s)^\[3\] you[^\n]*\n  after it\n`:  {"read", id, "--last", "1"},
		`^` + fork + `\n$`:                    {"find", "--cwd", w.project, "--limit", "1"},
		fmt.Sprintf(`(?m) %d( |$)`, 10*turns): {"usage"},
		`"kind":"call".*"tool":"Bash".*echo`:  {"read", id, "--json"},
		`(?s)> Bash: .*echo E2E-OUTPUT`:       {"read", id, "--turns", "1"},
		`(?s)\nresult.*E2E-OUTPUT|\] result.`: {"read", id, "--turns", "1", "--tools"},
	} {
		if got := seance(args...); !matches(want, got) {
			t.Errorf("gt-seance %q: no %q in\n%s", args, want, got)
		}
	}
	for path, data := range snapshot(t, filepath.Join(w.home, ".claude")) {
		if before[path] != data {
			t.Errorf("gt-seance changed %s", path)
		}
	}
}

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }
