package attacks

import (
	"fmt"

	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/lib/place"
	"gt/lib/state/peer"
)

// Whatever another host says in its logs, in its list of agents and in its letters: no
// program of gt looks at a path, runs a program, signals a process or uses a pane that is
// named there, and none writes to a network. The same log as one's own is looked into, so
// that the attack is one.
func TestPeersFiles(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not here")
	}
	w := newWorld(t)
	w.repository("work")
	w.repository("bait/repo")
	w.trapAt("bait/claude", "claude")
	w.Write("bait/t.jsonl", `{"type":"user","uuid":"u1","sessionId":"theirs-1","cwd":"`+w.Path("bait/repo")+`","timestamp":"2026-01-05T01:00:00.000Z","message":{"role":"user","content":"words"}}`+"\n")
	w.tmux("work")
	victim := exec.Command("sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()

	events := ""
	for i, id := range []string{"theirs-1", "theirs-2", "theirs-3"} {
		for j, kind := range []string{"session_start", "session_resume"} {
			events += fmt.Sprintf(`{"ts":%q,"type":%q,"actor":"work","payload":{"session_id":%q,"chain_id":"theirs-1","agent":%q,"cwd":%q,"transcript_path":%q,"tmux_session":"waits","tmux_pane":"%%0","pid":%d,"host":%q,"source":"resume"}}`+"\n",
				time.Now().Add(time.Duration(i*10+j-100)*time.Minute).UTC().Format(time.RFC3339), kind, id, []string{"claude", w.Path("bait/claude"), "codex"}[i], w.Path("bait/repo"), w.Path("bait/t.jsonl"), victim.Process.Pid, w.Path("bait/host"))
		}
	}
	agents := ""
	for _, name := range []string{"api", "%0", "waits", "../../bait", w.Path("bait/repo")} {
		agents += fmt.Sprintf(`{"id":"theirs-1","name":%q,"path":%q,"agent":%q,"launcher":[%q],"status":"running","session_id":"theirs-1","tmux_session":"waits","pane":"%%0","pid":%d,"town":%q}`+"\n",
			name, w.Path("bait/repo"), w.Path("bait/claude"), w.Path("bait/claude"), victim.Process.Pid, w.Path("bait/repo"))
	}
	state := place.StateOf(w.Getenv)
	hosts := peer.NewHosts(state)
	for _, h := range []peer.Host{{Name: "box", LastSeen: time.Now()}, {Name: "desk", SSH: w.Path("bait/claude")}} {
		for _, err := range []error{hosts.SetOwn(peer.Host{Name: "laptop"}), hosts.Put(h)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		w.Write(hosts.Path(h.Name, ".events.jsonl"), events)
		w.Write(hosts.Path(h.Name, "towns", "x-1", ".events.jsonl"), events)
		w.Write(hosts.Path(h.Name, "instances.jsonl"), agents)
		w.Write(hosts.Path(h.Name, "records", "theirs-1.jsonl"), `{"path":"`+w.Path("bait/t.jsonl")+`"}`+"\n")
	}
	for _, kind := range []string{peer.Note, peer.Command, peer.Session} {
		if _, err := peer.OutboxOf(state).Put("box", kind, []byte("From: <"+w.Path("bait/repo")+">\nTo: <"+w.Path("bait/repo")+"@box>\nSubject: x\n\nx\n"), time.Now()); err != nil {
			t.Fatal(err)
		}
	}

	traced := w.withEnv()
	log := w.Path("strace")
	traced.In = []string{"strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file,%network,kill,tkill,tgkill,pidfd_open,pidfd_send_signal", "-o", log}
	signals := regexp.MustCompile(fmt.Sprintf(`(?m)\b(kill|tkill|tgkill|pidfd_open)\((-?%d)\b`, victim.Process.Pid))
	network := regexp.MustCompile(`(?m)\bconnect\(.*AF_INET`)
	calls := func(in *world, line ...string) (string, result) {
		t.Helper()
		r := in.Run("work", strings.NewReader(`{"session_id":"own-1","cwd":"`+w.Path("work")+`","hook_event_name":"SessionStart","source":"startup"}`), line...)
		text := w.Read(log)
		if text == "" {
			t.Skipf("strace may not trace here: %v", r)
		}
		return text, r
	}
	seen := false
	for _, line := range [][]string{
		{"gt-seance"}, {"gt-seance", "list", "--all", "--json"}, {"gt-seance", "list", "--live"}, {"gt-seance", "list", "--here"}, {"gt-seance", "find", "--host", "box"},
		{"gt-seance", "show", "theirs-1"}, {"gt-seance", "show", "theirs-2", "--json"}, {"gt-seance", "chain", "theirs-1"}, {"gt-seance", "timeline"}, {"gt-seance", "usage"},
		{"gt-seance", "usage", "theirs-1"}, {"gt-seance", "read", "theirs-1"}, {"gt-seance", "follow", "theirs-1"}, {"gt-seance", "grep", "words"}, {"gt-seance", "talk", "theirs-1", "x"},
		{"gt-seance", "talk", "theirs-2", "x", "--dry-run"}, {"gt-seance", "resume", "theirs-1", "--force"}, {"gt-seance", "resume", "theirs-2", "--fork"}, {"gt-seance", "resume", "theirs-3", "--dry-run"},
		{"gt-seance", "thread", "theirs-1"}, {"gt-session", "list", "--hosts"}, {"gt-session", "list", "--hosts", "--json"}, {"gt-session", "status", "api@box"}, {"gt-session", "status", "%0@box"},
		{"gt-session", "stop", "api@desk"}, {"gt-session", "start", "api@desk"}, {"gt-session", "attach", "api@desk"}, {"gt-session", "send", "api@desk", "x"}, {"gt-session", "send", "api@box", "%0@box", "--", "x"}, {"gt-record", "sync", "api@box"}, {"gt-session", "peek", "api@desk"},
		{"gt-session", "restore"}, {"gt-session", "stop", "--all"}, {"gt-mail", "outbox"}, {"gt-mail", "send", "api@box", "-s", "x", "-m", "x"}, {"gt-mail"}, {"gt-record", "list"},
		{"gt-prime", "--hook", "--agent", "claude"}, {"gt-reconcile", "tick"}, {"gt-krc", "stats"},
	} {
		text, r := calls(traced, line...)
		if bad := regexp.MustCompile(`(?m)^.*/bait.*$`).FindString(text); bad != "" {
			t.Errorf("%v\nlooks there: %.400s", r, bad)
		}
		if bad := signals.FindString(text) + network.FindString(text); bad != "" {
			t.Errorf("%v\ncalls %s", r, bad)
		}
		seen = seen || strings.Contains(r.Out, "theirs-1")
	}
	if !seen {
		t.Error("no program has told of a session of the other hosts")
	}
	if marks := w.marks(); marks != "" {
		t.Errorf("programs ran: %s", marks)
	}
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process is gone: %v", err)
	}
	w.add(string(state)+"/.events.jsonl", events)
	if text, r := calls(traced, "gt-seance", "show", "theirs-1"); !strings.Contains(text, "/bait") {
		t.Errorf("this is no attack: as one's own, the log is not looked into: %v", r)
	}
}
