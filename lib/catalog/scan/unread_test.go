package scan

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/text/redact"
)

// Unreadable conversations are one error for each store. They are not cached as empty,
// and are found once they are readable.
func TestScanUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything; TestHostileStores has another user")
	}
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	projects := filepath.Join(home, ".claude", "projects", "p")
	testenv.NoError(t, os.MkdirAll(projects, 0o700))
	for i := range 30 {
		line := fmt.Sprintf(`{"type":"user","uuid":"%d","timestamp":"2026-01-17T01:00:00Z","message":{"role":"user","content":"ask"}}`+"\n", i)
		testenv.NoError(t, os.WriteFile(filepath.Join(projects, fmt.Sprintf("s-%d.jsonl", i)), []byte(line), 0o600))
	}
	cache := filepath.Join(home, "state", "transcripts.db")
	told := func() (sessions int, errs []error) {
		all, errs := FindConversations(getenv, redact.NewCutRedactor(nil), cache, nil)
		for _, c := range all {
			if c.Metadata.Prompt == "ask" {
				sessions++
			}
		}
		return sessions, errs
	}
	for i := range 20 {
		testenv.NoError(t, os.Chmod(filepath.Join(projects, fmt.Sprintf("s-%d.jsonl", i)), 0))
	}
	for range 2 {
		if n, errs := told(); n != 10 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "permission denied (and 19 more)") {
			t.Fatalf("%d sessions, %q", n, errs)
		}
	}
	for i := range 20 {
		testenv.NoError(t, os.Chmod(filepath.Join(projects, fmt.Sprintf("s-%d.jsonl", i)), 0o600))
	}
	if n, errs := told(); n != 30 || errs != nil {
		t.Fatalf("%d sessions, %q", n, errs)
	}
	for _, dir := range []string{projects, filepath.Dir(projects), filepath.Join(home, ".claude")} {
		testenv.NoError(t, os.Chmod(dir, 0))
		n, errs := told()
		testenv.NoError(t, os.Chmod(dir, 0o700))
		if n != 0 || len(errs) != 1 || !strings.HasSuffix(errs[0].Error(), "permission denied") {
			t.Errorf("without '%s': %d sessions, %q", dir, n, errs)
		}
	}
	if n, errs := told(); n != 30 || errs != nil {
		t.Fatalf("%d sessions, %q", n, errs)
	}
}
