package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

var testTime = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

func newStore(t *testing.T) Store {
	return Store{State: place.State(t.TempDir()), Dir: folder, Warn: func(err error) { t.Log(err) }}
}

func make1(t *testing.T, s Store, name, group string) *Instance {
	t.Helper()
	in := &Instance{Name: name, Path: "/work", Agent: "claude", Desired: Stopped, Group: group}
	testenv.NoError(t, s.Create(in, testTime))
	return in
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"api": true, "größe": true, "a_b-1": true, "日本": true, "परियोजना": true, strings.Repeat("a", 64): true,
		"": false, "a.b": false, "a:b": false, "-a": false, "=a": false, "%3": false, "a b": false, "a/b": false,
		"a\n": false, "\xff": false, "a#(x)": false, strings.Repeat("a", 65): false, "..": false, "a\u202eb": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for text, want := range map[string]string{
		"api": "api", "my work": "my-work", ".config": "config", "größe": "größe", "re\u0301sume\u0301": "résumé", "परियोजना": "परियोजना", "a#(touch x)": "a-touch-x", "": "agent", "...": "agent", "-_-": "agent",
		strings.Repeat("ä", 99): strings.Repeat("ä", 32),
	} {
		got := NameFor(text)
		if got != want || CheckName(got) != nil {
			t.Errorf("%q becomes %q, want %q (%v)", text, got, want, CheckName(got))
		}
	}
	for group, ok := range map[string]bool{
		"work": true, "work/back end/api": true, "": false, "/work": false, "work/": false, "a//b": false, "a/../b": false, " a": false, "a/ b": false,
		strings.Repeat("a/", 16) + "a": false,
	} {
		if err := CheckGroup(group); (err == nil) != ok {
			t.Errorf("group %q: %v", group, err)
		}
	}
}

// FuzzNameFor holds that what is made of a folder's name is a name.
func FuzzNameFor(f *testing.F) {
	f.Add("my work")
	f.Add("\u0301a")
	f.Fuzz(func(t *testing.T, text string) {
		if name := NameFor(text); CheckName(name) != nil {
			t.Errorf("%q becomes %q: %v", text, name, CheckName(name))
		}
	})
}

// Of many that take one name at once, one gets it.
func TestCreateTogether(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 20 {
		all.Go(func() {
			switch err := s.Create(&Instance{Name: "one", Path: "/work", Agent: "claude"}, testTime); {
			case err == nil:
				mu.Lock()
				made++
				mu.Unlock()
			case !errors.Is(err, ErrTaken):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found, err := s.ReadInstances(); made != 1 || len(found) != 1 || err != nil {
		t.Errorf("%d made, %d found, %v", made, len(found), err)
	}
}

// Who holds an instance is alone at it, sees what others wrote before, and keeps what a
// newer gt wrote.
func TestHold(t *testing.T) {
	s := newStore(t)
	in := make1(t, s, "one", "")
	path := s.path(string(in.ID) + suffix)
	data, _ := os.ReadFile(path)
	testenv.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), "{", `{"later":[1.50],`, 1)), 0o600))
	held, err := s.Hold(in.ID, time.Second)
	testenv.NoError(t, err)
	if _, err := s.Hold(in.ID, 20*time.Millisecond); !errors.Is(err, flock.ErrBusy) {
		t.Errorf("a second one holds it: %v", err)
	}
	held.Desired = Running
	testenv.NoError(t, held.Put(testTime.Add(time.Hour)))
	held.Release()
	if held, err = s.Hold(in.ID, time.Second); err != nil || held.Desired != Running || !held.UpdatedAt.After(held.CreatedAt) {
		t.Fatalf("%+v, %v", held, err)
	}
	if err := held.Rename("a.b", testTime); err == nil {
		t.Error("a name was taken that is none")
	}
	make1(t, s, "two", "")
	make1(t, s, "caf\u00e9", "")
	if err := s.Create(&Instance{Name: "cafe\u0301", Path: "/work", Agent: "claude"}, testTime); !errors.Is(err, ErrTaken) {
		t.Error("a name that looks the same is free:", err)
	}
	if err := held.Rename("two", testTime); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	if err := held.Rename("three", testTime); err != nil {
		t.Error(err)
	}
	held.Release()
	if data, _ = os.ReadFile(path); !strings.Contains(string(data), "1.50") || !strings.Contains(string(data), "three") {
		t.Errorf("%s", data)
	}
	for _, id := range []ID{"../x", "nobody", ""} {
		if _, err := s.Hold(id, time.Second); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if entries, _ := os.ReadDir(s.path("")); len(entries) > 8 {
		t.Errorf("locks of nobody are left: %v", entries)
	}
}

