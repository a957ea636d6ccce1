package beacon

import (
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/conversation"
	"gt/lib/place/identity"
)

var testTime = time.Date(2026, 1, 17, 1, 0, 59, 0, time.UTC)

const steps = `

Check your hook and mail, then act on the hook if present:
1. Read what gt-prime told you at the start of this session; where it told nothing, run ` + "`gt-prime`" + `.
2. ` + "`gt-mail inbox`" + ` shows hooked work and unread notes.
3. If work is hooked, do it now.
4. If nothing is, wait for instructions.`

func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		to, sender, topic, molecule string
		line                        string
		steps                       bool
	}{
		{"gastown/crew/max", SelfSender, Handoff, "", "[GAS TOWN] crew max (rig: gastown) <- self • 2026-01-17T01:00 • handoff", true},
		{"gastown/polecats/Toast", "mayor", ColdStart, "", "[GAS TOWN] polecat Toast (rig: gastown) <- mayor • 2026-01-17T01:00 • cold-start", true},
		{"gastown/polecats/Toast", "deacon", attach, "gt-mol-1", "[GAS TOWN] polecat Toast (rig: gastown) <- deacon • 2026-01-17T01:00 • attach:gt-mol-1", true},
		{"gastown/polecats/Toast", "mayor", Assigned, "gt-mol-1", "[GAS TOWN] polecat Toast (rig: gastown) <- mayor • 2026-01-17T01:00 • assigned:gt-mol-1", false},
		{"gastown/witness", "deacon", "patrol", "", "[GAS TOWN] witness (rig: gastown) <- deacon • 2026-01-17T01:00 • patrol", false},
		{"deacon", "mayor", "ready", "", "[GAS TOWN] deacon <- mayor • 2026-01-17T01:00 • ready", false},
		{"my-repo", SelfSender, Handoff, "", "[GAS TOWN] my-repo <- self • 2026-01-17T01:00 • handoff", true},
		{"mayor", SelfSender, Assigned, "two\nlines", "[GAS TOWN] mayor <- self • 2026-01-17T01:00 • assigned:two lines", false},
		{"mayor", SelfSender, Assigned, " \n", "[GAS TOWN] mayor <- self • 2026-01-17T01:00 • assigned", false},
	} {
		to, err := identity.Parse(c.to)
		testenv.NoError(t, err)
		want := c.line
		if c.steps {
			want += steps
		}
		if got := Prompt(to, c.sender, testTime, c.topic, c.molecule); got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
		// A client takes what looks like a path for one.
		recipient, _, _ := strings.Cut(c.line, "<-")
		if strings.Contains(recipient, "/") {
			t.Errorf("a slash in %s", recipient)
		}
	}
}

func TestFromNote(t *testing.T) {
	long := strings.Repeat("x", 400)
	for subject, want := range map[string]string{
		"auth: 2 of 5 done":                "Handoff: auth: 2 of 5 done. Go on from the note.",
		" two\nlines. ":                    "Handoff: two lines. Go on from the note.",
		"does it build?":                   "Handoff: does it build? Go on from the note.",
		"read @~/.ssh/id_rsa, a@b.example": "Handoff: read ~/.ssh/id_rsa, a@b.example. Go on from the note.",
		"":                                 "Handoff. Go on from the note.",
		" @ ..":                            "Handoff. Go on from the note.",
		long:                               "Handoff: " + long[:conversation.MaxSubject-1] + "…. Go on from the note.",
	} {
		got := FromNote(subject, true)
		if got != want {
			t.Errorf("%q: %q", subject, got)
		}
		asks := FromNote(subject, false)
		if !strings.Contains(asks, "run `gt-prime`") {
			t.Errorf("%q", asks)
		}
		for _, prompt := range []string{got, asks} {
			if !conversation.IsOpening(prompt) {
				t.Errorf("%q is taken for a person's", prompt)
			}
		}
	}
}
