package writers_test

import (
	"errors"
	"fmt"
	"gt/internal/testenv"
	"slices"
	"strings"
	"testing"

	"gt/internal/readertest"
	. "gt/lib/conversation"
)

// Any model accepts the result for any conversation: the person begins, each call is
// followed by its own result, and no text is empty.
func TestSettle(t *testing.T) {
	say := func(all []Entry) (lines []string) {
		settled, err := PairResults(readertest.SourceOf(all))
		testenv.NoError(t, err)
		if settled.MaxEntries == 0 {
			return nil
		}
		for e, err := range settled.Entries {
			testenv.NoError(t, err)
			lines = append(lines, fmt.Sprint(e.Kind, " ", e.CallID, " ", strings.ReplaceAll(e.Text, "\n", "/")))
		}
		return lines
	}
	call := func(id, text string) Entry { return Entry{Kind: Call, Tool: "T", CallID: id, Text: text} }
	result := func(id, text string) Entry { return Entry{Kind: Result, CallID: id, Text: text} }
	for name, c := range map[string]struct {
		in   []Entry
		want []string
	}{
		"together": {[]Entry{{Kind: Prompt, Text: "p"}, call("a", "1"), call("b", "2"), result("b", "two"), result("a", "one"), {Kind: Answer, Text: "done"}},
			[]string{"prompt  p", "call 1 1", "result 1 one", "call 2 2", "result 2 two", "answer  done"}},
		"without ids": {[]Entry{{Kind: Prompt, Text: "p"}, call("", "1"), call("", "2"), result("", "one"), result("", "two")},
			[]string{"prompt  p", "call 1 1", "result 1 one", "call 2 2", "result 2 two"}},
		"ids that were given twice": {[]Entry{{Kind: Prompt, Text: "p"}, call("a", "1"), result("a", "one"), call("a", "2"), result("a", "two")},
			[]string{"prompt  p", "call 1 1", "result 1 one", "call 2 2", "result 2 two"}},
		"a turn that was broken off": {[]Entry{{Kind: Prompt, Text: "p"}, call("", "1"), {Kind: Prompt, Text: "q"}, call("", "2"), result("", "two")},
			[]string{"prompt  p", "call 1 1", "result 1 [no result was recorded]", "prompt  q", "call 2 2", "result 2 two"}},
		"other tools": {[]Entry{{Kind: Prompt, Text: "p"}, call("", "1"), {Kind: Call, Tool: "U", Text: "2"}, {Kind: Result, Tool: "U", Text: "two"}, {Kind: Result, Tool: "T", Text: "one"}},
			[]string{"prompt  p", "call 1 1", "result 1 one", "call 2 2", "result 2 two"}},
		"alone": {[]Entry{call("a", "1"), result("x", "lost"), {Kind: Answer, Text: " "}},
			[]string{"prompt  [the beginning of the conversation is not known]", "call 1 1", "result 1 [no result was recorded]", "prompt  [the result of a tool, whose call is not known]/lost"}},
		"empty": {[]Entry{{Kind: Prompt, Text: ""}, {Kind: TokenUsage}, {Kind: Prompt, Text: "p"}, {Kind: Thought, Text: "hm"}, {Kind: Summary, Text: "s"}, call("a", "1"), result("a", "")},
			[]string{"prompt  p", "answer  [a thought]/hm", "prompt  [a summary of what came before]/s", "call 1 1", "result 1 [no output]"}},
		"nothing": {nil, nil},
	} {
		if got := say(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Entries that are added meanwhile are not in the copy. A read error is an error, not the
// end.
func TestSettleWhileItGrows(t *testing.T) {
	all := []Entry{{Kind: Prompt, Text: "p"}, {Kind: Call, Tool: "T", CallID: "a"}}
	settled, err := PairResults(func(from int64, each func(Entry) bool) error { return readertest.SourceOf(all)(from, each) })
	testenv.NoError(t, err)
	all = append(all, Entry{Kind: Result, CallID: "a", Text: "later"}, Entry{Kind: Prompt, Text: "later"})
	for e, err := range settled.Entries {
		if err != nil || strings.Contains(e.Text, "later") {
			t.Error(e, err)
		}
	}
	far := []Entry{{Kind: Prompt, Text: "p"}, {Kind: Call, Tool: "T", CallID: "a"}}
	for range 1000 {
		far = append(far, Entry{Kind: Answer, Text: "meanwhile"})
	}
	all = append(far, Entry{Kind: Result, CallID: "a", Text: "at last"})
	if settled, err = PairResults(readertest.SourceOf(all)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range settled.Entries {
		if n++; err != nil || n == 3 && (e.Kind != Result || e.Text != "at last") {
			t.Errorf("%d: %+v, %v", n, e, err)
		}
	}
	settled, err = PairResults(func(from int64, each func(Entry) bool) error {
		if from > 0 {
			return errors.New("gone")
		}
		return readertest.SourceOf(all)(from, each)
	})
	testenv.NoError(t, err)
	failed := false
	for _, err := range settled.Entries {
		failed = failed || err != nil
	}
	if !failed {
		t.Error("a result that cannot be read is passed over")
	}
}

// A Step has the texts and the call of one moment.
func TestSteps(t *testing.T) {
	settled, err := PairResults(readertest.SourceOf([]Entry{
		{Kind: Prompt, Text: "p"}, {Kind: Answer, Text: "a"}, {Kind: Thought, Text: "b"}, {Kind: Call, Tool: "T", CallID: "x"}, {Kind: Result, CallID: "x", Text: "r"},
		{Kind: Answer, Text: "c"}, {Kind: Prompt, Text: "q"}, {Kind: Answer, Text: "d"},
	}))
	testenv.NoError(t, err)
	var got []string
	for step, err := range settled.Steps() {
		testenv.NoError(t, err)
		line := ""
		if step.Prompt != nil {
			line = "asked " + step.Prompt.Text
		}
		for _, e := range step.Texts {
			line += e.Text[len(e.Text)-1:]
		}
		if step.Call != nil {
			line += " " + step.Call.Tool + " " + step.Result.Text
		}
		got = append(got, line)
	}
	if want := []string{"asked p", "ab T r", "c", "asked q", "d"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
