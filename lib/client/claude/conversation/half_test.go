package claude

import (
	"encoding/json"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/conversation"
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
			testenv.NoError(t, os.WriteFile(path, []byte(lines(prompt("before"), user(content))), 0o600))
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

// A prompt over a mebibyte is told by its first and last lines, whatever signs it has.
func TestHugePrompt(t *testing.T) {
	log := strings.Repeat("a line {\"a\":\"b\"}, {\"c\":[{\"d\":\"e\"}]} of C:\\new\\n\n", 60_000)
	data, err := json.Marshal("Why does it hang?\nNever restart the database.\n" + log + "Begin with worker 17")
	testenv.NoError(t, err)
	text := string(data)
	for _, content := range []string{text, `[{"type":"text","text":` + text + `}]`} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(lines(user(content))), 0o600))
		var got []string
		_, err := Reader{}.Read(conversation.File{Path: path}, conversation.Options{ForSummary: true}, func(e conversation.Entry) bool {
			if e.Kind == conversation.Prompt {
				got = append(got, e.Text)
			}
			return true
		})
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "Why does it hang?\nNever restart the database.\na line {") || !strings.HasSuffix(got[0], "\nBegin with worker 17") || len(got[0]) > 40<<10 {
			t.Errorf("%d prompts, %.300q, %v", len(got), got, err)
		}
	}
}