// An archived instance is one until its next start, whoever starts it and whatever the clock says.
func TestArchive(t *testing.T) {
	now := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what              string
		started, archived time.Time
	}{
		{"one that never ran", time.Time{}, now},
		{"one that ran", now.Add(-time.Hour), now},
		{"one that was started before the clock was set back", now.Add(time.Hour), now},
	} {
		in := &Instance{StartedAt: c.started}
		if in.IsArchived() {
			t.Errorf("%s is archived already", c.what)
		}
		if in.Archive(c.archived); !in.IsArchived() {
			t.Errorf("%s is not archived", c.what)
		}
		if in.StartedAt = now.Add(2 * time.Hour); in.IsArchived() { // as an older gt writes it
			t.Errorf("%s, which was started again, is archived", c.what)
		}
	}
}

// An instance that is removed leaves nothing, and its children are nobody's.
func TestRemove(t *testing.T) {
	s := newStore(t)
	parent := make1(t, s, "parent", "")
	child := &Instance{Name: "child", Path: "/work", Agent: "claude", ParentID: parent.ID}
	testenv.NoError(t, s.Create(child, testTime))
	testenv.NoError(t, Bind(s.State, s.Name(parent.ID)+":7", 7, 1, CurrentSession{SessionID: "x", At: testTime}))
	held, err := s.Hold(parent.ID, time.Second)
	testenv.NoError(t, err)
	if err := held.Put(testTime.Add(1)); err != nil { // so that there is a version before it
		t.Fatal(err)
	}
	testenv.NoError(t, held.Remove(testTime))
	held.Release()
	all, err := s.ReadInstances()
	if err != nil || len(all) != 1 || all[0].ParentID != "" {
		t.Errorf("%+v, %v", all, err)
	}
	entries, _ := os.ReadDir(s.path(""))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), string(parent.ID)) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// The session of an instance is what its agent's hook has reported since the start, and no
// other process.
func TestBind(t *testing.T) {
	s := newStore(t)
	in := make1(t, s, "one", "")
	held, err := s.Hold(in.ID, time.Second)
	testenv.NoError(t, err)
	held.SessionID, held.StartedAt = "given", testTime
	testenv.NoError(t, held.Put(testTime))
	held.Release()
	in = held.Instance
	later := testTime.Add(time.Minute)
	for _, c := range []struct {
		variable    string
		pid, parent int
		at          time.Time
		want        session.ID
	}{
		{s.Name(in.ID) + ":7", 9, 8, later, "given"}, // another process inherited it
		{s.Name(in.ID), 7, 1, later, "given"},        // the process is not told
		{"elsewhere/" + string(in.ID) + ":7", 7, 1, later, "given"},
		{"instances/../instances/" + string(in.ID) + ":7", 7, 1, later, "told"}, // the same folder
		{"profiles/../instances/" + string(in.ID) + ":7", 7, 1, later, "told"},
		{s.Name(in.ID) + ":7", 7, 1, testTime.Add(-time.Hour), "given"}, // of the run before
		{s.Name(in.ID) + ":7", 7, 1, later, "told"},
		{s.Name(in.ID) + ":7", 9, 7, later, "told"}, // a launcher's child
	} {
		os.Remove(s.path(string(in.ID) + sessionSuffix))
		if err := Bind(s.State, c.variable, c.pid, c.parent, CurrentSession{SessionID: "told", At: c.at}); err != nil {
			t.Errorf("%q: %v", c.variable, err)
		}
		if got := s.Session(in); got != c.want {
			t.Errorf("%q of %d: %q, want %q", c.variable, c.pid, got, c.want)
		}
	}
	// What is not there is not made.
	if err := Bind(s.State, "profiles/x/instances/"+string(in.ID)+":7", 7, 1, CurrentSession{SessionID: "told", At: later}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.State.Path("profiles")); err == nil {
		t.Error("a profile was made")
	}
}

