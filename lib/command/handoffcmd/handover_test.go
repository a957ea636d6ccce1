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
	own := target{env: env, call: &hook.Invocation{ID: "s1"}, id: "s1", name: "claude"}.withDerived()
	h, err := own.withSuccessor(order{kind: session.KindCycle})
	testenv.NoError(t, err)
	r := h.successorRun("")
	if i := slices.Index(r.Args, "--resume"); i < 0 || i+1 == len(r.Args) || r.Args[i+1] != "s1" {
		t.Errorf("the successor is started as %q", r.Args)
	}
}

// A client may take a typed prompt unseen if none of its hooks has told anything here.
func TestTypedPromptUntold(t *testing.T) {
	for name, c := range map[string]struct {
		record *session.Record
		untold bool
	}{
		"no session":            {nil, true},
		"a session of no hook":  {&session.Record{ID: "s1", Agent: "kimi"}, true},
		"a session of a hook":   {&session.Record{ID: "s1", Agent: "kimi", Hook: &session.HookDedup{}}, false},
		"one of another client": {&session.Record{ID: "s1", Agent: "claude", Hook: &session.HookDedup{}}, true},
	} {
		env := &cli.Env{Now: time.Now}
		own := target{env: env, call: &hook.Invocation{ID: "s1"}, id: "s1", name: "kimi", record: c.record}.withDerived()
		h, err := own.withSuccessor(order{kind: session.KindCycle})
		testenv.NoError(t, err)
		if first := h.successorRun("").FirstPrompt; first == nil || first.Unreported != c.untold || first.Resumed != "s1" {
			t.Errorf("%s: %+v", name, first)
		}
	}
}
