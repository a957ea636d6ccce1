package tmux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// states are what a pane can have come to since a program has looked at it.
var states = []string{"running", "dead", "vanished", "zoomed", "copy mode", "read-only", "killed", "respawned and dead"}

// calls are all methods of Server that call tmux, each with a pane.
var calls = map[string]func(Server, Pane) error{
	"Paste":      func(s Server, p Pane) error { return s.Paste(p.ID, "some text\nof two lines") },
	"TypeText":   func(s Server, p Pane) error { return s.TypeText(p.ID, "x\r") },
	"PressKeys":  func(s Server, p Pane) error { return s.PressKeys(p.ID, "Down", "C-n", "Enter") },
	"Pane":       func(s Server, p Pane) error { _, err := s.Pane(p.ID, callWait); return err },
	"ActivePane": func(s Server, p Pane) error { _, err := s.ActivePane(p.Session); return err },
	"HasSession": func(s Server, p Pane) error { s.HasSession(p.Session); return nil },
	"Panes": func(s Server, p Pane) error {
		all, err := s.Panes()
		if !slices.ContainsFunc(all, func(o Pane) bool { return o.ID == p.ID }) {
			err = errors.Join(err, errors.New("it is not listed"))
		}
		return err
	},
	"CapturePane":   func(s Server, p Pane) error { _, err := s.CapturePane(p.ID); return err },
	"CaptureEnd":    func(s Server, p Pane) error { _, err := s.CaptureEnd(p.ID); return err },
	"CaptureStyled": func(s Server, p Pane) error { _, err := s.CaptureStyled(p.ID); return err },
	"CapturePanes":  func(s Server, p Pane) error { s.CapturePanes([]string{p.ID, "%4711"}); return nil },
	"Environments":  func(s Server, p Pane) error { s.Environments([]string{p.ID, "%4711"}); return nil },
	"SetEnvironment": func(s Server, p Pane) error {
		return s.SetEnvironment(p.ID, [][2]string{{"A", "b"}}, []string{"C"}, callWait)
	},
	"RemainOnExit": func(s Server, p Pane) error { _, err := s.RemainOnExit(p.ID); return err },
	"RestoreRemainOnExit": func(s Server, p Pane) error {
		return s.RestoreRemainOnExit(p.ID, RemainSetting{Set: true, Value: "on"})
	},
	"KeepPane":      func(s Server, p Pane) error { return s.KeepPane(p.ID) },
	"IsDead":        func(s Server, p Pane) error { _, err := s.IsDead(p.ID); return err },
	"ExitedCleanly": func(s Server, p Pane) error { _, err := s.ExitedCleanly(p.ID); return err },
	"OnDeath":       func(s Server, p Pane) error { return s.OnDeath(p, "true", "true") },
	"NotOnDeath":    func(s Server, p Pane) error { return s.NotOnDeath(p.ID) },
	"Respawn": func(s Server, p Pane) error {
		b := NewBuffer()
		err := s.Respawn(p.ID, true, b, []byte("x"), "sleep", "600")
		_ = s.DropBuffer(b)
		return err
	},
	"ShowMessage":  func(s Server, p Pane) error { return s.ShowMessage("a line") },
	"SwitchClient": func(s Server, p Pane) error { return s.SwitchClient(p) },
	"IsLeftover":   func(s Server, p Pane) error { s.IsLeftover(p.Session, "x"); return nil },
	"MadeFor":      func(s Server, p Pane) error { s.MadeFor(p.Session, "x"); return nil },
	"Lend":         func(s Server, p Pane) error { return s.Lend(p.Session, "x", []Pane{p}) },
	"WhyEnds":      func(s Server, p Pane) error { return s.WhyEnds() },
	"KillPane":     func(s Server, p Pane) error { return s.KillPane(p.ID) },
	"New": func(s Server, p Pane) error {
		_, err := s.New(NewSession{Name: p.Session, Dir: "/", Buffer: NewBuffer(), Command: []string{"sleep", "600"}})
		return err
	},
	"RunShell": func(s Server, p Pane) error {
		b := NewBuffer()
		err := s.RunShell(b, []byte("x"), "true")
		_ = s.DropBuffer(b)
		return err
	},
	"SetNote":      func(s Server, p Pane) error { return s.SetNote(p.ID, "test", "a word;") },
	"NoteOf":       func(s Server, p Pane) error { _, err := s.NoteOf(p.ID, "test"); return err },
	"HowEnded":     func(s Server, p Pane) error { _, err := s.HowEnded(p.ID); return err },
	"TakeBuffer":   func(s Server, p Pane) error { _, err := s.TakeBuffer(NewBuffer()); return err },
	"DropBuffer":   func(s Server, p Pane) error { return s.DropBuffer(NewBuffer()) },
	"PID":          func(s Server, p Pane) error { _, err := s.PID(); return err },
	"SweepBuffers": func(s Server, p Pane) error { return s.SweepBuffers(time.Now()) },
}

