package attacks

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// otherUID is the other user's number.
const otherUID = 65534

// asOtherUser is the same world for another user of the machine. The test is skipped where
// the tests are not root, who alone can be somebody else.
func (w *world) asOtherUser() *world {
	w.Helper()
	if os.Getuid() != 0 {
		w.Skip("only root can be another user")
	}
	for dir := w.Root; len(dir) > 1 && strings.HasPrefix(dir, filepath.Clean(os.TempDir())+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			w.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.MkdirAll(w.Path("theirs"), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.Lchown(w.Path("theirs"), otherUID, otherUID); err != nil {
		w.Fatal(err)
	}
	u := w.withEnv("HOME="+w.Path("theirs"), "XDG_STATE_HOME="+w.Path("theirs/.local/state"))
	u.As = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID, NoSetGroups: false}}
	return u
}

// shared makes a folder that everybody can write to, as /tmp is.
func (w *world) shared(dir string) {
	w.Helper()
	if err := os.MkdirAll(w.Path(dir), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.Chmod(w.Path(dir), 0o777|os.ModeSticky); err != nil {
		w.Fatal(err)
	}
}

// What another user plants above a project makes no town of it, also not for a
// moment.
func TestUserPlantsTown(t *testing.T) {
	w := newWorld(t)
	u := w.asOtherUser()
	w.shared("shared")
	w.Write("mine/mayor/town.json", `{"type":"town","version":2,"name":"mine"}`)
	w.repository("shared/project")
	u.MustRun("shared", "ln", "-s", w.Path("mine/mayor"), "mayor")
	u.MustRun("shared", "sh", "-c", "echo '# "+evilWord+"' >town.toml; mkdir roles mail; for r in default crew mayor work; do echo "+evilWord+" >roles/$r.md; done; chmod -R 777 mail")
	u.startCompanion("shared", true, "sh", "-c", "echo ready; while :; do mv town.toml t; mv t town.toml; done & loop=$!; read x; kill $loop")
	before := w.listing("mine")
	for range 40 {
		r := w.Run("shared/project", nil, "gt-prime", "--state", "--json")
		if r.Code != 0 || !strings.Contains(r.Out, `"town":"`+w.Path("home/.local/state/gt")+`"`) {
			t.Fatalf("%v", r)
		}
	}
	w.thread("shared/project")
	if r := w.start("shared/project", ownSessionID+"1"); strings.Contains(r.Out+r.Errs, evilWord) {
		t.Errorf("%v", r)
	}
	if changed := changes(before, w.listing("mine")); changed != "" {
		t.Error(changed)
	}
	if r := w.Run("shared/project", nil, "gt-hooks", "trust", "--yes", w.Path("theirs")); r.Code != 1 || !strings.Contains(r.Errs, "belongs to another user") {
		t.Errorf("another user's folder can be trusted: %v", r)
	}
	// The twin: in a folder of one's own it is a town as soon as one says so.
	w.Write("town/town.toml", "")
	w.MustRun("town", "gt-hooks", "trust", "--yes")
	if r := w.Run("town", nil, "gt-prime", "--state", "--json"); !strings.Contains(r.Out, `"town":"`+w.Path("town")+`"`) {
		t.Errorf("%v", r)
	}
}

// Nor does it make one project of several: what another user has called a repository
// above them is none, and nothing of it is told.
func TestUserPlantsRepository(t *testing.T) {
	for name, plant := range map[string]string{
		"an empty file": "touch .git",
		"a repository": "git config --global --add safe.directory '*' && git init -qb '" + evilWord + "-branch' && git -c user.name=x -c user.email=x commit -q --allow-empty -m '" + evilWord +
			" subject' && git config filter.evil.clean touch",
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t)
			u := w.asOtherUser()
			w.shared("shared")
			w.Write("shared/one/x", "")
			w.Write("shared/two/x", "")
			u.MustRun("shared", "sh", "-c", plant)
			c := w.client("shared/one")
			c.start("shared/one", ownSessionID+"1")
			c.typed("shared/one", ownSessionID+"1", "gt-checkpoint", "write", "--notes", "OWN-NOTES")
			c.hook("shared/one", nil, ownSessionID+"1", "Stop", "", "gt-checkpoint", "write", "--hook")
			c.stop()
			if r := w.start("shared/two", ownSessionID+"2"); strings.Contains(r.Out+r.Errs, evilWord) || strings.Contains(r.Out, "OWN-NOTES") {
				t.Errorf("another folder's session is told: %v", r)
			}
			if r := w.start("shared/one", ownSessionID+"3"); strings.Contains(r.Out+r.Errs, evilWord) || !strings.Contains(r.Out, "OWN-NOTES") {
				t.Errorf("the folder's own next session is told: %v", r)
			}
			// Nor does it keep the person from trusting a town of their own there.
			w.Write("shared/two/town.toml", "")
			w.MustRun("shared/two", "gt-hooks", "trust", "--yes")
		})
	}
}

