package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/route"
	"gt/lib/sys/atomicfile"
)

var (
	testTime = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	ctx      = context.Background()
)

func fixture(t *testing.T, routed ...string) (Work, route.Markers) {
	t.Helper()
	s := instance.Personal(place.State(t.TempDir()), "")
	m := route.NewMarkers(s)
	for _, name := range routed {
		testenv.NoError(t, m.Set("pool:worker", name))
	}
	return NewWork(s), m
}

func give(t *testing.T, w Work, subjects ...string) (ids []string) {
	t.Helper()
	for i, s := range subjects {
		id, err := w.Give("worker", mail.Note{Subject: s, Body: "do " + s}, testTime.Add(time.Duration(i)*time.Second))
		testenv.NoError(t, err)
		ids = append(ids, id)
	}
	return ids
}

// story is where each note stands, by its subject.
func story(t *testing.T, w Work) string {
	t.Helper()
	all, err := w.List()
	testenv.NoError(t, err)
	var lines []string
	for _, i := range all {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(i.Subject, " ", i.Holder, " ", i.Blocked)), " "))
	}
	closed, err := atomicfile.Files(w.path("worker", done))
	testenv.NoError(t, err)
	for _, name := range closed {
		lines = append(lines, read(w.path("worker", done, name), false).Subject+" is done")
	}
	return strings.Join(lines, "; ")
}

func expectStory(t *testing.T, w Work, want string) {
	t.Helper()
	if got := story(t, w); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}

func TestWork(t *testing.T) {
	w, m := fixture(t, "worker-1", "worker-2")
	ids := give(t, w, "a", "b", "c")
	n, err := w.Claim("worker", "worker-1")
	if err != nil || n.Subject != "a" || strings.TrimSpace(n.Body) != "do a" || n.ID != ids[0] {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := w.Claim("worker", "worker-2"); err != nil {
		t.Error(err)
	}
	expectStory(t, w, "a worker-1; b worker-2; c")
	if _, err := w.Claim("worker", "worker-3"); !errors.Is(err, ErrUnrouted) { // S4-118
		t.Error(err)
	}
	claims, err := w.Claims(ctx)
	if err != nil || len(claims) != 2 || claims["worker-1"] != 1 || claims["worker-2"] != 1 {
		t.Errorf("%v, %v", claims, err)
	}
	if err := w.MarkDone("worker-2", ids[0]); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is another's: %v", err)
	}
	if err := w.MarkDone("worker-1", ids[0]); err != nil {
		t.Error(err)
	}
	expectStory(t, w, "b worker-2; c; a is done")
	testenv.NoError(t, m.Remove("pool:worker", "worker-2"))
	for range 2 { // S4-115
		if err := w.Free(ctx, "worker-2", "session_suspended"); err != nil {
			t.Error(err)
		}
		expectStory(t, w, "b worker-2 session_suspended; c; a is done")
	}
	if claims, err := w.Claims(ctx); err != nil || len(claims) != 0 {
		t.Errorf("%v, %v", claims, err)
	}
	if err := w.MarkDone("worker-2", ids[1]); !errors.Is(err, ErrBlocked) {
		t.Error(err)
	}
	if err := w.GiveBack(ids[1][:5]); err != nil {
		t.Error(err)
	}
	expectStory(t, w, "b; c; a is done")
	// What is put aside is still the session's, until that is gone.
	if _, err := w.Claim("worker", "worker-1"); err != nil {
		t.Error(err)
	}
	for _, free := range []bool{false, true} {
		for _, why := range []string{"session_archived", "session_crash_drain"} {
			if err := w.Leave(ctx, "worker-1", why); err != nil {
				t.Error(err)
			}
			if claims, err := w.Claims(ctx); err != nil || claims["worker-1"] != 1 {
				t.Errorf("%v, %v", claims, err)
			}
			expectStory(t, w, "b worker-1; c; a is done")
		}
		if free {
			break
		}
		if err := w.Keep(ctx, "worker-1"); err != nil {
			t.Error(err)
		}
		expectStory(t, w, "b worker-1; c; a is done")
		if _, err := os.Stat(w.path("worker", members, "worker-1", cur)); err != nil {
			t.Error(err)
		}
	}
	decided := w
	w.Release = func(string) (bool, error) { return false, errors.New("nobody knows") }
	if err := w.Free(ctx, "worker-1", "session_closed"); err == nil {
		t.Error("it was decided what nobody knows")
	}
	expectStory(t, w, "b worker-1; c; a is done")
	w = decided
	if err := w.Free(ctx, "worker-1", "session_closed"); err != nil {
		t.Error(err)
	}
	expectStory(t, w, "b worker-1 session_archived; c; a is done")
	if err := w.GiveBack(ids[1]); err != nil {
		t.Error(err)
	}
	w.Release = func(template string) (bool, error) { return template == "worker", nil }
	if _, err := w.Claim("worker", "worker-1"); err != nil {
		t.Error(err)
	}
	expectStory(t, w, "b worker-1; c; a is done")
	if err := w.Free(ctx, "worker-1", "session_closed"); err != nil {
		t.Error(err)
	}
	expectStory(t, w, "b; c; a is done")
}

