package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/state/instance"
	"gt/lib/sys/tmux"
)

// TestMain has the test's own program stand for what is to become the agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--exec" {
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// A first prompt waits for a question about the folder only if the client's own files, of the
// account that it is started with, do not answer it.
func TestAsksTrust(t *testing.T) {
	home, account := t.TempDir(), t.TempDir()
	testenv.NoError(t, os.WriteFile(filepath.Join(account, "trustedFolders.json"), []byte(`{"/work": "TRUST_FOLDER"}`), 0o600))
	gemini := agent.Client{StoreEnv: "GEMINI", Hooks: agent.Hooks{Format: "gemini", Home: "${GEMINI:-~/.gemini}", User: "settings.json"}}
	for _, c := range []struct {
		client  agent.Client
		account string
		path    string
		want    bool
	}{
		{gemini, "", "/work", true},
		{gemini, account, "/work", false},
		{gemini, account, "/other", true},
		{agent.Client{}, "", "/work", false},
	} {
		l := &Launch{Instance: &instance.Instance{Path: c.path, Account: c.account}, plan: plan{client: c.client}}
		l.Env = &cli.Env{Dir: "/", Environ: []string{"HOME=" + home}}
		if got := l.asksTrust(); got != c.want {
			t.Errorf("%s, account %q: asks %v", c.path, c.account, got)
		}
	}
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
