package agent

import (
	"strings"
	"testing"
)

const (
	rule    = "────────────────────────────\n"
	mcp     = rule + "  New MCP server found in this project: x\n\n    Use this MCP server\n  ❯ Continue without it\n\n  Enter to confirm · Esc to reject\n"
	theme   = "  Choose a theme\n\n  > 1. Auto\n    2. Dark\n"
	upgrade = "  Update available · 1.0 → 2.0\n\n› 1. Update now\n  2. Skip\n  3. Skip until next version\n\n  enter continue · esc skip\n"
	lit     = "  A new model is there\n  \x1b[44m1. Try it\x1b[49m\n  2. Stay\n"
)

// Options of which one is selected, and no input box, are a question in whatever words.
func TestMenuIsQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		client, screen string
		options        int // 0 for no question
	}{
		"a project's servers":             {"claude", mcp, 2},
		"a theme":                         {"claude", theme, 2},
		"an update":                       {"codex", upgrade, 3},
		"a new model, selected by colour": {"gemini", lit, 2},
		"a list that the agent wrote":     {"claude", "● I would\n  1. mend it\n  2. test it\n", 0},
		"a menu that was left behind":     {"claude", theme + "a\nb\nc\nd\ne\nf\ng\n", 0},
		"a menu below Codex's prompts":    {"codex", "› please say it\n\n• It is done.\n\n" + upgrade, 3},
		"a list in Codex's prompt":        {"codex", "› please\n  1. mend it\n  2. test it\n\n  ? for shortcuts\n", 0},
		"a list in Codex's box":           {"codex", "• Done.\n\n›  1. test\n  2. test the parser\n\n  ? for shortcuts\n", 0},
		"a list in Codex's last prompt":   {"codex", "› 1. test\n  2. test it\n\n• Done.\n\n› Ask Codex to do anything\n\n  gpt · /work\n", 0},
		"a list in Claude's box":          {"claude", rule + "❯ 1. mend it\n  2. test it\n" + rule + "  ? for shortcuts\n", 0},
		"a list in Cline's box":           {"cline", strings.Repeat("─", 30) + "\n ❯ 1. mend it\n   2. test it\n" + strings.Repeat("─", 30) + "\n", 0},
		"a list that Claude answered":     {"claude", "● 1. Redis\n  2. Postgres\n\nWhich one?\n\n" + rule + "❯ Redis\n" + rule, 0},
		"a box below it":                  {"claude", theme + rule + "❯ \n" + rule, 0},
		"Codex, which works":              {"codex", upgrade + "• Working (3s • esc to interrupt)\n", 0},
		"Codex's box":                     {"codex", "› Ask Codex to do anything\n\n  ? for shortcuts\n", 0},
		"an agent with an unknown box":    {"amp", theme, 0},
	} {
		if q, ok := Builtin().FindClient(c.client).Question(c.screen); ok != (c.options > 0) || len(q.Options) != c.options {
			t.Errorf("%s: %v, %+v", name, ok, q)
		}
	}
}

// A question is known by its text and options, whichever is selected, however long the
// client has worked, and whatever stands above its dialog.
func TestQuestionDigest(t *testing.T) {
	claude := Builtin().FindClient("claude")
	digest := func(above, command, options string) string {
		q, ok := claude.Question(above + rule + " Bash command\n\n   " + command + "\n\n Do you want to proceed?\n" + options + "\n Esc to cancel\n")
		if !ok {
			t.Fatalf("no question of %q", command)
		}
		return q.Digest()
	}
	bare := func(options string) string {
		q, _ := claude.Question(rule + "  Run it?\n" + options + "  Esc to cancel\n")
		return q.Digest()
	}
	if a, b := bare("  ❯ Yes\n    Yes, always\n"), bare("    Yes\n  ❯ Yes, always\n"); a != b {
		t.Errorf("the same options without numbers are %s and %s", a, b)
	}
	const yes, no = " ❯ 1. Yes\n   2. No\n", "   1. Yes\n ❯ 2. No\n"
	of := digest("● Bash(ls)\n", "ls", yes)
	for _, same := range []string{digest("● Bash(ls)\n", "ls", no), digest("\n\nmore\n", "ls", yes)} {
		if same != of {
			t.Errorf("the same question is %s and %s", of, same)
		}
	}
	for _, other := range []string{digest("● Bash(ls)\n", "rm -rf ~", yes), digest("● Bash(ls)\n", "ls", " ❯ 1. Yes\n   2. Never\n")} {
		if other == of {
			t.Errorf("another question is %s too", of)
		}
	}
}

// Beside a border, a dialog is what has that border: the conversation above it may still be
// drawn.
func TestQuestionDigestBesideBorder(t *testing.T) {
	digest := func(above, command string) string {
		q, ok := Builtin().FindClient("opencode").Question(above + "\n  ┃\n  ┃  △ Permission required\n  ┃\n  ┃  $ " + command +
			"\n  ┃\n  ┃  \x1b[44m Allow once \x1b[49m  Allow always   Reject \n")
		if !ok || len(q.Options) != 3 {
			t.Fatalf("the question is %+v", q)
		}
		return q.Digest()
	}
	of := digest("  ┃  list it\n\n     ▣  Build · 7.2s\n", "ls")
	if same := digest("  ┃  list it\n\n     I do.\n\n     ▣  Build · 9.9s\n", "ls"); same != of {
		t.Errorf("the same question is %s and %s", of, same)
	}
	if digest("  ┃  list it\n\n     ▣  Build · 7.2s\n", "rm -rf ~") == of {
		t.Errorf("another question is %s too", of)
	}
}
