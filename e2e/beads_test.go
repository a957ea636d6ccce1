//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/client"
	"gt/internal/testenv"
)

// bead is what bd tells of an issue.
type bead struct{ ID, Status, Assignee, Notes string }

// With the real bd: what an agent claims in it keeps its session draining; what it has is
// blocked when somebody suspends it, and given back where the pool says so; and nothing is
// changed while the database cannot be opened. [S4-49, S4-52, S4-90, S4-112]
func TestBeads(t *testing.T) {
	t.Parallel()
	bd, err := client.Beads()
	if err != nil {
		if os.Getenv("GT_E2E") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	w := testenv.NewWorld(t, "")
	for _, dir := range []string{"town/mayor", "bin"} {
		if err := os.MkdirAll(w.Path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(bd, w.Path("bin/bd")); err != nil {
		t.Fatal(err)
	}
	// The agent is the issue's: it claims nothing by itself.
	agent := "#!/bin/sh\nenv >$HOME/env.$GT_SESSION_NAME\nexec sleep 100000\n"
	if err := testenv.WriteProgram(w.Path("bin/worker"), []byte(agent)); err != nil {
		t.Fatal(err)
	}
	w.Env = append(w.Env, "PATH="+strings.Join([]string{w.Path("bin"), bin, os.Getenv("PATH")}, ":"), "TMUX_TMPDIR="+w.Tmux())
	run := func(ok bool, more []string, args ...string) string {
		t.Helper()
		r := w.WithEnv(more...).Run("town", nil, append([]string{"env"}, args...)...) // which finds it on this PATH
		if (r.Code == 0) != ok {
			t.Fatal(r)
		}
		return r.Out + r.Errs
	}
	of := func(id string) bead {
		t.Helper()
		out := run(true, nil, "bd", "show", id, "--json")
		var all []bead
		if err := json.Unmarshal([]byte(out[strings.IndexByte(out, '['):]), &all); err != nil || len(all) != 1 {
			t.Fatalf("%v\n%s", err, out)
		}
		return all[0]
	}
	write := func(orphans string) {
		text := fmt.Sprintf("[[agent]]\nname = \"w\"\nprovider = \"worker\"\n[agent.pool]\nmax = 1\ncheck = \"echo 1\"\ndrain_timeout = \"1h\"\norphaned_work = %q\n", orphans)
		w.Write("town/town.toml", text)
		run(true, nil, "gt-hooks", "trust", "--yes", ".")
	}
	w.Write("home/.config/gt/agents.toml", "[agents.worker]\ncommand = \"worker\"\n")
	run(true, nil, "git", "init", "-q", ".")
	run(true, nil, "bd", "init", "--prefix", "gt", "--quiet", "--skip-hooks")
	create := func() string {
		t.Helper()
		out := run(true, nil, "bd", "create", "Work", "--json")
		var made bead
		if err := json.Unmarshal([]byte(out[strings.IndexByte(out, '{'):]), &made); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return made.ID
	}
	write("block")
	run(true, nil, "gt-reconcile", "tick")
	run(true, nil, "gt-reconcile", "tick")
	name := func(state string) string {
		t.Helper()
		var m member
		out := run(true, nil, "gt-session", "list", "--json", "--all", "--state", state)
		if err := json.Unmarshal([]byte(out), &m); err != nil {
			t.Fatalf("%s: %v\n%s", state, err, out)
		}
		return m.Name
	}
	worker := name("active")
	var own []string // what its agent was started with
	data, err := os.ReadFile(w.Path("home/env." + worker))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "BEADS_ACTOR=") || strings.HasPrefix(line, "BD_ACTOR=") {
			own = append(own, strings.TrimSpace(line))
		}
	}
	claim := func(id string) {
		t.Helper()
		run(true, own, "bd", "update", id, "--claim")
		if is := of(id); is.Assignee != worker || is.Status != "in_progress" {
			t.Fatalf("%+v", is)
		}
	}

	first, second := create(), create()
	claim(first)
	run(true, nil, "gt-session", "suspend", worker)
	if is := of(first); is.Status != "blocked" || is.Assignee != worker || !strings.Contains(is.Notes, "session_suspended: "+worker+" had it") {
		t.Errorf("%+v", is)
	}
	run(true, nil, "gt-session", "resume", worker)

	// A database that cannot be opened
	dolt, aside := w.Path("town/.beads"), w.Path("town/.beads.aside")
	if err := os.Rename(filepath.Join(dolt, "embeddeddolt"), aside); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dolt, "embeddeddolt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(false, nil, "gt-reconcile", "tick"); !strings.Contains(out, "nothing was changed: cannot ask bd") {
		t.Error(out)
	}
	run(false, nil, "gt-session", "suspend", worker)
	if err := os.Remove(filepath.Join(dolt, "embeddeddolt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, filepath.Join(dolt, "embeddeddolt")); err != nil {
		t.Fatal(err)
	}
	if name("active") != worker {
		t.Error("it was suspended")
	}

	claim(second)
	run(true, nil, "gt-session", "drain", worker)
	if out := run(true, nil, "gt-reconcile", "tick"); strings.Contains(out, "archive ") {
		t.Error(out)
	}
	run(true, own, "bd", "close", second)
	if out := run(true, nil, "gt-reconcile", "tick"); !strings.Contains(out, "(drain complete)") {
		t.Error(out)
	}

	write("release")
	run(true, nil, "gt-reconcile", "tick")
	run(true, nil, "gt-reconcile", "tick")
	worker = name("active")
	own = []string{"BEADS_ACTOR=" + worker}
	third := create()
	claim(third)
	run(true, nil, "gt-session", "close", worker)
	if is := of(third); is.Status != "open" || is.Assignee != "" {
		t.Errorf("%+v", is)
	}
	if out := run(true, nil, "bd", "ready", "--json"); !strings.Contains(out, third) {
		t.Errorf("nobody can take it: %s", out)
	}
}
