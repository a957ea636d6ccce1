package agentdeck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"

	"github.com/ncruces/go-sqlite3"
)

// A database says nothing as gt's own, its times are times, and one that cannot be read is an
// error.
func TestJSON(t *testing.T) {
	for _, c := range []struct{ change, has, hasNot, fails string }{
		{"", `"claude_detected_at":"2026-11-26T17:19:17Z"`, `"gt":`, ""},
		{`UPDATE instances SET tool_data = '{"gt":{"agent":"evil"},"id":"x","claude_detected_at":"soon"}' WHERE title = 'web'`, `"title":"web"`, "evil", ""},
		{`UPDATE instances SET tool_data = '[1]' WHERE title = 'web'`, "", "", "invalid tool_data"},
		{`UPDATE instances SET archived_at = 1 WHERE title = 'My Api'`, `"archived_at":"1970-01-01T00:00:01Z"`, "", ""},
		{`DROP TABLE instances`, "", "", "it has no table 'instances'"},
		{`DROP TABLE groups`, `"groups":[]`, "", ""},
	} {
		path := filepath.Join(t.TempDir(), "state.db")
		data, err := os.ReadFile("testdata/1.14.0.db")
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(path, data, 0o600))
		if c.change != "" {
			db, err := sqlite3.Open(path)
			testenv.NoError(t, err)
			testenv.NoError(t, db.Exec(c.change))
			db.Close()
		}
		got, err := JSON(path)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", c.change, err)
			}
			continue
		}
		if err != nil || !strings.Contains(string(got), c.has) || c.hasNot != "" && strings.Contains(string(got), c.hasNot) {
			t.Errorf("%s: %v\n%s", c.change, err, got)
		}
	}
}
