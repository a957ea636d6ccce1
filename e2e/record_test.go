//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/e2e/model"
	"gt/lib/conversation"
	"gt/lib/record"

	"github.com/tidwall/gjson"
)

// A conversation that Claude Code has deleted is found, read, verified and asked from its
// record, goes on in Codex, and from there in Claude Code again: each time the model is sent all of
// it, in order.
//
// S0-41 S3-3 S3-18
func TestRecordGoesOnElsewhere(t *testing.T) {
	w := newBareWorld(t)
	w.addClient("codex")
	w.converts()
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

	said := []string{"FIRST-CANARY", "echo E2E-OUTPUT", "E2E-OUTPUT", "DONE-CANARY", "SECOND-CANARY", "ANSWER to then SECOND-CANARY"}
	if answer := w.gt("gt-seance", "talk", id, "why ASKED-CANARY"); !strings.Contains(answer, "ANSWER to why ASKED-CANARY") {
		t.Errorf("asked, it says\n%s", answer)
	}
	w.inOrder(w.asked("ASKED-CANARY"), append(slices.Clone(said), "ASKED-CANARY")...)
	if exists(filepath.Join(w.home, ".claude", "projects")) {
		t.Error("of the question something is left")
	}

	inCodex := w.convert(id, "codex")
	w.codex("exec", "resume", inCodex, "and THIRD-CANARY")
	said = append(said, "THIRD-CANARY")
	w.inOrder(w.asked("THIRD-CANARY"), said...)

	w.gt("gt-record", "sync", inCodex)
	inClaude := w.convert(inCodex, "claude")
	w.ask("and FOURTH-CANARY", "--resume", inClaude)
	w.inOrder(w.asked("FOURTH-CANARY"), append(said, "FOURTH-CANARY")...)
}

// A conversation is recorded while a real client writes it: after each turn, before a
// compaction, and what a kill left undone by the next sync. It is all there, once, in order,
// and without the secret that was said, when the client has deleted its own.
//
// S3-3 S3-8 S3-15 S3-18
func TestRecordAsItGrows(t *testing.T) {
	w := newBareWorld(t)
	w.write(filepath.Join(w.home, ".config", "gt", "config.toml"), "[record]\non = true\n")
	w.gt("gt-hooks", "install", "claude")
	const secret = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
	p := w.claude("max")
	p.typ("please build the WIDGET-CANARY parser")
	id := w.asked("WIDGET-CANARY").Session
	lines := func() (all []record.Line) {
		out, _ := w.run(w.project, nil, "gt-record", "show", "--json", id) // there may be none yet
		for line := range strings.Lines(string(out)) {
			if l, err := record.Parse([]byte(strings.TrimSpace(line))); err == nil {
				all = append(all, l)
			}
		}
		return all
	}
	has := func(word string) func() bool {
		return func() bool {
			return slices.ContainsFunc(lines(), func(l record.Line) bool { return strings.Contains(l.Text, word) })
		}
	}
	w.waitFor("the first turn is recorded", has("WIDGET-CANARY"))
	p.typ("log in with " + secret + " for SECOND-CANARY")
	w.asked("SECOND-CANARY")
	w.waitFor("the second turn is recorded", has("SECOND-CANARY"))
	p.typ("/compact")
	p.awaitScreen("Compacted")
	p.awaitScreen("? for shortcuts")
	p.typ("and THIRD-CANARY")
	w.waitFor("the client has written it down", func() bool { // which it does a moment after
		all, _ := filepath.Glob(filepath.Join(w.home, ".claude", "projects", "*", id+".jsonl"))
		for _, path := range all {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), `"and THIRD-CANARY"`) {
				return true
			}
		}
		return false
	})
	p.crash()
	w.gt("gt-record", "sync", id)
	if err := os.RemoveAll(filepath.Join(w.home, ".claude", "projects")); err != nil {
		t.Fatal(err)
	}

	w.gt("gt-record", "verify", "--all")
	var order []string
	for _, l := range lines() {
		switch conversation.Kind(l.Kind) {
		case conversation.Prompt:
			for _, word := range []string{"WIDGET-CANARY", "SECOND-CANARY", "THIRD-CANARY"} {
				if strings.Contains(l.Text, word) {
					order = append(order, word)
				}
			}
		case conversation.Summary:
			order = append(order, "summary")
		}
	}
	if want := []string{"WIDGET-CANARY", "SECOND-CANARY", "summary", "THIRD-CANARY"}; !slices.Equal(order, want) {
		t.Errorf("the record has %q\n%s", order, w.gt("gt-record", "show", id))
	}
	if err := filepath.WalkDir(filepath.Join(w.home, ".agent"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s has the secret", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if out := w.gt("gt-seance", "read", id); !strings.Contains(out, "THIRD-CANARY") {
		t.Errorf("gt-seance reads\n%s", out)
	}
}

