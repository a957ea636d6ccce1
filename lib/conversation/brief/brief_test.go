package brief

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/place/git"
	"gt/lib/state/mail"
	"gt/lib/state/thread"
	"gt/lib/text/standing"
	"gt/lib/text/term"
)

func ask(texts ...string) (rs []summary.Request) {
	for _, t := range texts {
		rs = append(rs, summary.Request{Text: t, Answer: "answer to " + t})
	}
	return rs
}

// full returns a brief with all parts.
func full() Brief {
	return Brief{
		Message: "the parser is half done",
		Session: summary.Summary{
			Title: "Port the parser", First: summary.Request{Text: "port the parser"},
			Requests: ask("port the parser", "use a table", "now the tests"),
			Answer:   "the tests pass but one",
			Todos:    []summary.Todo{{Text: "fix the\nlast test", Status: "in_progress"}, {Text: "docs", Status: "pending"}}, Done: 3,
			Files: []string{"parser.go", "parser_test.go"}, Commands: []summary.Command{{Text: "go test", Failed: true}, {Text: "go vet"}},
			Failures: []string{"go test: FAIL TestX"}, Compacted: "Kept: the grammar is in docs.",
		},
		State: git.State{Branch: "main", Head: strings.Repeat("a", 40), Changes: []git.Change{
			{Path: "parser.go", XY: ".M", Unstaged: true}, {Path: "new name", From: "old", XY: "R.", Staged: true},
		}},
		Commits: []git.Commit{{Hash: strings.Repeat("b", 40), Subject: "begin"}},
		Hooked:  []mail.Note{{ID: "h1", Subject: "the work"}},
	}
}

// The most important parts come first, because a client may show only the first 2 KB.
func TestOrderIsThatOfNeed(t *testing.T) {
	text := full().Text()
	last := -1
	for _, want := range []string{
		"the parser is half done", "Open to-dos (3 done)", "- [in progress] fix the last test", "- [ ] docs", "Last request", "now the tests",
		"Failures that are not fixed yet", "go test: FAIL TestX", "Last answer", "the tests pass but one", "branch main at aaaaaaaaaa:", "parser.go", "(was old)",
	} {
		at := strings.Index(text, want)
		if at <= last {
			t.Fatalf("%q is missing or too early in\n%s", want, text)
		}
		last = at
	}
	for _, want := range []string{
		"Files changed", "- bbbbbbbbbb begin", "use a table", "`go test` failed", "given: the work (gt-mail read h1)", "Kept: the grammar is in docs.",
	} {
		if at := strings.Index(text, want); at <= last {
			t.Errorf("%q is missing or too early in\n%s", want, text)
		}
	}
	if again := full().Text(); again != text {
		t.Error("not the same again")
	}
}

func TestNothingIsSaidOfNothing(t *testing.T) {
	if got := (Brief{}).Text(); strings.TrimSpace(got) != "" {
		t.Errorf("%q", got)
	}
	if got := (Brief{}).Essentials(); strings.TrimSpace(got) != "" {
		t.Errorf("%q", got)
	}
	got := Brief{Message: "only this"}.Text()
	if got != "only this\n" {
		t.Errorf("%q", got)
	}
}

