package resume

import (
	"slices"
	"testing"

	"gt/lib/client/agent"
)

// The command starts the session's agent in its folder and account, as who it was,
// in the caller's pane, and without what belongs to the caller's own session.
func TestCommand(t *testing.T) {
	known := agent.Builtin()
	getenv := func(name string) string { return map[string]string{"HOME": "/home/me"}[name] }
	max := Session{ID: "s1", Actor: "gastown/crew/max", Dir: "/town/my repo", Store: "/home/me/.claude-work"}
	for _, c := range []struct {
		name   string
		client string
		s      Session
		fork   bool
		want   string
	}{
		{"as a role, of another account", "claude", max, false,
			"cd '/town/my repo' && env CLAUDE_CONFIG_DIR=/home/me/.claude-work GT_ROLE=gastown/crew/max BD_ACTOR=gastown/crew/max GT_RIG=gastown claude --resume s1"},
		{"a copy", "claude", Session{ID: "s1", Dir: "/w"}, true, "cd /w && claude --resume s1 --fork-session"},
		{"in a folder that is not known", "claude", Session{ID: "s1"}, false, "claude --resume s1"},
		{"a subagent", "claude", Session{ID: "s1", Dir: "/w", Subagent: true}, false, ""},
		{"of a client that cannot", "nobody's", Session{ID: "s1", Dir: "/w"}, false, ""},
	} {
		cmd := BuildCommand(known, known.FindClient(c.client), c.s, c.fork, getenv)
		if c.want == "" {
			if len(cmd.Args) > 0 {
				t.Errorf("%s: %s", c.name, cmd)
			}
		} else if got := cmd.String(); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, got, c.want)
		}
	}

	got := BuildCommand(known, known.FindClient("claude"), max, false, getenv).Environ([]string{
		"HOME=/home/me", "PWD=/elsewhere", "TMUX=/tmp/t,1,0", "TMUX_PANE=%3", "GT_SESSION_UUID=s0", "GT_ROLE=mayor", "CLAUDECODE=1", "CLAUDE_CONFIG_DIR=/other",
	})
	want := []string{
		"HOME=/home/me", "CLAUDE_CONFIG_DIR=/home/me/.claude-work", "GT_ROLE=gastown/crew/max", "BD_ACTOR=gastown/crew/max", "GT_RIG=gastown",
		"TMUX=/tmp/t,1,0", "TMUX_PANE=%3", "PWD=/town/my repo",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it gets\n%q\nnot\n%q", got, want)
	}
}
