package handoff

import (
	"slices"
	"testing"
	"time"

	"gt/lib/cli"
	"gt/lib/hook"
	"gt/lib/session"
)

// A cycle whose record could not be read again, when it was to be saved, goes on
// with the conversation all the same.
func TestCycleWithoutRecord(t *testing.T) {
	h := &handover{
		env:  &cli.Env{Now: time.Now},
		call: &hook.Call{ID: "s1", Agent: "claude"},
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