// A file of a town that another user exchanges while it is looked at is read as
// one's own or not at all.
func TestUserExchangesFiles(t *testing.T) {
	w := newWorld(t)
	u := w.asOtherUser()
	const crew = "town/demo/crew/max"
	w.Write("town/town.toml", "[rigs.demo]\nprefix = \"gt\"\n")
	w.Write(crew+"/file", "")
	w.MustRun("town", "gt-hooks", "trust", "--yes")
	now := time.Now().UTC().Format(time.RFC3339)
	w.Write(crew+"/.polecat-checkpoint.json", `{"notes":"OWN","timestamp":"`+now+`"}`)
	if r := w.Run(crew, nil, "gt-checkpoint", "read"); !strings.Contains(r.Out, "OWN") {
		t.Errorf("what another program of the town has left is not read: %v", r)
	}
	w.MustRun(".", "chmod", "755", "town", "town/demo", "town/demo/crew")
	w.shared(crew)
	if err := os.Chmod(w.Path(crew), 0o777); err != nil { // without the sticky bit: a group's folder
		t.Fatal(err)
	}
	u.MustRun(crew, "sh", "-c", `echo '{"notes":"`+evilWord+`","timestamp":"`+now+`"}' >.their`)
	u.startCompanion(crew, true, "sh", "-c", "mv .polecat-checkpoint.json .own; echo ready; while :; do ln .own .x; mv -f .x .polecat-checkpoint.json; cp .their .y; mv -f .y .polecat-checkpoint.json; done & loop=$!; read x; kill $loop")
	for range 60 {
		if r := w.Run(crew, nil, "gt-checkpoint", "read"); strings.Contains(r.Out+r.Errs, evilWord) {
			t.Fatalf("%v", r)
		}
	}
	if r := w.start(crew, ownSessionID+"1"); strings.Contains(r.Out+r.Errs, evilWord) {
		t.Errorf("%v", r)
	}
}

// Nobody who is not the person can write to what gt believes, nor keep it from
// working.
func TestUserAndState(t *testing.T) {
	w := newWorld(t)
	u := w.asOtherUser()
	w.neighbour()
	w.repository("work")
	c := w.client("work")
	c.start("work", ownSessionID+"1")
	if r := u.Run(".", nil, "sh", "-c", "find "+w.Path("home/.local/state/gt")+" -type f -exec head {} + ; echo x >"+w.Path("home/.local/state/gt/x")); strings.Contains(r.Out, neighbour) || r.Code == 0 {
		t.Errorf("another user reads it: %v", r)
	}
	held := u.startCompanion(".", true, testProgram(), "hold", w.Path("home"), w.Path("work"))
	var files []string
	if err := json.Unmarshal([]byte(held.ready), &files); err != nil {
		t.Error(err)
	}
	for _, file := range files {
		if strings.HasPrefix(file, w.Path("home/.local/state")) {
			t.Errorf("another user holds %s", file)
		}
	}
	c.stop()
	w.thread("work")

	// With a state that others can write to there is no thread, and a clear word.
	state := w.Path("home/.local/state/gt")
	for name, spoil := range map[string]string{
		"can write to it":            "chown 0 " + state + "; chmod 777 " + state,
		"it belongs to another user": "chmod 700 " + state + "; chown 65534 " + state,
	} {
		w.MustRun(".", "sh", "-c", spoil)
		r := w.start("neighbour", ownSessionID+"2")
		if r.Code != 0 || strings.Contains(r.Out, neighbour) || !strings.Contains(r.Errs, name) || strings.Count(r.Errs, "\n") > 1 {
			t.Errorf("%s: %v", name, r)
		}
		if r := w.Run("neighbour", nil, "gt-mail", "send", "self", "-s", "x"); r.Code != 74 || !strings.Contains(r.Errs, name) {
			t.Errorf("%s: %v", name, r)
		}
	}
	w.MustRun(".", "sh", "-c", "chown 0 "+state+"; chmod 700 "+state)
	if r := w.start("neighbour", ownSessionID+"3"); !strings.Contains(r.Out, neighbour+" message") {
		t.Errorf("mended, it is not told: %v", r)
	}
}

