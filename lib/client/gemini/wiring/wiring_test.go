package wiring

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/client/wiring"
)

// Gemini CLI asks about a folder unless a rule of the person covers it, a start's flag or
// environment decides, or the person has switched the question off.
func TestAsksTrust(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		testenv.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("trustedFolders.json", `{"/a/b": "TRUST_FOLDER", "/c/d": "TRUST_PARENT", "/e": "DO_NOT_TRUST", "/a/b/no": "DO_NOT_TRUST"}`)
	for dir, want := range map[string]string{
		"/a/b": "TRUST_FOLDER", "/a/b/c": "TRUST_FOLDER", "/a": "", "/a/bc": "", "/a/b/no/x": "DO_NOT_TRUST",
		"/c/x": "TRUST_PARENT", "/c": "TRUST_PARENT", "/e": "DO_NOT_TRUST", "/": "",
	} {
		if got := trustOf(folder, dir); got != want {
			t.Errorf("%s: %q", dir, got)
		}
		if got := asksTrust(folder, dir, nil, nil); got != (want == "") {
			t.Errorf("%s: asks %v", dir, got)
		}
	}
	if asksTrust(folder, "/a", []string{"gemini", "--skip-trust"}, nil) || asksTrust(folder, "/a", nil, []string{"GEMINI_CLI_TRUST_WORKSPACE=true"}) {
		t.Error("it asks although the start decides")
	}
	write("settings.json", `{"security": {"folderTrust": {"enabled": false}}} // off`)
	if asksTrust(folder, "/a", nil, nil) {
		t.Error("it asks although that is switched off")
	}
}

// TestSchema shows that what the client was seen to do with a file decides what is refused.
func TestSchema(t *testing.T) {
	for line := range strings.Lines(seen) {
		did, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		file := filepath.Join(t.TempDir(), "settings.json")
		testenv.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "BOM", "\ufeff")), 0o600))
		if s := Client().Read(wiring.User, file); s.Err != nil || (s.Refused != nil) != (did != "takes") {
			t.Errorf("%s: %v %s", line, s.Err, s.Refusal("it"))
		}
	}
}

// seen is what Gemini CLI 0.61 did with each of these settings: it ran the hooks beside them
// (and may have warned), ran none of the event, or did not start.
const seen = `takes {}
stops BOM{}
stops {"security": "x"}
takes {"security": {"auth": {"selectedType": "gemini-api-key"}}}
takes {"model": "x"}
takes {"ui": "x"}
takes {"tools": "x"}
takes {"general": {"vimMode": "yes"}}
takes {"mcpServers": {"a": "x"}}
takes {"hooks": {"NoSuch": "x"}}
takes {"hooks": {"BeforeTool": "x"}}
takes {"hooks": {"BeforeTool": [{"hooks": [{"type": "cmd", "command": "true"}]}]}}
takes {"hooks": {"SessionEnd": [null, {"hooks": "x"}, {"matcher": null, "hooks": []}]}}
drops {"hooks": {"SessionStart": [{"matcher": 5, "hooks": [{"type": "command", "command": "true"}]}]}}
`
