package instance

import (
	"os"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/lifecycle"
)

// An archived file is read once, and again when it is another: what is changed in it
// without a trace is not seen. [S4-137]
func TestShelf(t *testing.T) {
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	s.Warn = func(err error) { t.Error(err) }
	var ids []ID
	for _, name := range []string{"worker-a", "worker-b"} {
		in := managed(t, s, name)
		for _, state := range []lifecycle.State{lifecycle.Active, lifecycle.Archived} {
			change(t, s, in.ID, func(h *Locked) { h.Managed.State = state })
		}
		ids = append(ids, in.ID)
	}
	shelf := new(Shelf)
	names := func() (all string) {
		t.Helper()
		found, err := shelf.Read(s)
		testenv.NoError(t, err)
		for _, in := range found {
			all += in.Name + " "
		}
		return all
	}
	if got := names(); got != "worker-a worker-b " {
		t.Fatal(got)
	}
	path := s.path("archived/" + string(ids[0]) + ".json")
	info, err := os.Stat(path)
	testenv.NoError(t, err)
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), "worker-a", "worker-c", 1)), 0o600))
	testenv.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime()))
	if got := names(); got != "worker-a worker-b " {
		t.Errorf("it was read again: %s", got)
	}
	testenv.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)))
	if got := names(); got != "worker-c worker-b " {
		t.Errorf("it was not read again: %s", got)
	}
	change(t, s, ids[0], func(h *Locked) { h.Managed.State = lifecycle.Active })
	if got := names(); got != "worker-b " {
		t.Errorf("one is taken back, and on the shelf there are %s", got)
	}
	change(t, s, ids[1], func(h *Locked) { h.Managed.State = lifecycle.Closed })
	if got := names(); got != "" {
		t.Errorf("one is closed, and on the shelf there are %s", got)
	}
	testenv.NoError(t, os.MkdirAll(s.path("archived"), 0o700))
	// One that is damaged is told of each time.
	told := 0
	s.Warn = func(error) { told++ }
	testenv.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	for i := range 2 {
		before := told
		names()
		if told == before {
			t.Errorf("reading %d: nobody is told", i)
		}
	}
}
