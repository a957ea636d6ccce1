package marker

import (
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
)

// What another program of a trusted town left is found before gt keeps anything
// there, and is not written over before it was delivered.
func TestClaimWaits(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "rig", "crew", "max")
	path := filepath.Join(dir, place.Runtime, plain)
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte("gt-witness\n"), 0o600))
	trust, err := place.Survey(root)
	testenv.NoError(t, err)
	id, _ := identity.FromDir("rig/crew/max")
	state := place.State(filepath.Join(place.Real(t.TempDir()), "gt"))
	h := home.NewHome(town.Town{Root: root, State: state, Trust: trust}, id, dir)
	theirs := Marker{Name: plain, From: "gt-witness", Claimed: true}
	if all, err := List(h); err != nil || len(all) != 1 || all[0] != theirs {
		t.Error(all, err)
	}

	testenv.NoError(t, h.Prepare())
	testenv.NoError(t, os.WriteFile(h.Path("mirror"), []byte(plain+"\n"), 0o600))
	name, err := leave(h, "s1", "gt-crew-max", "", "", atomicfile.Synced)
	if err != nil || name != plain+".s1" {
		t.Error(name, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "gt-witness\n" {
		t.Errorf("it was written over: %q", data)
	}
	testenv.NoError(t, theirs.Remove(h))
	if name, err := leave(h, "s2", "gt-crew-max", "", "", atomicfile.Synced); err != nil || name != plain {
		t.Error(name, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "gt-crew-max\n" {
		t.Errorf("others see %q", data)
	}
}
