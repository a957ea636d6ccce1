package claude

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line that is too long is known only by its ends, and a text that is cut there is
// dropped: half a secret is not recognised.
func TestHalfSecret(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	for cut := 16<<10 - 200; cut < 16<<10; cut += 7 {
		text := quote(strings.Repeat("word ", cut/5) + secret + strings.Repeat(" more", 1<<18))
		for _, content := range []string{text, `[{"type":"text","text":"first"},{"type":"text","text":` + text + `}]`} {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			testenv.Must(t, os.WriteFile(path, []byte(lines(prompt("before"), user(content))), 0o600))
			s, err := Tail(path, clean)
			if err != nil || len(s.Requests) == 0 {
				t.Fatal(s.Requests, err)
			}
			for _, r := range s.Requests {
				if strings.Contains(r.Text, secret[:8]) {
					t.Errorf("%d: %.40q", cut, r.Text)
				}
			}
		}
	}
}
