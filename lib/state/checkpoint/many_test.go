package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// opened counts the bytes that this process has asked files for, by the calls.
func opened(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(line, "syscr: "); ok {
			calls, err := strconv.Atoi(strings.TrimSpace(n))
			testenv.NoError(t, err)
			return calls
		}
	}
	t.Skip("the kernel does not count what is read")
	return 0
}

// However many files lie beside the home's checkpoint, only those that a record
// vouches for are read.
func TestMany(t *testing.T) {
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	testenv.NoError(t, h.Prepare())
	now := time.Now()
	store := session.Store{Home: h}
	for _, id := range []session.ID{"s1", "s2"} {
		testenv.NoError(t, store.Put(&session.Record{ID: id, StartedAt: now}, atomicfile.Unsynced))
		c, err := Open(h, id, now)
		testenv.NoError(t, err)
		c.Timestamp, c.Notes = now, "of "+string(id)
		testenv.NoError(t, c.Write(h))
	}
	before := opened(t)
	if all, err := List(h); err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	few := opened(t) - before
	for i := range 2_000 {
		if f, err := os.Create(h.Path(fmt.Sprintf("checkpoint-s%d.json", i+1000))); err == nil {
			f.Close()
		} else {
			t.Fatal(err)
		}
	}
	before = opened(t)
	all, err := List(h)
	if many := opened(t) - before; err != nil || len(all) != 2 || many > few+100 { // the runtime reads, too
		t.Errorf("%d checkpoints with %d reads, and %d before, %v", len(all), many, few, err)
	}
	before = opened(t)
	if _, err := Open(h, "s1", now); err != nil {
		t.Error(err)
	}
	if many := opened(t) - before; many > 4*few {
		t.Errorf("%d reads before a checkpoint is written, and %d before", many, few)
	}
}

// What nobody vouches for any more goes when it is old.
func TestForgotten(t *testing.T) {
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	testenv.NoError(t, h.Prepare())
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": forget + time.Hour, "new": time.Hour} {
		path := separatePath(h, session.ID(name))
		testenv.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
		testenv.NoError(t, os.Chtimes(path, now, now.Add(-age)))
	}
	if _, err := Open(h, "s1", now); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(h.Path("checkpoint-*"))
	if len(left) != 1 || left[0] != separatePath(h, "new") {
		t.Errorf("left are %v", left)
	}
}
