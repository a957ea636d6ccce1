package live

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"gt/internal/testenv"

	"gt/lib/client/agent"
	"gt/lib/sys/process"
)

// GT_AGENT_ARGS counts only for the process that it names, not for a client that this
// process starts.
func TestArgsThatTheClientTells(t *testing.T) {
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	told := []string{"node", "/bin/pi", "--model", "a/b"}
	for pid, want := range map[int][]string{self.PID: told, self.PID + 1: os.Args} {
		value, err := json.Marshal(map[string]any{"pid": pid, "args": told})
		testenv.NoError(t, err)
		if got, err := Args(self, agent.Builtin().FindClient("pi"), string(value)); err != nil || !slices.Equal(got, want) {
			t.Errorf("told by %d, the arguments are %q (%v)", pid, got, err)
		}
		if got, err := Args(self, agent.Builtin().FindClient("claude"), string(value)); err != nil || !slices.Equal(got, os.Args) {
			t.Errorf("the arguments of a client that overwrites nothing are %q (%v)", got, err)
		}
	}
}
