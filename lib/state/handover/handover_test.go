package handover

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/place/home"
	"gt/lib/sys/atomicfile"
)

func newHome(t *testing.T) home.Home {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "XDG_STATE_HOME": t.TempDir()}
	h := home.Find(func(key string) string { return env[key] }, dir, "")
	testenv.NoError(t, h.Prepare())
	return h
}

// Of two that read a hand-over, one takes it; it waits until then, and is kept afterwards.
func TestTake(t *testing.T) {
	h := newHome(t)
	when := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	want := Handover{Kind: "handoff", Note: "3f9a01c2", At: when, Text: &Text{Subject: "two of five", Body: "<next>\n"}}
	testenv.NoError(t, new(Slot).Put(h, "old", &want, atomicfile.Synced))

	one, slot, err := Read(h, "old")
	testenv.NoError(t, err)
	if one == nil || one.Note != want.Note || *one.Text != *want.Text || !one.At.Equal(when) {
		t.Fatalf("it is %+v", one)
	}
	_, other, err := Read(h, "old")
	testenv.NoError(t, err)
	before, err := os.Stat(h.Path("handover", "waiting", "old"))
	testenv.NoError(t, err)
	testenv.NoError(t, slot.Put(h, "old", one, atomicfile.Unsynced))
	if after, err := os.Stat(h.Path("handover", "waiting", "old")); err != nil || !os.SameFile(before, after) {
		t.Errorf("what did not change was written again: %v", err)
	}
	testenv.NoError(t, slot.Put(h, "old", nil, atomicfile.Unsynced))
	testenv.NoError(t, other.Put(h, "old", nil, atomicfile.Unsynced)) // too late, and no error
	if o, _, err := Read(h, "old"); o != nil || err != nil {
		t.Errorf("it waits still: %+v, %v", o, err)
	}
	data, err := os.ReadFile(h.Path("handover", "taken", "old"))
	if err != nil || len(data) == 0 {
		t.Errorf("it cannot be told again: %v", err)
	}
	testenv.NoError(t, Forget(h, "old"))
	if _, err := os.Lstat(h.Path("handover", "taken", "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What could not be read is set aside by the next hand-over of its session, and not replaced.
func TestUnusableIsKept(t *testing.T) {
	h := newHome(t)
	testenv.NoError(t, atomicfile.EnsurePrivateDir(h.Path("handover", "waiting")))
	path := h.Path("handover", "waiting", "old")
	testenv.NoError(t, os.WriteFile(path, []byte("{torn"), 0o600))
	o, slot, err := Read(h, "old")
	if o != nil || err == nil {
		t.Fatalf("it is %+v, %v", o, err)
	}
	testenv.NoError(t, slot.Put(h, "old", nil, atomicfile.Unsynced))
	testenv.NoError(t, slot.Put(h, "old", &Handover{Kind: "compaction", Note: "2"}, atomicfile.Unsynced))
	testenv.NoError(t, slot.Put(h, "old", &Handover{Kind: "compaction", Note: "3"}, atomicfile.Unsynced))
	if data, err := os.ReadFile(path + ".bad"); err != nil || string(data) != "{torn" {
		t.Errorf("%q, %v", data, err)
	}
	if o, _, err := Read(h, "old"); err != nil || o.Note != "3" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := os.Lstat(path + ".bad.1"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	testenv.NoError(t, Forget(h, "old"))
	if left, err := os.ReadDir(h.Path("handover", "waiting")); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A session that was not used gives a hand-over back, unless another one has it or a newer
// one waits.
func TestGiveBack(t *testing.T) {
	for name, c := range map[string]struct {
		by    string
		newer bool
		want  string
	}{
		"it took it":        {"new", false, "first"},
		"another took it":   {"other", false, ""},
		"a newer one waits": {"new", true, "second"},
	} {
		h := newHome(t)
		slot := new(Slot)
		testenv.NoError(t, slot.Put(h, "old", &Handover{Note: "first", TakenBy: "new"}, atomicfile.Unsynced))
		testenv.NoError(t, slot.Put(h, "old", nil, atomicfile.Unsynced))
		if c.newer {
			testenv.NoError(t, slot.Put(h, "old", &Handover{Note: "second"}, atomicfile.Unsynced))
		}
		testenv.NoError(t, GiveBack(h, "old", c.by))
		o, _, err := Read(h, "old")
		testenv.NoError(t, err)
		if got := o != nil; got != (c.want != "") || got && o.Note != c.want {
			t.Errorf("%s: %+v waits", name, o)
		}
	}
}

// A file that is no hand-over is reported, and neither taken nor removed.
func TestUnreadable(t *testing.T) {
	h := newHome(t)
	testenv.NoError(t, os.MkdirAll(h.Path("handover", "waiting"), 0o700))
	path := h.Path("handover", "waiting", "old")
	testenv.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	o, slot, err := Read(h, "old")
	if o != nil || err == nil {
		t.Errorf("it is %+v, %v", o, err)
	}
	testenv.NoError(t, slot.Put(h, "old", nil, atomicfile.Unsynced))
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