// No call ends the server, whatever its pane has come to: another session lives on.
func TestNoCallEndsTheServer(t *testing.T) {
	all := reflect.TypeFor[Server]()
	for i := range all.NumMethod() {
		if name := all.Method(i).Name; calls[name] == nil && name != "SameServer" && name != "Attach" { // which is tmux then
			t.Errorf("%s is not tried", name)
		}
	}
	s, other := server(t, "other")
	for name, call := range calls {
		for _, state := range states {
			if !testenv.InSample(name+" "+state, 6) {
				continue
			}
			p := paneThatIs(t, s, state)
			err := call(s, p)
			if now, aerr := s.Pane(other.ID, callWait); aerr != nil || now.PID != other.PID || now.Dead {
				t.Fatalf("%s, of a pane that is %s: %v; after it the other session: %+v %v", name, state, err, now, aerr)
			}
			gone := state == "vanished" || state == "killed"
			switch {
			case errors.Is(err, ErrNoServer), errors.Is(err, ErrNoAnswer):
				t.Errorf("%s, of a pane that is %s: %v", name, state, err)
			case strings.HasPrefix(name, "Pane") && !gone && err != nil:
				t.Errorf("%s, of a pane that is %s: %v", name, state, err)
			case name != "Paste" && name != "Type" && name != "Keys":
			case gone && err == nil,
				strings.Contains(state, "dead") && !errors.Is(err, ErrDead),
				state == "read-only" && !errors.Is(err, ErrReadOnly),
				!gone && !strings.Contains(state, "dead") && state != "read-only" && err != nil:
				t.Errorf("%s, of a pane that is %s: %v", name, state, err)
			}
			_, _ = s.run("kill-session", "-t", "=victim")
		}
	}
	if out, err := s.run("list-buffers", "-F", "#{buffer_name}"); err != nil || strings.Contains(out, bufferPrefix) {
		t.Errorf("buffers are left: %q %v", out, err)
	}
}

// paneThatIs makes a pane, and returns it as it was found before it came to a state.
func paneThatIs(t *testing.T, s Server, state string) Pane {
	t.Helper()
	tm := func(args ...string) string {
		t.Helper()
		out, err := s.run(args...)
		if err != nil {
			t.Fatal(state, args, err)
		}
		return out
	}
	id := tm("new-session", "-d", "-s", "victim", "-x", "80", "-y", "24", "-P", "-F", "#{pane_id}", "cat")
	p, err := s.Pane(id, callWait)
	testenv.NoError(t, err)
	switch state {
	case "dead":
		tm("set-option", "-p", "-t", id, "remain-on-exit", "on", ";", "send-keys", "-t", id, "C-d")
	case "respawned and dead":
		tm("set-option", "-p", "-t", id, "remain-on-exit", "on", ";", "respawn-pane", "-k", "-t", id, "true")
	case "vanished":
		tm("split-window", "-t", id, "cat", ";", "kill-pane", "-t", id)
	case "killed":
		tm("kill-session", "-t", "=victim")
	case "zoomed":
		tm("split-window", "-t", id, "cat", ";", "resize-pane", "-Z", "-t", id)
	case "copy mode":
		tm("copy-mode", "-t", id)
	case "read-only":
		tm("select-pane", "-d", "-t", id)
	}
	if strings.Contains(state, "dead") {
		for end := time.Now().Add(time.Minute); tm("display-message", "-p", "-t", id, "#{pane_dead}") != "1"; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the pane does not die")
			}
			tm("run-shell", "-b", "true") // for a tmux that has missed the end (see OnDeath)
		}
	}
	return p
}

// What dies while it is typed at takes nothing with it.
func TestInputToWhatDies(t *testing.T) {
	s, other := server(t, "other")
	for i := range 30 {
		id, err := s.run("new-session", "-d", "-s", "victim", "-P", "-F", "#{pane_id}", fmt.Sprintf("sleep 0.0%d", i%10), ";",
			"set-option", "-p", "-t", "=victim:", "remain-on-exit", "on")
		testenv.NoError(t, err)
		for begin := time.Now(); time.Since(begin) < 150*time.Millisecond; {
			if err := s.TypeText(id, "x"); err != nil && !errors.Is(err, ErrDead) {
				t.Fatal(err)
			}
		}
		if now, err := s.Pane(other.ID, callWait); err != nil || now.PID != other.PID {
			t.Fatal(now, err)
		}
		testenv.NoError(t, s.KillPane(id))
	}
}

