package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/lifecycle"
	"gt/lib/state/session"
)

func managed(t *testing.T, s Store, name string) *Instance {
	t.Helper()
	in := &Instance{
		Name: name, Path: "/w", Agent: "claude", Desired: Running, SessionID: "0f7a3f9e-0000-4000-8000-000000000001",
		Managed: &Managed{
			Session: lifecycle.Session{Template: "worker", Pool: "worker", Slot: 1, State: lifecycle.Creating, Reason: lifecycle.PoolScaleUp, Generation: 1, Token: "t"},
			Overlay: map[string]string{"model": "opus", "env.KEY": "hunter2", "prompt": "the secret one"},
		},
	}
	testenv.NoError(t, s.Create(in, time.Now()))
	return in
}

func change(t *testing.T, s Store, id ID, do func(*Locked)) {
	t.Helper()
	h, err := s.Hold(id, time.Second)
	testenv.NoError(t, err)
	defer h.Release()
	do(h)
	testenv.NoError(t, h.Put(time.Now()))
}

// files are the files that hold something of an instance, without the locks.
func files(t *testing.T, s Store, id ID) (found []string) {
	t.Helper()
	err := filepath.WalkDir(s.path(""), func(path string, d os.DirEntry, err error) error {
		if strings.Contains(path, string(id)) && !strings.HasSuffix(path, ".lock") {
			rest, _ := strings.CutPrefix(path, s.path("")+"/")
			found = append(found, strings.Replace(rest, string(id), "ID", 1))
		}
		return err
	})
	testenv.NoError(t, err)
	return found
}

// What a template made lies in the folder of its state, and each write is one more
// revision. [S4-13, S4-55]
func TestManaged(t *testing.T) {
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	in := managed(t, s, "worker-a")
	if in, err := s.Get(in.ID); err != nil || in.Managed.ID != string(in.ID) || in.Managed.Revision != 1 || in.Managed.Template != "worker" {
		t.Fatal(in, err)
	}
	change(t, s, in.ID, func(h *Locked) { h.Managed.State, h.Managed.Reason = lifecycle.Active, lifecycle.CreationComplete })
	change(t, s, in.ID, func(h *Locked) { h.Managed.State, h.Managed.Reason = lifecycle.Archived, lifecycle.DrainComplete })
	if got := files(t, s, in.ID); !slices.Equal(got, []string{"archived/ID.json"}) {
		t.Error(got)
	}
	if all, err := s.ReadInstances(); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
	if all, err := s.ReadFolder(Archived); len(all) != 1 || err != nil || all[0].Managed.Revision != 3 || all[0].SessionID == "" {
		t.Error(all, err)
	}
	if err := s.Create(&Instance{Name: "worker-a", Path: "/w", Agent: "claude"}, time.Now()); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	if added, err := s.Importable(Imported{Instances: []*Instance{{ID: ID(session.NewID()), Name: "worker-a", Path: "/w", Agent: "claude"}}}); err == nil && added[0].Name == "worker-a" {
		t.Error("an import gets the name of an archived session")
	}
	change(t, s, make1(t, s, "other", "").ID, func(h *Locked) {
		if err := h.Rename("worker-a", time.Now()); !errors.Is(err, ErrTaken) {
			t.Error(err)
		}
	})
	change(t, s, in.ID, func(h *Locked) { h.Managed.State = lifecycle.Active })
	if got := files(t, s, in.ID); !slices.Equal(got, []string{"ID.json"}) {
		t.Error(got)
	}
}

// What is closed never changes again, and none of its files keeps a secret. [S4-23, S4-132]
func TestClosed(t *testing.T) {
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	in := managed(t, s, "worker-a")
	testenv.NoError(t, Bind(s.State, s.Name(in.ID)+":7", 7, 1, CurrentSession{SessionID: in.SessionID, At: time.Now()}))
	change(t, s, in.ID, func(h *Locked) { h.Managed.State = lifecycle.Active })
	change(t, s, in.ID, func(h *Locked) {
		h.Managed.State, h.Managed.Reason, h.Managed.ScrubbedAt = lifecycle.Closed, lifecycle.UserRequest, time.Now()
		h.Scrub()
	})
	if got := files(t, s, in.ID); !slices.Equal(got, []string{"closed/ID.json"}) {
		t.Error(got)
	}
	data, err := os.ReadFile(s.path("closed/" + string(in.ID) + ".json"))
	if err != nil || strings.Contains(string(data), "hunter2") || strings.Contains(string(data), "secret one") || strings.Contains(string(data), "0f7a3f9e") || !strings.Contains(string(data), "opus") {
		t.Errorf("%s %v", data, err)
	}
	h, err := s.Hold(in.ID, time.Second)
	testenv.NoError(t, err)
	defer h.Release()
	h.Managed.State = lifecycle.Active
	if err := h.Put(time.Now()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A kill between the write in one folder and the removal from another leaves two copies:
// the higher revision counts, a closed one always, whatever the other says, and the next
// tick removes the other. [S4-24]
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		was, is lifecycle.State
	}{
		{lifecycle.Suspended, lifecycle.Archived}, {lifecycle.Archived, lifecycle.Active},
		{lifecycle.Active, lifecycle.Closed}, {lifecycle.Archived, lifecycle.Closed},
	} {
		s := Personal(place.State(t.TempDir()+"/gt"), "")
		in := managed(t, s, "worker-a")
		change(t, s, in.ID, func(h *Locked) { h.Managed.State = c.was })
		before, err := s.Get(in.ID)
		if err != nil || before.Managed.State != c.was {
			t.Fatal(before, err)
		}
		old := s.file(before.folder(), in.ID).Path
		data, err := os.ReadFile(old)
		testenv.NoError(t, err)
		change(t, s, in.ID, func(h *Locked) { h.Managed.State = c.is })
		testenv.NoError(t, os.WriteFile(old, data, 0o600))
		look := func(when string) {
			t.Helper()
			got, err := s.Get(in.ID)
			if err != nil || got.Managed.State != c.is {
				t.Errorf("%s, %s: %+v %v", c.is, when, got, err)
			}
			all, err := s.ReadInstances()
			archived, aerr := s.ReadFolder(Archived)
			closed, cerr := s.ReadFolder(Closed)
			if n := len(all) + len(archived) + len(closed); n != 1 || err != nil || aerr != nil || cerr != nil {
				t.Errorf("%s, %s: %d, %v %v %v", c.is, when, n, err, aerr, cerr)
			}
		}
		look("two copies")
		testenv.NoError(t, s.CompleteMoves())
		look("settled")
		if got := files(t, s, in.ID); len(got) != 1 {
			t.Errorf("%s: %v", c.is, got)
		}
	}
}

