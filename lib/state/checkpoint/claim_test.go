package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
)

// role is a crew's home in a trusted town whose mirror takes the checkpoint.
func role(t *testing.T) home.Home {
	root := t.TempDir()
	dir := filepath.Join(root, "rig", "crew", "max")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	state := place.State(filepath.Join(place.Real(t.TempDir()), "gt"))
	trust, err := place.Survey(root)
	if err != nil {
		t.Fatal(err)
	}
	id, ok := identity.FromDir("rig/crew/max")
	if !ok {
		t.Fatal("no role")
	}
	h := home.At(town.Town{Root: root, State: state, Trust: trust}, id, dir)
	if err := h.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Path("mirror"), []byte(place.Checkpoint+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// Another program's checkpoint is not overwritten until a start has reported it.
func TestClaimWaits(t *testing.T) {
	h, now := role(t), time.Now()
	path := filepath.Join(h.Dir, place.Checkpoint)
	claim := `{"timestamp":"` + now.UTC().Format(time.RFC3339) + `","session_id":"gt-toast","notes":"theirs"}`
	if err := os.WriteFile(path, []byte(claim), 0o600); err != nil {
		t.Fatal(err)
	}
	save := func() string {
		t.Helper()
		c, err := Open(h, "s1", now)
		if err != nil {
			t.Fatal(err)
		}
		c.Timestamp, c.Notes = now, "ours"
		if err := c.Write(h); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
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
			if err := Take(h, c, "s2"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // its own is no claim that waits
		if got := save(); !strings.Contains(got, "ours") {
			t.Errorf("what was told of stays: %s", got)
		}
	}
}
