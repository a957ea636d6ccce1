package handoffcmd

import (
	"slices"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/state/session"
)

// A cycle whose record cannot be read again still resumes the conversation.
func TestCycleWithoutRecord(t *testing.T) {
	env := &cli.Env{Now: time.Now}
	own := target{env: env, call: &hook.Invocation{ID: "s1"}, id: "s1", name: "claude"}.complete()
	h, err := own.follow(order{kind: session.KindCycle})
	testenv.NoError(t, err)
	r := h.run("")
	if i := slices.Index(r.Args, "--resume"); i < 0 || i+1 == len(r.Args) || r.Args[i+1] != "s1" {
		t.Errorf("the successor is started as %q", r.Args)
	}
}
