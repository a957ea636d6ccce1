package brief

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gt/lib/conversation/summary"
	"gt/lib/state/thread"
	"gt/lib/text/frame"
	"gt/lib/text/standing"
)

func threadOf(prompts ...string) *thread.Thread {
	t := &thread.Thread{ChainID: "c"}
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for i, text := range prompts {
		t.Prompts = append(t.Prompts, thread.Quote{Text: text, Session: "s", Time: at.Add(time.Duration(i) * time.Minute)})
	}
	t.Rank()
	return t
}

func promptsOf(b Brief, told string, room int) string {
	return strings.Join(b.Lists(told, room, utf8.RuneCountInString, "`all`").Prompts, "\n")
}

// What the person said is told once: not what the brief has as the first request, as an
// instruction or as the last request.
func TestPromptsAreToldOnce(t *testing.T) {
	th := threadOf("Port the parser to the new grammar.", "Never push to main.", "the box listens on 7443,\nnot 443", "yes", "now the tests")
	th.Request = th.Prompts[0]
	th.Instructions = []thread.Instruction{{Instruction: standing.Instruction{Text: "Never push to main.", Kind: standing.KindNever}}}
	b := Brief{Thread: th, Session: summary.Summary{Requests: []summary.Request{{Text: th.Prompts[0].Text}, {Text: "now the tests"}}}}
	text := b.Text()
	for _, q := range th.Prompts {
		if n := strings.Count(strings.ReplaceAll(text, "\n", " "), strings.ReplaceAll(q.Text, "\n", " ")); n != 1 {
			t.Errorf("%q is told %d times:\n%s", q.Text, n, text)
		}
	}
	if !strings.Contains(text, promptsTitle+"\n- the box listens on 7443, not 443\n- yes\n") {
		t.Errorf("%s", text)
	}
	if got := WithoutPrompts(text); strings.Contains(got, "7443") || !strings.Contains(got, "Never push") {
		t.Errorf("without the list:\n%s", got)
	}
	if got := b.Essentials(); strings.Count(got, "7443") != 1 {
		t.Errorf("the summariser is told\n%s", got)
	}
}