// Fields of a newer gt survive in the part of the lifecycle, too; a plain instance's file
// has no such part.
func TestManagedFields(t *testing.T) {
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	in := managed(t, s, "worker-a")
	path := s.file("", in.ID).Path
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	data = []byte(strings.Replace(string(data), `"template"`, `"novel": {"a": 1}, "template"`, 1))
	testenv.NoError(t, os.WriteFile(path, data, 0o600))
	change(t, s, in.ID, func(h *Locked) { h.Managed.State = lifecycle.Active })
	var file struct {
		Lifecycle map[string]json.RawMessage
	}
	data, err = os.ReadFile(path)
	if err = errors.Join(err, json.Unmarshal(data, &file)); err != nil || string(file.Lifecycle["state"]) != `"active"` || len(file.Lifecycle["novel"]) == 0 {
		t.Errorf("%s %v", data, err)
	}
	if strings.Count(string(data), `"template"`) != 1 {
		t.Errorf("%s", data)
	}
	plain := &Instance{Name: "plain", Path: "/w", Agent: "claude"}
	testenv.NoError(t, s.Create(plain, time.Now()))
	if data, err := os.ReadFile(s.file("", plain.ID).Path); err != nil || strings.Contains(string(data), "lifecycle") {
		t.Errorf("%s %v", data, err)
	}
}

// An imported instance is not managed: its template belongs to another place.
func TestImportManaged(t *testing.T) {
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	in := managed(t, s, "worker-a")
	other := Personal(s.State, "other")
	added, err := other.Import(Imported{Instances: []*Instance{in}})
	if err != nil || len(added) != 1 {
		t.Fatal(added, err)
	}
	if in, err := other.Get(in.ID); err != nil || in.Managed != nil || in.Name != "worker-a" {
		t.Error(in, err)
	}
}

// The folder decides whether a record is closed or archived, regardless of the state in it.
// [S4-24]
func TestTheFolderSaysIt(t *testing.T) {
	for folder, state := range map[string]lifecycle.State{Closed: lifecycle.Closed, Archived: lifecycle.Archived} {
		s := Personal(place.State(t.TempDir()+"/gt"), "")
		in := managed(t, s, "worker-a")
		change(t, s, in.ID, func(h *Locked) { h.Managed.State = state })
		path := s.path(folder + "/" + string(in.ID) + ".json")
		data, err := os.ReadFile(path)
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), `"state": "`+string(state), `"state": "active`, 1)), 0o600))
		if data, err = os.ReadFile(path); err != nil || !strings.Contains(string(data), `"active"`) {
			t.Fatalf("%s: %v", data, err)
		}
		all, err := s.ReadInstances()
		if err != nil || len(all) > 0 {
			t.Error(all, err)
		}
		there, err := s.ReadFolder(folder)
		if err != nil || len(there) != 1 || there[0].Managed.State != state {
			t.Errorf("%s: %v %v", folder, there, err)
		}
		if one, err := s.Get(in.ID); err != nil || one.Managed.State != state {
			t.Errorf("%s: %v %v", folder, one, err)
		}
	}
	// One among those that are listed is not lost either.
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	in := managed(t, s, "worker-a")
	path := s.path(string(in.ID) + ".json")
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	edited := strings.Replace(string(data), `"state": "creating`, `"state": "closed`, 1)
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil || edited == string(data) {
		t.Fatalf("%s: %v", data, err)
	}
	if all, err := s.ReadInstances(); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

// Forget keeps the newest of the picked sessions, and those whose runtime may still run.
func TestForget(t *testing.T) {
	s := Personal(place.State(t.TempDir()+"/gt"), "")
	var left ID
	for i := range 5 {
		in := managed(t, s, fmt.Sprint("worker-", i))
		change(t, s, in.ID, func(h *Locked) {
			h.Managed.State, h.Managed.ClosedAt = lifecycle.Closed, time.Unix(int64(1000+i), 0)
		})
		if i > 0 {
			testenv.NoError(t, s.TornDown(in.ID))
		} else {
			left = in.ID
		}
	}
	testenv.NoError(t, s.Forget(func(in *Instance) bool { return in.Name != "worker-1" }, 2))
	var names []string
	all, err := s.ReadFolder(Closed)
	for _, in := range all {
		names = append(names, in.Name)
	}
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"worker-0", "worker-1", "worker-3", "worker-4"}) {
		t.Error(names, err)
	}
	if got := files(t, s, left); len(got) == 0 {
		t.Error(got)
	}
}