// What is typed arrives, also in a pane that somebody scrolls in.
func TestInputArrives(t *testing.T) {
	s, _ := server(t, "other")
	for _, state := range []string{"running", "zoomed", "copy mode"} {
		file := filepath.Join(t.TempDir(), "typed")
		id, err := s.run("new-session", "-d", "-s", "victim", "-P", "-F", "#{pane_id}", "exec cat >"+file)
		testenv.NoError(t, err)
		if state == "copy mode" {
			_, err = s.run("copy-mode", "-t", id)
		}
		if err = errors.Join(err, s.Paste(id, "'quoted'; #{pane_id} $HOME\n"), s.TypeText(id, "typed\r"), s.PressKeys(id, "a", "Enter")); err != nil {
			t.Fatal(state, err)
		}
		want := "'quoted'; #{pane_id} $HOME\ntyped\na\n"
		got := ""
		for end := time.Now().Add(time.Minute); got != want && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			data, _ := os.ReadFile(file)
			got = string(data)
		}
		if got != want {
			t.Errorf("%s: %q", state, got)
		}
		_ = s.KillPane(id)
	}
}

// Keys are pressed in one pane, also where the person has synchronized those of a window, or
// this one only. It stays synchronized.
func TestKeysInSynchronizedPanes(t *testing.T) {
	s, p := server(t, "other")
	beside, err := s.run("split-window", "-d", "-t", p.ID, "-P", "-F", "#{pane_id}", "exec sleep 600")
	testenv.NoError(t, err)
	for _, scope := range []string{"-w", "-p"} {
		own, err := s.run("split-window", "-d", "-t", p.ID, "-P", "-F", "#{pane_id}", "exec sleep 600")
		testenv.NoError(t, err)
		if scope == "-w" {
			_, err = s.run("set-option", "-w", "-t", own, "synchronize-panes", "on")
		} else if _, err = s.run("set-option", "-w", "-t", own, "synchronize-panes", "off"); err == nil {
			_, err = s.run("set-option", "-p", "-t", own, "synchronize-panes", "on", ";", "set-option", "-p", "-t", beside, "synchronize-panes", "on")
		}
		testenv.NoError(t, err)
		const format = "#{pane_id} #{pane_synchronized}"
		before, err := s.run("list-panes", "-t", own, "-F", format, ";", "show-options", "-p", "-t", own)
		testenv.NoError(t, err)
		testenv.NoError(t, s.PressKeys(own, "a"))
		if after, err := s.run("list-panes", "-t", own, "-F", format, ";", "show-options", "-p", "-t", own); err != nil || after != before {
			t.Errorf("%s: synchronized were %q, are %q: %v", scope, before, after, err)
		}
		if err := s.PressKeys(own, "C-c"); err != nil {
			t.Error(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if _, err := s.Pane(own, callWait); err != nil {
				break
			} else if time.Now().After(end) {
				t.Fatal("Ctrl-C does not arrive")
			}
		}
		if _, err := s.Pane(beside, callWait); err != nil {
			t.Fatalf("%s: Ctrl-C ended the pane beside: %v", scope, err)
		}
	}
}

func TestKeysAreNames(t *testing.T) {
	s, p := server(t, "other")
	for _, key := range []string{"'", "a b", ";", "-t", "Enter; kill-server", "$HOME", "C-c' ; kill-server ; '"} {
		if err := s.PressKeys(p.ID, key); err == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
	if _, err := s.Pane(p.ID, callWait); err != nil {
		t.Error(err)
	}
}

// All input goes through one place, which asks tmux whether something runs in the pane.
func TestInputHasOnePlace(t *testing.T) {
	out, err := exec.Command("grep", "-rlE", "--include=*.go", `"(paste-buffer|send-keys|send-prefix|pipe-pane|paste)\b|paste-buffer -|send-keys -`, "../..").Output()
	testenv.NoError(t, err)
	for _, file := range strings.Fields(string(out)) {
		if file != "../../sys/tmux/input.go" && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s gives input to a pane; tmux.Server.input does", file)
		}
	}
}
