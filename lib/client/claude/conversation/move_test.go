package claude

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/conversation"
)

// A name from another machine leads to a file of the conversation, or nowhere.
func TestDestination(t *testing.T) {
	getenv := func(key string) string { return map[string]string{"HOME": "/home/max"}[key] }
	for name, want := range map[string]string{
		conversation.Transcript:            "/home/max/.claude/projects/-src-api/s-1.jsonl",
		"tasks/1.json":                     "/home/max/.claude/tasks/s-1/1.json",
		"session/subagents/agent-1.jsonl":  "/home/max/.claude/projects/-src-api/s-1/subagents/agent-1.jsonl",
		"session/tool-results/toolu_1.txt": "/home/max/.claude/projects/-src-api/s-1/tool-results/toolu_1.txt",
		"":                                 "",
		"settings.json":                    "",
		"tasks/../../settings.json":        "",
		"tasks/a/1.json":                   "",
		"tasks/.lock.json":                 "",
		"session/../s-2.jsonl":             "",
		"session//etc/x.json":              "",
		"session/hooks/run.sh":             "",
		"session/a\\..\\b.json":            "",
		"/etc/x.jsonl":                     "",
		"session/":                         "",
	} {
		if got := (Writer{}).Destination(accountOf(getenv), "/src/api", "s-1", name); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}

// What belongs to a conversation goes along, and nothing of another.
func TestMovedFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		"projects/-a/s-1.jsonl", "projects/-a/s-2.jsonl", "projects/-a/s-1/subagents/agent-1.jsonl", "projects/-a/s-1/run.sh", "projects/-a/s-2/x.txt",
		"tasks/s-1/1.json", "tasks/s-1/.lock", "tasks/s-2/1.json", "settings.json",
	} {
		path := filepath.Join(root, name)
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	all, err := Writer{}.MovedFiles(filepath.Join(root, "projects/-a/s-1.jsonl"), "s-1")
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if want := []string{"session/subagents/agent-1.jsonl", "tasks/1.json", conversation.Transcript}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}

// A conversation from elsewhere has the client ask as usual, however it says otherwise, and
// is else as it was.
func TestRestrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"permission-mode","permissionMode":"acceptEdits"}` + "\n":                                          `{"type":"permission-mode","permissionMode":"default"}` + "\n",
		`{"permissionMode":"plan", "a": 1}` + "\n":                                                                  `{"permissionMode":"plan", "a": 1}` + "\n",
		`{"permissionMode":"default","permissionMode":"auto"}` + "\n":                                               `{"permissionMode":"default","permissionMode":"default"}` + "\n",
		`{"permission\u004dode":"bypassPermissions", "type":"user"}` + "\n":                                         `{"permission\u004dode":"default","type":"user"}` + "\n",
		`{"type":"worktree-state","worktreeSession":{"worktreePath":"/home/me"}}` + "\n" + `{"type":"user"}` + "\n": `{"type":"user"}` + "\n",
		`{"type":"user","typ\u0065":"relocated","relocatedCwd":"/home/me"}` + "\n":                                  "",
		`{"type":["file-history-snapshot"]}` + "\n":                                                                 "",
		`{"type":"bridge-session"}`:                                                                                 "",
		`{"type":"mode","mode":"coordinator"}` + "\n":                                                               "",
		`{"permissionMode":["auto"]}` + "\n":                                                                        `{"permissionMode":"default"}` + "\n",
		`{"message":{"content":"\"permissionMode\":\"auto\""}}` + "\n" + `{"type":"user","text":"to`:                `{"message":{"content":"\"permissionMode\":\"auto\""}}` + "\n",
		`{"type":"user"} {"type":"mode","mode":"coordinator"}` + "\n" + `{"type":"user"}`:                           `{"type":"user"}`,
		`[{"type":"mode"}]` + "\n" + `{"type":"user"}{"type":"relocated"}` + "\r\n\n" + `{"type":"summary"}` + "\n": `{"type":"summary"}` + "\n",
	} {
		var out strings.Builder
		if err := (Writer{}).Restrict(&out, strings.NewReader(text)); err != nil || out.String() != want {
			t.Errorf("%s is %s, %v", text, out.String(), err)
		}
	}
}
