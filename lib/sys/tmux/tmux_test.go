package tmux

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// TestMain lets the test binary stand for what runs in a pane: it writes its
// arguments to a file and stays.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "in-a-pane" {
		path := os.Args[2]
		if err := os.WriteFile(path+".tmp", []byte(strings.Join(os.Args[3:], "\x00")), 0o600); err != nil {
			os.Exit(1)
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			os.Exit(1)
		}
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "listen" {
		listen(os.Args[2])
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "panes" {
		panes, err := Server("").Panes()
		said := fmt.Sprint(err)
		if len(panes) > 0 {
			said = panes[0].Session
		}
		os.WriteFile(os.Args[2], []byte(said), 0o600)
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	callWait = time.Minute // a busy machine is no server that hangs
	os.Exit(m.Run())
}

// server starts a real tmux with one session on a socket of its own.
func server(t *testing.T, session string) (Server, Pane) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	dir, err := os.MkdirTemp("/tmp", "gt-tmux-") // a socket has a short path
	testenv.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	t.Setenv("TMUX", "")
	t.Setenv("TMUX_TMPDIR", dir)
	t.Setenv("SHELL", "/bin/sh") // that of whoever runs the test may be nologin
	s := Server(socket)
	out, err := exec.Command("tmux", "-S", socket, "-f", os.DevNull, "new-session", "-d", "-s", session, "-x", "80", "-y", "24",
		"-P", "-F", "#{pane_id}", "sleep", "600").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	p, err := s.Pane(strings.TrimSpace(string(out)), callWait)
	testenv.NoError(t, err)
	return s, p
}

// samePane leaves the folder out, which a pane has only once its process runs.
func samePane(a, b Pane) bool {
	a.Path, b.Path = "", ""
	return a == b
}

func await(t *testing.T, path string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil {
			return string(data)
		}
	}
	t.Fatal("nothing was started in the pane")
	return ""
}

func TestPane(t *testing.T) {
	s, p := server(t, "gt-crew-max")
	if p.Session != "gt-crew-max" || p.PID <= 1 || p.Dead || time.Since(p.Created).Abs() > time.Minute {
		t.Errorf("%+v", p)
	}
	active, err := s.ActivePane("gt-crew-max")
	if err != nil || !samePane(active, p) {
		t.Errorf("%+v %v", active, err)
	}
	for _, id := range []string{"%99", "", "0", "%", "gt-crew-max", "%1;kill-server", "-x"} {
		if got, err := s.Pane(id, callWait); err == nil || got != (Pane{}) {
			t.Errorf("%q: %+v %v", id, got, err)
		}
	}
	if _, err := s.ActivePane("gt-crew"); err == nil {
		t.Error("the beginning of a name is taken for the name")
	}
}