// A conversation that Codex has deleted is asked through Codex itself, which finds it in a
// folder that is there for the question: the model is sent all of it, and nothing is left.
//
// S0-41 S3-18
func TestForgottenIsAsked(t *testing.T) {
	w := newBareWorld(t)
	w.addClient("codex")
	w.converts()
	w.codex("exec", "please echo FIRST-CANARY")
	w.gt("gt-record", "sync", "--all")
	id := string(spoken(w.conversations("codex"))[0].Metadata.ID)
	sessions := filepath.Join(w.home, ".codex", "sessions")
	if err := os.RemoveAll(sessions); err != nil {
		t.Fatal(err)
	}
	w.gt("gt-seance", "list") // which may make a cache
	before := snapshot(t, w.home)
	if answer := w.gt("gt-seance", "talk", id, "why ASKED-CANARY"); !strings.Contains(answer, "ANSWER to why ASKED-CANARY") {
		t.Errorf("asked, it says\n%s", answer)
	}
	r := w.asked("ASKED-CANARY")
	w.inOrder(r, "FIRST-CANARY", "echo E2E-OUTPUT", "E2E-OUTPUT", "DONE-CANARY", "ASKED-CANARY")
	if asks(r) != "codex" {
		t.Errorf("%s was asked", asks(r))
	}
	for path, is := range snapshot(t, w.home) {
		if before[path] != is && !strings.HasPrefix(path, ".codex/tmp") && !strings.HasPrefix(path, ".cache") {
			t.Errorf("%s has changed: %q was %q", path, is, before[path])
		}
	}
	if left, _ := filepath.Glob(w.Path("tmp", "gt-ask-*")); len(left) > 0 || exists(sessions) {
		t.Errorf("of the question is left %q", left)
	}
}

// gt-handoff --to AGENT --with-conversation, run by Claude Code in its pane: the other agent
// takes the pane over and goes on with the conversation by itself. Its first request has
// all of it, in order, and the note. OpenCode is told its first prompt by gt's plugin.
//
// S0-41 S1-9
func TestHandoverWithConversation(t *testing.T) { handsOverTo(t, "codex") }

// S0-41 S1-9
func TestHandoverToOpenCodeWithConversation(t *testing.T) { handsOverTo(t, "opencode") }

func handsOverTo(t *testing.T, to string) {
	w := newWorld(t)
	w.addClient(to)
	w.wireAgent(to)
	if to == "opencode" { // which a person has started before
		if err := os.MkdirAll(filepath.Join(w.home, ".local", "share", "opencode"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.model.Answer(func(r *model.Request) model.Reply {
		switch asked := r.Asked(); {
		case r.Kind == model.Turn && asks(r) == to:
			return model.Say("ANSWER of the successor")
		case r.Kind != model.Turn:
			return model.Reply{}
		case r.Result() != "":
			return model.Say("It is DONE-CANARY.")
		case strings.Contains(asked, "please echo"):
			return model.Bash("echo E2E-OUTPUT")
		case strings.Contains(asked, "please hand over"):
			w.awaitWritten("please hand over")
			return model.Bash("gt-handoff --to " + to + " --with-conversation -s half -m NOTE-CANARY")
		}
		return model.Say("ok")
	})
	p := w.claude("max")
	pane := p.get("#{pane_id}")
	p.typ("please echo FIRST-CANARY")
	w.waitFor("the first turn is over", func() bool {
		return w.model.Requests().Kind(model.Turn).Filter(func(r *model.Request) bool { return r.Result() != "" }).LastRequest() != nil
	})
	p.awaitScreen("DONE-CANARY")
	p.typ("please hand over")

	first := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool { return asks(r) == to && r.Count("FIRST-CANARY") > 0 }).LastRequest()
	})
	if first == nil {
		t.Fatalf("%s does not go on\n%s", to, p.screen())
	}
	w.inOrder(first, "FIRST-CANARY", "echo E2E-OUTPUT", "E2E-OUTPUT", "DONE-CANARY", "please hand over", "Handoff: half.", "Go on from the note.")
	if !strings.Contains(string(first.Body), "NOTE-CANARY") {
		t.Errorf("it is not told the note:\n%s", first.Body)
	}
	if got := p.get("#{pane_id}"); got != pane {
		t.Errorf("it goes on in pane %s, not %s", got, pane)
	}
	chains := map[string]bool{}
	for line := range strings.Lines(w.gt("gt-seance", "list", "--json")) {
		chains[gjson.Get(line, "chain_id").Str] = true
	}
	if len(chains) != 1 {
		t.Errorf("the sessions are of %d chains", len(chains))
	}
}
