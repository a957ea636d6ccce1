package process

import "testing"

// A process's unit is the innermost scope or service of systemd's own hierarchy, by the
// unified one or the older.
func TestUnit(t *testing.T) {
	for text, want := range map[string]string{
		"0::/user.slice/user-1000.slice/session-3.scope\n":                           "session-3.scope",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u12.scope\n": "run-u12.scope",
		"9:name=systemd:/system.slice/ssh.service\n4:memory:/other.scope\n0::/\n":    "ssh.service",
		"4:memory:/other.scope\n0::/\n":                                              "",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux-spawn-1\n":  "",
		"": "",
	} {
		if got := unitOf(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
