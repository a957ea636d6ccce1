//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"gt/e2e/model"
)

// Qwen Code speaks the language of the locale, and its empty box shows what the person could
// say next, which Enter would submit. It is told, asked and answered all the same.
//
// S2-7 S2-51
func TestQwenScreen(t *testing.T) {
	t.Parallel()
	languages := []string{"C", "zh_CN"}
	if some := os.Getenv("GT_E2E_LANGUAGES"); some != "" {
		languages = strings.Split(some, ",")
	}
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			w := newQwen(t)
			w.Env = append(w.Env, "LANG="+language+".UTF-8", "LC_CTYPE=C.UTF-8")
			w.wireAgent("qwen")
			w.model.Answer(func(r *model.Request) model.Reply {
				switch asked := r.Asked(); {
				case strings.Contains(asked, "SUGGESTION MODE"):
					return model.Say("run the tests")
				case r.Result() != "":
					return model.Say("It has run.")
				case strings.Contains(asked, "please touch"):
					return shellCommand("touch made")
				default:
					return model.Say("ANSWER to " + asked)
				}
			})
			a := w.agents()
			a.exits(0, "new", "-n", "api", "-a", "qwen", "-m", "one", "--", "--approval-mode", "default")
			w.asked("one")
			a.exits(0, "wait", "api")
			if said := a.exits(0, "send", "--wait", "api", "two"); said != "ANSWER to two\n" {
				t.Errorf("it answers %q", said)
			}
			a.pane("api").awaitScreen("> run the tests")
			a.awaits("api")
			if said := a.exits(0, "send", "--wait", "api", "three"); said != "ANSWER to three\n" {
				t.Errorf("it answers %q", said)
			}
			a.pane("api").awaitScreen("> run the tests")
			a.exits(0, "send", "api", "please touch it")
			w.waitFor("it asks", func() bool { return a.findListed("api").Reason == "permission" })
			if said := a.fails(75, "send", "api", "NEVER"); !strings.Contains(said, "asks something") {
				t.Errorf("it says %q", said)
			}
			a.exits(0, "answer", "api", "1")
			w.told("please touch it")
			a.exits(0, "wait", "api")
			if !exists(w.project + "/made") {
				t.Error("the command has not run")
			}
			a.pane("api").awaitScreen("> run the tests")
			a.exits(0, "stop", "api")
			for _, r := range w.model.Turns() {
				if asked := r.Asked(); asked == "run the tests" || asked == "NEVER" {
					t.Errorf("it was asked %q", asked)
				}
			}
		})
	}
}