// The brief is short for any amount of input.
func TestIsBounded(t *testing.T) {
	b := full()
	b.Session.Todos = nil
	for i := range 500 {
		b.State.Changes = append(b.State.Changes, git.Change{Path: fmt.Sprint("file", i), XY: "??"})
		b.Commits = append(b.Commits, git.Commit{Hash: fmt.Sprintf("%040d", i), Subject: strings.Repeat("long ", 100)})
		b.Hooked = append(b.Hooked, mail.Note{ID: fmt.Sprint("n", i)})
		b.Session.Files = append(b.Session.Files, fmt.Sprint("f", i))
	}
	b.Session.Requests = ask(strings.Repeat("x", 20_000), strings.Repeat("y", 20_000), strings.Repeat("z", 20_000))
	for i := range b.Session.Requests {
		b.Session.Requests[i].Answer = ""
	}
	text := b.Text()
	if n := len(text); n > 10_000 {
		t.Errorf("%d bytes", n)
	}
	for _, want := range []string{"and 482 more (git status)", "- 491 earlier ones", "more: gt-mail inbox"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestSubject(t *testing.T) {
	long := strings.Repeat("a long request ", 30)
	for name, c := range map[string]struct {
		s    summary.Summary
		want string
	}{
		"the title":       {summary.Summary{Title: "Port the\nparser", Requests: ask("x")}, "Port the parser"},
		"the last asked":  {summary.Summary{Requests: ask("first", "now the\n tests")}, "now the tests"},
		"nothing":         {summary.Summary{}, "hand-over"},
		"a long one, cut": {summary.Summary{Requests: ask(long)}, summary.Cut(strings.TrimSpace(long), 72)},
	} {
		if got := (Brief{Session: c.s}).Subject(); got != c.want || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Essentials has exactly the lines that a summary must keep.
func TestEssentials(t *testing.T) {
	b := full()
	b.Session.Requests = append(b.Session.Requests, summary.Request{Text: "yes, do", Reply: true})
	text := b.Essentials()
	for _, want := range []string{"fix the last test", "Last request\nnow the tests", "FAIL TestX", "parser_test.go", "the work"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"half done", "branch main", "use a table", "go vet", "Kept:", "began with"} {
		if strings.Contains(text, not) {
			t.Errorf("%q in\n%s", not, text)
		}
	}
}

// The summariser is told what short answers answer, and no answers of the agent beside them.
func TestEssentialsHaveQuestions(t *testing.T) {
	th := threadOf("Port the parser to the new grammar.", "no", "and what about the printer, is it next?", "yes")
	for i, said := range []string{"Shall I drop the old lexer?", "It is.", "Shall I begin with its tests?"} {
		th.Answers = append(th.Answers, thread.Quote{Text: said, Session: "s", Time: th.Prompts[i].Time.Add(time.Second)})
	}
	b := Brief{Thread: th, Session: summary.Summary{
		Requests: []summary.Request{{Text: "and what about the printer, is it next?"}, {Text: "yes"}}, Answer: "Shall I begin with its tests?", AnswerIsEarlier: true,
	}}
	text := b.Essentials()
	for _, want := range []string{"yes\n(answering the agent's \"Shall I begin with its tests?\")", "- no (answering the agent's \"Shall I drop the old lexer?\")"} {
		if strings.Count(text, want) != 1 || strings.Contains(text, "It is.") {
			t.Errorf("no %q, or more, in\n%s", want, text)
		}
	}
}

// For any text from others, the brief fits a note and has no control characters.
func TestHostileBrief(t *testing.T) {
	for name, text := range map[string]string{
		"long":    strings.Repeat("x", 1<<20),
		"escapes": strings.Repeat("\x1b[31m\u202e\u009b", 1<<15),
		"accents": "e" + strings.Repeat("\u0301", 1<<19),
		"lines":   strings.Repeat("a\n", 1<<19),
	} {
		b := full()
		clean := term.CleanText(text)
		b.Checkpoint = clean // as the checkpoint and the transcript return it
		b.State.Branch = text[:4096]
		for i := range 100 {
			part := text[:64<<10]
			if i%99 == 0 || i == 50 { // a megabyte in the first, the last and one in between
				part = text
			}
			b.State.Changes = append(b.State.Changes, git.Change{Path: text[:4096], XY: "??"})
			b.Commits = append(b.Commits, git.Commit{Hash: text[:7], Subject: part})
			b.Hooked = append(b.Hooked, mail.Note{ID: fmt.Sprint(i), Subject: part, From: part})
			b.Unread = b.Hooked
		}
		b = b.Clean(term.CleanText) // else the note's reader does it
		for _, got := range []string{b.Text(), b.Essentials(), b.Subject()} {
			if len(got) > mail.MaxBody/2 || term.CleanText(got) != got {
				t.Errorf("%s: %d bytes, %.300q", name, len(got), got)
			}
		}
	}
}

// The last two hand-overs are long, whether or not the session left one of its own.
func TestLastTwoMessages(t *testing.T) {
	th := &thread.Thread{ChainID: "c"}
	for i := range 4 {
		th.Messages = append(th.Messages, thread.Message{Subject: fmt.Sprint("step ", i), Text: fmt.Sprint(strings.Repeat("a", 300), " HALF", i, " ", strings.Repeat("b", 150))})
	}
	for message, want := range map[string][]string{"": {"HALF3", "HALF2"}, "my own": {"HALF3"}} {
		text := Brief{Thread: th, Message: message}.Text()
		for i := range 4 {
			half := fmt.Sprint("HALF", i)
			if strings.Contains(text, half) != slices.Contains(want, half) || !strings.Contains(text, fmt.Sprint("step ", i)) {
				t.Errorf("behind the message %q, %s is told or not:\n%s", message, half, text)
			}
		}
	}
}

// The parts of the chain are given once: Own leaves them out of a saved brief.
func TestOwn(t *testing.T) {
	b := full()
	b.Thread = &thread.Thread{
		ChainID:      "c",
		Request:      thread.Quote{Text: "FIRST " + strings.Repeat("long ", 100) + "LAST"},
		Instructions: []thread.Instruction{{Instruction: standing.Instruction{Text: "RULE", Kind: standing.KindNever}}},
		Messages:     []thread.Message{{Subject: "step 1", Text: "HANDED"}},
	}
	all := b.Text()
	b.Thread = nil
	if got, want := StripChain(all), b.Text(); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	old := strings.NewReplacer(standingTitle, oldThroughout, firstInFull, oldFirstInFull, earlierTitle, oldBefore).Replace(all)
	if got, want := StripChain(old), b.Text(); old == all || strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("of a note with earlier titles it is\n%s\nwant\n%s", got, want)
	}
	if text := "a person's own words\n### and a title\nof theirs\n"; StripChain(text) != text {
		t.Errorf("what a person wrote is %q", StripChain(text))
	}
}