// With sudo, where HOME is still the user's, root leaves that user's files as they
// are and makes none there.
func TestSudo(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		name := "before the user has begun"
		if !fresh {
			name = "with a state of the user's"
		}
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t)
			u := w.asOtherUser()
			w.MustRun(".", "cp", w.Path("home/.gitconfig"), w.Path("theirs/.gitconfig"))
			w.repository("theirs/work")
			w.MustRun(".", "chown", "-hR", "65534:65534", w.Path("theirs"))
			if !fresh {
				c := u.client("theirs/work")
				c.start("theirs/work", ownSessionID+"1")
				c.typed("theirs/work", ownSessionID+"1", "gt-handoff", "-s", "USER-SUBJECT", "-m", "USER-MESSAGE")
				c.stop()
			}
			before := w.listing("theirs")
			root := w.withEnv("HOME="+w.Path("theirs"), "XDG_STATE_HOME="+w.Path("theirs/.local/state"), "SUDO_UID=65534", "SUDO_USER=nobody")
			r := root.start("theirs/work", ownSessionID+"5")
			if r.Code != 0 || !strings.Contains(r.Errs, "another user") || strings.Contains(r.Out, "USER-") {
				t.Errorf("%v", r)
			}
			for _, run := range commands(root, "theirs/work") {
				if r := run(); strings.Contains(r.Line, "--hook") && (r.Code != 0 || strings.Contains(r.Out, "USER-")) {
					t.Errorf("%v", r)
				}
			}
			for _, args := range [][]string{{"install", "claude"}, {"install", "--all", "--record"}, {"uninstall", "--all"}} {
				if r := root.Run("theirs/work", nil, append([]string{"gt-hooks"}, args...)...); r.Code == 0 || !strings.Contains(r.Errs, "another user") {
					t.Errorf("%v", r)
				}
			}
			if changed := changes(before, w.listing("theirs")); changed != "" {
				t.Errorf("root has left %s", changed)
			}
			if out := w.MustRun(".", "find", w.Path("theirs"), "!", "-user", "65534"); out != "" {
				t.Errorf("root's are now %s", out)
			}
			u.thread("theirs/work")
		})
	}
}

// A socket of another user's is talked to by nobody, and a process that their files
// name is not signalled.
func TestUserLeavesSocketsAndPids(t *testing.T) {
	w := newWorld(t)
	u := w.asOtherUser()
	w.shared("shared")
	w.shared("marks")
	w.repository("shared/project")
	u.startCompanion("shared", true, testProgram(), "listen", w.Path("shared/default"), w.Path("marks/connected"))
	u.MustRun("shared", "sh", "-c", "mkdir tmux-0 && chmod 700 tmux-0")
	w = w.withEnv("TMUX="+w.Path("shared/default")+",1,0", "TMUX_PANE=%0")
	victim := exec.Command("sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()
	pid := victim.Process.Pid
	w.Write("shared/project/.runtime/pids/gt-crew-max.pid", "")
	w.MustRun("shared/project", "sh", "-c", "rm -r .runtime; mkdir -m 777 .runtime")
	u.withEnv("PID="+itoa(pid)).MustRun("shared/project/.runtime", "sh", "-c", `mkdir pids; echo $PID >pids/gt-crew-max.pid; echo "$PID|$(cut -d' ' -f22 /proc/$PID/stat)" >pids/gt-crew-joe.pid`)
	for _, run := range append(commands(w, "shared/project"),
		func() result { return w.Run("shared/project", nil, "gt-keepalive", "pid", "list") },
		func() result { return w.Run("shared/project", nil, "gt-keepalive", "pid", "reap", "--grace", "1ms") },
		func() result {
			return w.withEnv("TMUX_TMPDIR="+w.Path("shared"), "TMUX=").Run("shared/project", nil, "gt-handoff", "gt-crew-max")
		},
	) {
		r := run()
		if marks := w.marks(); marks != "" {
			t.Errorf("it talked to %s: %v", marks, r)
		}
	}
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil || exited(pid) {
		t.Errorf("the process was signalled: %v", err)
	}
}

// A hub's folder that others can enter has nothing there that they can read or connect to, whatever the umask.
// Where its port is taken by another user, no hub runs, and no invitation leads there.
func TestUserAtTheHub(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(w.Path("hub"), 0o755); err != nil {
		t.Fatal(err)
	}
	hub := w.Command(".", "sh", "-c", `umask 0; exec gt-hub --store "$0" --listen 127.0.0.1:0`, w.Path("hub"))
	out, err := hub.StdoutPipe()
	if err == nil {
		err = hub.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { hub.Process.Kill(); hub.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "gt-invitation-") {
		t.Fatal(line, err)
	}
	socket := false
	if err := filepath.WalkDir(w.Path("hub"), func(path string, e os.DirEntry, err error) error {
		if err != nil || path == w.Path("hub") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		socket = socket || info.Mode().Type() == os.ModeSocket
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		if e.IsDir() {
			return filepath.SkipDir
		}
		return nil
	}); err != nil || !socket {
		t.Errorf("a socket: %v, %v", socket, err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if r := w.Run(".", nil, "gt-hub", "--store", w.Path("other"), "--listen", l.Addr().String()); r.Code == 0 || r.Out != "" || !strings.Contains(r.Errs, "address already in use") {
		t.Errorf("a port that is taken: %v", r)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// exited reports whether a child of ours has ended and waits to be asked for.
func exited(pid int) bool {
	data, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(data), ") Z ")
}
