package pidfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

const boot = "0f0f0f0f-0000-4000-8000-000000000000"

// What a file says, whoever wrote it.
func TestParse(t *testing.T) {
	for text, want := range map[string]process.Proc{
		"123|" + boot + ":4567:402653\n":      {PID: 123, Start: "4567", Boot: boot, NS: "402653"},
		"123|" + boot + ":4567:pid":           {PID: 123},
		"123|" + boot + ":4567:":              {PID: 123},
		"123|" + boot + ":4567\n":             {PID: 123, Start: "4567", Boot: boot},
		"123|" + boot + ":1737075600.123456":  {PID: 123, Start: "1737075600.123456", Boot: boot}, // macOS
		"123|" + strings.ToUpper(boot) + ":1": {PID: 123, Start: "1", Boot: strings.ToUpper(boot)},
		"123|Wed Jan 17 01:00:00 2026\n":      {PID: 123}, // Gas Town
		"123\n":                               {PID: 123},
		"123|":                                {PID: 123},
		"123|" + boot + ":":                   {PID: 123},
		"123|" + boot:                         {PID: 123},
		"123|:4567":                           {PID: 123},
		"":                                    {},
		"0|" + boot + ":1":                    {},
		"1|" + boot + ":1":                    {},
		"-123|" + boot + ":1":                 {},
		"+123|" + boot + ":1":                 {},
		"1 23|" + boot + ":1":                 {},
		"0x7b|" + boot + ":1":                 {},
		"2147483648|" + boot + ":1":           {},
		"{\"pid\":123}":                       {},
		"123|\xff":                            {},
	} {
		if want.IsSet() && want.NS == "" {
			want = process.ProcFromRecord(want.PID, want.Start, want.Boot, "") // of our own
		}
		got, state := parse([]byte(text))
		if got != want || (state == Corrupt) != (want.PID == 0) {
			t.Errorf("parse(%q) = %+v, %q; want %+v", text, got, state, want)
		}
	}
}

// Only what Track wrote names a process for certain, and a name becomes no
// path.
func TestTrack(t *testing.T) {
	d := NewDir(town.Town{Root: t.TempDir(), State: place.State(t.TempDir())})
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	for _, name := range []string{"gt-crew-max", "0", "my project", "ß", strings.Repeat("x", maxName)} {
		if err := d.Track(name, self); err != nil {
			t.Error(err)
		}
		if f, err := d.Get(name); err != nil || f.State != Alive || f.Process != self {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for _, name := range []string{"", ".", "..", ".x", "-x", "a/b", "/", "a\nb", "a\x00", "\x1b[31m", "\xff", strings.Repeat("x", maxName+1)} {
		if err := d.Track(name, self); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	all, err := d.List()
	if err != nil || len(all) != 5 {
		t.Errorf("%d files, %v", len(all), err)
	}
}

// Nothing shows whether a process of another PID namespace runs, until the next boot.
func TestElsewhere(t *testing.T) {
	d := NewDir(town.Town{Root: t.TempDir(), State: place.State(t.TempDir())})
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	self.NS = testenv.PIDNamespace(t)
	testenv.NoError(t, d.Track("x", self))
	if f, err := d.Get("x"); err != nil || f.State != Foreign || f.Process != self {
		t.Errorf("%+v, %v", f, err)
	}
	self.Boot = boot
	testenv.NoError(t, d.Track("x", self))
	if f, err := d.Get("x"); err != nil || f.State != Gone {
		t.Errorf("%+v, %v", f, err)
	}
}

// A file that was written anew since it was read is not removed with the old
// one.
func TestRemove(t *testing.T) {
	d := NewDir(town.Town{Root: t.TempDir(), State: place.State(t.TempDir())})
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	gone := process.Proc{PID: self.PID, Start: "1", Boot: self.Boot}
	for range 2 { // that it is gone already is no error
		testenv.NoError(t, d.Track("x", gone))
		old, err := d.Get("x")
		if err != nil || old.State != Gone {
			t.Fatalf("%+v, %v", old, err)
		}
		testenv.NoError(t, d.Track("x", self))
		if err := d.Remove(old); err != nil {
			t.Error(err)
		}
		now, err := d.Get("x")
		if err != nil || now.State != Alive {
			t.Errorf("%+v, %v", now, err)
		}
		for range 2 {
			if err := d.Remove(now); err != nil {
				t.Error(err)
			}
		}
		if _, err := d.Get("x"); err == nil {
			t.Error("it is still there")
		}
	}
}

// FuzzParse holds that no text names the system's own process, and that only
// our own form gives a start, which is what a signal hangs on.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"123|" + boot + ":4567\n", "123|Wed Jan 17 01:00:00 2026\n", "123", "|", "1|" + boot + ":1", "0123|" + boot + ":1.5", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, state := parse(data)
		switch {
		case state == Corrupt:
			if p != (process.Proc{}) {
				t.Errorf("%q gave %+v", data, p)
			}
		case p.PID <= 1:
			t.Errorf("%q names process %d", data, p.PID)
		case p.IsSet():
			if again, state := parse(format(p)); state != "" || again != p {
				t.Errorf("%q: %+v became %+v", data, p, again)
			}
		}
	})
}

// A name that passes is that of one file in the folder, and shows as it is.
func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"gt-crew-max", "my project", "..", "a/b", "", "-rf", ".lock", "a\x00b", "a\nb", "\u202ea", "é", "\xff", strings.Repeat("x", 201)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName(name) != nil {
			return
		}
		d := NewDir(town.Town{Root: "/town", State: "/state"})
		path := d.path(name)
		if filepath.Dir(path) != d.town.Pids() || filepath.Base(path) != name+".pid" || strings.HasPrefix(name, ".") ||
			len(name)+len(".pid") > 255 || term.Clean(name) != name {
			t.Fatalf("%q leads to %q", name, path)
		}
	})
}
