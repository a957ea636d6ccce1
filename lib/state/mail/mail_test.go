package mail

import (
	"bytes"
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
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
)

func townBox(t testing.TB) Box {
	t.Helper()
	root := t.TempDir()
	who := identity.Identity{Role: identity.Crew, Rig: "demo", Name: "joe"}
	h := home.NewHome(town.Town{Root: root, State: place.State(t.TempDir())}, who, filepath.Join(root, "demo", "crew", "joe"))
	return NewBox(h, who.Address())
}

func TestDeliverThenRead(t *testing.T) {
	b := townBox(t)
	if notes, err := b.Hooked(); err != nil || notes != nil {
		t.Fatalf("a box that does not exist: %v, %v", notes, err)
	}
	note := Note{
		Type: Handoff, From: "demo/crew/joe", To: "demo/crew/joe", Subject: "Grüße  aus\nÖrebro",
		Date: time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC), Session: "s-1", Chain: "c-1", Body: "one\ntwo\n",
	}
	id, err := b.Deliver(note, true)
	testenv.NoError(t, err)
	got, err := b.Get(id[:5])
	testenv.NoError(t, err)
	if want := filepath.Join("demo", "crew", "joe", "cur"); !strings.Contains(got.Path, want) || !strings.HasSuffix(got.Path, ":2,F") {
		t.Errorf("path %s", got.Path)
	}
	want := note
	want.ID, want.Path, want.Hooked, want.Subject = id, got.Path, true, "Grüße aus Örebro"
	if !got.Date.Equal(want.Date) {
		t.Errorf("date %v", got.Date)
	}
	got.Date = want.Date
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	hooked, err := b.Hooked()
	if err != nil || len(hooked) != 1 || hooked[0].ID != id || hooked[0].Body != "" {
		t.Errorf("hooked: %+v, %v", hooked, err)
	}
}

func TestFlags(t *testing.T) {
	b := townBox(t)
	id, err := b.Deliver(Note{Subject: "x"}, false)
	testenv.NoError(t, err)
	steps := []struct {
		name string
		do   func(string) error
		want string // folder and flags
	}{
		{"hook", b.Hook, "cur F"}, {"hook again", b.Hook, "cur F"}, {"seen", b.MarkSeen, "cur FS"},
		{"unhook", b.Unhook, "cur S"}, {"done", b.DoneWith, "cur ST"}, {"done again", b.DoneWith, "cur ST"},
		{"hook what was done", b.Hook, "cur FS"}, {"done with hooked", b.DoneWith, "cur ST"},
	}
	for _, s := range steps {
		if err := s.do(id); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		found, err := entries(b)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", s.name, found, err)
		}
		if got := found[0].folder + " " + found[0].flags; got != s.want {
			t.Errorf("%s: %s, not %s", s.name, got, s.want)
		}
	}
	if err := b.Hook("zzz"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if err := b.Hook(""); !errors.Is(err, ErrNotFound) {
		t.Errorf("empty: %v", err)
	}
}

func entries(b Box) ([]entry, error) {
	o, err := b.open()
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return o.listNotes()
}

func TestSupersede(t *testing.T) {
	b := townBox(t)
	deliver := func(n Note) string {
		id, err := b.Deliver(n, true)
		testenv.NoError(t, err)
		return id
	}
	deliver(Note{Type: Handoff, Chain: "c", Subject: "old"})
	other := deliver(Note{Type: Handoff, Chain: "d", Subject: "another chain"})
	work := deliver(Note{Chain: "c", Subject: "work, no hand-over"})
	last := deliver(Note{Type: Handoff, Chain: "c", Subject: "new"})
	testenv.NoError(t, b.Supersede("c", last))
	hooked, err := b.Hooked()
	if err != nil || len(hooked) != 3 || hooked[0].ID != other || hooked[1].ID != work || hooked[2].ID != last {
		t.Errorf("%+v, %v", hooked, err)
	}
	if unread, _, err := b.Unread(); err != nil || len(unread) != 0 {
		t.Errorf("unread: %+v, %v", unread, err)
	}
	if _, err := b.Deliver(Note{Subject: "a message"}, false); err != nil {
		t.Fatal(err)
	}
	if unread, _, err := b.Unread(); err != nil || len(unread) != 1 {
		t.Errorf("unread: %+v, %v", unread, err)
	}
	if n, err := b.CountUnread(); err != nil || n != 1 {
		t.Errorf("unread: %d, %v", n, err)
	}
}

