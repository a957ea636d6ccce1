package session

import (
	"testing"
	"time"

	"gt/lib/sys/process"
)

// A session that a server runs goes on without its client: it crashed only when
// both are gone. One whose client is not known is alive while its server is.
func TestServed(t *testing.T) {
	now := time.Now()
	alive, _ := agent(t)
	dead := alive
	dead.Start += "0"
	for name, c := range map[string]struct {
		process, server process.Proc
		live, gone      bool
	}{
		"both run":                    {alive, alive, true, false},
		"its client has left":         {dead, alive, false, false},
		"its server has left":         {alive, dead, true, false},
		"both have left":              {dead, dead, false, true},
		"its client is not known":     {process.Proc{}, alive, true, false},
		"nor is its server there":     {process.Proc{}, dead, false, true},
		"its client runs it itself":   {alive, process.Proc{}, true, false},
		"which is gone":               {dead, process.Proc{}, false, true},
		"nothing was known, long ago": {process.Proc{}, process.Proc{}, false, true},
	} {
		r := &Record{ID: "s", StartedAt: now.Add(-48 * time.Hour)}
		r.SetProcess(c.process)
		r.SetServer(c.server)
		if r.Live() != c.live || r.Crashed(now) != c.gone {
			t.Errorf("%s: live %v, gone %v", name, r.Live(), r.Crashed(now))
		}
	}
}

// A conversation that is resumed again within seconds, as scripts do, is in
// another process, though its client says the very same.
func TestResumedTwiceAtOnce(t *testing.T) {
	store := newStore(t)
	now := time.Now()
	first, _ := agent(t)
	second, _ := agent(t)
	for i, p := range []process.Proc{first, first, second} {
		st := start(t, store, now, StartParams{ID: "s", Source: "resume", Agent: "codex", Process: p, HookKey: "the same"})
		if st.Duplicate != (i == 1) {
			t.Errorf("start %d: again is %v", i, st.Duplicate)
		}
	}
}
