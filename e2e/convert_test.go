//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/e2e/model"
	"gt/lib/text/term"
)

// goesOn are the clients as which a conversation is written, how a person goes on with one,
// and how it goes on without a person. Cline goes on only with what its database lists.
var goesOn = []struct {
	client, command string
	headless        func(id, question string) []string
}{
	{"claude", "claude --resume ID", func(id, q string) []string { return []string{"-p", q, "--resume", id} }},
	{"codex", "codex resume ID", func(id, q string) []string { return []string{"exec", "resume", id, q} }},
	{"gemini", "gemini --resume ID", func(id, q string) []string { return []string{"-y", "-r", id, "-p", q} }},
	{"qwen", "qwen --resume ID", func(id, q string) []string { return []string{"-y", "-r", id, "-p", q} }},
	{"opencode", "opencode --session ID", func(id, q string) []string { return []string{"run", "-s", id, q} }},
	{"pi", "pi --session ID", func(id, q string) []string { return []string{"-p", "--session", id, q} }},
	{"kimi", "kimi --session ID", func(id, q string) []string { return []string{"-m", "e2e", "-S", id, "-p", q} }},
}

// begins is how each client holds a conversation of one turn, without a person.
var begins = map[string]func(question string) []string{
	"claude":   func(q string) []string { return []string{"-p", q} },
	"codex":    func(q string) []string { return []string{"exec", q} },
	"gemini":   func(q string) []string { return []string{"-y", "-p", q} },
	"qwen":     func(q string) []string { return []string{"-y", "-p", q} },
	"opencode": func(q string) []string { return []string{"run", q} },
	"pi":       func(q string) []string { return []string{"-p", q} },
	"kimi":     func(q string) []string { return []string{"-p", q} },
	"copilot":  func(q string) []string { return []string{"--allow-all-tools", "-p", q} },
	"cline":    func(q string) []string { return []string{"--json", q} },
}

// anyShell replies with a command for the shell tool of whichever client asks.
func anyShell(r *model.Request, command string) model.Reply {
	for _, name := range []string{"Bash", "bash"} {
		if slices.Contains(r.Tools, name) {
			return model.Reply{Text: "I run it.", Tools: []model.ToolUse{{Name: name, Input: map[string]string{"command": command, "description": "Run"}}}}
		}
	}
	if slices.Contains(r.Tools, "run_shell_command") {
		return model.Reply{Text: "I run it.", Tools: []model.ToolUse{{Name: "run_shell_command", Input: map[string]any{"command": command, "description": "Run", "is_background": false}}}}
	}
	reply := codexShell(r, command)
	if slices.Contains(r.Tools, "run_commands") {
		reply = clineShell(command)
	}
	reply.Text, reply.Thought = "I run it.", ""
	return reply
}

// converts sets up a world for conversations that go from client to client: the model
// refuses what providers refuse.
func (w *world) converts() {
	w.model.Answer(func(r *model.Request) model.Reply {
		asked := strings.Trim(r.Asked(), "\"\n ")
		switch {
		case r.Kind == model.Compaction:
			return model.Reply{}
		case r.Result() != "":
			return model.Say("It is DONE-CANARY.")
		case strings.Contains(asked, "please echo"):
			return anyShell(r, "echo E2E-OUTPUT")
		}
		return model.Say("ANSWER to " + asked[strings.LastIndex(asked, "\n")+1:])
	})
	w.model.Strict()
}

// inOrder fails the test unless the words stand in a request, in their order.
func (w *world) inOrder(r *model.Request, words ...string) {
	w.Helper()
	rest := string(r.Body)
	for _, word := range words {
		_, after, found := strings.Cut(rest, word)
		if !found {
			w.Errorf("%q is missing, or not in its place:\n%s", word, r.Body)
			return
		}
		rest = after
	}
}

// convert converts a record, and returns the conversation's new id. What is printed is the
// command that goes on with it.
func (w *world) convert(id, to string) string {
	w.Helper()
	line := strings.TrimSpace(w.gt("gt-record", "convert", id, "--to", to))
	words := strings.Fields(line)
	if len(words) == 0 {
		w.Fatal("no command was printed")
	}
	id = words[len(words)-1]
	for _, c := range goesOn {
		if want := "cd " + term.Typed(w.project) + " && " + strings.Replace(c.command, "ID", id, 1); c.client == to && line != want {
			w.Errorf("printed was %q, want %q", line, want)
		}
	}
	return id
}

