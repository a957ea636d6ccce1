//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// No call of gt's ends the tmux server, or the person's other sessions in it, when agents
// whose pane stays (--respawn, --remain, workers of a town) are stopped, handed over,
// restarted and shut down. The real client leaves /exit on its screen when it ends.
//
// S1-103 S1-105 S2-7
func TestSessionSparesServer(t *testing.T) {
	w := newWorld(t)
	a := w.agents()
	town := w.Path("town")
	crew := filepath.Join(town, "gastown", "crew", "max")
	if err := os.MkdirAll(crew, 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(town, "mayor", "town.json"), `{"type":"town","name":"town"}`)
	w.trust(w.project, town, crew, filepath.Join(town, "mayor"))
	w.gt("gt-hooks", "trust", "--yes", town)

	server := func() string {
		return w.tmux("display-message", "-p", "-t", "=keep:", "#{pid} #{pane_pid} #{session_id}")
	}
	before := server()
	spared := func(what string) {
		t.Helper()
		if now := server(); now != before {
			t.Fatalf("after %s the server and its other session are %q, before %q", what, now, before)
		}
	}
	session := func(dir string, args ...string) {
		t.Helper()
		if out, err := w.run(dir, a.around, "gt-session", args...); err != nil {
			t.Fatalf("gt-session %q: %v\n%s", args, err, out)
		}
	}
	session(w.project, "new", "-n", "one", "--respawn", "--no-start")
	session(w.project, "new", "-n", "two", "--remain", "--no-start")
	session(town, "new", crew, "-n", "max", "--no-start")
	session(town, "new", filepath.Join(town, "mayor"), "-n", "mayor", "--no-start")
	for range rounds(1) {
		session(w.project, "start", "one", "two")
		session(town, "start", "max", "mayor")
		session(w.project, "wait", "one", "two")
		session(town, "wait", "max", "mayor")
		session(w.project, "stop", "one")
		spared("stop of --respawn")
		session(w.project, "restart", "two")
		spared("restart of --remain")
		w.waitFor("gt knows the session of two, from its first hook on", func() bool {
			r, known := w.records()[a.findListed("two").SessionID]
			return known && r.EndedAt == ""
		})
		if out, err := w.run(w.project, a.around, "gt-handoff", "two", "--now", "-m", "go on"); err != nil {
			t.Fatalf("gt-handoff two: %v\n%s", err, out)
		}
		spared("a hand-over of --remain")
		session(town, "restart", "max")
		spared("restart of a worker")
		session(town, "stop", "max")
		spared("stop of a worker")
		session(w.project, "start", "one")
		session(w.project, "wait", "one", "two")
		session(w.project, "shutdown")
		spared("shutdown")
		session(town, "shutdown", "--town")
		spared("shutdown of a town")
	}
}
