package conversation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Whatever a conversation holds, what is made of it can be sent to any model: it begins
// with the person, each call is followed by its own result, and no text is empty.
func TestSettle(t *testing.T) {
	say := func(all []Entry) (lines []string) {
		for _, e := range all {
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
		"alone": {[]Entry{call("a", "1"), result("x", "lost"), {Kind: Answer, Text: " "}},
			[]string{"prompt  [the beginning of the conversation is not known]", "call 1 1", "result 1 [no result was recorded]", "prompt  [the result of a tool, whose call is not known]/lost"}},
		"empty": {[]Entry{{Kind: Prompt, Text: ""}, {Kind: TokenUsage}, {Kind: Prompt, Text: "p"}, {Kind: Thought, Text: "hm"}, {Kind: Summary, Text: "s"}, call("a", "1"), result("a", "")},
			[]string{"prompt  p", "answer  [a thought]/hm", "prompt  [a summary of what came before]/s", "call 1 1", "result 1 [no output]"}},
		"nothing": {nil, nil},
	} {
		if got := say(Settle(c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
