//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
)

// Codex at its account's usage limit says until when, by what the client writes of it, and
// goes on once after that where its person wants it.
func TestSessionLimit(t *testing.T) {
	w := newCodex(t)
	w.wireAgent("codex")
	a := w.agents()
	var resets time.Time
	w.model.Answer(func(r *model.Request) model.Reply {
		if r.Kind == model.Turn && strings.Contains(r.Asked(), "please limit") && resets.IsZero() {
			resets = time.Now().Add(40 * time.Second).Truncate(time.Second)
			return model.Reply{Text: "the limit is reached", Refuse: http.StatusTooManyRequests, Resets: resets}
		}
		return model.Say("It is done.")
	})
	a.session("new", "-n", "api", "-a", "codex", "-m", "are you there?")
	w.asked("are you there?")
	a.awaits("api")
	a.session("send", "api", "please limit it")
	w.waitFor("it is limited, until then", func() bool {
		is := a.findListed("api")
		return is.Status == "waiting" && is.Reason == "limited" && is.Until.Equal(resets)
	})
	// It asks whether to go on with another model, which is its person's to say.
	w.waitFor("it asks", func() bool { return strings.Contains(a.pane("api").screen(), "Approaching rate limits") })
	a.exits(75, "start", "--when-reset", "api")
	if out := a.session("answer", "api", "2"); !strings.Contains(out, "Keep current model") {
		t.Errorf("it says %q", out)
	}
	if out := a.session("start", "--when-reset", "api"); out != "sent to api\n" {
		t.Errorf("it says %q", out)
	}
	if time.Now().Before(resets) {
		t.Error("it did not wait")
	}
	w.asked("Go on where you stopped")
	a.awaits("api")
	a.session("stop", "--now", "api")
}
