package respawn

import (
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"gt/lib/client/agent"
	"gt/lib/place/home"
)

// A successor whose program, script or settings the sandbox could write, or that
// would be freer than who asks for it, is not started.
func TestOutgrows(t *testing.T) {
	project, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{project, outside} {
		for _, name := range []string{"claude", "pi.js", "settings.json", "node"} {
			testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o700))
		}
	}
	testenv.NoError(t, os.Symlink(filepath.Join(project, "claude"), filepath.Join(outside, "linked")))
	in := func(name string) string { return filepath.Join(project, name) }
	out := func(name string) string { return filepath.Join(outside, name) }
	for _, c := range []struct {
		mode string
		args []string
		env  string
		held bool
	}{
		{"", []string{out("claude"), "--model", "m"}, "", false},
		{"default", []string{out("claude"), "--settings", out("settings.json"), "--add-dir", project}, "", false},
		{"", []string{in("claude")}, "", true},
		{"", []string{out("linked")}, "", true},
		{"", []string{out("gone")}, "", true},
		{"", []string{out("node"), in("pi.js")}, "", true},
		{"", []string{out("node"), out("pi.js")}, "", false},
		{"", []string{out("claude"), "--settings", "settings.json"}, "", true},
		{"", []string{out("claude"), "--settings=" + in("settings.json")}, "", true},
		{"", []string{out("claude")}, "CLAUDE_CONFIG_DIR=" + project, true},
		{"", []string{out("claude")}, "CLAUDE_CONFIG_DIR=" + outside, false},
		{"plan", []string{out("claude"), "--permission-mode", "acceptEdits"}, "", true},
		{"", []string{out("claude"), "--permission-mode", "acceptEdits"}, "", false},
	} {
		s := Successor{Client: agent.Builtin().FindClient("claude"), Home: home.Home{Dir: project}}
		why := s.WidensPermissions(c.mode, Run{Dir: project, Args: c.args, Env: []string{c.env}})
		if (why != "") != c.held {
			t.Errorf("%s %q %s: %q", c.mode, c.args, c.env, why)
		}
	}
}