// A conversation of any client goes on in any other that gt writes: the model is sent all
// of it, in order, and finds nothing wrong with it. One in which calls overlap, break off
// and fail, that was compacted, whose last line is half, and with what has no counterpart
// elsewhere, goes on in each.
//
// S0-41 S3-18
func TestConversions(t *testing.T) {
	w := newBareWorld(t)
	sources := []string{"claude", "codex", "gemini", "qwen", "opencode", "pi", "copilot", "kimi", "cline"}
	for _, client := range sources[1:] {
		w.addClient(client)
	}
	w.converts()
	w.gt("gt-record", "list")

	ids := map[string]string{}
	for _, client := range sources {
		question := "please echo FIRST-" + client
		if out, err := w.run(w.project, nil, client, begins[client](question)...); err != nil {
			t.Fatalf("%s: %v\n%s", client, err, out)
		}
		found := spoken(w.conversations(client))
		if len(found) == 0 {
			t.Fatalf("of %s no conversation is found", client)
		}
		ids[client] = string(found[0].Metadata.ID)
	}
	ids["hard"] = "4f2c81d0-1111-4111-8111-111111111111"
	w.write(filepath.Join(w.home, ".claude", "projects", "-hard", ids["hard"]+".jsonl"), strings.ReplaceAll(hard, "/work", w.project))
	w.gt("gt-record", "sync", "--all")
	originals := snapshot(t, w.home)

	for _, to := range goesOn {
		t.Run(to.client, func(t *testing.T) {
			outer := w.TB
			w.TB = t
			defer func() { w.TB = outer }()
			for _, from := range append(slices.Clone(sources), "hard") {
				if from == to.client {
					continue
				}
				id := w.convert(ids[from], to.client)
				question := "GOES-ON-FROM-" + from
				if out, err := w.run(w.project, nil, to.client, to.headless(id, question)...); err != nil {
					t.Errorf("from %s: %v\n%s", from, err, out)
					continue
				}
				words := []string{"please echo FIRST-" + from, "I run it.", "echo E2E-OUTPUT", "E2E-OUTPUT", "It is DONE-CANARY.", question}
				if from == "hard" {
					words = append(slices.Clone(hardWords), question)
				}
				r := w.asked(question)
				w.inOrder(r, words...)
				if r.Count("HARD-HALF") > 0 {
					t.Errorf("from %s: it is told half a line", from)
				}
			}
		})
	}
	after := snapshot(t, w.home)
	for path, was := range originals {
		for _, id := range ids {
			if strings.Contains(path, id) && strings.HasSuffix(path, ".jsonl") && after[path] != was {
				t.Errorf("%s has changed", path)
			}
		}
	}
}

// hard is a conversation of Claude Code's with what is hard to carry over.
var hard = func() string {
	n := 0
	record := func(kind, message string) string {
		n++
		return fmt.Sprintf(`{"type":%q,"uuid":"u%d","sessionId":"4f2c81d0-1111-4111-8111-111111111111","cwd":"/work","timestamp":"2026-01-17T01:00:%02dZ","message":%s}`+"\n", kind, n, n, message)
	}
	user := func(content string) string { return record("user", `{"role":"user","content":`+content+`}`) }
	agent := func(id, content string) string {
		return record("assistant", `{"id":`+fmt.Sprintf("%q", id)+`,"model":"m","role":"assistant","content":[`+content+`]}`)
	}
	return user(`"HARD-1 please \"look\" <at> it\né"`) +
		agent("m1", `{"type":"thinking","thinking":"HARD-2","signature":"s"}`) +
		agent("m1", `{"type":"text","text":"HARD-3"}`) +
		agent("m1", `{"type":"tool_use","id":"t1","name":"mcp__a.b__look at","input":{"file":"HARD-4"}}`) +
		agent("m1", `{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"HARD-6"}}`) +
		agent("m1", `{"type":"tool_use","id":"t3","name":"Bash","input":{"command":"HARD-8"}}`) +
		user(`[{"type":"tool_result","tool_use_id":"t2","content":"HARD-7","is_error":true}]`) +
		user(`[{"type":"tool_result","tool_use_id":"t1","content":"HARD-5"}]`) +
		user(`[{"type":"tool_result","tool_use_id":"t3","content":""}]`) +
		agent("m2", `{"type":"tool_use","id":"t4","name":"9x","input":{"command":"HARD-9"}}`) +
		`{"type":"system","subtype":"compact_boundary","uuid":"c1","timestamp":"2026-01-17T01:00:30Z","content":"Conversation compacted"}` + "\n" +
		`{"type":"user","uuid":"c2","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"cwd":"/work","timestamp":"2026-01-17T01:00:30Z","message":{"role":"user","content":"HARD-SUMMARY of it"}}` + "\n" +
		user(`"/HARD-10 was typed"`) +
		user(`"? HARD-11"`) +
		agent("m3", `{"type":"text","text":"HARD-12"}`) +
		`{"type":"assistant","uuid":"u99","message":{"id":"m4","content":[{"type":"text","text":"HARD-HALF` // the client was killed as it wrote
}()

var hardWords = []string{
	"HARD-1 please", "HARD-2", "HARD-3", "HARD-4", "HARD-5", "HARD-6", "HARD-7", "HARD-8", "[no output]",
	"HARD-9", "[no result was recorded]", "HARD-SUMMARY", "/HARD-10 was typed", "? HARD-11", "HARD-12",
}