// What a hook tells of a fork that is not its own counts for nothing: old clients give
// the id of the conversation that is copied.
func TestTold(t *testing.T) {
	s := newStore(t)
	in := &Instance{Name: "fork", Path: "/w", Agent: "claude", Desired: Running, ForkOf: "parent", SessionID: "given"}
	testenv.NoError(t, s.Create(in, testTime))
	for _, c := range []struct{ told, want session.ID }{{"parent", "given"}, {"own", "own"}} {
		if err := Bind(s.State, s.Name(in.ID)+":7", 7, 1, CurrentSession{SessionID: c.told, At: testTime}); err != nil {
			t.Error(err)
		}
		if got := s.Session(in); got != c.want || s.HookReported(in) != (c.told == c.want) {
			t.Errorf("told %s, its session is %s", c.told, got)
		}
	}
}

// A renamed group takes all that is in it along, also after a kill half way.
func TestMoveGroup(t *testing.T) {
	s := newStore(t)
	a, b := make1(t, s, "a", "work/back"), make1(t, s, "b", "work/back/api")
	make1(t, s, "c", "work/background")
	testenv.NoError(t, s.NewGroup("work/back/empty"))
	testenv.NoError(t, s.MoveGroup("work/back", "play", testTime))
	// As it is where it was killed after the first instance: the same goes on.
	held, _ := s.Hold(b.ID, time.Second)
	held.Group = "work/back/api"
	testenv.NoError(t, held.Put(testTime))
	held.Release()
	testenv.NoError(t, s.NewGroup("work/back/api"))
	testenv.NoError(t, s.MoveGroup("work/back", "play", testTime))
	groups := ""
	all, err := s.Groups()
	for _, g := range all {
		groups += g.Path + " "
	}
	if err != nil || groups != "work work/background play play/api play/empty " {
		t.Errorf("%s, %v", groups, err)
	}
	for id, want := range map[ID]string{a.ID: "play", b.ID: "play/api"} {
		if in, err := s.Get(id); err != nil || in.Group != want {
			t.Errorf("%+v, %v", in, err)
		}
	}
	for _, to := range []string{"play/x", "play"} {
		if err := s.MoveGroup("play", to, testTime); err == nil {
			t.Errorf("play was moved to %s", to)
		}
	}
	if err := s.RemoveGroup("work"); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
	if err := s.RemoveGroup("nowhere"); !errors.Is(err, ErrNoGroup) {
		t.Error(err)
	}
}

// A file that cannot be used costs no more than itself.
func TestDamaged(t *testing.T) {
	s := newStore(t)
	warned := 0
	s.Warn = func(error) { warned++ }
	make1(t, s, "one", "")
	two := make1(t, s, "two", "")
	for _, text := range []string{"", "{", `{"id":"x"}`, fmt.Sprintf(`{"id":%q,"name":"a b","path":"/x","agent":"c"}`, two.ID), fmt.Sprintf(`{"id":%q,"name":"a","path":"x","agent":"c"}`, two.ID)} {
		testenv.NoError(t, os.WriteFile(s.path(string(two.ID)+suffix), []byte(text), 0o600))
		warned = 0
		if all, err := s.ReadInstances(); err != nil || len(all) != 1 || warned == 0 {
			t.Errorf("%q: %d found, %v, %d warnings", text, len(all), err, warned)
		}
	}
}

