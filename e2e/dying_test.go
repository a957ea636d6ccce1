//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A hook that its runtime ends with 2, for there is no memory, no thread and no
// descriptor left, is no word of gt's, and keeps nobody from working, in the clients
// that run a hook through a shell. Claude Code starts it itself, and refuses the
// prompt (2.1.330, also with "onFailure": "continue"): docs/hooks.md.
//
// S0-11
func TestDyingHooks(t *testing.T) {
	t.Parallel()
	for client, run := range map[string][]string{
		"codex":  {"exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "hello there"},
		"gemini": {"-p", "hello there"},
		"qwen":   {"-p", "hello there"},
		"kimi":   {"-p", "hello there"},
	} {
		t.Run(client, func(t *testing.T) {
			w := newWorldOf(t, client)
			w.setUp(client)
			w.model.Answer(func(*model.Request) model.Reply { return model.Say("ANSWER") })
			w.gt("gt-hooks", "install", client)
			dying := w.Path("dying")
			for _, name := range []string{"gt-prime", "gt-keepalive", "gt-checkpoint", "gt-handoff"} {
				w.write(filepath.Join(dying, name), "#!/bin/sh\nexec prlimit --as=200000000 '"+filepath.Join(bin, name)+"' \"$@\"\n")
				if err := os.Chmod(filepath.Join(dying, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			settings := map[string]string{
				"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json", "qwen": ".qwen/settings.json", "kimi": ".kimi-code/config.toml",
			}[client]
			settings = filepath.Join(w.home, settings)
			w.write(settings, strings.ReplaceAll(w.read(settings), bin+"/", dying+"/"))
			out, err := w.run(w.project, nil, client, run...)
			asked := 0
			for _, r := range w.model.Turns() {
				if strings.Contains(r.Asked(), "hello there") {
					asked++
				}
			}
			if err != nil || !strings.Contains(string(out), "ANSWER") || asked != 1 {
				t.Errorf("the model was asked %d times: %v\n%s", asked, err, out)
			}
		})
	}
}
