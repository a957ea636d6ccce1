package conversation

import (
	"strings"
	"testing"
)

// Prompts of gt and Gas Town are told from a person's, even from a person's text about
// them.
func TestIsOpening(t *testing.T) {
	for prompt, want := range map[string]bool{
		"[GAS TOWN] crew max (rig: gastown) <- self • 2026-01-17T01:00 • handoff\n\nCheck your hook": true,
		" [GAS TOWN] proj <- mayor • 2026-01-17T01:00 • assigned:mol-7":                              true,
		Continuation:                        true,
		Continuation + "\n":                 true,
		Resumption:                          true,
		Continuation + " And be quick.":     false,
		"[GAS TOWN] is what it prints, why": false,
		"Why does it say\n[GAS TOWN] crew max <- self • 2026-01-17T01:00 • handoff":       false,
		"Handoff: auth: 2 of 5 done. Go on from the note.":                                true,
		"Handoff: does it build? Go on from the note.\n":                                  true,
		"Handoff. Go on from the note.":                                                   true,
		"Handoff: auth. If no note was told to you, run `gt-prime`. Go on from the note.": true,
		"Handoff: auth. Go on from the note. And be quick.":                               false,
		"Handoff: auth. Go on from the note.\nUse the new API.":                           false,
		"Handoff: auth. Go on from the note":                                              false,
		"Handoff: auth, go on from the note.":                                             false,
		"Handoff is what I want. Go on from the note.":                                    false,
		"Please: Handoff: auth. Go on from the note.":                                     false,
		"Handoff: " + strings.Repeat("long ", 300) + ". Go on from the note.":             false,
		"Handoff":              false,
		"Go on from the note.": false,
		"":                     false,
	} {
		if got := IsOpening(prompt); got != want {
			t.Errorf("%q: %v", prompt, got)
		}
		if got := PromptExcerpt(prompt); (got == "") != (want || prompt == "") {
			t.Errorf("%q is listed as %q", prompt, got)
		}
	}
}

// What a person typed is told from what they only chose, and from gt's own words.
func TestWords(t *testing.T) {
	for prompt, want := range map[string]string{
		" fix the test \n":                 "fix the test",
		"/clear":                           "",
		"/model opus":                      "",
		"/review 12":                       "/review 12",
		"/fix-tests":                       "/fix-tests",
		"/etc/hosts is wrong":              "/etc/hosts is wrong",
		"/handoff":                         "",
		"/handoff watch the flaky test":    "watch the flaky test",
		"$handoff to codex":                "to codex",
		Continuation:                       "",
		"Handoff: x. Go on from the note.": "",
		HandoffCommand + "\n\nRun one …\n\n" + HandoffArguments + "\n":              "",
		HandoffCommand + "\n\nRun one …\n\n" + HandoffArguments + "mind the lock\n": "mind the lock",
		HandoffCommand + "\n\nRun one …\n\n" + HandoffArguments + HandoffElsewhere:  "",
		HandoffCommand + " <- who wrote this?":                                      HandoffCommand + " <- who wrote this?",
		"/gt:handoff mind the lock":                                                 "mind the lock",
		"/login returns 500 since Tuesday":                                          "/login returns 500 since Tuesday",
		"/help\nis what the bot prints":                                             "/help\nis what the bot prints",
		"Why does it say \"" + HandoffCommand + "\"?":                               "Why does it say \"" + HandoffCommand + "\"?",
	} {
		if got := TypedWords(prompt); got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}
