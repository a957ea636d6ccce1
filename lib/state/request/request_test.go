package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/session"
)

// world is a home of which the state keeps the record of s1.
func world(t *testing.T) (home.Home, *session.Record) {
	t.Helper()
	state := place.State(filepath.Join(t.TempDir(), "gt"))
	h := home.HomeOutsideTown(state, t.TempDir())
	testenv.NoError(t, h.Prepare())
	r := &session.Record{ID: "s1", ChainID: "c1", StartedAt: time.Now()}
	testenv.NoError(t, (session.Store{Home: h}).Put(r, false))
	return h, r
}

func forge(t *testing.T, h home.Home, text string) {
	t.Helper()
	testenv.NoError(t, place.RequestOf(h.Dir, "s1").Write([]byte(text)))
}

func line(kind string) string {
	return `{"kind":"` + kind + `","at":"` + time.Now().UTC().Format(time.RFC3339Nano) + `","subject":"x"}` + "\n"
}

func shows(want string) []string { return []string{Line([]byte(want))} }

// A request is taken over once where its own digest is shown, and only then.
func TestTake(t *testing.T) {
	h, _ := world(t)
	a, b := line(Note), line(Handoff)
	forge(t, h, a)
	for _, other := range []string{"", b, a + b} {
		if taken, err := Take(h, "s1", shows(other)); taken || err != nil || HasStored(h, "s1") {
			t.Errorf("%q was shown: %v, %v", other, taken, err)
		}
	}
	if taken, err := Take(h, "s1", shows(a)); !taken || err != nil || !HasStored(h, "s1") || MayHaveRequest(h, "s1") {
		t.Fatalf("%v, %v", taken, err)
	}
	forge(t, h, b) // another call of the same turn
	if _, err := Take(h, "s1", shows(b)); err != nil {
		t.Fatal(err)
	}
	forge(t, h, a) // who took it was killed before it was gone
	if _, err := Take(h, "s1", shows(a)); err != nil || MayHaveRequest(h, "s1") {
		t.Error(err)
	}
	items, left, err := Serve(h, "s1")
	if err != nil || len(items) != 2 || items[0].Kind != Note || items[1].Kind != Handoff || time.Since(left).Abs() > time.Minute {
		t.Fatalf("%+v, %v, %v", items, left, err)
	}
	forge(t, h, b)
	if _, err := Take(h, "s1", shows(b)); err != nil || HasStored(h, "s1") || MayHaveRequest(h, "s1") {
		t.Errorf("what was served waits again: %v", err)
	}
}

// A hand-over that was asked for is taken back alone, whether a hook has taken it over
// or not.
func TestWithdraw(t *testing.T) {
	h, _ := world(t)
	a, b := line(Note), line(Handoff)
	forge(t, h, a+b)
	if subject, ok := AskedHandover(h, "s1"); !ok || subject != "x" {
		t.Errorf("%q, %v", subject, ok)
	}
	testenv.NoError(t, Withdraw(h, "s1"))
	if _, ok := AskedHandover(h, "s1"); ok || !MayHaveRequest(h, "s1") {
		t.Error("the note went along, or the hand-over stayed")
	}
	forge(t, h, b)
	if _, err := Take(h, "s1", shows(b)); err != nil || !HasStored(h, "s1") {
		t.Fatal(err)
	}
	if err := Withdraw(h, "s1"); err != nil || HasStored(h, "s1") {
		t.Error("it still waits", err)
	}
	if err := Withdraw(h, "s1"); err != nil {
		t.Error(err)
	}
}

