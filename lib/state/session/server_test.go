package session

import (
	"testing"
	"time"

	"gt/lib/sys/atomicfile"
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

// What ran on this disk under another name ran here before a restart, unless it gave a sign of
// life since: then it runs on a machine that was made from the same image.
func TestBeforeRestart(t *testing.T) {
	store := newStore(t)
	disk := store.Home.Town.State.Disk()
	booted, err := process.Booted()
	if disk == "" || err != nil {
		t.Skip("nothing tells the disk or the boot: ", err)
	}
	for name, c := range map[string]struct {
		boot, disk string
		sign       time.Time
		here       bool
	}{
		"before this boot":                {"another", disk, booted.Add(-time.Second), true},
		"since this boot":                 {"another", disk, booted.Add(time.Second), false},
		"on another disk":                 {"another", "1-1", booted.Add(-time.Second), false},
		"on an unknown disk":              {"another", "", booted.Add(-time.Second), false},
		"in a boot that nothing tells of": {"", disk, booted.Add(-time.Second), false},
	} {
		r := &Record{ID: "s", StartedAt: c.sign, BootID: c.boot, Disk: c.disk, Host: "as-it-was"}
		if err := store.Put(r, atomicfile.Unsynced); err != nil {
			t.Fatal(err)
		}
		if r, err := store.Get("s"); err != nil || r.IsElsewhere() == c.here {
			t.Errorf("%s: elsewhere %v, %v", name, err == nil && r.IsElsewhere(), err)
		}
	}
}
