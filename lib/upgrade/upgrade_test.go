package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/redact"
)

// person is somebody with a home folder, a state and a project in which a version
// that kept its state there has worked.
type person struct {
	*testing.T
	root string
}

func newPerson(t *testing.T) *person {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, root}
}

func (p *person) path(elem ...string) string {
	return filepath.Join(append([]string{p.root}, elem...)...)
}

func (p *person) getenv(key string) string {
	if key == "HOME" {
		return p.path("home")
	}
	return ""
}

func (p *person) write(name, text string) string {
	p.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	return path
}

// worked has a session work in a folder, by the person's own log.
func (p *person) worked(id, dir string, more ...string) {
	p.Helper()
	payload := map[string]string{"session_id": id, "cwd": p.path(dir), "chain_id": id, "agent": "claude"}
	for i := 0; i < len(more); i += 2 {
		payload[more[i]] = more[i+1]
	}
	if err := os.MkdirAll(p.path(dir), 0o700); err != nil {
		p.Fatal(err)
	}
	log := eventlog.Log(town.Personal(p.getenv).Events())
	if err := log.Append(time.Now(), eventlog.SessionStart, filepath.Base(dir), payload); err != nil {
		p.Fatal(err)
	}
}

func (p *person) record(dir, id, more string) string {
	p.Helper()
	return p.write(dir+"/.runtime/sessions/"+id+".json", fmt.Sprintf(`{"id":%q,"started_at":"2026-01-17T01:00:00Z"%s}`, id, more))
}

func (p *person) known() *Known {
	p.Helper()
	k := New(p.getenv)
	if err := k.Log(eventlog.Log(town.Personal(p.getenv).Events()), "", nil); err != nil {
		p.Fatal(err)
	}
	return k
}

// upgrade plans for a folder, and takes over what there is.
func (p *person) upgrade(dir string) (home.Home, Plan) {
	p.Helper()
	k := p.known()
	h := k.find(p.path(dir))
	plan, ok := k.Plan(h)
	if !ok {
		p.Fatal("nothing was found")
	}
	if err := plan.Apply(); err != nil {
		p.Fatal(err)
	}
	return h, plan
}

func (p *person) expect(plan Plan, fate Fate, why string) {
	p.Helper()
	for _, i := range plan.Items {
		if i.Kind != Rest && (i.Fate != fate || !strings.Contains(i.Why, why)) {
			p.Errorf("%s: %s, %q", i.Path, i.Fate, i.Why)
		}
	}
	if len(plan.Items) == 0 {
		p.Error("nothing was found")
	}
}

func TestAnotherUsersFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	for _, name := range []string{".runtime", ".runtime/sessions", ".runtime/sessions/s1.json"} {
		p := newPerson(t)
		p.worked("s1", "proj")
		p.record("proj", "s1", "")
		if err := os.Chown(p.path("proj", name), 12345, -1); err != nil {
			t.Fatal(err)
		}
		_, plan := p.upgrade("proj")
		p.expect(plan, Left, "it belongs to another user")
	}
}

// A record that was exchanged for a link between the look and the act is not taken.
func TestExchangedAfterTheLook(t *testing.T) {
	p := newPerson(t)
	p.worked("s1", "proj")
	secret := p.write("victim/note", "Subject: secret\n\nx\n")
	path := p.write("proj/.runtime/mail/new/1768611600.M000001R0000000a.vm", "Subject: x\n\nx\n")
	k := p.known()
	h := k.find(p.path("proj"))
	plan, _ := k.Plan(h)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(); err == nil {
		t.Error("it was taken")
	}
	if notes, err := mail.Of(h, h.Identity.Address()).List(); err != nil || len(notes) > 0 {
		t.Error(notes, err)
	}
}

// sleeper runs in a folder, in a pane of tmux as far as its environment tells.
func (p *person) sleeper(dir string) process.Proc {
	p.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Dir = p.path(dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PWD=" + cmd.Dir, "TMUX=/tmp/own,1,0", "TMUX_PANE=%7"}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for {
		proc, err := process.Find(cmd.Process.Pid)
		if err != nil {
			p.Fatal(err)
		}
		if process.Name(proc.PID) == "sleep" {
			return proc
		}
		time.Sleep(time.Millisecond)
	}
}

