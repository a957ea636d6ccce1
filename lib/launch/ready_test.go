package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/client/agent"
	"gt/lib/sys/tmux"
)

// TestMain has the test's own program stand for what is to become the agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--exec" {
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// What never becomes the agent did not begin, and an agent that ends does not become ready.
func TestBegan(t *testing.T) {
	dir, err := os.MkdirTemp("", "gt-start-") // a socket's path is short
	testenv.NoError(t, err)
	server := tmux.Server(filepath.Join(dir, "s"))
	t.Cleanup(func() {
		panes, _ := server.Panes()
		for _, pane := range panes {
			_ = server.KillPane(pane.ID)
		}
		os.RemoveAll(dir)
	})
	self, err := os.Executable()
	testenv.NoError(t, err)
	in := func(name string, command ...string) tmux.Pane {
		t.Helper()
		pane, err := server.New(tmux.NewSession{Name: name, Dir: dir, Environ: os.Environ(), Buffer: tmux.NewBuffer(), Data: []byte("{}"), Command: command})
		if err != nil {
			t.Skip(err) // no tmux
		}
		return pane
	}
	if _, err := Began(server, in("stuck", self, "--exec"), 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not start within") {
		t.Error(err)
	}
	ends := filepath.Join(t.TempDir(), "ends")
	pane := in("agent", "sh", "-c", "until test -e '"+ends+"'; do sleep 0.05; done")
	p, err := Began(server, pane, time.Minute)
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(ends, nil, 0o600))
	if _, err := Ready(server, pane, agent.Client{}, p, func() bool { return false }); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Error(err)
	}
}