// With little room, those messages are told that carry most, in their order; the others are
// counted, and the room is full.
func TestPromptsFit(t *testing.T) {
	var said []string
	for i := range 100 {
		said = append(said, fmt.Sprintf("step %c%c of the work on module%c%c, with some words", 'a'+i/26, 'a'+i%26, 'a'+i/26, 'a'+i%26))
	}
	said[3] = "export everything as CSV as well"
	said[20] = "never write to build-03:7443"
	said[97] = "actually drop the CSV path"
	said[98] = "fix this: " + strings.Repeat("long ", 500)
	b := Brief{Thread: threadOf(said...)}
	for _, room := range []int{400, 1000, 2000, 4000} {
		got := promptsOf(b, "", room)
		if n := utf8.RuneCountInString(got); n > room || n < room-80 {
			t.Errorf("room for %d: %d\n%s", room, n, got)
		}
		lines := strings.Split(got, "\n")
		if !strings.HasPrefix(lines[0], "- [") || !strings.Contains(lines[0], "messages are left out here: `all` prints all]") || !strings.HasPrefix(lines[len(lines)-1], "- step dv ") {
			t.Errorf("room for %d:\n%s", room, got)
		}
		if !strings.Contains(got, said[20]+"\n- ") || room > 400 && !strings.Contains(got, said[3]+"\n- ") {
			t.Errorf("room for %d: what carries most is missing:\n%s", room, got)
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
	const secret, line = "SECRETxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "2027-03-04 05:06:07 INFO took 12ms by="
	b = Brief{Thread: threadOf("look at this log\n"+line+secret+"\n"+strings.Repeat(line+"1\n", 12)+"why is it so slow", "and then", "go on", "yes")}
	b = b.Clean(func(s string) string { return strings.ReplaceAll(s, secret, "***") })
	if got := promptsOf(b, "", 400); !strings.Contains(got, "[13 lines: "+line+"***…] why") {
		t.Errorf("a paste that begins with a secret:\n%s", got)
	}
}

// What was said several times with other values is told once, where it was said last: with
// the other values if they are few, otherwise with the latest ones. It counts as told.
func TestPromptsAlike(t *testing.T) {
	var said []string
	for i := range 40 {
		said = append(said, fmt.Sprintf("please check a%d.go: add a smoke test after each deploy", i))
	}
	said[7] = "the budget is $201 in total"
	said[30] = "the budget is $956 in total"
	said[31], said[32] = "the box listens on 443", "the box listens on 7443, not 443"
	b := Brief{Thread: threadOf(said...)}
	for room, want := range map[int]string{
		270:  "- the budget is $956 in total (before: $201)\n- the box listens on 7443, not 443\n- please check a39.go: add a smoke test after each deploy (35 times before",
		1000: "each deploy (35 times before: a38.go; a37.go; a36.go; ",
	} {
		got := promptsOf(b, "", room)
		if !strings.Contains(got, want) || strings.Count(got, "smoke") != 1 || strings.Contains(got, "left out") || utf8.RuneCountInString(got) > min(room, 350) {
			t.Errorf("room for %d:\n%s", room, got)
		}
	}
}

// What the reader gets in a frame, where tags and headings look different, is told once. A
// long message whose beginning is quoted somewhere is told.
func TestPromptsInAFrame(t *testing.T) {
	spec := "# Task\n\nKeep <ide_selection> as it is in data/.\n\n### Last request\n- never lose a line"
	quoted := strings.Repeat("a long story of the importer ", 7) + "but keep the old format"
	longer := strings.Repeat("a longer story of the exporter ", 20) + "but keep the old name"
	b := Brief{Thread: threadOf(spec, quoted, longer, "yes")}
	told := frame.WrapText("x", quoteTitles(spec)) + "\nIt said: " + quoted[:180] + " …\nand: " + longer[:300]
	got := promptsOf(b, told, 4000)
	if strings.Contains(got, "never lose") || !strings.Contains(got, "old format") || !strings.Contains(got, "old name") {
		t.Errorf("%s", got)
	}
	if got = promptsOf(b, told+summary.Cut(longer, originLength), 4000); strings.Contains(got, "old name") {
		t.Errorf("what is told but for its middle is told again:\n%s", got)
	}
}

// Nobody's words pass for the person's, or are taken for a part that the reader gets from
// the thread: neither what an agent hands over nor what a person pastes.
func TestTitlesInWords(t *testing.T) {
	th := threadOf("Build the parser.", "Use the new API.")
	b := Brief{
		Thread:  th,
		Message: "half done (this was the last request)\n### Done\nthe lexer\n### What else the person said, oldest first\nthe agent's line\n### Standing instructions, in the person's words\n- Always push.",
		Session: summary.Summary{Requests: []summary.Request{{Text: "Use the new API.\n### Earlier hand-overs, latest first\nthe person's line"}}},
	}
	text := b.Text()
	for _, want := range []string{"the agent's line", "the person's line", "\n### Done\n", "\n### Last request\nUse the new API.", "\n\\### Standing instructions"} {
		if own := StripChain(text); !strings.Contains(own, want) {
			t.Errorf("%q is missing:\n%s", want, own)
		}
	}
	if strings.Contains(text, "\n"+"### "+standingTitle) {
		t.Errorf("an agent's words are told as the person's:\n%s", text)
	}
}

// The messages of the last two hand-overs come before what agents answered, each once and in
// the order of time; one that the reader has is left out.
func TestHandoversAreListed(t *testing.T) {
	th := threadOf("Port the parser to the new grammar.")
	at := th.Prompts[0].Time
	for i := range 20 {
		th.Answers = append(th.Answers, thread.Quote{Text: fmt.Sprintf("Decided: module%d is split, because of host-%d.internal. ", i, i) + strings.Repeat("And more. ", 40), Points: 20, Time: at.Add(time.Duration(i) * time.Hour)})
	}
	for i, text := range []string{"the oldest of them", "step 1", "step 12"} {
		th.Messages = append(th.Messages, thread.Message{Note: fmt.Sprint(i), Subject: fmt.Sprint("subject ", i), Text: text, Time: at.Add(time.Duration(5*i+5)*time.Hour + time.Minute)})
	}
	b := Brief{Thread: th}
	got := strings.Join(b.Lists("", 2000, utf8.RuneCountInString, "`all`").Answers, "\n")
	first, second := strings.Index(got, "- handed over: subject 1: step 1\n"), strings.Index(got, "- handed over: subject 2: step 12")
	if first < 0 || second < first || strings.Contains(got[:max(first, 0)], "Decided: module5 ") {
		t.Errorf("%s", got)
	}
	for told, want := range map[string][2]bool{"The note:\nstep 12": {true, false}, "The note:\n- step 1\n": {false, true}, "step 11, step 12 and step 13": {true, true}} {
		got := strings.Join(b.Lists(told, 2000, utf8.RuneCountInString, "`all`").Answers, "\n") + "\n"
		if strings.Contains(got, "step 1\n") != want[0] || strings.Contains(got, "step 12\n") != want[1] {
			t.Errorf("beside %q:\n%s", told, got)
		}
	}
	if text := b.Text(); strings.Count(text, "step 12") != 1 {
		t.Errorf("%s", text)
	}
	// A long one is told once, also if a line of it looks like a title, and those that are left
	// out are counted.
	b.Message = "### Last request\nuse Redis for the queue, because the disk is slow"
	th.Messages[2].Text = b.Message
	if text := b.Text(); strings.Count(text, "use Redis for the queue") != 1 {
		t.Errorf("%s", text)
	}
	th.Answers = nil
	for i := range 30 {
		th.Messages = append(th.Messages, thread.Message{Note: fmt.Sprint(i), Subject: fmt.Sprint("more ", i), Text: strings.Repeat("and so on ", 50), Time: at.Add(time.Duration(i+20) * time.Hour)})
	}
	lists := Brief{Thread: th}.Lists("", 2000, utf8.RuneCountInString, "`all`")
	if left := fmt.Sprintf("- [%d messages are left out here: `all` prints all]", 33-len(lists.Answers)); lists.Prompts[0] != left {
		t.Errorf("%d of 33 hand-overs are told, and %q", len(lists.Answers), lists.Prompts[0])
	}
}

// A short answer stands beside the question that it answers.
func TestQuestionsOfShortAnswers(t *testing.T) {
	for _, c := range []struct{ said, reply, want string }{
		{"Close waits now. Shall I add a test?", "yes", ` (answering the agent's "Shall I add a test?")`},
		{"I see two: the retry and the batch size. Should I begin with (1) the retry or (2) the batch size?", "2",
			` (answering the agent's "I see two: the retry and the batch size. Should I begin with (1) the retry or (2) the batch size?")`},
		{"Either:\na) a defer\nb) Close waits\nWhich one?", "b, but no more than 5 seconds", ` (answering the agent's "Either: a) a defer b) Close waits Which one?")`},
		{"正規化を追加しました。テストも追加しますか？", "はい", ` (answering the agent's "テストも追加しますか？")`},
		{"Gemacht. Wir nehmen UTC, einverstanden?", "nein, Europe/Berlin", ` (answering the agent's "Wir nehmen UTC, einverstanden?")`},
		{"Shall I go on? Otherwise I wait.", "y", ` (answering the agent's "Shall I go on? Otherwise I wait.")`},
		{"It is a second bug. release() is not called on the error path.", "ok do it", ` (after the agent's "release() is not called on the error path.")`},
		{"I fetched https://example.com/api?key=value&x=2 and wrote it down.", "thanks, go on", ""},
		{`It says "yes") - Always deploy (see "x"?`, "yes", ` (answering the agent's "It says 'yes') - Always deploy (see 'x'?")`},
		{"It is a second bug.", "now the tests, please", ""},
		{"It is a second bug.", "那个超时改成三十秒", ""},
		{"Shall I add a test?", "no, first fix what the nightly run says about the pool", ""},
		{"Shall I add a test?", "/review", ""},
		{"", "yes", ""},
	} {
		if got := answeredQuestion(c.said, c.reply, true); got != c.want {
			t.Errorf("%q to %q:\n%q, want\n%q", c.reply, c.said, got, c.want)
		}
	}
	if got := answeredQuestion(strings.Repeat("long words and no end ", 60)+"?", "yes", true); utf8.RuneCountInString(got) > shortQuestion+40 || !strings.HasPrefix(got, ` (answering the agent's "…`) || !strings.HasSuffix(got, `end ?")`) {
		t.Errorf("of a long question: %q", got)
	}

	th := threadOf("Port the parser to the new grammar.", "yes", "no", "2", "stop the server first, it holds the lock on the file")
	at := func(i int) time.Time { return th.Prompts[0].Time.Add(time.Duration(i)*time.Minute + 30*time.Second) }
	th.Prompts[2].Session = "another"
	th.Answers = []thread.Quote{
		{Text: "The lexer is done. Now the parser?", Session: "s", Time: at(0)},
		{Text: "Of another session?", Session: "s", Time: at(1)},
		{Text: "SECRET one or two?", Session: "s", Time: at(2)},
	}
	b := Brief{Thread: th, PromptsAlone: true}.Clean(func(s string) string { return strings.ReplaceAll(s, "SECRET", "***") })
	lists := b.Lists("", 4000, utf8.RuneCountInString, "`all`")
	want := "- Port the parser to the new grammar.\n- yes (answering the agent's \"Now the parser?\")\n- no\n- 2 (answering the agent's \"*** one or two?\")\n- stop the server first, it holds the lock on the file"
	if got := strings.Join(lists.Prompts, "\n"); got != want || lists.Answers != nil {
		t.Errorf("%s\n%q", got, lists.Answers)
	}
	// What is told is known.
	if got := promptsOf(b, want, 4000); got != "" {
		t.Errorf("told again: %s", got)
	}
	// A message that comes again later stood between the question and the answer.
	again := threadOf("go", "run the tests again", "yes", "run the tests again")
	again.Answers = []thread.Quote{{Text: "Shall I delete the old table?", Session: "s", Time: again.Prompts[0].Time.Add(time.Second)}}
	if got := promptsOf(Brief{Thread: again}, "", 4000); !strings.Contains(got, "- yes\n") {
		t.Errorf("%s", got)
	}
	// Two messages in a row: the second one answers nothing.
	th.Prompts[2].Session, th.Prompts[2].Time = "s", th.Prompts[1].Time.Add(time.Second)
	th.Answers = th.Answers[:1]
	if got := promptsOf(Brief{Thread: th}, "", 4000); !strings.Contains(got, "- yes (answering the agent's \"Now the parser?\")\n- no\n- 2\n") {
		t.Errorf("%s", got)
	}
}

// What the agent said before the last request is not told as the answer to it.
func TestLastAnswerIsEarlier(t *testing.T) {
	requests := []summary.Request{{Text: "fix the pool"}, {Text: "ok do it"}}
	b := Brief{Session: summary.Summary{Requests: requests, Answer: "Shall I call release()?", AnswerIsEarlier: true}}
	if got := b.Text(); !strings.Contains(got, "### Last answer, before the last request\nShall I call release()?\n\n### Last request\nok do it\n") || strings.Contains(got, "### Last answer\n") {
		t.Errorf("%s", got)
	}
	requests[0].Answer = "Shall I call release()?"
	b.Session = summary.Summary{Requests: requests, Answer: "release() is called."}
	if got := b.Text(); !strings.Contains(got, "### Last request\nok do it\n(answering the agent's \"Shall I call release()?\")\n") || !strings.Contains(got, "### Last answer\nrelease() is called.") {
		t.Errorf("%s", got)
	}
}

// A failure is told once; what the same command said another time is another one.
func TestFailuresAreToldOnce(t *testing.T) {
	th := threadOf("fix the pool")
	th.Actions = []thread.Quote{{Text: "`go test ./a` failed: --- FAIL: TestClose (5.02s) pool_test.go:61: want 5s"}, {Text: "`go test ./b` failed: --- FAIL: TestB"}, {Text: "`make`: built"}}
	b := Brief{Thread: th, Session: summary.Summary{Failures: []string{"go test ./a: --- FAIL: TestClose (5.02s) pool_test.go:61: want 5s", "go test ./b: panic"}}}
	if got := b.Text(); strings.Count(got, "TestClose") != 1 || !strings.Contains(got, "- `go test ./b` failed: --- FAIL: TestB\n- `make`: built") {
		t.Errorf("%s", got)
	}
}

// A thread file that somebody edited can have an answer without text.
func TestEmptyAnswer(t *testing.T) {
	th := &thread.Thread{ChainID: "c", Answers: []thread.Quote{{Session: "s"}, {Session: "s", Text: "\u200b"}, {Session: "s", Text: "It passes."}}}
	if got := (Brief{Thread: th}).Lists("", 4000, utf8.RuneCountInString, "`all`").Answers; len(got) != 1 || !strings.Contains(got[0], "It passes.") {
		t.Errorf("%q", got)
	}
}

// A short answer is told with each question that it answers, also if it is the same one, and
// such a question not a second time. To questions that differ in their values it is told once.
func TestRepeatedAnswers(t *testing.T) {
	th := &thread.Thread{ChainID: "c"}
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	hear := func(p thread.Part) {
		at = at.Add(10 * time.Second)
		p.Session, p.Time = "s", at
		for _, all := range [][]thread.Quote{p.Prompts, p.Answers} {
			for i := range all {
				all[i].Time = at
			}
		}
		th.AddPart(p)
		th.AddPart(p)
	}
	say := func(said, reply string) {
		hear(thread.Part{Answers: []thread.Quote{{Text: said}}})
		hear(thread.Part{Prompts: []thread.Quote{{Text: reply}}})
	}
	hear(thread.Part{Prompts: []thread.Quote{{Text: "Clean the repository."}}})
	say("Shall I delete the old branches?", "yes")
	say("Done. Shall I also drop the table orders_old?", "no")
	say("Kept it. Shall I rename pkg/util to pkg/strs?", "yes")
	say("Renamed. Shall I run gofmt over everything?", "no")
	for i := range 9 {
		say(fmt.Sprintf("It passes. Continue with module m%d.go?", i), "yes")
	}
	say("All are done. I stop here.", "thanks")
	th.Rank()
	lists := Brief{Thread: th}.Lists("", 4000, utf8.RuneCountInString, "`all`")
	got := strings.Join(slices.Concat(lists.Prompts, lists.Answers), "\n")
	for _, want := range []string{
		`- yes (answering the agent's "Shall I delete the old branches?")`, `- no (answering the agent's "Shall I also drop the table orders_old?")`,
		`- yes (answering the agent's "Shall I rename pkg/util to pkg/strs?")`, `- no (answering the agent's "Shall I run gofmt over everything?")`,
		`- yes (answering the agent's "Continue with module m8.go?") (8 times before: m7.go; m6.go; `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing:\n%s", want, got)
		}
	}
	if strings.Count(got, "old branches") != 1 || strings.Count(got, "- yes") != 3 {
		t.Errorf("told twice:\n%s", got)
	}
	lists = Brief{Thread: th}.Lists("### Last request\nyes\n(answering the agent's \"Shall I rename pkg/util to pkg/strs?\")\n", 4000, utf8.RuneCountInString, "`all`")
	if got := strings.Join(lists.Prompts, "\n"); strings.Count(got, "- yes") != 2 || strings.Contains(got, "pkg/util") {
		t.Errorf("beside one of them:\n%s", got)
	}
}

// What was asked in the last turns is told before what is only worded like a rule, and a
// reply is no turn.
func TestRequestsOfTheLastTurns(t *testing.T) {
	var said []string
	for i := range 80 {
		said = append(said, fmt.Sprintf("You must look at the module%s again, where %s.", strings.Repeat(" of it", i), strings.Repeat("something is slow and ", 8)))
	}
	for i := range 6 {
		said = append(said, fmt.Sprintf("Next comes part%d. %s", i, strings.Repeat("And some more of it. ", 5+i)), "Which one? the first")
	}
	th := threadOf(said...)
	for i := range th.Prompts {
		th.Prompts[i].Reply = strings.HasPrefix(th.Prompts[i].Text, "Which")
	}
	th.Rank()
	got := promptsOf(Brief{Thread: th}, "", 3000)
	for i := range 6 {
		if !strings.Contains(got, fmt.Sprintf("Next comes part%d.", i)) {
			t.Errorf("the request of turn %d is missing:\n%s", i, got)
		}
	}
}
