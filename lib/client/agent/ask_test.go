package agent

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every Ask has what keeps a question from leaving a trace.
func TestAskLeavesNoTrace(t *testing.T) {
	for name, want := range map[string][]string{
		"claude": {"--no-session-persistence", "--fork-session", "--strict-mcp-config", "/t/x.jsonl"},
		"codex":  {"--ephemeral", "fork", "the-id", "features.hooks=false"},
	} {
		words := Builtin().FindClient(name).Ask.Arguments("/t/x.jsonl", "the-id", "/scratch", false)
		for _, w := range want {
			if !slices.Contains(words, w) {
				t.Errorf("%s is asked by %q, without %s", name, words, w)
			}
		}
	}
	for _, name := range []string{"gemini", "qwen", "copilot", "cursor", "opencode", "pi", "kimi", "cline", "antigravity", "unknown"} {
		if Builtin().FindClient(name).Ask != nil {
			t.Errorf("nobody has seen that %s can be asked without a trace", name)
		}
	}
	claude := Builtin().FindClient("claude").Ask
	if got := claude.Arguments("t", "i", "s", true); !slices.Contains(got, "stream-json") || slices.Contains(claude.Args, "stream-json") {
		t.Errorf("for a conversation the words are %q", got)
	}
	if claude.NeedsScratch() || !Builtin().FindClient("codex").Ask.NeedsScratch() {
		t.Error("only Codex takes a folder of its own")
	}
}

func TestAskEnviron(t *testing.T) {
	got := Builtin().FindClient("codex").Ask.Environ([]string{"A=1", "RUST_LOG=trace", "B={scratch}"}, "/s")
	if want := []string{"A=1", "B={scratch}", "CODEX_SQLITE_HOME=/s"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// No client's own run reaches another.
	environ := []string{"HOME=/h", "CLAUDECODE=1", "GEMINI_CLI=1", "COPILOT_CLI=1", "CODEX_THREAD_ID=x", "CLAUDE_CONFIG_DIR=/c"}
	if got := Builtin().StripRunVars(environ); strings.Join(got, " ") != "HOME=/h CLAUDE_CONFIG_DIR=/c" {
		t.Errorf("%q", got)
	}
}

// An account is named by its folder, and the usual one by no variable.
func TestAccount(t *testing.T) {
	home := t.TempDir()
	usual, other := filepath.Join(home, ".claude"), filepath.Join(home, "other")
	for _, dir := range []string{usual, other} {
		testenv.NoError(t, os.Mkdir(dir, 0o700))
	}
	link := filepath.Join(home, "link")
	testenv.NoError(t, os.Symlink(other, link))
	for _, c := range []struct{ now, store, want string }{
		{"", usual, ""},
		{"", usual + "/", ""},
		{"", other, "CLAUDE_CONFIG_DIR=" + other},
		{other, other, ""},
		{link, other, ""},
		{other, usual, "CLAUDE_CONFIG_DIR"},
		{other, link, ""},
		{usual, usual, ""},
		{other, "", ""},
	} {
		getenv := func(key string) string {
			return map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": c.now}[key]
		}
		if got := Builtin().FindClient("claude").AccountChange(getenv, c.store); got != c.want {
			t.Errorf("with %q, for %s: %q, want %q", c.now, c.store, got, c.want)
		}
	}
	if got := Builtin().FindClient("gemini").AccountChange(func(string) string { return home }, other); got != "" {
		t.Errorf("%q", got)
	}
}
