//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"gt/e2e/model"
)

// Before a compaction the session's thread is saved and the summariser is told
// what to keep; after it the session is told to go on, and not that it is new.
//
// S1-46 S1-47 S1-65 S1-69 S1-73
func TestCompact(t *testing.T) {
	t.Parallel()
	t.Run("headless", func(t *testing.T) {
		w := newWorld(t)
		id := w.ask("good morning").SessionID
		w.ask("please build the WIDGET-CANARY parser", "--resume", id) // one turn is too little to compact
		compactStory(w, id, func(id string) {
			w.ask("/compact", "--resume", id)
		}, func(id, prompt string) {
			w.ask(prompt, "--resume", id)
		})
	})
	t.Run("pane", func(t *testing.T) {
		w := newWorld(t)
		p := w.claude("max")
		p.typ("good morning")
		w.asked("good morning")
		p.typ("please build the WIDGET-CANARY parser") // one turn is too little to compact
		id := w.asked("WIDGET-CANARY").Session
		compactStory(w, id, func(string) {
			p.typ("/compact")
			p.awaitScreen("Compacted")
			// What gt tells the summariser stands there too, and is one line.
			p.awaitScreen("Keep in the summary: the task")
			if screen := p.screen(); strings.Contains(screen, "WIDGET-CANARY</") || strings.Contains(screen, "<note") {
				t.Errorf("the person is shown what was saved:\n%s", screen)
			}
			// The client shows that before it has run the hooks that follow and
			// is ready for the next prompt.
			w.waitFor("the start after the compaction is told", func() bool { return len(w.markers()) == 0 })
			p.awaitScreen("? for shortcuts")
		}, func(_, prompt string) {
			p.typ(prompt)
			w.asked(prompt)
		})
	})
}

func compactStory(w *world, id string, compact func(id string), ask func(id, prompt string)) {
	t := w.TB
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.gt("gt-mail", "hook", "--new", "-s", "WORK-CANARY repair the lamp", "-m", "The lamp flickers.")

	var notes, markers []string
	w.model.Answer(func(r *model.Request) model.Reply {
		if r.Kind == model.Compaction {
			notes, markers = w.notes(), w.markers()
		}
		return model.Reply{}
	})
	compact(id)

	summariser := w.model.Requests().Kind(model.Compaction).LastRequest()
	if summariser == nil {
		t.Fatal("there was no compaction")
	}
	saved := strings.Join(notes, "\n")
	if !strings.Contains(saved, "WIDGET-CANARY") {
		t.Errorf("when the summariser is asked, no note holds what the person wanted: %q", notes)
	}
	if len(markers) != 1 {
		t.Errorf("when the summariser is asked, the markers are %q", markers)
	}
	_, instructions, ok := strings.Cut(summariser.Asked(), "Additional Instructions:")
	if !ok || !strings.Contains(instructions, "Keep in the summary: the task") || strings.Count(strings.TrimSpace(instructions), "\n") > 2 {
		t.Errorf("the summariser is told: %q", instructions)
	}
	if n := len(w.events("handoff", id)); n != 1 {
		t.Errorf("the compaction left %d handoff events", n)
	}

	ask(id, "and now?")
	after := w.asked("and now?")
	if after.Session != id {
		t.Errorf("the session is %s after the compaction, and was %s", after.Session, id)
	}
	// Where the client puts it, as a message of its own or with the next
	// prompt, is its business.
	if n := after.Count("Context compacted. Continue your previous task."); n != 1 {
		t.Errorf("after the compaction the model is told %d times to go on:\n%s", n, after.Body)
	}
	told := after.Told()
	for _, text := range []string{"ROLE-CANARY", "handoff is DONE"} {
		if strings.Contains(strings.ToLower(told), strings.ToLower(text)) {
			t.Errorf("after the compaction the model is told %s again:\n%s", text, told)
		}
	}
	w.waitFor("the marker is consumed", func() bool { return len(w.markers()) == 0 })
	w.oneEvent("session_start", id)
	if r := w.record(id); r.ParentID != "" || r.ChainID != id {
		t.Errorf("after the compaction the record says %+v", r)
	}
}
