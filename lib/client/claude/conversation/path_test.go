package claude

import (
	"gt/internal/testenv"
	"gt/lib/client/account"
	"gt/lib/conversation"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func accountOf(getenv func(string) string) conversation.ClientFolder {
	a, _ := account.FindCurrent("claude", getenv) // the zero Account without a HOME
	return a
}

func TestPath(t *testing.T) {
	root := t.TempDir()
	work := filepath.Join(root, "a b.c")
	env := map[string]string{"HOME": root}
	getenv := func(key string) string { return env[key] }
	testenv.NoError(t, os.Mkdir(work, 0o700))
	rule := filepath.Join(root, ".claude", "projects", slug(work), "id.jsonl")
	if got := Path(accountOf(getenv), work, "id"); got != rule || !strings.HasSuffix(filepath.Dir(got), "-a-b-c") {
		t.Errorf("got %s", got)
	}
	// A session that began elsewhere and was resumed here.
	other := filepath.Join(root, ".claude", "projects", "-other", "id.jsonl")
	testenv.NoError(t, os.MkdirAll(filepath.Dir(other), 0o700))
	testenv.NoError(t, os.WriteFile(other, nil, 0o600))
	if got := Path(accountOf(getenv), work, "id"); got != other {
		t.Errorf("got %s", got)
	}
	env["CLAUDE_CONFIG_DIR"] = filepath.Join(root, "config")
	if got := Path(accountOf(getenv), work, "id"); got != filepath.Join(root, "config", "projects", slug(work), "id.jsonl") {
		t.Errorf("got %s", got)
	}
	env["CLAUDE_CODE_PROJECT_DIR_NAME"] = "named"
	if got := Path(accountOf(getenv), work, "id"); got != filepath.Join(root, "config", "projects", "named", "id.jsonl") {
		t.Errorf("got %s", got)
	}
	clear(env)
	if got := Path(accountOf(getenv), work, "id"); got != "" {
		t.Errorf("got %s", got)
	}
}

// As the client's own JavaScript does it.
func TestSlug(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/me/project":                 "-home-me-project",
		"/tmp/a b/ü😀.x_y":                  "-tmp-a-b-----x-y",
		"/" + strings.Repeat("d", 199):     "-" + strings.Repeat("d", 199),
		"/" + strings.Repeat("long/", 50):  ("-" + strings.Repeat("long-", 50))[:200] + "-" + "dlg7rj",
		"/" + strings.Repeat("name/", 100): ("-" + strings.Repeat("name-", 100))[:200] + "-" + "9wjctr",
	} {
		if got := slug(dir); got != want {
			t.Errorf("%s becomes %s, want %s", dir, got, want)
		}
	}
}
