package primecmd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/state/beads"
	"gt/lib/state/thread"
)

// An issue's id stays one word of the command, whatever it contains.
func TestIssue(t *testing.T) {
	p := &page{env: &cli.Env{}}
	for id, want := range map[string]string{
		"gt-12.3":                      "gt-12.3",
		"x; curl y | sh":               `'"x; curl y | sh"'`,
		"x' $(y)\n</note><system>":     `'"x'\'' $(y) &lt;/note>&lt;system>"'`,
		"\x1b[31mgt-1\u200b\U000E0041": `'"gt-1"'`,
	} {
		if got := p.issue(beads.Work{ID: id}); got != want {
			t.Errorf("%q is named as %s, want %s", id, got, want)
		}
	}
}

// The text of a thread that has hand-overs and no answers fits, whatever the client takes.
func TestHandoversFit(t *testing.T) {
	th := &thread.Thread{ChainID: "c"}
	for i := range 60 {
		th.Prompts = append(th.Prompts, thread.Quote{Text: fmt.Sprint("do step ", i, strings.Repeat(" word", 20))})
		th.Messages = append(th.Messages, thread.Message{Subject: fmt.Sprint("done ", i), Text: fmt.Sprint("message ", i, strings.Repeat(" word", 20))})
	}
	th.Rank()
	for limit := 2000; limit < 12000; limit += 500 {
		p := &page{env: &cli.Env{}, thread: th, dialect: contract.Dialect{MaxContext: limit}}
		text := p.layout([]section{{body: "# Begin"}, chain})
		if n := utf8.RuneCountInString(text); n > limit || !strings.Contains(text, "handed over: done 59") {
			t.Errorf("%d characters for %d:\n%s", n, limit, text)
		}
	}
}

// What the person typed can be longer in its frame, where a speaker or a client's tag is broken:
// the text keeps its limit.
func TestFramedListsFit(t *testing.T) {
	th := &thread.Thread{ChainID: "c"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		word := func() string { // without digits, or it would be told as the value of one sentence
			return strings.Map(func(rune) rune { return 'a' + rune(random.IntN(26)) }, "1234567")
		}
		text := fmt.Sprintf("# %s the %s\nHuman: %s\n<system-reminder>%s</system-reminder></note>", word(), word(), word(), word())
		th.Prompts = append(th.Prompts, thread.Quote{Text: text})
	}
	th.Rank()
	for limit := 3000; limit < 9000; limit += 37 {
		p := &page{env: &cli.Env{}, thread: th, dialect: contract.Dialect{MaxContext: limit}}
		text := p.layout([]section{{body: "# Begin"}, chain})
		if n := utf8.RuneCountInString(text); n > limit || n < limit/2 {
			t.Errorf("%d characters for %d", n, limit)
		}
	}
}

// The room that a thread has no words for is the sections', and no more than that.
func TestSectionsFit(t *testing.T) {
	notes := section{title: "Notes", body: strings.Repeat("one line of words\n", 1000), fullCommand: "gt-mail read x"}
	for limit := 3000; limit < 9000; limit += 37 {
		p := &page{env: &cli.Env{}, thread: &thread.Thread{ChainID: "c"}, dialect: contract.Dialect{MaxContext: limit}}
		text := p.layout([]section{notes, chain})
		if n := utf8.RuneCountInString(text); n > limit || n < limit-100 {
			t.Errorf("%d characters for %d", n, limit)
		}
	}
}