// A session that lives goes on where its process says that it is, and only there.
func TestLive(t *testing.T) {
	for name, c := range map[string]struct {
		dir, server, pane string
		live, placed      bool
	}{
		"here":               {"proj/sub", "/tmp/own", "%7", true, true},
		"in another folder":  {"other", "/tmp/own", "%7", false, false},
		"on another server":  {"proj", "/tmp/evil", "%7", true, false},
		"in another's pane":  {"proj", "/tmp/own", "%8", true, false},
		"outside of any one": {"proj", "", "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.worked("s1", "proj")
			for _, dir := range []string{"proj/sub", "other"} {
				if err := os.MkdirAll(p.path(dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.Command("git", "-C", p.path("proj"), "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("%s", out)
			}
			proc := p.sleeper(c.dir)
			p.record("proj", "s1", fmt.Sprintf(`,"pid":%d,"pid_start":%q,"boot_id":%q,"tmux_server":%q,"tmux_pane":%q`,
				proc.PID, proc.Start, proc.Boot, c.server, c.pane))
			p.upgrade("proj")
			r, err := session.Lookup(place.StateOf(p.getenv), "s1")
			if err != nil || r == nil {
				t.Fatal(r, err)
			}
			if r.Live() != c.live || (r.TmuxPane != "") != c.placed || (r.TmuxServer != "") != c.placed {
				t.Errorf("live %v in '%s' of '%s'", r.Live(), r.TmuxPane, r.TmuxServer)
			}
			if !c.live && r.Crashed(time.Now()) {
				t.Error("one of which nothing is known is taken for dead")
			}
		})
	}
}

// A session that has gone on since, before anybody ran the upgrade, gets its chain
// back and keeps what it has.
func TestGoneOnSince(t *testing.T) {
	p := newPerson(t)
	p.worked("s0", "proj")
	p.worked("s1", "proj", "chain_id", "s0", "parent_id", "s0")
	p.record("proj", "s1", `,"chain_id":"s0","parent_id":"s0","note":"0000000a"`)
	k := p.known()
	h := k.find(p.path("proj"))
	store := session.Store{Home: h}
	if err := h.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(&session.Record{ID: "s1", ChainID: "s1", Source: "resume", StartedAt: time.Now()}, false); err != nil {
		t.Fatal(err)
	}
	p.upgrade("proj")
	r, err := store.Get("s1")
	if err != nil || r.ChainID != "s0" || r.ParentID != "s0" || r.Note != "0000000a" || r.Source != "resume" {
		t.Errorf("%+v, %v", r, err)
	}
	_, plan := p.upgrade("proj")
	p.expect(plan, InState, "")
}

// A record of a session that worked elsewhere is no record of this folder.
func TestElsewhere(t *testing.T) {
	p := newPerson(t)
	p.worked("s1", "proj")
	p.worked("s2", "other")
	p.record("proj", "s2", "")
	p.write("proj/.runtime/session_id", "s2\n2026-01-17T01:00:00Z\n")
	p.write("proj/.polecat-checkpoint.json", `{"timestamp":"2026-01-17T01:00:00Z","session_id":"s2"}`)
	_, plan := p.upgrade("proj")
	p.expect(plan, Left, "neither your event log nor any of your agents knows")
}

// Of a session that only its client knows, a record names no chain of another folder.
func TestChainOfAnother(t *testing.T) {
	p := newPerson(t)
	p.worked("v1", "victim")
	p.write("home/.claude/projects/x/s1.jsonl",
		`{"type":"user","uuid":"1","sessionId":"s1","cwd":"`+p.path("proj")+`","timestamp":"2026-01-17T01:00:00.000Z","message":{"role":"user","content":"x"}}`+"\n")
	p.record("proj", "s1", `,"chain_id":"v1","parent_id":"v1","child_id":"v1"`)
	k := p.known()
	if errs := k.Stores(p.getenv, redact.Cut(nil), "", nil); errs != nil {
		t.Fatal(errs)
	}
	plan, _ := k.Plan(k.find(p.path("proj")))
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	r, err := session.Lookup(place.StateOf(p.getenv), "s1")
	if err != nil || r == nil || r.ChainID != "s1" || r.ParentID != "" || r.ChildID != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// What no plan could say is no plan: a folder that git says nothing of.
func TestGitFails(t *testing.T) {
	p := newPerson(t)
	p.worked("s1", "proj")
	p.record("proj", "s1", "")
	if out, err := exec.Command("git", "-C", p.path("proj"), "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	p.write("proj/.git/index", "no index")
	k := p.known()
	plan, _ := k.Plan(k.find(p.path("proj")))
	if plan.Failed == nil || plan.Apply() == nil {
		t.Error("it is called done")
	}
	p.expect(plan, Left, "")
}
