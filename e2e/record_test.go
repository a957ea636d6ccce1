//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/e2e/model"
)

// A conversation that Claude Code has deleted is found, read and verified from its record,
// goes on in Codex, and from there in Claude Code again: each time the model is sent all of
// it, in order.
//
// S0-41 S3-3 S3-18
func TestRecordGoesOnElsewhere(t *testing.T) {
	w := newBareWorld(t)
	w.and("codex")
	w.setUp("codex")
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := r.Asked()
		switch {
		case r.Kind == model.Compaction:
			return model.Reply{}
		case r.Result() != "":
			return model.Say("It is DONE-CANARY.")
		case strings.Contains(asked, "echo") && r.Count("E2E-OUTPUT") == 0:
			return model.Bash("echo E2E-OUTPUT")
		}
		return model.Say("ANSWER to " + asked[strings.LastIndex(asked, "\n")+1:])
	})
	inOrder := func(r *model.Request, words ...string) {
		t.Helper()
		rest := string(r.Body)
		for _, word := range words {
			_, after, found := strings.Cut(rest, word)
			if !found {
				t.Fatalf("%q is missing, or not in its place:\n%s", word, r.Body)
			}
			rest = after
		}
	}

	id := w.ask("please echo FIRST-CANARY").SessionID
	w.ask("then SECOND-CANARY", "--resume", id)
	w.gt("gt-record", "sync", "--all")
	if err := os.RemoveAll(filepath.Join(w.home, ".claude", "projects")); err != nil {
		t.Fatal(err)
	}
	w.gt("gt-record", "verify", "--all")
	if out := w.gt("gt-seance", "read", id); !strings.Contains(out, "FIRST-CANARY") || !strings.Contains(out, "DONE-CANARY") {
		t.Errorf("gt-seance reads\n%s", out)
	}

	converted := func(id, to string) string {
		t.Helper()
		words := strings.Fields(w.gt("gt-record", "convert", id, "--to", to))
		if len(words) == 0 {
			t.Fatal("no command was printed")
		}
		return words[len(words)-1]
	}
	inCodex := converted(id, "codex")
	w.codex("exec", "resume", inCodex, "and THIRD-CANARY")
	said := []string{"FIRST-CANARY", "echo E2E-OUTPUT", "E2E-OUTPUT", "DONE-CANARY", "SECOND-CANARY", "ANSWER to then SECOND-CANARY", "THIRD-CANARY"}
	inOrder(w.asked("THIRD-CANARY"), said...)

	w.gt("gt-record", "sync", inCodex)
	inClaude := converted(inCodex, "claude")
	w.ask("and FOURTH-CANARY", "--resume", inClaude)
	inOrder(w.asked("FOURTH-CANARY"), append(said, "FOURTH-CANARY")...)
}
