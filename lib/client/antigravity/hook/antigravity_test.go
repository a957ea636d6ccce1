package hook

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"testing"

	"gt/lib/client/contract"
)

// The client keeps a file of each subagent beside its session's conversation.
func TestParent(t *testing.T) {
	brain := filepath.Join(t.TempDir(), "brain")
	conversation := func(id string) string {
		return filepath.Join(brain, id, ".system_generated", "logs", "transcript_full.jsonl")
	}
	beside := filepath.Join(brain, "session", ".system_generated", "subagents")
	testenv.NoError(t, os.MkdirAll(beside, 0o700))
	testenv.NoError(t, os.WriteFile(filepath.Join(beside, "child.json"), nil, 0o600))
	for transcript, want := range map[string]string{
		conversation("child"):                    "session",
		conversation("session"):                  "",
		conversation("other"):                    "",
		filepath.Join(brain, "child", "x.jsonl"): "",
		"":                                       "",
		"brain/child/.system_generated/logs/x.jsonl":    "",
		"/x/gone/child/.system_generated/logs/x.jsonl":  "",
		"/x/brain/child/.system_generated/logs/x.jsonl": "",
	} {
		if got := parent(transcript); got != want {
			t.Errorf("%q is of %q, not %q", transcript, got, want)
		}
	}
}

// The desktop program and the editor run the person's hooks, too.
func TestOwns(t *testing.T) {
	for transcript, want := range map[string]bool{
		"/home/max/.gemini/antigravity-cli/brain/a/.system_generated/logs/transcript_full.jsonl": true,
		"/home/max/.gemini/antigravity/brain/a/.system_generated/logs/transcript.jsonl":          false,
		"/home/max/.gemini/antigravity-ide/brain/a/.system_generated/logs/transcript.jsonl":      false,
		"": true,
	} {
		if owns(transcript) != want {
			t.Errorf("%q: not %v", transcript, want)
		}
	}
}

func TestHeadless(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"agy"}, false}, {[]string{"agy", "-p", "x"}, true}, {[]string{"agy", "--print=x"}, true},
		{[]string{"agy", "--conversation", "id", "--prompt", "x"}, true}, {[]string{"agy", "--prompt-interactive", "x"}, false},
	} {
		if Client.Dialect.Headless(contract.Run{Args: c.args}) != c.want {
			t.Errorf("%q: not %v", c.args, c.want)
		}
	}
}
