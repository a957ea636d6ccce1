//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A client that asks at its start whether the folder is trusted waits, and that is said, by
// the start and by its status. Nothing answers for the person but --trust, which takes the
// dialogs of trust and of permissions, one after the other.
//
// S1-20
func TestSessionTrust(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
		asks   func(*world) // has it ask, as it does for most people
		flags  []string
		option string // that trusts the folder
	}{
		{"claude", newWorld, func(w *world) {
			w.Env = append(w.Env, "IS_SANDBOX=1") // else it bypasses nothing for root
		}, []string{"--dangerously-skip-permissions"}, "Yes, I trust this folder"},
		// It asks nobody who has chosen how it may work.
		{"codex", newCodex, func(w *world) {
			path := filepath.Join(w.home, ".codex", "config.toml")
			w.write(path, regexp.MustCompile(`(?m)^(approval_policy|sandbox_mode) .*\n`).ReplaceAllString(w.read(path), ""))
			w.wireAgent("codex")
		}, nil, "Trust and continue"},
		{"gemini", newGemini, func(w *world) {
			path := filepath.Join(w.home, ".gemini", "settings.json")
			w.write(path, strings.Replace(w.read(path), `"enabled": false`, `"enabled": true`, 1))
			w.wireAgent("gemini")
		}, nil, "Trust folder (strange)"},
		{"kimi", newKimi, func(w *world) { w.wireAgent("kimi") }, nil, "Trust this folder"},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			of.asks(w)
			w.model.Answer(func(r *model.Request) model.Reply { return model.Say("It is done.") })
			dir, other := w.Path("strange"), w.Path("other")
			for _, dir := range []string{dir, other} {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if _, err := w.run(dir, nil, "git", "init", "-q", "-b", "main"); err != nil {
					t.Fatal(err)
				}
			}
			a := w.agents()
			// Whether the start tells of it, too, is the machine's speed; see testdata/scripts.
			a.session(append([]string{"new", dir, "-n", "api", "-a", of.client, "--"}, of.flags...)...)
			w.waitFor("it is waiting (permission)", func() bool {
				is := a.findListed("api")
				return is.Status == "waiting" && is.Reason == "permission"
			})
			if out := a.session("answer", "api"); !strings.Contains(out, of.option) {
				t.Errorf("the options are %q", out)
			}
			a.session("stop", "--now", "api")

			// The same with a prompt, at once.
			a.session("start", "api", "--trust", "-m", "please say HELLO")
			w.asked("please say HELLO")
			a.session("stop", "--now", "api")

			// A person takes their time. It is told nothing meanwhile.
			a.session(append([]string{"new", other, "-n", "web", "-a", of.client, "-m", "please say LATER", "--"}, of.flags...)...)
			w.waitFor("it asks", func() bool {
				is := a.findListed("web")
				return is.Status == "waiting" && is.Reason == "permission"
			})
			for _, r := range w.model.Requests() {
				if strings.Contains(string(r.Body), "please say LATER") {
					t.Error("it was told before the answer")
				}
			}
			yes := regexp.MustCompile(`(?m)^(\d+)\. (Yes|Trust (and|folder|this folder))`)
			answered := map[string]bool{} // Gemini CLI stays untrusted if it is answered twice
			w.waitFor("its turn is over", func() bool {
				is := a.findListed("web")
				if is.Reason == "permission" { // of the folder; of bypassed permissions
					// It may have been answered since, and may not be drawn yet.
					options, _ := a.run(a.project, a.around, "gt-session", "answer", "web")
					if option := yes.FindSubmatch(options); option != nil && !answered[string(options)] {
						_, err := a.run(a.project, a.around, "gt-session", "answer", "web", string(option[1]))
						answered[string(options)] = err == nil
						t.Logf("answered %s: %v", option[0], err)
					}
				}
				return is.Status == "waiting" && is.Reason == "done" && is.SessionID != ""
			})
			w.asked("please say LATER")
			a.session("stop", "--now", "web")
		})
	}
}
