package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
)

// role is a crew's home in a trusted town whose mirror takes the checkpoint.
func role(t *testing.T) home.Home {
	root := t.TempDir()
	dir := filepath.Join(root, "rig", "crew", "max")
	testenv.NoError(t, os.MkdirAll(dir, 0o700))
	state := place.State(filepath.Join(place.Real(t.TempDir()), "gt"))
	trust, err := place.Survey(root)
	testenv.NoError(t, err)
	id, ok := identity.FromDir("rig/crew/max")
	if !ok {
		t.Fatal("no role")
	}
	h := home.NewHome(town.Town{Root: root, State: state, Trust: trust}, id, dir)
	testenv.NoError(t, h.Prepare())
	testenv.NoError(t, os.WriteFile(h.Path("mirror"), []byte(place.Checkpoint+"\n"), 0o600))
	return h
}

// Another program's checkpoint is not overwritten until a start has reported it.
func TestClaimWaits(t *testing.T) {
	h, now := role(t), time.Now()
	path := filepath.Join(h.Dir, place.Checkpoint)
	claim := `{"timestamp":"` + now.UTC().Format(time.RFC3339) + `","session_id":"gt-toast","notes":"theirs"}`
	testenv.NoError(t, os.WriteFile(path, []byte(claim), 0o600))
	save := func() string {
		t.Helper()
		c, err := Open(h, "s1", now)
		testenv.NoError(t, err)
		c.Timestamp, c.Notes = now, "ours"
		testenv.NoError(t, c.Write(h))
		data, err := os.ReadFile(path)
		testenv.NoError(t, err)
		return string(data)
	}
	if got := save(); got != claim {
		t.Errorf("it was written over: %s", got)
	}
	all, err := List(h)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, c := range all {
		if c.Claimed {
			testenv.NoError(t, Take(h, c, "s2"))
		}
	}
	for range 2 { // its own is no claim that waits
		if got := save(); !strings.Contains(got, "ours") {
			t.Errorf("what was told of stays: %s", got)
		}
	}
}