func TestHasIsExact(t *testing.T) {
	s, _ := server(t, "gt-crew-max")
	for name, want := range map[string]bool{
		"gt-crew-max": true, "gt-crew": false, "gt-*": false, "GT-CREW-MAX": false, "": false, "gt-crew-max:": false, "gt-crew-max.0": false,
		"gt-crew-max:0": false, "a.b": false, "-t": false, "#(touch x)": false, "gt-crew-max;kill-server": false,
	} {
		if got := s.HasSession(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// A session's name is data: tmux runs nothing that stands in it.
func TestNamesAreNotRun(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	s, p := server(t, "##(touch "+canary+")") // the first # is for new-session, which takes a format
	if !strings.HasPrefix(p.Session, "#(touch ") {
		t.Errorf("the session is called %q", p.Session)
	}
	if _, err := s.Pane(p.ID, callWait); err != nil {
		t.Error(err)
	}
	if active, err := s.ActivePane(p.Session); err != nil || !samePane(active, p) {
		t.Error(active, err)
	}
	s.HasSession(p.Session)
	time.Sleep(100 * time.Millisecond)
	if _, err := os.Stat(canary); err == nil {
		t.Error("the name was run")
	}
}

func TestRespawnGivesTheArgumentsAsTheyAre(t *testing.T) {
	s, p := server(t, "x")
	canary := filepath.Join(t.TempDir(), "canary")
	want := []string{
		"plain", "two words", "", "it's", `"double"`, "$HOME `id` $(id)", "#(touch " + canary + ")", "#{pane_id}", "#S", "a;b", "ends;", ";", `back\`, `back\;`, ";;",
		`\;`, "a\nb", "\ttab", "-leading", "--", "-k", "é日本👍", "{a,b}", "~", "*", "%1", "=x:", "\x1b[31m", "touch " + canary,
	}
	file := filepath.Join(t.TempDir(), "with space", "args")
	testenv.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	testenv.NoError(t, s.Respawn(p.ID, true, NewBuffer(), nil, append([]string{os.Args[0], "in-a-pane", file}, want...)...))
	got := strings.Split(await(t, file), "\x00")
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got), i >= len(want):
			t.Fatalf("%d arguments, not %d", len(got), len(want))
		case got[i] != want[i]:
			t.Errorf("%q became %q", want[i], got[i])
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("an argument was run")
	}
	after, err := s.Pane(p.ID, callWait)
	if err != nil || after.ID != p.ID || after.Session != p.Session || after.PID == p.PID {
		t.Errorf("%+v %v", after, err)
	}
	// The old process is a child of tmux, which may not have reaped it yet.
	for end := time.Now().Add(time.Minute); syscall.Kill(p.PID, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the old process lives")
		}
	}
}

func TestRespawnRefuses(t *testing.T) {
	s, p := server(t, "x")
	for name, err := range map[string]error{
		"a pane that is not there": s.Respawn("%99", true, NewBuffer(), nil, "sleep", "1"),
		"no pane":                  s.Respawn("", true, NewBuffer(), nil, "sleep", "1"),
		"a session":                s.Respawn("x", true, NewBuffer(), nil, "sleep", "1"),
		"a single word":            s.Respawn(p.ID, true, NewBuffer(), nil, "sleep 1; touch /tmp/x"),
		"nothing":                  s.Respawn(p.ID, true, NewBuffer(), nil),
	} {
		if err == nil {
			t.Errorf("%s: was respawned", name)
		}
	}
	if now, err := s.Pane(p.ID, callWait); err != nil || !samePane(now, p) {
		t.Errorf("the pane was touched: %+v %v", now, err)
	}
}

func TestRemainOnExit(t *testing.T) {
	s, p := server(t, "x")
	file := filepath.Join(t.TempDir(), "args")
	for _, was := range []RemainSetting{{}, {Set: true, Value: "on"}, {Set: true, Value: "off"}} {
		testenv.NoError(t, s.RestoreRemainOnExit(p.ID, was))
		if got, err := s.RemainOnExit(p.ID); err != nil || got != was {
			t.Errorf("%+v, not %+v: %v", got, was, err)
		}
		testenv.NoError(t, s.Respawn(p.ID, true, NewBuffer(), nil, os.Args[0], "in-a-pane", file))
		if got, err := s.RemainOnExit(p.ID); err != nil || got != (RemainSetting{Set: true, Value: "on"}) {
			t.Errorf("while it is handed over: %+v %v", got, err)
		}
		testenv.NoError(t, s.RestoreRemainOnExit(p.ID, was))
		if got, err := s.RemainOnExit(p.ID); err != nil || got != was {
			t.Errorf("%+v, not %+v again: %v", got, was, err)
		}
	}
	if _, err := s.RemainOnExit("%99"); err == nil {
		t.Error("a pane that is not there has a setting")
	}
	if err := s.RestoreRemainOnExit("%99", RemainSetting{}); err == nil {
		t.Error("a pane that is not there was set")
	}
	if _, err := s.IsDead("%99"); err == nil {
		t.Error("a pane that is not there is alive")
	}
	if dead, err := s.IsDead(p.ID); err != nil || dead {
		t.Errorf("a pane that is there is dead: %v, %v", dead, err)
	}
}

func TestSetEnvironment(t *testing.T) {
	s, p := server(t, "x")
	want := map[string]string{"GT_A": "plain", "GT_B": "a;b;", "GT_C": "-x", "GT_D": "#(id) $HOME", "GT_E": "", "GT_F": "two words"}
	var vars [][2]string
	for k, v := range want {
		vars = append(vars, [2]string{k, v})
	}
	testenv.NoError(t, s.SetEnvironment(p.ID, vars, nil, callWait))
	for k, v := range want {
		out, err := s.run("show-environment", "-t", "="+p.Session, k)
		if err != nil || out != k+"="+v {
			t.Errorf("%s is %q, %v", k, out, err)
		}
	}
	if err := s.SetEnvironment(p.ID, nil, nil, callWait); err != nil {
		t.Error(err)
	}
	if err := s.SetEnvironment(p.ID, [][2]string{{"GT_A", "new"}}, []string{"GT_B", "GT_NEVER"}, callWait); err != nil {
		t.Error(err)
	}
	if out, err := s.run("show-environment", "-t", "="+p.Session); err != nil || !strings.Contains(out, "GT_A=new") || strings.Contains(out, "GT_B") {
		t.Errorf("%q, %v", out, err)
	}
	for _, pane := range []string{"%99", "x", ""} {
		if err := s.SetEnvironment(pane, vars, nil, callWait); err == nil {
			t.Errorf("the pane '%s', which is not there, has an environment", pane)
		}
	}
}

func TestNoServer(t *testing.T) {
	s := Server(filepath.Join(t.TempDir(), "s"))
	if _, err := s.Pane("%0", callWait); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
	if s.HasSession("x") {
		t.Error("a session without a server")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := s.Pane("%0", callWait); !errors.Is(err, ErrNoServer) {
		t.Errorf("without tmux: %v", err)
	}
}

// A server that hangs, or a tmux that leaves something behind which holds its
// output, costs the time given and no more.
func TestAHangIsBounded(t *testing.T) {
	for name, script := range map[string]string{
		"hangs":          "exec sleep 600",
		"leaves a child": "sleep 600 & exec sleep 600",
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := server(t, "hangs")
			dir := t.TempDir()
			testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\n"+script+"\n")))
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			begin := time.Now()
			_, err := s.Pane("%0", 50*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "did not answer within") {
				t.Error(err)
			}
			if took := time.Since(begin); took > testenv.Patience {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct{ tmux, pane, server, id string }{
		{"/tmp/tmux-0/default,123,0", "%3", "/tmp/tmux-0/default", "%3"},
		{"/tmp/s p,1,0", "%0", "/tmp/s p", "%0"},
		{"", "%3", "", ""},
		{"/tmp/s,1,0", "", "", ""},
		{"/tmp/s,1,0", "3", "", ""},
		{"/tmp/s,1,0", "%3;x", "", ""},
		{",1,0", "%3", "", ""},
	} {
		getenv := func(key string) string { return map[string]string{"TMUX": c.tmux, "TMUX_PANE": c.pane}[key] }
		if server, id := FromEnv(getenv); server != c.server || id != c.id {
			t.Errorf("%+v: %q %q", c, server, id)
		}
	}
}

func TestParsePane(t *testing.T) {
	p, err := parsePane("%3\t42\t1\t9\t1768611600\t2\tinstances/x\tgt-crew-max\t/a\tb")
	if err != nil || p != (Pane{ID: "%3", PID: 42, Dead: true, Killed: true, Created: time.Unix(1768611600, 0), Attached: true, Mark: "instances/x", Session: "gt-crew-max", Path: "/a\tb"}) {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := parsePane("%3\t\t1\t\t0\t0\t\ts\t/"); err != nil || !p.Dead || p.PID != 0 {
		t.Errorf("dead, in tmux 3.8: %+v %v", p, err)
	}
	for _, line := range []string{"", "%3", "%3\tx\t0\t\t0\t0\ts\t/", "%3\t1\t0\t\t0\t0\ts"} {
		if p, err := parsePane(line); err == nil {
			t.Errorf("%q: %+v", line, p)
		}
	}
}

// What several panes show is asked for in one call, whatever they show and though one of
// them is gone; so are the environments of their sessions.
func TestOfEachPane(t *testing.T) {
	s, first := server(t, "one")
	shows := func(name, text string) string {
		out, err := s.run("new-session", "-d", "-s", name, "-e", "NAME="+name, "-x", "80", "-y", "24", "-P", "-F", "#{pane_id}", "printf '"+text+"'; exec sleep 600")
		testenv.NoError(t, err)
		return out
	}
	a, b := shows("it's #S; $x", `first\n\ngt-mark 1\n`), shows("two", `\033[31msecond`)
	asked := []string{first.ID, a, "%4711", "no pane", b}
	var got map[string]string
	for range 1200 {
		if got = s.CapturePanes(asked); got[a] != "" && got[b] != "" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	want := map[string]string{first.ID: "", a: "first\n\ngt-mark 1", "%4711": "", b: "second"}
	if !maps.Equal(got, want) {
		t.Errorf("they show %q", got)
	}
	environs := s.Environments(asked)
	for pane, name := range map[string]string{a: "NAME=it's #S; $x", b: "NAME=two"} {
		if !slices.Contains(environs[pane], name) {
			t.Errorf("the environment of %s is %q", pane, environs[pane])
		}
	}
	if got := s.CapturePanes(nil); got != nil {
		t.Errorf("no pane shows %q", got)
	}
}

// A tmux that lacks what gt needs is named, and not its words.
func TestCheckVersion(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for said, old := range map[string]bool{"tmux 2.8": true, "tmux 1.8": true, "tmux 3.0a": true, "tmux 3.1": false, "tmux 3.1c": false, "tmux 3.3a": false, "tmux 3.10": false, "tmux next-3.7": false, "tmux master": false, "tmux 10.1": false, "tmux openbsd-6.6": false} {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\necho "+said+"\n"), 0o755))
		if err := CheckVersion(); (err != nil) != old {
			t.Errorf("%s: %v", said, err)
		}
	}
	testenv.NoError(t, os.Remove(filepath.Join(dir, "tmux")))
	if err := CheckVersion(); !errors.Is(err, ErrNoTmux) {
		t.Error(err)
	}
}

// A socket whose path is too long says so.
func TestLongSocket(t *testing.T) {
	at := Server(filepath.Join(t.TempDir(), strings.Repeat("long", 40), "s"))
	if _, err := at.New(NewSession{Name: "a", Dir: "/", Buffer: "gt-a", Command: []string{"sleep", "1"}}); err == nil || !strings.Contains(err.Error(), "TMUX_TMPDIR") {
		t.Error(err)
	}
}

// A hook of the person's that renames the session, makes another pane the active one or
// fails does not keep New from its own pane, and no other gets the options of that.
func TestNewUnderHooks(t *testing.T) {
	s, _ := server(t, "mine")
	for hook, session := range map[string]string{
		"rename-session work": "work", "split-window 'sleep 600'": "", "new-window 'sleep 600'": "",
		"split-window -d 'sleep 600' ; break-pane": "", "switch-client -t mine": "",
	} {
		_, err := s.run("set-hook", "-g", "after-new-session", hook)
		testenv.NoError(t, err)
		p, err := s.New(NewSession{Name: "new", Dir: "/", Mark: "m", Remain: true, Vars: [][2]string{{"A", "1"}}, Buffer: NewBuffer(), Command: []string{"sleep", "600"}})
		if err != nil {
			t.Errorf("%s: %v", hook, err)
			continue
		}
		if want := cmp.Or(session, "new"); p.Session != want || s.Environments([]string{p.ID})[p.ID] == nil {
			t.Errorf("%s: the pane is %+v", hook, p)
		}
		marked, err := s.run("list-panes", "-a", "-F", "#{?@gt-agent,#{pane_id} #{@gt-agent} #{@gt-session} #{remain-on-exit},}")
		testenv.NoError(t, err)
		if marked = strings.Join(strings.Fields(marked), " "); marked != p.ID+" m m on" {
			t.Errorf("%s: marked are %q, the pane is %s", hook, marked, p.ID)
		}
		_, err = s.run("kill-session", "-t", p.ID)
		testenv.NoError(t, err)
	}
	_, err := s.run("set-hook", "-g", "after-new-session", "kill-pane")
	testenv.NoError(t, err)
	if _, err := s.New(NewSession{Name: "new", Dir: "/", Buffer: NewBuffer(), Command: []string{"sleep", "600"}}); err == nil || !strings.Contains(err.Error(), "show-hooks") {
		t.Error(err)
	}
}

// Where the person's window-size is manual, some versions of tmux end when they make a window.
// New makes one, also if that fails, and leaves the option as it was.
func TestNewUnderManualSize(t *testing.T) {
	s, other := server(t, "other")
	_, err := s.run("set-option", "-g", "window-size", "manual")
	testenv.NoError(t, err)
	session := NewSession{Name: "made", Dir: "/", Mark: "x", Buffer: NewBuffer(), Command: []string{"sleep", "600"}}
	for _, want := range []error{nil, ErrDuplicate} {
		pane, err := s.New(session)
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if now, err := s.Pane(other.ID, callWait); err != nil || now.PID != other.PID {
			t.Fatalf("the other session: %+v %v", now, err)
		}
		if size, err := s.run("show-options", "-g", "window-size", ";", "show-options", "-g", "-q", "@gt-size"); err != nil || size != "window-size manual" {
			t.Errorf("%q %v", size, err)
		}
		if width, _ := s.run("display-message", "-p", "-t", "=made:", "#{window_width}x#{window_height}"); width != "200x50" {
			t.Errorf("%s is %s", pane.ID, width)
		}
	}
	var all sync.WaitGroup
	for i := range 4 { // at once
		all.Go(func() {
			n := session
			n.Name, n.Buffer = fmt.Sprint("many-", i), NewBuffer()
			if _, err := s.New(n); err != nil {
				t.Errorf("%s: %v", n.Name, err)
			}
		})
	}
	all.Wait()
	if size, err := s.run("show-options", "-g", "window-size"); err != nil || size != "window-size manual" {
		t.Errorf("after several at once: %q %v", size, err)
	}
	testenv.NoError(t, s.Lend("other", "y", nil))
	session.Name, session.Mark, session.Buffer = "other", "y", NewBuffer()
	if pane, err := s.New(session); err != nil || pane.Session != "other" || pane.ID == other.ID {
		t.Errorf("a session that is lent: %+v %v", pane, err)
	}
}
