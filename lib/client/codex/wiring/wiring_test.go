package wiring

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/client/wiring"
)

// The state that Codex 0.169 wrote to its config.toml when a person trusted these hooks.
// A hook with other bytes is another hook.
func TestCodexTrust(t *testing.T) {
	text := `{"hooks": {
		"SessionStart": [{"hooks": [{"type": "command", "command": "/tmp/hb/gt-prime --hook --agent codex", "timeout": 10}]}],
		"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "/tmp/hb/gt-keepalive touch --hook --agent codex", "timeout": 5}]}],
		"PostToolUse": [{"hooks": [{"type": "command", "command": "/tmp/hb/gt-keepalive touch --hook --agent codex", "timeout": 5}]}],
		"PreCompact": [{"hooks": [{"type": "command", "command": "/tmp/hb/gt-handoff --auto --hook --reason compaction --agent codex", "timeout": 30}]}],
		"Stop": [{"hooks": [
			{"type": "command", "command": "/tmp/hb/gt-checkpoint write --hook --agent codex", "timeout": 10},
			{"timeout": 5, "command": "/tmp/hb/gt-keepalive touch --hook --agent codex", "type": "command"}]}],
		"SessionEnd": [{"hooks": [{"type": "command", "command": "/tmp/hb/gt-keepalive end --hook --agent codex", "timeout": 3}]}]}}`
	trusted := map[string]string{
		"/h/hooks.json:post_tool_use:0:0":      "sha256:065d55b172d0dd2bb1cf288e4cef7ca943fb6cc76e99676987cd592f1aaf8d9a",
		"/h/hooks.json:pre_compact:0:0":        "sha256:8dfa8f9ef446203aeb051780df47259f3d141ac9a48c856e88c5b9284a9a7ce6",
		"/h/hooks.json:session_start:0:0":      "sha256:c45cd9bc5d98014ba90acf4ebcd3de328d04e54c9ac90ff704c786506ba082dd",
		"/h/hooks.json:session_end:0:0":        "sha256:db31b327c10c7be3741875ed4676e5206c2e29a4a3ed89ee5a4e4a8c67bf5500",
		"/h/hooks.json:user_prompt_submit:0:0": "sha256:0ef129eb96e35937d6a814bc17bdcf120a5e9374782a239b1d5d351b4fffc139",
		"/h/hooks.json:stop:0:0":               "sha256:24633fd02870fc0ae364873b86fc0ac58b52f5baabc62d5e10f81679ed34876c",
		"/h/hooks.json:stop:0:1":               "sha256:b392d69746a76bd24337623047ed70514e919f827d40f2148d48b0f90ea5b3b8",
	}
	all := func(text string) []wiring.Handler {
		file := filepath.Join(t.TempDir(), "hooks.json")
		testenv.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		s := Client().Read(wiring.User, file)
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		return s.OwnHandlers()
	}
	have := all(text)
	if len(have) != len(trusted) {
		t.Fatalf("%d hooks", len(have))
	}
	for _, h := range have {
		if key, hash := trustKey(h, "/h/hooks.json"); trusted[key] != hash {
			t.Errorf("%s: %s", key, hash)
		}
	}
	for _, h := range all(strings.ReplaceAll(text, "gt-prime --hook", "gt-prime  --hook")) {
		key, hash := trustKey(h, "/h/hooks.json")
		if same := trusted[key] == hash; same == (h.Binary == "gt-prime") {
			t.Errorf("%s: trusted is %v", key, same)
		}
	}
}

// forget removes only what Codex recorded of removed hooks: it keeps other hooks' trust
// and the person's own settings.
func TestWithoutTrust(t *testing.T) {
	const own = "model = \"x\" # mine\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"
	trusted := func(key string) string {
		return "\n[hooks.state.\"" + key + "\"]\ntrusted_hash = \"sha256:00\"\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"ours alone", own + "\n[hooks.state]\n" + trusted("/h:stop:0:0") + trusted("/h:stop:0:1"), own},
		{"another's too", own + "\n[hooks.state]\n" + trusted("/h:stop:0:0") + trusted("/h:stop:1:0"), own + "\n[hooks.state]\n" + trusted("/h:stop:1:0")},
		{"in the middle", trusted("/h:stop:0:0") + "\n[tui]\na = 1\n", "\n[tui]\na = 1\n"},
		{"none of ours", own + trusted("/h:stop:1:0") + "\n\n", own + trusted("/h:stop:1:0") + "\n\n"},
	} {
		if got := withoutTrust(c.text, []string{"/h:stop:0:0", "/h:stop:0:1"}); got != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// What Codex does not start with is named by its line, and what it takes is not.
func TestConfigRefusal(t *testing.T) {
	for config, want := range map[string]string{
		"model = 5\n":                             "line 1: model is not a text",
		"# mine\n[hooks]\nStop = \"x\"\n":         "line 3: hooks.Stop is not an array",
		"[[hooks]]\nevent = \"x\"\n":              "line 1: hooks is not an object",
		"[features]\na = true\nhooks = \"yes\"\n": "line 3: features.hooks is not true or false",
		"\n[mcp_servers.x]\ncommand = 5\n":        "line 3: mcp_servers.x.command is not a text",
		"notify = \"x\"\n":                        "line 1: notify is not an array",
		"sandbox_mode = \"nope\"\n":               "line 1: sandbox_mode is not one of read-only, workspace-write, danger-full-access",
		"unknown_key = 5\nmodel = \"x\"\n[hooks.state]\n[hooks.state.\"/h:stop:0:0\"]\n":     "",
		"model = \"x\"\n[profiles.a]\nmodel = 5\n":                                           "line 3: profiles.a.model is not a text",
		"[profiles.a]\nx = [\n  1,\n]\n\n[mcp_servers.\"a.b\"]\nargs = []\nenabled = true\n": "line 6: mcp_servers.a.b is not an object with either command or url",
		"[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n[[hooks.Stop.hooks]]\ntype = \"x\"\n": "line 6: hooks.Stop[1].hooks[0] has no \"command\"",
		"[mcp_servers]\na = {command = \"a\",\n  args = [5]}\n":                 "line 2: mcp_servers.a.args[0] is not a text",
		"x = \"\"\"\n[mcp_servers.a]\n\\\"\"\"\nmodel = 1\n\"\"\"\nmodel = 5\n": "line 6: model is not a text",
		"x = '''\nmodel = 1\n''' # \"\"\"\nmodel = 5\n":                         "line 4: model is not a text",
		"x = \"\\\"\"  # it's \"\"\"\nmodel = 5\n":                              "line 2: model is not a text",
		"description = 2020-01-01\n":                                            "",
	} {
		if got := configRefusal(config); got != want {
			t.Errorf("%q: %q", config, got)
		}
	}
}
