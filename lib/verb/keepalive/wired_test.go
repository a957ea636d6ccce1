package keepalive

import (
	"encoding/json"
	"reflect"
	"testing"

	"gt/hooks"
	"gt/lib/hook"
)

// Every touch that is wired into a client is read without the grammar, and
// nothing else is.
func TestWired(t *testing.T) {
	var wiring struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Args    []string
			}
		}
	}
	if err := json.Unmarshal(hooks.Claude, &wiring); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for event, groups := range wiring.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.Command != "gt-keepalive" || h.Args[0] != "touch" {
					continue
				}
				seen++
				want := &touch{Flags: hook.Flags{Hook: true, Agent: "claude"}}
				if got := wired(h.Args); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %v is read as %+v", event, h.Args, got)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no touch is wired")
	}
	for _, args := range [][]string{
		nil, {"touch"}, {"end", "--hook"}, {"touch", "--hook", "--help"}, {"touch", "--hook", "Bash"},
		{"touch", "--hook", "--agent"}, {"touch", "--hook", "--agent", "--help"}, {"touch", "--hook", "--agent", "x", "y"},
	} {
		if got := wired(args); got != nil {
			t.Errorf("%v is read as %+v", args, got)
		}
	}
}