// A damaged file is replaced by one of three earlier generations, with a warning. The next
// write sets it aside. S2-24 to S2-28.
func TestGenerations(t *testing.T) {
	s := newStore(t)
	var warned []string
	s.Warn = func(err error) { warned = append(warned, err.Error()) }
	in := make1(t, s, "v1", "")
	for _, name := range []string{"v2", "v3", "v4"} {
		h, err := s.Hold(in.ID, time.Second)
		testenv.NoError(t, err)
		testenv.NoError(t, h.Rename(name, testTime))
		h.Release()
	}
	path := s.path(string(in.ID) + suffix)
	for _, c := range []struct{ damage, name string }{{"", "v4"}, {path, "v3"}, {path + ".bak", "v2"}, {path + ".bak.1", "v1"}} {
		if c.damage != "" {
			testenv.NoError(t, os.WriteFile(c.damage, []byte("{"), 0o600))
		}
		warned = nil
		got, err := s.Get(in.ID)
		if err != nil || got.Name != c.name || (len(warned) > 0) != (c.damage != "") {
			t.Errorf("%s is damaged: %+v, %v, warned %q", c.damage, got, err, warned)
		}
	}
	testenv.NoError(t, os.WriteFile(path+".bak.2", []byte("{"), 0o600))
	warned = nil
	if _, err := s.Get(in.ID); !errors.Is(err, ErrNone) || len(warned) == 0 {
		t.Errorf("all are damaged: %v, warned %q", err, warned)
	}
	// It is set aside when another is written in its place.
	testenv.NoError(t, s.write(in, atomicfile.Synced))
	entries, err := os.ReadDir(s.path(""))
	aside := 0
	for _, e := range entries {
		if strings.Contains(e.Name(), ".bad") {
			aside++
		}
	}
	if err != nil || aside == 0 {
		t.Errorf("nothing was set aside: %v, %v", entries, err)
	}
}

// An instance of which nothing is usable is set aside by the next command that adds one, and
// no list warns of it again. S2-28.
func TestUnusableIsSetAside(t *testing.T) {
	s := newStore(t)
	in := make1(t, s, "v1", "")
	testenv.NoError(t, os.WriteFile(s.path(string(in.ID)+suffix), []byte("{"), 0o600))
	for _, want := range []int{1, 0} {
		var warned []error
		s.Warn = func(err error) { warned = append(warned, err) }
		if all, err := s.ReadInstances(); err != nil || len(all) != 0 || len(warned) != want {
			t.Errorf("%v, %v, warned %v", all, err, warned)
		}
		c, err := s.Begin()
		testenv.NoError(t, err)
		c.Release()
	}
	if aside, err := filepath.Glob(s.path(string(in.ID) + "*.bad*")); err != nil || len(aside) != 1 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
}

// All instances are read in order of creation, however many there are, and warnings come in
// order too.
func TestAllOfMany(t *testing.T) {
	s := newStore(t)
	testenv.NoError(t, s.State.Prepare(s.path("")))
	var bad []string
	for i := range 5*sequentialBelow + 1 {
		id := ID(fmt.Sprintf("%08d", 99999-i)) // the last by name is the first
		in := &Instance{ID: id, Name: fmt.Sprintf("n%d", i), Path: "/work", Agent: "claude", CreatedAt: testTime.Add(time.Duration(i) * time.Second)}
		testenv.NoError(t, s.write(in, atomicfile.Synced))
		if i%50 == 7 {
			testenv.NoError(t, os.WriteFile(s.path(string(id)+suffix), []byte("{"), 0o600))
			bad = append([]string{string(id)}, bad...) // as they are named
		}
	}
	for range 3 {
		var said []string
		s.Warn = func(err error) {
			for _, id := range bad {
				if strings.Contains(err.Error(), id) {
					said = append(said, id)
				}
			}
		}
		all, err := s.ReadInstances()
		if err != nil || len(all) != 5*sequentialBelow+1-len(bad) || !slices.IsSortedFunc(all, func(a, b *Instance) int { return a.CreatedAt.Compare(b.CreatedAt) }) || !slices.Equal(said, bad) {
			t.Fatalf("%d found, %v; said of %q, not %q", len(all), err, said, bad)
		}
	}
}
