package brief

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gt/lib/conversation/summary"
	"gt/lib/state/thread"
	"gt/lib/text/standing"
)

func threadOf(prompts ...string) *thread.Thread {
	t := &thread.Thread{ChainID: "c"}
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for i, text := range prompts {
		t.Prompts = append(t.Prompts, thread.Quote{Text: text, Session: "s", Time: at.Add(time.Duration(i) * time.Minute)})
	}
	return t
}

func promptsOf(b Brief, told string, room int) string {
	return strings.Join(b.Prompts(told, room, utf8.RuneCountInString, "`all`"), "\n")
}

// What the person said is told once: not what the brief has as the first request, as an
// instruction or as the last request.
func TestPromptsAreToldOnce(t *testing.T) {
	th := threadOf("Port the parser to the new grammar.", "Never push to main.", "the box listens on 7443,\nnot 443", "yes", "now the tests")
	th.Request = th.Prompts[0]
	th.Instructions = []thread.Instruction{{Instruction: standing.Instruction{Text: "Never push to main.", Kind: standing.Never}}}
	b := Brief{Thread: th, Session: summary.Summary{Requests: []summary.Request{{Text: th.Prompts[0].Text}, {Text: "now the tests"}}}}
	text := b.Text()
	for _, q := range th.Prompts {
		if n := strings.Count(strings.ReplaceAll(text, "\n", " "), strings.ReplaceAll(q.Text, "\n", " ")); n != 1 {
			t.Errorf("%q is told %d times:\n%s", q.Text, n, text)
		}
	}
	if !strings.Contains(text, otherPrompts+"\n- the box listens on 7443, not 443\n- yes\n") {
		t.Errorf("%s", text)
	}
	if got := WithoutPrompts(text); strings.Contains(got, "7443") || !strings.Contains(got, "Never push") {
		t.Errorf("without the list:\n%s", got)
	}
	if got := b.Essentials(); strings.Count(got, "7443") != 1 {
		t.Errorf("the summariser is told\n%s", got)
	}
}

// With little room, long messages are shortened first. Then the oldest are left out and
// counted, but not the one that a later message takes back.
func TestPromptsFit(t *testing.T) {
	var said []string
	for i := range 100 {
		said = append(said, fmt.Sprintf("step %d of the work on module%d, with some words", i, i))
	}
	said[3] = "export everything as CSV as well"
	said[97] = "actually drop the CSV path"
	said[98] = "fix this: " + strings.Repeat("long ", 500)
	b := Brief{Thread: threadOf(said...)}
	for _, room := range []int{200, 1000, 2000, 4000} {
		got := promptsOf(b, "", room)
		if n := utf8.RuneCountInString(got); n > room || n < room/2 {
			t.Errorf("room for %d: %d\n%s", room, n, got)
		}
		lines := strings.Split(got, "\n")
		if !strings.HasPrefix(lines[0], "- [") || !strings.Contains(lines[0], "messages are left out here: `all` prints all]") || !strings.HasPrefix(lines[len(lines)-1], "- step 99 ") {
			t.Errorf("room for %d:\n%s", room, got)
		}
		if room > 1000 && !strings.Contains(got, said[3]+"\n- ") {
			t.Errorf("room for %d: what was taken back is missing:\n%s", room, got)
		}
		if left := 100 - (len(lines) - 1); !strings.HasPrefix(lines[0], fmt.Sprintf("- [%d message", left)) {
			t.Errorf("%d are left out: %s", left, lines[0])
		}
	}
	if got := promptsOf(b, "", 100_000); strings.Count(got, "\n") != 99 || strings.Contains(got, "left out") {
		t.Errorf("with room for all:\n%s", got)
	}
	// A secret at a cut is not recognised afterwards.
	for i := range 300 {
		secret := "SECRET" + strings.Repeat("x", 40)
		b := Brief{Thread: threadOf(strings.Repeat("word ", i)+secret+strings.Repeat(" word", 400), "and then", "go on", "yes")}
		b = b.Clean(func(s string) string { return strings.ReplaceAll(s, secret, "***") })
		if got := promptsOf(b, "", 1000); strings.Contains(got, "SECR") || strings.Contains(got, "xxx") {
			t.Errorf("%d words before the secret:\n%s", i, got)
		}
	}
}
