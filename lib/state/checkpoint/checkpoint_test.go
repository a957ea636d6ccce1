package checkpoint

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
	"gt/lib/text/term"
)

// However many files differ and whatever they are called, what is written can
// be read again, and none is uncounted.
func TestSetFiles(t *testing.T) {
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	testenv.NoError(t, h.Prepare())
	now := time.Now()
	for _, name := range []string{"f", strings.Repeat("x", 4000), strings.Repeat("\x01", 4000)} {
		for _, n := range []int{0, 1, 3000} {
			c, err := Open(h, "s1", now)
			testenv.NoError(t, err)
			c.Timestamp = now
			c.SetFiles(make([]git.Change, 7)) // what was before
			changes := make([]git.Change, n)
			for i := range changes {
				changes[i].Path = name
			}
			c.SetFiles(changes)
			testenv.NoError(t, c.Write(h))
			all, err := List(h)
			if err != nil || len(all) != 1 || all[0].files() != n {
				t.Errorf("%d files of %d bytes: %v, %v", n, len(name), all, err)
			}
			if info, err := os.Stat(h.Path(File)); err != nil || info.Size() > 2*maxFiles {
				t.Errorf("%v, %v", info.Size(), err)
			}
		}
	}
}

// A folder in the place of the home's checkpoint keeps nobody from saving.
func TestOpenPastAFolder(t *testing.T) {
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	testenv.NoError(t, h.Prepare())
	testenv.NoError(t, os.MkdirAll(h.Path(File, "x"), 0o700))
	testenv.NoError(t, (session.Store{Home: h}).Put(&session.Record{ID: "s1", StartedAt: time.Now()}, atomicfile.Unsynced))
	for _, notes := range []string{"one", "two"} {
		c, err := Open(h, "s1", time.Now())
		if err == nil {
			t.Error("the folder is not mentioned")
		}
		c.Timestamp, c.Notes = time.Now(), notes
		testenv.NoError(t, c.Write(h))
		if all, _ := List(h); len(all) != 1 || all[0].Notes != notes {
			t.Errorf("%v", all)
		}
	}
}

// Stale is from a day on, to the nanosecond, both ways.
func TestStale(t *testing.T) {
	now := time.Now()
	for age, want := range map[time.Duration]bool{
		0: false, StaleAfter - 1: false, StaleAfter: true, StaleAfter + 1: true,
		1 - StaleAfter: false, -StaleAfter: true,
	} {
		if got := (&Checkpoint{Timestamp: now.Add(-age)}).Stale(now); got != want {
			t.Errorf("after %v: %v", age, got)
		}
	}
}

func TestFound(t *testing.T) {
	now := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for want, c := range map[string]Checkpoint{
		"Found checkpoint from 5m ago: molecule mol-7, step p2, 3 modified files": {
			Timestamp: now.Add(-5 * time.Minute), MoleculeID: "mol-7", CurrentStep: "p2", ModifiedFiles: []string{"a", "b"}, MoreFiles: 1},
		"Found checkpoint from 3h07m ago: 1 modified file": {
			Timestamp: now.Add(-187 * time.Minute), ModifiedFiles: []string{"a"}},
		"Found checkpoint from 3 days ago: step  p2, 0 modified files": {
			Timestamp: now.Add(-80 * time.Hour), CurrentStep: "\x1b[31m\np2", MoreFiles: -1},
		"Found checkpoint from 0s ago: 0 modified files": {Timestamp: now.Add(time.Hour)},
	} {
		if got := c.Headline(now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// FuzzParse holds that a file is either refused or can be written and read
// again, and that nothing in it reaches a terminal as it is.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"molecule_id":"mol-7","current_step":"p2","step_title":"t","modified_files":["a","\"caf\\351\""],"last_commit":"c0ffee","branch":"main","hooked_bead":"gt-1","timestamp":"2026-01-17T01:00:00.5+01:00","session_id":"s1","notes":"n","new":{"a":[]}}`,
		`{"timestamp":"2026-01-17T01:00:00Z","notes":"\u001b[31m\n\u202e","more_files":-9223372036854775808}`,
		`{"timestamp":"0001-01-01T00:00:00Z"}`, `{"timestamp":"2026-01-17T01:00:00Z","NOTES":"a","notes":"b"}`,
		`[]`, `null`, `{"modified_files":`, ``,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data)
		if err != nil {
			return
		}
		for _, text := range []string{c.Headline(now), c.Text()} {
			if term.CleanText(text) != text {
				t.Errorf("%q says %q", data, text)
			}
		}
		written, err := openjson.File(c)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := parse(written)
		if err != nil {
			t.Fatalf("%q became %q: %v", data, written, err)
		}
		if twice, err := openjson.File(again); err != nil || !bytes.Equal(written, twice) {
			t.Errorf("%q, then %q, %v", written, twice, err)
		}
	})
}
