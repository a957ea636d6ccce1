package hooks

import (
	"encoding/json"
	"strings"
	"testing"

	"gt/lib/text/jsonedit"
)

// What Codex 0.169 wrote to its config.toml when a person trusted these hooks.
// One with other bytes is another hook to it.
func TestCodexTrust(t *testing.T) {
	wiring := `{"hooks": {
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
	all := func(text string) []handler {
		doc, err := jsonedit.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f, _ := formatOf("codex")
		return f.ours(doc)
	}
	have := all(wiring)
	if len(have) != len(trusted) {
		t.Fatalf("%d hooks", len(have))
	}
	for _, h := range have {
		if key, hash := h.codexTrust("/h/hooks.json"); trusted[key] != hash {
			t.Errorf("%s: %s", key, hash)
		}
	}
	for _, h := range all(strings.ReplaceAll(wiring, "gt-prime --hook", "gt-prime  --hook")) {
		key, hash := h.codexTrust("/h/hooks.json")
		if same := trusted[key] == hash; same == (h.binary == "gt-prime") {
			t.Errorf("%s: trusted is %v", key, same)
		}
	}
}

// A folder is trusted where it is, where what holds it is, and where the parent
// of another was trusted on its account.
func TestTrusts(t *testing.T) {
	folders := map[string]string{"/a/b": "TRUST_FOLDER", "/c/d": "TRUST_PARENT", "/e": "DO_NOT_TRUST"}
	for dir, want := range map[string]bool{
		"/a/b": true, "/a/b/c": true, "/a": false, "/a/bc": false, "/c/x": true, "/c": true, "/e": false, "/": false,
	} {
		if got := trusts(folders, dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}

// A limit that can only have been meant in the other unit.
func TestUnlikely(t *testing.T) {
	for _, c := range []struct {
		format string
		limit  float64
		wrong  bool
	}{
		{"claude", 10, false}, {"claude", 10000, true}, {"claude", 0, false},
		{"gemini", 10, true}, {"gemini", 10000, false}, {"gemini", 0, false},
		{"qwen", 10, false}, {"qwen", 10000, false},
	} {
		f, _ := formatOf(c.format)
		if got := f.unlikely(c.limit); (got != "") != c.wrong {
			t.Errorf("%s %v: %q", c.format, c.limit, got)
		}
	}
}

// A binary's path reaches the program that a shell starts, whatever is in it.
func TestQuote(t *testing.T) {
	for _, path := range []string{"/usr/bin/gt-prime", "/a b/gt-prime", `/it's "$HOME"/gt-prime`, "/ä/gt-prime", `/back\slash/gt-prime`} {
		if program, rest := split(quote(path) + " --hook"); program != path || rest != " --hook" {
			t.Errorf("%s became %s, %s", path, program, rest)
		}
	}
	if got := quotePowerShell("/it's/gt-prime"); got != "& '/it''s/gt-prime'" {
		t.Error(got)
	}
}

// Every wiring runs nothing but our binaries, each as a hook of that agent, with a
// limit in its unit; and a custom agent's has its own name in the place of that.
func TestWirings(t *testing.T) {
	for _, f := range formats {
		agent := agentOf(t, "robo", f.name)
		agent.dialect, agent.cap = "claude", 4000
		for _, w := range wantOf(t, agent, "/opt/a b") {
			text := string(w.raw)
			if f.shape != script {
				var all map[string]any
				json.Unmarshal(w.raw, &all)
				for _, limit := range limits {
					if v, ok := all[limit].(float64); ok && (v <= 0 || f.unlikely(v) != "") {
						t.Errorf("%s: %s has a limit of %v", f.name, w, v)
					}
				}
				if w.timeout == 0 || w.binary == "" || !strings.Contains(text, "--hook") {
					t.Errorf("%s: %s", f.name, w)
				}
			} else if !isScript(w.raw) || len(scriptPrograms(w.raw)) != len(binaries) {
				t.Errorf("%s has %v", f.name, scriptPrograms(w.raw))
			}
			if !strings.Contains(text, "robo") || strings.Contains(text, "--agent "+f.name) || strings.Contains(text, `"--agent", "`+f.name) {
				t.Errorf("%s: %s is not the agent's own", f.name, text)
			}
			if strings.Contains(text, `"gt-`) || !strings.Contains(text, "/opt/a b/gt-") || !strings.Contains(text, "4000") {
				t.Errorf("%s: %s", f.name, text)
			}
		}
	}
}
