package tmux

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// What a new process is to take arrives whole, however large, and is nowhere
// afterwards.
func TestBuffer(t *testing.T) {
	s, p := server(t, "x")
	for _, data := range []string{"{}", strings.Repeat("a key; ünd \\; ", 30_000)} {
		file, b := filepath.Join(t.TempDir(), "args"), NewBuffer()
		testenv.NoError(t, s.Respawn(p.ID, true, b, []byte(data), os.Args[0], "in-a-pane", file, string(b)))
		awaitArgs(t, file)
		got, err := s.TakeBuffer(b)
		if err != nil || got == nil || !bytes.Equal(got, []byte(data)) {
			t.Errorf("%d bytes came back as %d: %v", len(data), len(got), err)
		}
		if _, err := s.TakeBuffer(b); err == nil {
			t.Error("it can be taken twice")
		}
		if out, err := s.run("list-buffers"); err != nil || out != "" {
			t.Errorf("there is left: %.80s (%v)", out, err)
		}
	}
	// Where the pane is not to be had, its caller drops it.
	b := NewBuffer()
	if err := s.Respawn("%99", true, b, []byte("x"), os.Args[0], "x"); err == nil {
		t.Error("a pane that is not there was given away")
	}
	if err := s.DropBuffer(b); err != nil {
		t.Error(err)
	}
}

// A buffer that nobody took for a minute is deleted, and no other, whatever it is
// called.
func TestSweepBuffers(t *testing.T) {
	s, _ := server(t, "x")
	left := NewBuffer()
	for _, name := range []string{string(left), "gt-mine", "other", string(left)[:len(left)-1], "gt-" + strings.Repeat("0", 26)} {
		if _, err := s.run("set-buffer", "-b", name, "text"); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		out, err := s.run("list-buffers", "-F", "#{buffer_name}")
		testenv.NoError(t, err)
		return len(strings.Split(out, "\n"))
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{30 * time.Second, 5}, {2 * time.Minute, 4}, {24 * time.Hour, 4}} {
		testenv.NoError(t, s.SweepBuffers(time.Now().Add(c.after)))
		if n := count(); n != c.want {
			t.Errorf("after %v there are %d", c.after, n)
		}
	}
	if _, err := s.TakeBuffer(left); err == nil {
		t.Error("the one that was left is there")
	}
}

func TestParseBuffer(t *testing.T) {
	b := NewBuffer()
	if got, err := ParseBuffer(string(b)); err != nil || got != b {
		t.Errorf("%s, %v", got, err)
	}
	for _, name := range []string{
		"", "gt-", "buffer0", string(b) + "A", string(b)[1:], "gt-" + strings.ToLower(string(b)[3:]), string(b)[:28] + ";",
		"/tmp/restart-1.json", "gt-../../../../../../../x",
	} {
		if _, err := ParseBuffer(name); err == nil {
			t.Errorf("'%s' counts", name)
		}
	}
}

// Without a server nothing is there to be swept or taken.
func TestBufferWithoutServer(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	s := Server(filepath.Join(t.TempDir(), "s"))
	if err := s.SweepBuffers(time.Now()); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
	if _, err := s.TakeBuffer(NewBuffer()); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
}

// awaitArgs waits until the program in the pane runs.
func awaitArgs(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Fatal("nothing runs in the pane")
}
