package hook

import (
	"strings"
	"testing"
	"time"
)

func TestUnpasted(t *testing.T) {
	block := func(text string) string {
		return "\n\n<pasted_content id=\"d796\">\n" + text + "\n</pasted_content id=\"d796\">\n"
	}
	for in, want := range map[string]string{
		"":                   "",
		"no paste":           "no paste",
		"two\n\nlines\n":     "two\n\nlines\n",
		block("one\ntwo"):    "one\ntwo",
		block(""):            "",
		block("<b>bold</b>"): "<b>bold</b>",
		"do: " + block("\n\n  indented  \n") + "\nok":                 "do: \n\n  indented  \nok",
		"compare" + block("one\ntwo") + "\nwith" + block("three"):     "compare\none\ntwo\nwith\nthree",
		block("one") + block("two"):                                   "one\ntwo",
		block(`in <\pasted_content id="d796">` + "\nit"):              `in <\pasted_content id="d796">` + "\nit",
		"<pasted_content id=\"d796\">\n</pasted_content id=\"d796\">": "",

		// A person's, or half of one.
		`see <pasted_content id="abcd"> x </pasted_content id="abcd">`:     `see <pasted_content id="abcd"> x </pasted_content id="abcd">`,
		"<pasted_content>\nx\n</pasted_content>":                           "<pasted_content>\nx\n</pasted_content>",
		"<pasted_content id=\"ABCD\">\nx\n</pasted_content id=\"ABCD\">":   "<pasted_content id=\"ABCD\">\nx\n</pasted_content id=\"ABCD\">",
		"<pasted_content id=\"abcde\">\nx\n</pasted_content id=\"abcde\">": "<pasted_content id=\"abcde\">\nx\n</pasted_content id=\"abcde\">",
		"<pasted_content id=\"d796\">\nx\n</pasted_content id=\"d797\">":   "<pasted_content id=\"d796\">\nx\n</pasted_content id=\"d797\">",
		"<pasted_content id=\"d796\">\nx\n</pasted_content>":               "<pasted_content id=\"d796\">\nx\n</pasted_content>",
		`<pasted_content id="`:                                `<pasted_content id="`,
		"the tag <pasted_content id=\"\n" + block("x") + "\n": "the tag <pasted_content id=\"\nx",
	} {
		if got := Unpasted(in); got != want {
			t.Errorf("Unpasted(%q) = %q, want %q", in, got, want)
		}
	}
}

// Text without an end costs no more than its length.
func TestTypedOfHuge(t *testing.T) {
	start := time.Now()
	for _, id := range []string{"d796", "zzzz"} {
		huge := strings.Repeat("<pasted_content id=\""+id+"\">\n", 1<<16)
		if Unpasted(huge) != huge {
			t.Error("a text without an end is not as it was")
		}
	}
	pairs := strings.Repeat("<pasted_content id=\"d796\">\nx\n</pasted_content id=\"d796\">", 1<<15)
	if got := Unpasted(pairs); got != strings.TrimSuffix(strings.Repeat("x\n", 1<<15), "\n") {
		t.Error("pastes one after the other are not as they were")
	}
	t.Log(time.Since(start))
}
