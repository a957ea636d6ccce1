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
	own := agent.Client{Hooks: agent.Hooks{Format: "gemini", User: filepath.Join(account, "settings.json")}}
	for _, c := range []struct {
		client  agent.Client
		account string
		path    string
		want    bool
	}{
		{gemini, "", "/work", true},
		{gemini, account, "/work", false},
		{gemini, account, "/other", true},
		{own, "", "/work", false},
		{own, "", "/other", true},
		{agent.Client{}, "", "/work", false},
	} {
		l := &Launch{Instance: &instance.Instance{Path: c.path, Account: c.account}, plan: plan{client: c.client}}
		l.Env = &cli.Env{Dir: "/", Environ: []string{"HOME=" + home}}
		if got := l.asksTrust(); got != c.want {
			t.Errorf("%s, account %q: asks %v", c.path, c.account, got)
		}
	}
}

// A client is taken to tell of a prompt if hooks of gt's are in what it reads where it starts, and
// nothing there keeps them from running.
func TestTells(t *testing.T) {
	const hooks = `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "gt-keepalive"}]}]}}`
	claude := agent.Client{Name: "claude", Dialect: "claude", Hooks: agent.Hooks{Home: "~/.claude", User: "settings.json", Project: ".claude/settings.json", Local: ".claude/settings.local.json"}}
	for name, c := range map[string]struct {
		files        map[string]string
		wired, tells bool
	}{
		"none":                  {nil, false, false},
		"the person's":          {map[string]string{"home/.claude/settings.json": hooks}, true, true},
		"the project's":         {map[string]string{"work/.claude/settings.json": hooks}, true, true},
		"of a project around":   {map[string]string{".claude/settings.json": hooks}, false, false},
		"the person's, all off": {map[string]string{"home/.claude/settings.json": hooks, "work/.claude/settings.local.json": `{"disableAllHooks": true}`}, true, false},
		"the project's of a plugin": {map[string]string{
			"home/.claude/settings.json":                  `{"enabledPlugins": {"gt@gt": true}}`,
			"home/.claude/plugins/installed_plugins.json": `{"version": 2, "plugins": {"gt@gt": [{"scope": "user", "installPath": "TOP/plugin"}]}}`,
			"plugin/hooks/hooks.json":                     hooks,
		}, true, true},
	} {
		top := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(top, file)
			testenv.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			testenv.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "TOP", top)), 0o600))
		}
		testenv.NoError(t, os.MkdirAll(filepath.Join(top, "work", ".git"), 0o700))
		l := &Launch{Instance: &instance.Instance{Path: filepath.Join(top, "work", "sub")}, plan: plan{client: claude}}
		l.Env = &cli.Env{Dir: "/", Environ: []string{"HOME=" + filepath.Join(top, "home")}}
		if wired, tells := l.ReadsHooks(), l.RunsHooks(); wired != c.wired || tells != c.tells {
			t.Errorf("%s: wired %v, tells %v", name, wired, tells)
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
	if _, err := AwaitBegin(server, in("stuck", self, "--exec"), 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not start within") {
		t.Error(err)
	}
	ends := filepath.Join(t.TempDir(), "ends")
	pane := in("agent", "sh", "-c", "until test -e '"+ends+"'; do sleep 0.05; done")
	p, err := AwaitBegin(server, pane, time.Minute)
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(ends, nil, 0o600))
	if _, err := AwaitReady(server, pane, agent.Client{}, p, func() bool { return false }, Settled); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Error(err)
	}
}