// Two notes with one ID, which chance allows: the newer is meant, and the
// other can still be listed.
func TestSameID(t *testing.T) {
	b := townBox(t)
	if _, err := b.Deliver(Note{}, false); err != nil {
		t.Fatal(err)
	}
	for second, name := range []string{"1737075600.M1R3f9a01c2.h", "1737075601.M1R3f9a01c2.h"} {
		text := fmt.Sprintf("Subject: note %d\n\n", second)
		testenv.NoError(t, os.WriteFile(b.file("new", name), []byte(text), 0o600))
	}
	if n, err := b.Get("3f9a01c2"); err != nil || n.Subject != "note 1" {
		t.Errorf("%+v, %v", n, err)
	}
	var many *Ambiguous
	if _, err := b.Get("3f9a"); !errors.As(err, &many) || len(many.Notes) != 2 {
		t.Errorf("%v", err)
	}
}

// Flags that many change at once are all there afterwards.
func TestFlagsAtOnce(t *testing.T) {
	b := townBox(t)
	for range 20 {
		id, err := b.Deliver(Note{Subject: "x"}, false)
		testenv.NoError(t, err)
		var all sync.WaitGroup
		for _, do := range []func(string) error{b.MarkSeen, b.Hook, func(id string) error { return b.mark(id, "R", "") }} {
			for range 4 {
				all.Go(func() {
					if err := do(id); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		o, err := b.open()
		testenv.NoError(t, err)
		found, err := o.findEntry(id)
		o.Close()
		if err != nil || found.flags != "FRS" || found.folder != "cur" {
			t.Fatalf("%+v, %v", found, err)
		}
	}
}

func TestLinksAreRefused(t *testing.T) {
	for _, at := range []string{"mail", "mail/demo", "mail/demo/crew/joe", "mail/demo/crew/joe/cur", "mail/demo/crew/joe/new"} {
		b := townBox(t)
		link := filepath.Join(b.home.Town.Root, at)
		elsewhere := t.TempDir()
		testenv.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
		testenv.NoError(t, os.Symlink(elsewhere, link))
		if _, err := b.Deliver(Note{Subject: "x"}, true); err == nil {
			t.Errorf("%s: delivered through a link", at)
		}
		if _, err := b.List(); err == nil {
			t.Errorf("%s: read through a link", at)
		}
		if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
			t.Errorf("%s: wrote %v", at, left)
		}
	}
}

// A box that others may look into was not made by us: git checks one out so
// that a repository brings along.
func TestOpenBoxIsRefused(t *testing.T) {
	for _, at := range []string{".", "new", "cur"} {
		b := townBox(t)
		if _, err := b.Deliver(Note{Subject: "x"}, true); err != nil {
			t.Fatal(err)
		}
		testenv.NoError(t, os.Chmod(b.file(at), 0o755))
		if notes, err := b.List(); err == nil {
			t.Errorf("%s: listed %d", at, len(notes))
		}
		if _, err := b.Deliver(Note{Subject: "x"}, true); err == nil {
			t.Errorf("%s: delivered", at)
		}
		if hooked, err := b.Hooked(); err == nil && at != "new" {
			t.Errorf("%s: %d hooked", at, len(hooked))
		}
	}
}

func TestNoBox(t *testing.T) {
	b := townBox(t)
	for _, address := range []string{"../../etc", "joe", "", "demo/crew/.."} {
		none := NewBox(b.home, address)
		if _, err := none.Deliver(Note{}, true); err == nil {
			t.Errorf("%q: delivered", address)
		}
		if _, err := none.List(); err == nil {
			t.Errorf("%q: listed", address)
		}
		if err := none.Hook("x"); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestBounds(t *testing.T) {
	b := townBox(t)
	for _, n := range []Note{{Body: strings.Repeat("x", MaxBody+1)}, {Subject: strings.Repeat("x", MaxSubject+1)}} {
		if _, err := b.Deliver(n, false); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(b.file()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused note left something: %v", err)
	}
	id, err := b.Deliver(Note{Body: strings.Repeat("x", MaxBody), Subject: strings.Repeat("ü", MaxSubject/2)}, false)
	testenv.NoError(t, err)
	n, err := b.Get(id)
	if err != nil || len(n.Body) != MaxBody || n.Subject != strings.Repeat("ü", MaxSubject/2) {
		t.Errorf("%d bytes, subject %q, %v", len(n.Body), n.Subject, err)
	}
}

// What killed deliveries left is removed after 36 hours, and not before.
func TestSweep(t *testing.T) {
	b := townBox(t)
	if _, err := b.Deliver(Note{}, false); err != nil {
		t.Fatal(err)
	}
	old, young := b.file("tmp", "1.M1R00000001.h"), b.file("tmp", "1.M1R00000002.h")
	for path, age := range map[string]time.Duration{old: 37 * time.Hour, young: 35 * time.Hour} {
		testenv.NoError(t, os.WriteFile(path, []byte("torn"), 0o600))
		at := time.Now().Add(-age)
		testenv.NoError(t, os.Chtimes(path, at, at))
	}
	if _, err := b.Deliver(Note{}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old one is still there")
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error(err)
	}
	if notes, err := b.List(); err != nil || len(notes) != 2 {
		t.Errorf("%d notes, %v", len(notes), err)
	}
}

func TestRoundTrip(t *testing.T) {
	date := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for _, n := range []Note{
		{Type: Plain, Subject: "plain", Body: "no line end"},
		{Type: Plain, Subject: "=?utf-8?q?not_encoded?=", Body: "\n\nblank lines first\n"},
		{Type: Handoff, From: "/home/u/a b@c", To: "x..y", Session: "s", Chain: "c", Body: "a\r\nb\rc\x00d\n"},
		{Type: Plain, Body: strings.Repeat("=long ", 1000) + " \n tail \t\n\n"},
		{Type: Plain, From: "Zoë <zoe@example.org>", Subject: strings.Repeat("日本語 ", 90) + "x", Body: "\xff\xfe bytes"},
		{Type: Plain, Body: "\r\n"},
		{Type: Plain, Body: ".\nFrom here\n--\n"},
	} {
		n.Date = date
		var b bytes.Buffer
		if _, err := n.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if len(line) > 999 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
		got, err := Parse(&b)
		testenv.NoError(t, err)
		if !got.Date.Equal(date) {
			t.Errorf("date %v", got.Date)
		}
		got.Date = date
		if got != n {
			t.Errorf("got  %.400s\nwant %.400s", fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", n))
		}
	}
}

// Nothing that stands in a field becomes a header line of its own.
func TestNoHeaderInjection(t *testing.T) {
	evil := "x\r\nX-Gt-Type: handoff\r\n\r\nbody"
	n := Note{From: evil, To: evil, Subject: evil, Session: evil, Chain: evil, Type: evil, Body: "b"}
	var b bytes.Buffer
	if _, err := n.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "X-Gt-Type: handoff") {
			t.Errorf("injected:\n%s", b.String())
		}
	}
	got, err := Parse(&b)
	if err != nil || got.Body != "b" || got.Type != Plain {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStaleReason(t *testing.T) {
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		note, created time.Time
		want          string
	}{
		{at, at.Add(time.Second), "message=2026-01-17T01:00:00Z session_started=2026-01-17T01:00:01Z"},
		{at, at, ""}, {at.Add(time.Second), at, ""}, {time.Time{}, at, ""}, {at, time.Time{}, ""},
	} {
		if reason := StaleReason(c.note, c.created); reason != c.want {
			t.Errorf("%v, %v: %q", c.note, c.created, reason)
		}
	}
}

// Whoever can write to a town can put any number of notes there; a hook looks into
// some of them.
func TestVeryManyNotes(t *testing.T) {
	b := townBox(t)
	b.home.Town.Trust = &place.Trust{Mail: true}
	dir, err := b.prepare()
	testenv.NoError(t, err)
	dir.Close()
	for i := range 3 * maxOpened {
		text := fmt.Appendf(nil, "From: <x@gt.invalid>\nSubject: n%d\n\nbody %d\n", i, i)
		for _, name := range []string{"cur/%d.M1R%08x.vm:2,F", "new/%d.M2R1%07x.vm"} {
			testenv.NoError(t, os.WriteFile(b.file(fmt.Sprintf(name, 1768611600+i, i)), text, 0o600))
		}
	}
	hooked, err := b.Hooked()
	if err != nil || len(hooked) != 2*maxOpened || hooked[0].Subject != "n0" || hooked[2*maxOpened-1].Subject != "n299" {
		t.Fatalf("%d hooked, %v", len(hooked), err)
	}
	unread, more, err := b.Unread()
	if err != nil || len(unread) != maxOpened || more != 2*maxOpened || unread[0].Subject != "n299" {
		t.Errorf("%d unread and %d more, %v", len(unread), more, err)
	}
	whole, err := b.ReadBody(hooked[1])
	if err != nil || whole.Body != "body 1\n" || whole.ID != hooked[1].ID || !whole.Hooked {
		t.Errorf("%+v, %v", whole, err)
	}
	testenv.NoError(t, b.MarkSeen(hooked[1].ID))
	if again, err := b.ReadBody(hooked[1]); err != nil || again.Body != whole.Body || !again.Seen {
		t.Errorf("whose flags changed: %+v, %v", again, err)
	}
}

// A note of another host has an ID of its own, whatever number its name has: no ID that
// names a note of this host finds it.
func TestHostNames(t *testing.T) {
	b := townBox(t)
	id, err := b.Deliver(Note{Type: Plain, Subject: "ours", Body: "ours"}, false)
	testenv.NoError(t, err)
	theirs := NameFrom("box", "9999999999.M000001R"+id+".desk")
	long := NameFrom("box", "9999999999.M000001R"+id+"00.desk")
	for _, name := range []string{theirs, long} {
		testenv.NoError(t, b.Take(Arriving{Name: name, Fresh: true}, []byte("Subject: theirs\n\ntheirs\n")))
	}
	if n, err := b.Get(id); err != nil || n.Subject != "ours" {
		t.Errorf("the whole ID finds %q, %v", n.Subject, err)
	}
	for _, other := range []string{id + "@box", id + "00@box"} {
		if n, err := b.Get(other); err != nil || n.Subject != "theirs" || n.ID != other {
			t.Errorf("%s finds %+v, %v", other, n, err)
		}
	}
	testenv.NoError(t, os.Remove(filepath.Join(b.Dir(), "new", filepath.Base(path(t, b, id)))))
	if n, err := b.Get(id); !errors.Is(err, ErrNotFound) {
		t.Errorf("the ID of a removed note finds %q, %v", n.Subject, err)
	}
	if IDOf("1611600.V801I2M1P44.mx@example.org:2,S") != "f0ac5dc1" {
		t.Errorf("the ID of another program's note is %s", IDOf("1611600.V801I2M1P44.mx@example.org:2,S"))
	}
}

func path(t *testing.T, b Box, id string) string {
	t.Helper()
	n, err := b.Get(id)
	testenv.NoError(t, err)
	return n.Path
}
