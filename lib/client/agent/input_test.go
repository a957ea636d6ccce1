package agent

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// choice is how a client's question looks.
var choice = regexp.MustCompile(`(?m)^ *❯ (1\. |Yes|No)`)

// On the screens of the real clients that show an input box, it is known whether somebody
// has typed something, and what asks the person something is no box.
func TestInputOfScreens(t *testing.T) {
	table, seen := Builtin(), map[Input]int{}
	paths, _ := filepath.Glob("../*/testdata/screens/*.txtar")
	for _, path := range paths {
		c := table.Of(filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path)))))
		screens, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range screens.Files {
			if !c.KnowsInput() {
				continue
			}
			want := EmptyInput
			switch {
			case strings.Contains(f.Name, "typed"):
				want = Draft
			case choice.Match(f.Data):
				want = Asks
			}
			got, _ := c.Input(string(f.Data))
			if seen[got]++; got != want {
				t.Errorf("%s: %s: %v, not %v\n%s", path, f.Name, got, want, f.Data)
			}
		}
	}
	for _, kind := range []Input{EmptyInput, Draft, Asks} {
		if seen[kind] == 0 {
			t.Errorf("no screen shows %v", kind)
		}
	}
}

// What is faint is a suggestion, and what is reversed the cursor; colours are neither, and
// what the agent wrote above does not count.
func TestInputOfStyles(t *testing.T) {
	const rule = "\x1b[38;5;244m────────\x1b[39m\n"
	claude := Builtin().Of("claude")
	for box, want := range map[string]Input{
		"❯ \x1b[7m \x1b[0m": EmptyInput,
		"\x1b[38;5;246m❯ \x1b[7m\x1b[39mP\x1b[0;2mress\x1b[0m \x1b[2mup\x1b[0m": EmptyInput,
		"❯ \x1b[38;2;7;2;2mred\x1b[0m":                                          Draft,
		"❯ \x1b[2mfaint\x1b[22m not":                                            Draft,
		"❯ \x1b[7mr\x1b[27med":                                                  Draft,
		"❯ \x1b]8;;https://example.com/\x1b\\link\x1b]8;;\x1b\\":                Draft,
		"❯ one\n  two":                                                          Draft,
		"! ls":                                                                  Draft,
		"! ":                                                                    Draft,
		"❯ \x1b[38;5":                                                           Draft, // cut
	} {
		screen := "● Do you want to proceed?\n\n" + rule + box + "\n" + rule + "  ? for shortcuts\n"
		if got, _ := claude.Input(screen); got != want {
			t.Errorf("%q: %v, not %v", box, got, want)
		}
		asks := screen + " Do you want to proceed?\n ❯ 1. Yes\n"
		if got, _ := claude.Input(asks); got != Asks && !strings.HasSuffix(box, "[38;5") {
			t.Errorf("%q, and it asks: %v", box, got)
		}
	}
	if got, _ := claude.Input("$ \n"); got != NoInput {
		t.Errorf("a shell shows %v", got)
	}
	if got, _ := (Client{}).Input(rule + "❯ \n" + rule); got != NoInput {
		t.Errorf("of an agent whose screen nobody knows: %v", got)
	}
}
