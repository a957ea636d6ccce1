package wiring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/wiring"
)

// A policy that lets no hooks of the person's run is told, in whatever words it is.
func TestPolicies(t *testing.T) {
	for policy, want := range map[string]int{
		`{}`:                                      0,
		`{"allowManagedHooksOnly": true}`:         1,
		`{"allowManagedHooksOnly": false}`:        0,
		`{"strictPluginOnlyCustomization": true}`: 1,
		`{"strictPluginOnlyCustomization": ["skills", "hooks"]}`: 1,
		`{"strictPluginOnlyCustomization": ["skills"]}`:          0,
		`{"strictPluginOnlyCustomization": false, "hooks": {}}`:  0,
	} {
		a := wiring.Agent{Folder: t.TempDir()}
		testenv.Must(t, os.WriteFile(filepath.Join(a.Folder, "remote-settings.json"), []byte(policy), 0o600))
		a.Sources = sources(a)
		if got := blockers(a); len(got) != want {
			t.Errorf("%s: %+v", policy, got)
		}
	}
}

// What the client was seen to do with a file decides what is refused, and the line and key are
// those of the value.
func TestSchema(t *testing.T) {
	seen, err := os.ReadFile("testdata/settings.txt")
	testenv.Must(t, err)
	for line := range strings.Lines(string(seen)) {
		did, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if did == "#" {
			continue
		}
		file := filepath.Join(t.TempDir(), "settings.json")
		testenv.Must(t, os.WriteFile(file, []byte(text), 0o600))
		if s := Client().Read(wiring.User, file); s.Err != nil || (s.Refused != nil) != (did != "takes") {
			t.Errorf("%s: %v %s", line, s.Err, s.Refusal("it"))
		}
	}
}
