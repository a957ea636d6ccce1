package wiring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/wiring"
)

// TestSchema shows that what Copilot 1.0.102 was seen to do with a file of hooks decides
// whether it is refused: it took it, perhaps without an entry, or skipped all of it.
func TestSchema(t *testing.T) {
	const seen = `takes {"version": 1, "hooks": {}}
takes {"hooks": {}}
skips BOM{"version": 1, "hooks": {}}
skips {"version": "1", "hooks": {}}
skips {"version": 2, "hooks": {}}
skips {"version": 1, "disableAllHooks": "true"}
skips {"version": 1, "disableAllHooks": 0}
skips {"version": 1, "disableAllHooks": null}
skips {"version": 1, "hooks": {"preToolUse": "x"}}
skips {"version": 1, "hooks": {"preToolUse": {}}}
skips {"version": 1, "hooks": {"preToolUse": null}}
skips {"version": 1, "hooks": {"sessionEnd": "x"}}
skips {"version": 1, "hooks": {"permissionRequest": "x"}}
skips {"version": 1, "hooks": {"agentStop": "x"}}
skips {"version": 1, "hooks": {"errorOccurred": "x"}}
skips {"version": 1, "hooks": {"notification": "x"}}
skips {"version": 1, "hooks": {"postToolUse": "x"}}
skips {"version": 1, "hooks": {"preCompact": "x"}}
skips {"version": 1, "hooks": {"subagentStop": "x"}}
skips {"version": 1, "hooks": {"userPromptSubmitted": "x"}}
takes {"version": 1, "hooks": {"PreToolUse": "x", "Stop": "x", "NoSuch": 5}}
takes {"version": 1, "hooks": {"preToolUse": [null, {"type": "cmd", "bash": "true"}, {"type": "command", "bash": 5}]}}
`
	for line := range strings.Lines(seen) {
		did, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		file := filepath.Join(t.TempDir(), "gt.json")
		testenv.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "BOM", "\ufeff")), 0o600))
		if s := Client().Read(wiring.User, file); s.Err != nil || (s.Refused != nil) != (did != "takes") {
			t.Errorf("%s: %v %s", line, s.Err, s.Refusal("it"))
		}
	}
}
