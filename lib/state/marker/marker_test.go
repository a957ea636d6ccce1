package marker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

func newHome(t *testing.T) home.Home {
	t.Helper()
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	testenv.NoError(t, h.Prepare())
	return h
}

func put(t *testing.T, h home.Home, name, text string) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(h.Path(name), []byte(text), 0o600))
}

func TestWrite(t *testing.T) {
	h := newHome(t)
	name, err := leave(h, "s1", "gt-crew-max", "", "", atomicfile.Synced)
	if err != nil || name != "handoff" {
		t.Fatal(name, err)
	}
	if data, _ := os.ReadFile(h.Path(name)); string(data) != "gt-crew-max\n" {
		t.Errorf("%q", data)
	}
	// Another session does not overwrite it.
	second, err := leave(h, "s2", "s2", "because\nof  this", "", atomicfile.Synced)
	if err != nil || second != "handoff.s2" {
		t.Fatal(second, err)
	}
	if data, _ := os.ReadFile(h.Path(second)); string(data) != "s2\nbecause of this\n" {
		t.Errorf("%q", data)
	}
	// The same one replaces its own.
	for id, previous := range map[string]string{"s1": "handoff", "s2": "handoff.s2"} {
		if again, err := leave(h, "any", id, Compaction, previous, atomicfile.Synced); err != nil || again != previous {
			t.Error(again, err)
		}
	}
	all, err := List(h)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, m := range all {
		if m.Reason != Compaction {
			t.Errorf("%+v", m)
		}
		if info, err := os.Stat(h.Path(m.Name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info, err)
		}
	}
}

// A folder, link or FIFO of the marker's name does not prevent a marker, and a hostile name
// in a record leads nowhere.
func TestWriteInAHostileHome(t *testing.T) {
	for _, taken := range []string{"folder", "link", "fifo"} {
		h := newHome(t)
		canary := filepath.Join(h.Dir, "canary")
		for _, err := range map[string]error{
			"folder": os.Mkdir(canary+"-folder", 0o700),
			"link":   os.Symlink(canary, canary+"-link"),
			"fifo":   syscall.Mkfifo(canary+"-fifo", 0o600),
		} {
			testenv.NoError(t, err)
		}
		testenv.NoError(t, os.Rename(canary+"-"+taken, h.Path("handoff")))
		for _, previous := range []string{"", "handoff", "../canary", "handoff./../../canary", "handoff_to_successor", "session_id"} {
			name, err := leave(h, "s1", "s1", "", previous, atomicfile.Unsynced)
			if err != nil || name != "handoff.s1" {
				t.Errorf("a %s, %q: '%s', %v", taken, previous, name, err)
			}
		}
		if all, err := List(h); len(all) != 1 || !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("a %s: %v, %v", taken, all, err)
		}
		if _, err := os.Lstat(canary); err == nil {
			t.Errorf("a %s: the canary was made", taken)
		}
	}
}

func TestList(t *testing.T) {
	for name, c := range map[string]struct {
		text, from, reason string
	}{
		"one line":        {"hq-mayor\n", "hq-mayor", ""},
		"no line end":     {"hq-mayor", "hq-mayor", ""},
		"two lines":       {"hq-mayor\nidle\n", "hq-mayor", "idle"},
		"more lines":      {"hq-mayor\nidle\nmore\n", "hq-mayor", "idle"},
		"CR LF":           {"hq-mayor\r\ncompaction\r\n", "hq-mayor", "compaction"},
		"empty":           {"", "", ""},
		"an empty reason": {"hq-mayor\n\n", "hq-mayor", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"handoff", "handoff_to_successor", "handoff.some-id"} {
				h := newHome(t)
				put(t, h, file, c.text)
				all, err := List(h)
				if err != nil || len(all) != 1 || all[0] != (Marker{Name: file, From: c.from, Reason: c.reason}) {
					t.Errorf("%s: %+v, %v", file, all, err)
				}
			}
		})
	}
}

func TestListPassesOverWhatIsNoMarker(t *testing.T) {
	h := newHome(t)
	if all, err := List(home.HomeOutsideTown(place.State(t.TempDir()), filepath.Join(h.Dir, "none"))); err != nil || all != nil {
		t.Error(all, err)
	}
	for _, name := range []string{"handoffs", "handoff-x", ".handoff.gt-tmp-00", "session_id", "last_handoff_ts"} {
		put(t, h, name, "x\n")
	}
	put(t, h, "handoff.good", "good\n")
	put(t, h, "handoff.long", strings.Repeat("x", maxBytes+1))
	testenv.NoError(t, os.Symlink("/etc/passwd", h.Path("handoff")))
	all, err := List(h)
	if err == nil {
		t.Error("a link and a marker without an end are no markers, and nobody says so")
	}
	if len(all) != 1 || all[0].From != "good" {
		t.Errorf("%+v", all)
	}
}

func TestRemove(t *testing.T) {
	h := newHome(t)
	put(t, h, "handoff", "x\n")
	for range 2 {
		if err := (Marker{Name: "handoff"}).Remove(h); err != nil {
			t.Error(err)
		}
	}
	if all, err := List(h); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
}

// What is written is read back, in two lines at most.
func FuzzMarker(f *testing.F) {
	f.Add("hq-mayor", "compaction")
	f.Add("a\nb", "\r\n\x00\u2028")
	f.Fuzz(func(t *testing.T, from, reason string) {
		if len(from)+len(reason) > maxBytes-2 {
			return
		}
		h := newHome(t)
		if _, err := leave(h, "s", from, reason, "", atomicfile.Unsynced); err != nil {
			t.Fatal(err)
		}
		all, err := List(h)
		if err != nil || len(all) != 1 || all[0].From != term.OneLine(from) || all[0].Reason != term.OneLine(reason) {
			t.Fatalf("%q %q: %+v %v", from, reason, all, err)
		}
		data, _ := os.ReadFile(h.Path("handoff"))
		if strings.Count(string(data), "\n") > 2 {
			t.Fatalf("%q", data)
		}
	})
}

// leave leaves a session's marker and returns its name.
func leave(h home.Home, id session.ID, from, reason, previous string, d atomicfile.Durability) (string, error) {
	name := NameFor(h, id, previous)
	return name, Write(h, name, from, reason, d)
}
