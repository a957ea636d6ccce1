package wiring

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"testing"
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
