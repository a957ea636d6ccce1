//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"

	"gt/e2e/model"
)

// Wired twice, by the settings and as a plugin, gt acts once.
//
// S1-39 S1-69
func TestWiredTwice(t *testing.T) {
	w := newWorld(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	plugin, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	first := w.ask("hello", "--plugin-dir", plugin)
	w.oneDocument("startup", w.asked("hello"))
	w.oneEvent("session_start", first.SessionID)
	w.oneEvent("session_end", first.SessionID)
	w.ask("and more", "--resume", first.SessionID, "--plugin-dir", plugin)
	w.ask("/compact", "--resume", first.SessionID, "--plugin-dir", plugin)
	w.oneEvent("handoff", first.SessionID)
	if n := len(w.notes()); n != 1 {
		t.Errorf("one compaction left %d notes", n)
	}
	if w.model.Requests().Kind(model.Compaction).LastRequest() == nil {
		t.Error("there was no compaction")
	}
	w.ask("and now?", "--resume", first.SessionID, "--plugin-dir", plugin)
	after := w.asked("and now?")
	for _, how := range []string{"compact", "resume"} {
		if n := after.Count("SessionStart:" + how + " hook success"); n > 1 {
			t.Errorf("the text of a start by %s stands there %d times:\n%s", how, n, after.Told())
		}
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
}

// As a plugin alone gt works as it does from the settings.
//
// S1-39
func TestPluginAlone(t *testing.T) {
	w := newBareWorld(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	plugin, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	first := w.ask("hello", "--plugin-dir", plugin)
	w.oneDocument("startup", w.asked("hello"))
	w.oneEvent("session_start", first.SessionID)
	w.oneEvent("session_end", first.SessionID)
}
