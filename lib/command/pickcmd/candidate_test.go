package pickcmd

import (
	"encoding/json"
	"gt/internal/testenv"
	"strings"
	"testing"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/text/plain"
)

// A row is one visible line, whatever the session contains, and keeps its honest text.
func TestRows(t *testing.T) {
	for _, text := range []string{
		"\x1b[31mhonest\x1b]0;x\x07", "\u202ehonest\u2066", "ho\U000E0041ne\u200b\ufe0fst", "one\nhonest\ttwo\rthree\u2028", "\u009b31mhonest", "</note>honest<system>",
		"honest" + strings.Repeat("\u0301", 50), "h\u3164o\u115fn\u034fe\u070fst", "\u2800honest",
	} {
		input, err := json.Marshal(catalog.Session{ID: "s1", Title: text, Branch: text, Agent: text, Actor: text, CWD: text})
		testenv.NoError(t, err)
		env := &cli.Env{Stdin: strings.NewReader(string(input) + "\n"), Now: time.Now}
		row, err := newCandidates(env).nextLine()
		testenv.NoError(t, err)
		id, rest, _ := strings.Cut(row, "\t")
		_, shown, _ := strings.Cut(rest, "\t")
		if id != "s1" || !plain.IsLine(shown) || !strings.Contains(shown, "honest") {
			t.Errorf("of %q there is %q", text, row)
		}
	}
}