// Concurrent claims get different notes. A session that loses its marker meanwhile gets
// none. No note is lost or doubled.
func TestTogether(t *testing.T) {
	w, m := fixture(t)
	var sessions, subjects []string
	for i := range 8 {
		sessions = append(sessions, fmt.Sprint("worker-", i))
		testenv.NoError(t, m.Set("pool:worker", sessions[i]))
	}
	for i := range 40 {
		subjects = append(subjects, fmt.Sprintf("n%02d", i))
	}
	give(t, w, subjects...)
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() {
			for {
				_, err := w.Claim("worker", s)
				switch {
				case errors.Is(err, ErrNone), errors.Is(err, ErrUnrouted):
					return
				case err != nil:
					t.Error(err)
					return
				}
			}
		})
		if i%2 == 1 {
			all.Go(func() {
				err := m.Remove("pool:worker", s)
				if err == nil {
					err = w.Free(ctx, s, "session_closed")
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	seen := map[string]int{}
	items, err := w.List()
	testenv.NoError(t, err)
	for _, i := range items {
		seen[i.Subject]++
		if n := i.Holder; n != "" && i.Blocked == "" && (n[len(n)-1]-'0')%2 == 1 {
			t.Errorf("%s keeps %s", n, i.Subject)
		}
	}
	for _, s := range subjects {
		if seen[s] != 1 {
			t.Errorf("%s is there %d times", s, seen[s])
		}
	}
}

func TestNames(t *testing.T) {
	w, m := fixture(t)
	for _, name := range []string{"", "..", "a/b", ".x"} {
		if _, err := w.Give(name, mail.Note{}, testTime); err == nil {
			t.Errorf("'%s' is a template", name)
		}
		if _, err := w.Claim("worker", name); err == nil {
			t.Errorf("'%s' is a session", name)
		}
		if err := w.Free(ctx, name, "session_closed"); err == nil {
			t.Errorf("'%s' is freed", name)
		}
	}
	_ = m
	// What does not belong there is passed over.
	give(t, w, "a")
	dir := w.path("worker", fresh)
	testenv.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "0")))
	expectStory(t, w, "a")
}

// A note of another host is taken once, wherever it is by now.
func TestTake(t *testing.T) {
	w := NewWork(instance.Personal(place.State(t.TempDir()), ""))
	name := mail.NameFrom("box", "1768629600.M000001R3f9a01c2.desk")
	for _, at := range [][]string{{"worker", fresh}, {"worker", members, "worker-1", cur}, {"worker", members, "worker-1", leaving, "drained"}, {"worker", members, "worker-1", blocked, "crashed"}, {"worker", done}, {"worker", recalled}} {
		testenv.NoError(t, w.Take("worker", name, []byte("Subject: x\n\n"), timely))
		all := found(t, w.path("worker"))
		if len(all) != 1 {
			t.Fatalf("before %v: %v", at, all)
		}
		if all[0] != w.path(append(at, name)...) {
			testenv.NoError(t, w.move(all[0], at...))
		}
	}
	late := errors.New("late")
	tooLate := func() error { return late }
	if err := w.Take("worker", name, nil, tooLate); err != nil {
		t.Error("it is here already:", err)
	}
	if err := w.Take("worker", strings.Replace(name, "3f9a", "4f9a", 1), nil, tooLate); !errors.Is(err, late) || len(found(t, w.path("worker"))) != 1 {
		t.Error("a note came late, and was taken:", err)
	}
	if err := w.Take("../x", name, nil, timely); err == nil {
		t.Error("a path is a template's name")
	}
}

func timely() error { return nil }

// A note that its giver takes back goes unless a session has it, which is told when it closes
// it. Nobody else gets it then.
func TestRecall(t *testing.T) {
	w, _ := fixture(t, "a")
	name := func(n int) string { return mail.NameFrom("box", fmt.Sprintf("1768629600.M000001R%08x.desk", n)) }
	where := func(n int, want Held) {
		t.Helper()
		if h, err := w.Held("worker", name(n)); err != nil || h != want {
			t.Errorf("note %d: %+v, %v", n, h, err)
		}
	}
	recall := func(n int, tell bool, want Held) {
		t.Helper()
		if h, err := w.Recall("worker", name(n), tell); err != nil || h != want {
			t.Errorf("note %d: %+v, %v", n, h, err)
		}
	}
	for n := range 4 {
		testenv.NoError(t, w.Take("worker", name(n), []byte("Subject: x\n\n"), timely))
	}
	claim := func() {
		t.Helper()
		if _, err := w.Claim("worker", "a"); err != nil {
			t.Fatal(err)
		}
	}
	claim()
	claim()
	claim()
	where(0, Held{cur, "a"})
	recall(0, false, Held{cur, "a"})
	if err := w.MarkDone("a", "00000000"); err != nil {
		t.Error(err)
	}
	where(0, Held{done, ""})
	recall(1, true, Held{cur, "a"})
	if all, _ := w.List(); !all[0].Late || all[1].Late {
		t.Errorf("%+v", all)
	}
	if err := w.MarkDone("a", "00000001"); !errors.Is(err, ErrLate) {
		t.Error(err)
	}
	where(1, Held{done, ""})
	recall(2, true, Held{cur, "a"})
	if err := w.GiveBack("00000002"); err != nil {
		t.Error(err)
	}
	where(2, Held{recalled, ""})
	recall(3, true, Held{recalled, ""})
	where(3, Held{recalled, ""})
	where(4, Held{})
	if _, err := w.Claim("worker", "a"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func found(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	testenv.NoError(t, err)
	return files
}
