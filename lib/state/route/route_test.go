package route

import (
	"os"
	"reflect"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/instance"
)

func TestMarkers(t *testing.T) {
	m := NewMarkers(instance.Personal(place.State(t.TempDir()+"/gt"), "work"))
	if all, err := m.ReadMarkers(); len(all) > 0 || err != nil {
		t.Fatal(all, err)
	}
	for range 2 { // that it is there is no error
		for _, name := range []string{"worker-b", "worker-a"} {
			testenv.NoError(t, m.Set("pool:worker", name))
		}
	}
	testenv.NoError(t, m.Set("other", "one"))
	all, err := m.ReadMarkers()
	if want := map[string][]string{"pool:worker": {"worker-a", "worker-b"}, "other": {"one"}}; err != nil || !reflect.DeepEqual(all, want) {
		t.Error(all, err)
	}
	for range 2 {
		testenv.NoError(t, m.Remove("pool:worker", "worker-a"))
	}
	if names, err := m.SessionsWith("pool:worker"); err != nil || !reflect.DeepEqual(names, []string{"worker-b"}) {
		t.Error(names, err)
	}
}

// A label or a name leads to no other folder.
func TestMarkersStay(t *testing.T) {
	m := NewMarkers(instance.Personal(place.State(t.TempDir()+"/gt"), ""))
	for _, c := range [][2]string{{"..", "a"}, {"a/b", "a"}, {"", "a"}, {".hidden", "a"}, {"a", ".."}, {"a", "b/c"}, {"a", ""}, {"a\x00", "a"}} {
		if m.Set(c[0], c[1]) == nil || m.Remove(c[0], c[1]) == nil {
			t.Errorf("%q", c)
		}
	}
	if _, err := os.Lstat(m.Dir()); err == nil {
		t.Error("a folder was made")
	}
}
