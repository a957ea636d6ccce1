package send

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/conversation"
)

// A hook that reports another prompt, such as the first one of an agent that starts, is no
// proof of a text. One whose words are not known is.
func TestHeard(t *testing.T) {
	typed := time.Now()
	for name, c := range map[string]struct {
		text, earlier, words string
		at                   time.Duration
		it, another          bool
	}{
		"the text":                          {"port  the\nlexer now", "", "port the lexer n…", 1, true, false},
		"with what the client adds":         {"port the lexer", "", "[Image #1] port the lexer", 1, true, false},
		"without a secret":                  {"port the lexer with hunter2", "", "port the lexer with [redacted]", 1, true, false},
		"the text before":                   {"port the lexer", "", "port the lexer", -1, false, false},
		"the first prompt":                  {"port the lexer", "", "Handoff: go on.", 1, false, true},
		"the one with which gt began it":    {"port the lexer", "", "\x00", 1, false, true},
		"a prompt whose words are not kept": {"port the lexer", "go on", "go on", 1, true, false},
		"the same text again":               {"go on", "go on", "go on", 1, true, false},
	} {
		to := Target{LastPrompt: func() (time.Time, string) { return typed.Add(c.at), c.words }}
		if it, another := to.hookHeard(c.text, c.earlier, typed); it != c.it || another != c.another {
			t.Errorf("%s: %v, another %v", name, it, another)
		}
		if to.Busy = true; c.it {
			if it, _ := to.hookHeard(c.text, c.earlier, typed); it {
				t.Errorf("%s: known of a busy agent", name)
			}
		}
	}
}

// A text that a client takes for keys, a command or the beginning of a word to complete is
// typed as text; what is a command is named.
func TestPrompt(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		" \n\t ":                      "",
		"port it":                     "port it",
		"  port it\n":                 "port it",
		"one\r\ntwo\rthree":           "one\ntwo three",
		"1. this\n2. that":            " 1. this\n2. that",
		"what! now":                   "what! now",
		"# title\n\ntext":             " # title\n\ntext",
		"see @README":                 "see @README ",
		"see @README, then":           "see @README, then",
		"a line\\":                    "a line\\ ",
		"/etc/passwd is it":           " /etc/passwd is it",
		"/ is the root":               " / is the root",
		"a\x1b[201~\x1b[31mb\x03c":    "ab\uFFFDc",
		"\x1b]52;c;eA==\x07":          "",
		"\u202eright\u202c":           "\uFFFDright\uFFFD",
		"日本語":                         "日本語",
		"-x":                          "-x",
		"what is $HOME\nand `id` and": "what is $HOME\nand `id` and",
	} {
		if got, command := FormatPrompt(text); got != want || command != "" {
			t.Errorf("%q: %q, command %q", text, got, command)
		}
	}
	for text, want := range map[string]string{"/compact": "/compact", " /model opus": "/model", "/x\ny": "/x", "!touch x": "!touch", " ! ls": "!", "\x1b[0m/clear": "/clear"} {
		if got, command := FormatPrompt(text); got != "" || command != want {
			t.Errorf("%q: %q, command %q", text, got, command)
		}
	}
}

// A client may add something to a prompt, which is not known of a conversation that is a guess.
func TestIsPrompt(t *testing.T) {
	typed := time.Now()
	second := typed.Truncate(time.Second)
	for name, c := range map[string]struct {
		kind      conversation.Kind
		said      string
		at        time.Time
		is, alone bool
	}{
		"the text":              {conversation.Prompt, "port  the\nlexer ", typed, true, true},
		"in whole seconds":      {conversation.Reply, "port the lexer", second, true, true},
		"without a time":        {conversation.Prompt, "port the lexer", time.Time{}, true, true},
		"with something more":   {conversation.Prompt, "[Image #1] port the lexer", typed, true, false},
		"of before":             {conversation.Prompt, "port the lexer", second.Add(-1), false, false},
		"another":               {conversation.Prompt, "port the", typed, false, false},
		"what the model writes": {conversation.Answer, "port the lexer", typed, false, false},
	} {
		e := conversation.Entry{Kind: c.kind, Text: c.said, Time: c.at}
		if is, alone := IsPrompt(e, "port the lexer", typed, false), IsPrompt(e, "port the lexer", typed, true); is != c.is || alone != c.alone {
			t.Errorf("%s: %v, alone %v", name, is, alone)
		}
	}
}

// A text is the sum of its pieces, which are no longer than they can be.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want []string
	}{
		{"port it", 0, []string{"port it"}},
		{"port it", 7, []string{"port it"}},
		{"port it", 5, []string{"port ", "it"}},
		{"日本語語", 7, []string{"日本", "語語"}},
		{"one t\n\ntwo", 7, []string{"one t", "\n\ntwo"}},
		{"abcdefghijklmnopqrstuvwxyz", 16, []string{"abcdefghijklmnop", "qrstuvwx", "yz"}},
		{"\n\n\n\n\n\n\n\nend", 5, []string{"\n\n\n\n\n\n\n\nend"}},
	} {
		got := cutPieces(c.text, c.size)
		if !slices.Equal(got, c.want) || strings.Join(got, "") != c.text {
			t.Errorf("%q in pieces of %d: %q", c.text, c.size, got)
		}
	}
}

// A first prompt is never dropped: a client's command stays one, and a shell's command
// becomes text.
func TestFirst(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "port it": "port it", "# title": " # title", "/review the parser ": "/review the parser", "!touch x": " !touch x",
	} {
		if got := FormatFirstPrompt(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