// What is older than the turn, by the file's date or by its own, is not taken over.
func TestTakeOfAnOlderTurn(t *testing.T) {
	h, _ := world(t)
	old := line(Note)
	forge(t, h, old)
	time.Sleep(3 * slack)
	testenv.NoError(t, BeginTurn(h, "s1", time.Now()))
	if taken, err := Take(h, "s1", shows(old)); taken || err != nil || MayHaveRequest(h, "s1") {
		t.Errorf("%v, %v", taken, err)
	}
	forge(t, h, old)
	if taken, err := Take(h, "s1", shows(old)); taken || err == nil || HasStored(h, "s1") {
		t.Errorf("%v, %v", taken, err)
	}
	fresh := line(Note)
	forge(t, h, fresh)
	if taken, err := Take(h, "s1", shows(fresh)); !taken || err != nil {
		t.Errorf("%v, %v", taken, err)
	}
}

// Only what commands can leave is taken over.
func TestTakeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "x\n", "another kind": line("run"), "no kind": `{"subject":"x"}` + "\n",
	} {
		h, _ := world(t)
		forge(t, h, text)
		if taken, err := Take(h, "s1", shows(text)); taken || err == nil || HasStored(h, "s1") {
			t.Errorf("%s: %v, %v", name, taken, err)
		}
	}
	h, _ := world(t)
	text := line(Note)
	requests := filepath.Join(h.Dir, ".runtime", "requests")
	forge(t, h, text)
	for name, do := range map[string]func(from, to string) error{"a link": os.Symlink, "another name": os.Link} {
		from, to := filepath.Join(requests, "other"), filepath.Join(requests, "s1")
		testenv.NoError(t, os.Rename(to, from))
		at := "other" // which os.Root follows
		if name == "another name" {
			at = from
		}
		testenv.NoError(t, do(at, to))
		if taken, err := Take(h, "s1", shows(text)); taken || err == nil {
			t.Errorf("%s: %v, %v", name, taken, err)
		}
		testenv.NoError(t, os.Remove(to))
		testenv.NoError(t, os.Rename(from, to))
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	h, _ = world(t)
	forge(t, h, text)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-f", "."}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = h.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if taken, err := Take(h, "s1", shows(text)); taken || err == nil {
		t.Errorf("tracked by git: %v, %v", taken, err)
	}
}

// What is about to be served is noted first, and who died then serves none of it
// again.
func TestServedIsNotedFirst(t *testing.T) {
	h, _ := world(t)
	if said, err := Leave(h, "s1", Item{Kind: Note, At: time.Now(), Subject: "x"}); said != "" || err != nil {
		t.Fatalf("%q, %v", said, err)
	}
	kept, err := os.ReadFile(copyOf(h, "s1"))
	testenv.NoError(t, err)
	items, _, err := Serve(h, "s1")
	if err != nil || len(items) != 1 {
		t.Fatalf("%+v, %v", items, err)
	}
	if done, err := os.ReadFile(servedPath(h, "s1")); err != nil || string(done) != string(kept) {
		t.Errorf("noted is %q, %v", done, err)
	}
	// Killed between the two.
	testenv.NoError(t, os.WriteFile(copyOf(h, "s1"), kept, 0o600))
	if items, _, err := Serve(h, "s1"); err != nil || len(items) > 0 || HasStored(h, "s1") {
		t.Errorf("served again: %+v, %v", items, err)
	}
	if items, _, err := Serve(h, "s1"); err != nil || items != nil {
		t.Errorf("%+v, %v", items, err)
	}
}

// Where the state cannot be written the project is, and where neither can, that is
// an error.
func TestLeave(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	h, _ := world(t)
	lock := h.Path("lock")
	testenv.NoError(t, os.WriteFile(lock, nil, 0o400))
	var want string
	for range 2 {
		said, err := Leave(h, "s1", Item{Kind: Note, At: time.Now()})
		data, _, rerr := place.RequestOf(h.Dir, "s1").Read()
		lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
		last := append(bytes.Clone(lines[len(lines)-1]), '\n')
		if err != nil || rerr != nil || said != Line(last) || said == want {
			t.Fatalf("%q, %v, %v", said, err, rerr)
		}
		want = said
	}
	requests := filepath.Join(h.Dir, ".runtime", "requests")
	testenv.NoError(t, os.Chmod(requests, 0o500))
	t.Cleanup(func() { os.Chmod(requests, 0o700) })
	if _, err := Leave(h, "s1", Item{Kind: Note, At: time.Now()}); !Denied(err) || !strings.Contains(err.Error(), "or to the project") {
		t.Error(err)
	}
}

