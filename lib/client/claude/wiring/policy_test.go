package wiring

import (
	"os"
	"path/filepath"
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
		testenv.NoError(t, os.WriteFile(filepath.Join(a.Folder, "remote-settings.json"), []byte(policy), 0o600))
		a.Sources = sources(a)
		if got := blockers(a); len(got) != want {
			t.Errorf("%s: %+v", policy, got)
		}
	}
}
