package hook

import (
	"slices"
	"strings"
)

// Alone is how a run without a person is told by the words that it was started
// with. A prompt is among them, as the value of a flag or by itself.
type Alone struct {
	with     []string // the flags of such a run
	without  []string // those of a run that begins with a prompt and has a person
	switches []string // some that take no value, so that a word behind them is the prompt
}

// Alone says whether the session's client runs without a person, and will not
// say when it ends.
func (c *Invocation) Alone() bool {
	if c.Dialect.Alone == nil {
		return false
	}
	args, err := c.Process().Args()
	return err == nil && c.Dialect.Alone.runs(args)
}

func (a *Alone) runs(args []string) bool {
	var words []string // behind the program, or the script that an interpreter runs
	for i, arg := range args {
		if i > 0 && strings.HasSuffix(arg, ".js") {
			words = args[i+1:]
			break
		}
	}
	if words == nil && len(args) > 0 {
		words = args[1:]
	}
	alone := false
	for i, word := range words {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case slices.Contains(a.without, name):
			return false
		case slices.Contains(a.with, name):
			alone = true
		case strings.HasPrefix(word, "-"):
		case i == 0 || slices.Contains(a.switches, words[i-1]) || strings.ContainsAny(word, " \t\n") && i == len(words)-1:
			alone = true
		}
	}
	return alone
}