func TestDenied(t *testing.T) {
	for _, err := range []error{syscall.EROFS, syscall.EACCES, syscall.EPERM, &os.PathError{Err: syscall.EROFS}} {
		if !Denied(err) {
			t.Errorf("%v", err)
		}
	}
	for _, err := range []error{nil, errors.New("x"), syscall.ENOSPC, os.ErrNotExist} {
		if Denied(err) {
			t.Errorf("%v", err)
		}
	}
}

// The request of a session that is gone becomes notes. A running session's stays.
func TestLeftover(t *testing.T) {
	h, r := world(t)
	note := "the lamp is lit"
	for _, item := range []Item{
		{Kind: Handoff, Subject: "half", Message: "next: the other half", To: "evil"}, {Kind: Note, Subject: "oil", Given: true},
		{Kind: Checkpoint, Notes: &note},
	} {
		item.At = time.Now()
		if _, err := Leave(h, "s1", item); err != nil {
			t.Fatal(err)
		}
	}
	s := Session{Home: h, Record: r, Now: time.Now(), Redact: func(s string) string { return s }, Warn: func(err error) {
		if err != nil {
			t.Error(err)
		}
	}}
	if err := s.Leftover(); err != nil || HasStored(h, "s1") {
		t.Fatal(err)
	}
	notes, err := mail.NewBox(h, h.Identity.Address()).Hooked()
	var subjects []string
	for _, n := range notes {
		subjects = append(subjects, n.Subject+" "+n.Session+" "+n.Chain)
	}
	slices.Sort(subjects)
	if err != nil || !slices.Equal(subjects, []string{"half s1 c1", "oil s1 c1"}) {
		t.Errorf("%q, %v", subjects, err)
	}
	all, err := checkpoint.List(h)
	if err != nil || len(all) != 1 || all[0].Notes != note {
		t.Errorf("%+v, %v", all, err)
	}
	if err := s.Leftover(); err != nil {
		t.Error(err)
	}
	if notes, _ := mail.NewBox(h, h.Identity.Address()).Hooked(); len(notes) != 2 {
		t.Error("it was told again")
	}
}

// Lines that somebody added to the file are not served, and another command's line waits
// until it is shown.
func TestTakeOnlyWhatWasShown(t *testing.T) {
	h, _ := world(t)
	evil, good, other := line(Handoff), line(Note), line(Checkpoint)
	forge(t, h, evil+good+other)
	if taken, err := Take(h, "s1", shows(good)); !taken || err != nil {
		t.Fatalf("%v, %v", taken, err)
	}
	if data, _, err := place.RequestOf(h.Dir, "s1").Read(); err != nil || string(data) != evil+other {
		t.Errorf("what waits is %q, %v", data, err)
	}
	if taken, err := Take(h, "s1", shows(other)); !taken || err != nil {
		t.Fatalf("%v, %v", taken, err)
	}
	items, _, err := Serve(h, "s1")
	if err != nil || len(items) != 2 || items[0].Kind != Note || items[1].Kind != Checkpoint {
		t.Errorf("served are %+v, %v", items, err)
	}
	// Nothing is of a time that has not come.
	later, err := json.Marshal(Item{Kind: Note, At: time.Now().Add(time.Hour)})
	testenv.NoError(t, err)
	forge(t, h, string(later)+"\n")
	if taken, err := Take(h, "s1", shows(string(later)+"\n")); taken || err == nil {
		t.Errorf("%v, %v", taken, err)
	}
}
