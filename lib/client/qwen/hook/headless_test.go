package hook

import (
	"strings"
	"testing"

	"gt/lib/client/contract"
)

// headless tells runs without a person from those with one by their arguments.
func TestHeadless(t *testing.T) {
	for words, want := range map[string]bool{
		"node --expose-gc /x/cli.js -y -p,what is this": true,
		"/x/qwen,--prompt=what is this":                 true,
		"/x/qwen,fix":                                   true,
		"/x/qwen,-y,fix":                                true,
		"/x/qwen,-m,model,fix it all":                   true,
		"/x/qwen":                                       false,
		"node,/x/cli.js":                                false,
		"/x/qwen,-y,-m,model":                           false,
		"/x/qwen,--resume,some-id":                      false,
		"/x/qwen,-y,-i,begin with this":                 false,
		"/x/qwen,--prompt-interactive=begin with this":  false,
		"": false,
	} {
		args := strings.Split(strings.Replace(words, "node --expose-gc /x/cli.js -y -p", "node,--expose-gc,/x/cli.js,-y,-p", 1), ",")
		if words == "" {
			args = nil
		}
		if got := headless(contract.Run{Args: args}); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}
