//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
)

func pluggedPi(t *testing.T) *plugged {
	t.Helper()
	w := newPi(t)
	w.model.Answer(lighthouse)
	w.install("pi")
	return &plugged{
		world: w, name: "pi", hook: filepath.Join(w.home, ".pi", "agent", "extensions", "gt.ts"), projectHook: ".pi/extensions/gt.ts",
		ask: func(prompt string, flags ...string) { w.pi(append(flags, prompt)...) },
		openPane: func(session string, flags ...string) *pane {
			p := w.open(session, append([]string{"pi"}, flags...)...)
			p.awaitScreen("e2e-model")
			return p
		},
		typ: (*pane).pi, compacted: "Compacted from",
		resume: func(id string) []string { return []string{"--session", id} },
		fork:   func(id string) []string { return []string{"--fork", id} },
	}
}

func TestPiHooks(t *testing.T) { tellPluggedStories(t, pluggedPi) }
