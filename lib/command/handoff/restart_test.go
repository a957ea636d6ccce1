package handoff

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// A cycle whose record could not be read again, when it was to be saved, goes on
// with the conversation all the same.
func TestCycleWithoutRecord(t *testing.T) {
	h := &handover{
		env:  &cli.Env{Now: time.Now},
		call: &hook.Invocation{ID: "s1", Agent: "claude"},
		kind: session.KindCycle,
		g:    &grammar{Cycle: true},
	}
	if err := h.findHeir(); err != nil {
		t.Fatal(err)
	}
	r, err := h.successor()
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(r.Args, "--resume"); i < 0 || i+1 == len(r.Args) || r.Args[i+1] != "s1" {
		t.Errorf("the successor is started as %q", r.Args)
	}
}

// What a client says of its own arguments, because it has overwritten them, is
// its own: it counts for no other process, such as a client that it has started.
func TestArgsThatTheClientTells(t *testing.T) {
	self, err := process.Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	told := []string{"node", "/bin/pi", "--model", "a/b"}
	for pid, want := range map[int][]string{self.PID: told, self.PID + 1: os.Args} {
		value, err := json.Marshal(map[string]any{"pid": pid, "args": told})
		if err != nil {
			t.Fatal(err)
		}
		h := &handover{env: &cli.Env{Environ: []string{"GT_AGENT_ARGS=" + string(value)}}, agent: self, agents: agent.Builtin(), runs: "pi", call: &hook.Invocation{}}
		if got, err := h.args(); err != nil || !slices.Equal(got, want) {
			t.Errorf("told by %d, the arguments are %q (%v)", pid, got, err)
		}
		h.runs = "claude" // which overwrites nothing
		if got, err := h.args(); err != nil || !slices.Equal(got, os.Args) {
			t.Errorf("another client's arguments are %q (%v)", got, err)
		}
	}
}
