package process

import (
	"strings"
	"testing"
)

// A script that ran itself anew is known, however a person named it and whatever is
// for its interpreter; another script, and the same for something else, is none.
func TestRelaunched(t *testing.T) {
	for _, c := range []struct {
		args, above string
		is          bool
	}{
		{"/usr/bin/node --max-old-space-size=9 /w/bin/gemini -p x", "node /w/bin/gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node node_modules/../bin/gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node ./bin/gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node ../../w/bin/gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node /w/lib/../bin/gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node --title t --require /pre.js /w/bin/gemini -p x", true},
		{"/usr/bin/node --require /pre.js --a=1 /w/bin/gemini -p x", "node --require /pre.js /w/bin/gemini -p x", true},
		{"/usr/bin/node /w/bin/gemini -p x", "node /w/bin/gemini -p y", false},
		{"/usr/bin/node /w/bin/gemini -p x", "node /v/bin/gemini -p x", false},
		{"/usr/bin/node /w/bin/gemini -p x", "node launcher.js -p x", false},
		{"/usr/bin/node /w/bin/gemini /x", "node launcher.js /x", false},
		{"/usr/bin/node /w/bin/gemini", "node mini", false},
		{"/usr/bin/node", "node", false},
	} {
		if is := isRelaunched(strings.Fields(c.args), strings.Fields(c.above)); is != c.is {
			t.Errorf("%s, above it %s: %v", c.args, c.above, is)
		}
	}
}
