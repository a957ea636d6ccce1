//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gt/e2e/model"
	"gt/lib/client/wiring"
)

// ownPrograms gives the world copies of gt's programs, which it may remove.
func (w *world) ownPrograms() {
	w.Helper()
	from := w.Programs
	w.Programs = w.Path("gt")
	for i, kv := range w.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="+from); ok {
			w.Env[i] = "PATH=" + w.Programs + path
		}
	}
	if err := os.CopyFS(w.Programs, os.DirFS(from)); err != nil {
		w.Fatal(err)
	}
}

// harmed matches what a client shows of a hook that failed.
var harmed = regexp.MustCompile(`(?i)hook.*(error|fail)|no such file|command not found|ENOENT`)

// A client that runs while gt's programs are removed, and one that is started afterwards, shows
// no failing hook, in no turn and not at its end.
//
// S1-39
func TestProgramsGone(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client   string
		begin    func(*testing.T) *world
		prompt   string
		headless []string
	}{
		{"claude", newBareWorld, "please echo", []string{"-p"}},
		{"codex", newCodex, "RUN[echo x]", []string{"exec"}},
		{"gemini", newGemini, "please echo", []string{"-y", "-p"}},
		{"qwen", newQwen, "please echo", []string{"-y", "-p"}},
		{"copilot", newCopilot, "please echo", []string{"--allow-all-tools", "-p"}},
		{"kimi", newKimi, "please say more", []string{"-p"}},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			w.ownPrograms()
			if of.client == "claude" {
				w.model.Answer(func(r *model.Request) model.Reply {
					if strings.Contains(r.Asked(), "echo") && r.Result() == "" {
						return model.Bash("echo E2E-OUTPUT")
					}
					if r.Result() != "" {
						return model.Say("It is done.")
					}
					return model.Say("ANSWER it is.")
				})
			}
			w.wireAgent(of.client)
			a := w.agents()
			a.session("new", "-n", "api", "-a", of.client, "-m", "please say ONE")
			w.asked("please say ONE")
			a.awaits("api")
			w.oneEvent("session_start", w.latest())
			for _, program := range wiring.Binaries {
				if err := os.Remove(filepath.Join(w.Programs, program)); err != nil {
					t.Fatal(err)
				}
			}
			p := a.pane("api")
			unharmed := func(when, shown string) {
				t.Helper()
				for line := range strings.Lines(shown) {
					if harmed.MatchString(line) {
						t.Errorf("%s it shows %q", when, strings.TrimSpace(line))
					}
				}
			}
			a.session("send", "api", of.prompt)
			w.asked(of.prompt)
			w.waitFor("the turn is over", func() bool { return p.shows([]string{"It is done.", "ANSWER to " + of.prompt}) })
			a.session("send", "api", "please say TWO")
			w.asked("please say TWO")
			a.awaits("api")
			unharmed("in a pane", w.tmuxOutput("capture-pane", "-p", "-S", "-200", "-t", p.id))
			a.session("stop", "api", "--now")

			cmd := w.Command(w.project, append(append([]string{w.look(of.client)}, of.headless...), of.prompt)...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Error(err)
			}
			unharmed("headless", string(out))
		})
	}
}
