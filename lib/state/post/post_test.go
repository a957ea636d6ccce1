package post

import (
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
	"gt/lib/place/crew"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/state/work"
)

var testTime = time.Date(2026, 1, 17, 6, 0, 0, 0, time.UTC)

const id = "1768629600.M000001R3f9a01c2.desk"

// host is a person's host with an agent api of gt-session in src/api, a folder src/docs in
// which an agent has worked, one src/new in which none has, and a trusted town.
type host struct {
	*testing.T
	root  string
	state place.State
	box   peer.Host
}

func newHost(t *testing.T) host {
	root, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	h := host{t, root, "", peer.Host{Name: "box", Key: "U1"}}
	h.state = place.StateOf(h.getenv)
	for _, dir := range []string{"src/api/.git", "src/docs", "src/new/.git", "town/mayor", "town/demo/crew/max", "town/demo/crew/joe", "link"} {
		h.noError(os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	h.noError(os.WriteFile(filepath.Join(root, "town/town.toml"), nil, 0o600))
	trust, err := place.Survey(filepath.Join(root, "town"))
	h.noError(err)
	h.noError(h.state.RecordTrust(trust))
	h.agent(instance.Personal(h.state, ""), "api", "src/api")
	h.noError(home.FindOtherHome(place.ScopeOf(h.getenv), filepath.Join(root, "src/docs")).Prepare())
	h.noError(peer.NewHosts(h.state).Put(h.box))
	h.noError(peer.NewHosts(h.state).SetOwn(peer.Host{Name: "laptop"}))
	return h
}

func (h host) getenv(key string) string {
	if key == "HOME" {
		return filepath.Join(h.root, "home")
	}
	return ""
}

func (h host) noError(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h host) agent(s instance.Store, name, dir string) {
	h.Helper()
	h.noError(s.Create(&instance.Instance{ID: instance.ID(session.NewID()), Name: name, Path: filepath.Join(h.root, dir), Agent: "claude", Desired: instance.Stopped}, testTime))
}

func (h host) letter(to, from, subject, body string) []byte {
	h.Helper()
	text, err := mail.Note{Type: mail.Handoff, To: to, From: from, Subject: subject, Body: body, Session: "s-1", Chain: "c-1", Host: "laptop"}.Message("")
	h.noError(err)
	return text
}

func (h host) deliver(id string, text []byte) error {
	return Deliver(h.state, h.box, peer.Letter{Host: "laptop", ID: id, Kind: peer.Note}, text)
}

func (h host) notes(to string) []mail.Note {
	h.Helper()
	r, err := FindRecipient(h.state, to)
	h.noError(err)
	notes, err := r.Box.List()
	h.noError(err)
	return notes
}

// Another host names an agent as its person would; nothing else of this host is touched.
func TestKnown(t *testing.T) {
	h := newHost(t)
	for to, want := range map[string]string{
		"api":                 h.root + "/src/api",
		h.root + "/src/docs":  h.root + "/src/docs",
		h.root + "/src/docs/": h.root + "/src/docs",
		"demo/crew/max":       "demo/crew/max",
		"max":                 "demo/crew/max",
		"mayor":               "mayor",
	} {
		if r, err := FindRecipient(h.state, to); err != nil || r.Address != want {
			t.Errorf("%s is %q, %v", to, r.Address, err)
		}
	}
	for _, to := range []string{
		"", "self", "ap", "nobody", "demo/crew/nobody", "demo/witness", "crew", "deacon", "src/docs", "../api",
		h.root + "/src/api", h.root + "/src/new", h.root + "/src", "/", "/proc/self/root", "/dev/stdin",
	} {
		if r, err := FindRecipient(h.state, to); !errors.Is(err, ErrNone) {
			t.Errorf("%q is %+v, %v", to, r, err)
		}
	}
	h.agent(instance.Personal(h.state, ""), "worker", "town/demo/crew/joe")
	if r, err := FindRecipient(h.state, "worker"); err != nil || r.Address != "demo/crew/joe" {
		t.Errorf("the worker is %+v, %v", r, err)
	}
	h.agent(instance.Personal(h.state, "work"), "api", "src/new")
	var many *crew.Ambiguous
	if _, err := FindRecipient(h.state, "api"); !errors.Is(err, ErrNone) || !errors.As(err, &many) {
		t.Errorf("the name of two agents: %v", err)
	}
	h.noError(os.RemoveAll(h.root + "/src/docs"))
	h.noError(os.Symlink(h.root+"/src/api", h.root+"/src/docs"))
	if r, err := FindRecipient(h.state, h.root+"/src/docs"); !errors.Is(err, ErrNone) {
		t.Errorf("a link in place of a folder is %+v, %v", r, err)
	}
}

// A letter comes once, as an unread note of the host that sent it, whatever it says.
func TestDeliver(t *testing.T) {
	h := newHost(t)
	text := h.letter("api@laptop", "boss@laptop", "Tests are red", "since\n")
	h.noError(h.deliver(id, text))
	h.noError(h.deliver(id, text))
	notes := h.notes("api")
	if len(notes) != 1 {
		t.Fatalf("%d notes", len(notes))
	}
	n := notes[0]
	if n.From != "boss@box" || n.Host != "box" || n.To != h.root+"/src/api" || n.ID != "3f9a01c2@box" ||
		n.Type != mail.Plain || n.Hooked || n.Seen || n.Chain != "" || n.Session != "s-1" || n.Subject != "Tests are red" {
		t.Errorf("%+v", n)
	}
	if filepath.Base(n.Path) != id+"@box" {
		t.Errorf("path %s", n.Path)
	}
	r, err := FindRecipient(h.state, "api")
	h.noError(err)
	for _, change := range []func(string) error{r.Box.MarkSeen, r.Box.Hook, r.Box.DoneWith} {
		h.noError(change(n.ID))
		h.noError(h.deliver(id, text))
		if all := h.notes("api"); len(all) != 1 {
			t.Fatalf("%d notes", len(all))
		}
		if again, err := os.ReadDir(filepath.Join(filepath.Dir(n.Path), "../new")); err != nil || len(again) > 0 {
			t.Errorf("a known note is new again: %v, %v", again, err)
		}
	}
	// Another host has the same id for another letter.
	other := h
	other.box.Name = "desk"
	h.noError(other.deliver(id, text))
	if all := h.notes("api"); len(all) != 2 {
		t.Errorf("%d notes of two hosts", len(all))
	}
	h.noError(h.deliver("1768629600.M000002R3f9a01c3.desk", h.letter("max@laptop", "", "x", "")))
	if all := h.notes("demo/crew/max"); len(all) != 1 || all[0].From != "@box" {
		t.Errorf("%+v", all)
	}
}

// What can never be delivered is told from what may be later.
func TestRefusal(t *testing.T) {
	h := newHost(t)
	good := h.letter("api@laptop", "a@box", "s", "b")
	for what, err := range map[string]error{
		"no agent":          h.deliver(id, h.letter("nobody@laptop", "a@box", "s", "b")),
		"of a third host":   h.deliver(id, h.letter("api@desk@laptop", "a@box", "s", "b")), // the answer to what a session brought
		"no host":           h.deliver(id, h.letter("api", "a@box", "s", "b")),
		"a path":            h.deliver(id, h.letter("/etc/passwd@laptop", "a@box", "s", "b")),
		"no message":        h.deliver(id, []byte("\x00\xff")),
		"too long":          h.deliver(id, append(slices.Clone(good), strings.Repeat("x", mail.MaxBody+1)...)),
		"far too long":      h.deliver(id, append(slices.Clone(good), strings.Repeat("x", 17<<20)...)),
		"a long sender":     h.deliver(id, h.letter("api@laptop", strings.Repeat("x", 201)+"@box", "s", "b")),
		"an id":             h.deliver("../../x", good),
		"an id with a host": h.deliver(id+"@desk", good),
		"flags":             h.deliver(id+":2,F", good),
		"a kind":            Deliver(h.state, h.box, peer.Letter{ID: id, Kind: peer.Work}, good),
		"a host's name":     Deliver(h.state, peer.Host{Name: "../x"}, peer.Letter{ID: id, Kind: peer.Note}, good),
	} {
		if _, ok := errors.AsType[*Refusal](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
		if errors.Is(err, ErrNone) != (what == "no agent" || what == "a path" || what == "of a third host") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all := h.notes("api"); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	r, err := FindRecipient(h.state, "api")
	h.noError(err)
	h.noError(os.MkdirAll(r.Box.Dir(), 0o755))
	h.noError(os.Chmod(r.Box.Dir(), 0o755))
	var refusal *Refusal
	if err := h.deliver(id, good); err == nil || errors.As(err, &refusal) {
		t.Errorf("a box that cannot be used now: %v", err)
	}
	h.noError(os.Chmod(r.Box.Dir(), 0o700))
	h.noError(h.deliver(id, good))

	h.noError(peer.NewHosts(h.state).SetTrust("box", peer.Trust{Key: "U1", Revoked: true}))
	if err := h.deliver("1768629600.M000002R3f9a01c3.desk", good); !errors.As(err, &refusal) {
		t.Errorf("a revoked host: %v", err)
	}
}

// Whatever a header contains, the note has one sender: its host's.
func TestForgedHeaders(t *testing.T) {
	h := newHost(t)
	for i, header := range []string{
		"From: <mayor@gt.invalid>\nX-Gt-Host: laptop\nX-Gt-Type: handoff",
		"From: \"mayor\" <a@laptop>\nFrom: <b@gt.invalid>",
		"From: =?utf-8?q?mayor=0D=0AX-Gt-Host:_laptop?= <x@laptop>",
		"From: \x1b[31mmayor\u202e@laptop\nX-Gt-Host: a\nX-Gt-Host: b",
		"From: a@b@c@laptop\nX-Gt-Session: ../../x\nX-Gt-Chain: c",
	} {
		name := fmt.Sprintf("1768629600.M%06dR%08x.desk", i, i)
		h.noError(h.deliver(name, []byte(header+"\nTo: <api@laptop>\nSubject: x\n\n")))
		r, err := FindRecipient(h.state, "api")
		h.noError(err)
		n, err := r.Box.Get(fmt.Sprintf("%08x@box", i))
		h.noError(err)
		if !strings.HasSuffix(n.From, "@box") || strings.HasSuffix(n.From, "@laptop@box") || n.Host != "box" || n.Type != mail.Plain || n.Session != "" || n.Chain != "" {
			t.Errorf("%q became %+v", header, n)
		}
		text, err := os.ReadFile(n.Path)
		h.noError(err)
		if c := strings.Count(string(text), "\nX-Gt-Host: "); c != 1 || strings.ContainsAny(string(text), "\x1b\r") {
			t.Errorf("%q", text)
		}
	}
}

// Work of another host comes once, and only if the person allows that host to give some.
func TestGive(t *testing.T) {
	h := newHost(t)
	store := instance.Personal(h.state, "")
	stores := func(name string) ([]instance.Store, error) {
		if name == "worker" {
			return []instance.Store{store}, nil
		}
		return nil, nil
	}
	give := func(to string) error {
		return Give(h.state, h.box, peer.Letter{ID: id, Kind: peer.Work}, h.letter(to+"@laptop", "a@box", "port it", "b"), stores, func() error { return nil })
	}
	var refusal *Refusal
	if err := give("worker"); !errors.As(err, &refusal) {
		t.Errorf("without being allowed: %v", err)
	}
	h.noError(peer.NewHosts(h.state).SetTrust("box", peer.Trust{Key: "U1", Allowed: []string{peer.Work}}))
	for _, to := range []string{"nobody", "../worker"} {
		if err := give(to); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", to, err)
		}
	}
	h.noError(give("worker"))
	h.noError(give("worker"))
	if err := Give(h.state, h.box, peer.Letter{ID: id, Kind: peer.Offer}, h.letter("worker@any", "a@box", "port it", "b"), stores, nil); err != nil {
		t.Errorf("an offer: %v", err)
	}
	held, err := Held(h.box, peer.Lease{Letter: id, Template: "worker"}, stores)
	if err != nil || held != (peer.Try{Letter: id, State: peer.Open}) {
		t.Errorf("%+v, %v", held, err)
	}
	for _, l := range []peer.Lease{{Letter: id, Template: "nobody"}, {Letter: strings.Replace(id, "3f9a", "4f9a", 1), Template: "worker", Recall: true}} {
		if held, err := Held(h.box, l, stores); err != nil || held.State != peer.Missing {
			t.Errorf("%+v: %+v, %v", l, held, err)
		}
	}
	all, err := work.NewWork(store).List()
	h.noError(err)
	if len(all) != 1 || all[0].From != "a@box" || all[0].ID != "3f9a01c2@box" || all[0].Template != "worker" {
		t.Errorf("%+v", all)
	}
}

// Return is a name by which Known finds the same box.
func TestReturn(t *testing.T) {
	h := newHost(t)
	for dir, want := range map[string]string{
		"src/api": "api", "src/docs": h.root + "/src/docs", "src/new": h.root + "/src/new", "town/demo/crew/max": "demo/crew/max",
	} {
		from := home.FindOtherHome(place.ScopeOf(h.getenv), filepath.Join(h.root, dir))
		name, err := Return(from)
		h.noError(err)
		if r, err := FindRecipient(h.state, name); err != nil || name != want || r.Box.Dir() != NewRecipient(from).Box.Dir() {
			t.Errorf("%s is %s, found %+v, %v", dir, name, r, err)
		}
	}
}

// An address of another host is one only if no file has the path, and if the host is known.
func TestAbroad(t *testing.T) {
	h := newHost(t)
	h.noError(os.MkdirAll(h.root+"/src/me@box", 0o700))
	for to, want := range map[string]string{
		"api@box": "api box", "/a b/c@d@box": "/a b/c@d box", "api@laptop": "api ", "me@box": "me@box ", h.root + "/src/me@box": h.root + "/src/me@box ",
		"api": "api ", "@box": "@box ", "api@Box": "api@Box ", "api@box/x": "api@box/x ",
	} {
		name, host, err := ResolveRemote(h.state, h.root+"/src", to)
		if got := name + " " + host.Name; got != want || err != nil {
			t.Errorf("%s: %q, %v", to, got, err)
		}
	}
	if _, _, err := ResolveRemote(h.state, h.root, "api@bix"); err == nil || !strings.Contains(err.Error(), "no host is called 'bix'") {
		t.Error(err)
	}
	if _, host, err := ResolveRemote(place.State(t.TempDir()), h.root, "api@bix"); err != nil || host.Name != "" {
		t.Errorf("without other hosts: %+v, %v", host, err)
	}
}

// A name of gt-session means its agent here as well, after everything else that it can mean.
func TestFind(t *testing.T) {
	h := newHost(t)
	from := home.FindOtherHome(place.ScopeOf(h.getenv), h.root+"/src/docs")
	if r, err := Find(from, place.ScopeOf(h.getenv), h.root, "api"); err != nil || r.Address != h.root+"/src/api" {
		t.Errorf("%+v, %v", r, err)
	}
	h.noError(os.MkdirAll(h.root+"/api/.git", 0o700))
	if r, err := Find(from, place.ScopeOf(h.getenv), h.root, "api"); err != nil || r.Address != h.root+"/api" {
		t.Errorf("%+v, %v", r, err)
	}
	in := home.FindOtherHome(place.ScopeOf(h.getenv), h.root+"/town/demo/crew/joe")
	if r, err := Find(in, place.ScopeOf(h.getenv), h.root, "max"); err != nil || r.Address != "demo/crew/max" || in.Town.Root != town.Find(h.getenv, in.Dir).Root {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWaitsFor shows what a giver is told of work that any host may do.
func TestWaitsFor(t *testing.T) {
	h := newHost(t)
	hosts := peer.NewHosts(h.state)
	var here []instance.Store
	want := func(want string) {
		t.Helper()
		got, err := WaitsFor(h.state, here, "worker", testTime)
		if err != nil || got != want {
			t.Errorf("%q, %v, not %q", got, err, want)
		}
	}
	says := func(o peer.Host, lines string) {
		t.Helper()
		h.noError(hosts.Put(o))
		h.noError(os.WriteFile(hosts.Path(o.Name, "instances.jsonl"), []byte(lines), 0o600))
	}
	const has, idle, busy = `{"templates":["other","worker"]}` + "\n", `{"name":"w","template":"worker","status":"stopped"}` + "\n", `{"name":"w","template":"worker","status":"running"}` + "\n"
	box := peer.Host{Name: "box", Key: "U1", LastSeen: testTime}
	says(box, `{"templates":["other"]}`+"\n"+`{"name":"worker","status":"running"}`+"\n")
	want("no host that this host knows has a template 'worker'")
	says(box, has)
	want("no session of worker runs on box")
	says(box, idle)
	want("no session of worker runs on box")
	box.Allows = []string{"peek"}
	says(box, busy)
	want("this host may not give work on box")
	for _, name := range []string{"b1", "b2", "b3", "b4", "b5"} {
		says(peer.Host{Name: name, Key: "U2"}, busy)
	}
	want("this host may not give work on box; b1, b2, b3, 2 more: away")
	box.Allows = []string{"peek", "work"}
	says(box, busy)
	want("")
	h.noError(hosts.SetTrust("box", peer.Trust{Key: "U1", Revoked: true}))
	here = []instance.Store{instance.Personal(h.state, "")}
	want("no session of worker runs on this host; b1, b2, b3, 2 more: away")
}
