package conversation

import "testing"

// What gt and Gas Town type is told from what a person says, also about it.
func TestIsOpening(t *testing.T) {
	for prompt, want := range map[string]bool{
		"[GAS TOWN] crew max (rig: gastown) <- self • 2026-01-17T01:00 • handoff\n\nCheck your hook": true,
		" [GAS TOWN] proj <- mayor • 2026-01-17T01:00 • assigned:mol-7":                              true,
		Continuation:                        true,
		Continuation + "\n":                 true,
		Continuation + " And be quick.":     false,
		"[GAS TOWN] is what it prints, why": false,
		"Why does it say\n[GAS TOWN] crew max <- self • 2026-01-17T01:00 • handoff": false,
		"": false,
	} {
		if got := IsOpening(prompt); got != want {
			t.Errorf("%q: %v", prompt, got)
		}
		if got := Asked(prompt); (got == "") != (want || prompt == "") {
			t.Errorf("%q is listed as %q", prompt, got)
		}
	}
}
