package hook_test

import (
	"encoding/json"
	"gt/internal/testenv"
	"strings"
	"testing"

	"gt/hooks"
	"gt/lib/client/hook"
)

// Wired parses every touch and write that a client's wiring has, and nothing else.
func TestWired(t *testing.T) {
	var wiring struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
			}
		}
	}
	testenv.NoError(t, json.Unmarshal(hooks.Claude, &wiring))
	seen := map[string]bool{}
	for event, groups := range wiring.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				args := strings.Fields(strings.TrimSuffix(h.Command, " || :"))[1:]
				command := args[0]
				if command != "touch" && command != "write" {
					continue
				}
				seen[command] = true
				want := hook.Flags{Hook: true, Agent: "claude"}
				if got, ok := hook.ParseWired(args, command); got != want || !ok {
					t.Errorf("%s: %v is read as %+v, %v", event, args, got, ok)
				}
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("wired are %v", seen)
	}
	custom := []string{"touch", "--hook", "--agent", "vibe", "--dialect", "codex", "--cap", "4000"}
	if got, ok := hook.ParseWired(custom, "touch"); got != (hook.Flags{Hook: true, Agent: "vibe", Dialect: "codex", Cap: 4000}) || !ok {
		t.Errorf("%v is read as %+v, %v", custom, got, ok)
	}
	for _, args := range [][]string{
		nil, {"touch"}, {"end", "--hook"}, {"touch", "--hook", "--help"}, {"touch", "--hook", "Bash"},
		{"touch", "--hook", "--agent", "x", "--dialect"}, {"touch", "--hook", "--cap", "many"}, {"touch", "--hook", "--agent", "--cap", "9"},
		{"touch", "--hook", "--agent"}, {"touch", "--hook", "--agent", "--help"}, {"touch", "--hook", "--agent", "x", "y"},
	} {
		if got, ok := hook.ParseWired(args, "touch"); ok {
			t.Errorf("%v is read as %+v", args, got)
		}
	}
}
