package wiring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/wiring"
)

// What the client was seen to do with a file decides what is refused, and the line and key are
// those of the value.
func TestSchema(t *testing.T) {
	for line := range strings.Lines(seen) {
		did, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		file := filepath.Join(t.TempDir(), "settings.json")
		testenv.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		if s := Client().Read(wiring.User, file); s.Err != nil || (s.Refused != nil) != (did != "takes") {
			t.Errorf("%s: %v %s", line, s.Err, s.Refusal("it"))
		}
	}
}

// seen is what Codex 0.171 did with each of these hooks.json: it took them, or skipped the file.
const seen = `takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
skips {"version": 1, "hooks": {}}
skips {"hooks": {"Stop": {}}}
takes {"hooks": {"Stop": [{}]}}
skips {"hooks": {"Stop": [{"matcher": 5, "hooks": []}]}}
takes {"hooks": {"NoSuch": []}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "nope", "command": "x"}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}}
takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}]}}
takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "args": ["a"]}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "async": "yes"}]}]}}
takes {"hooks": {"Stop": [{"type": "command", "command": "x"}]}}
`
