package wiring

import (
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/wiring"
)

// An installed plugin's hooks are seen, and count once the person has trusted them.
func TestPluginTrust(t *testing.T) {
	a := wiring.Agent{Name: "codex", Command: "codex", Folder: t.TempDir()}
	dir := filepath.Join(a.Folder, "plugins", "cache", "gt", "gt", "0.3.0", "hooks")
	testenv.NoError(t, os.MkdirAll(dir, 0o755))
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "hooks.json"),
		[]byte(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gt-checkpoint write 2>/dev/null || :"}]}]}}`), 0o600))
	for config, want := range map[string]int{
		"":                                       0,
		"[plugins.\"gt@gt\"]\nenabled = false\n": 0,
		"[plugins.\"gt@gt\"]\nenabled = true\n":  1,
		"[plugins.\"gt@gt\"]\nenabled = true\n[hooks.state.\"gt@gt:hooks/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n":                  0,
		"[plugins.\"gt@gt\"]\nenabled = true\n[hooks.state.\"gt@gt:hooks/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\nenabled = false\n": 1,
		"[plugins.\"gt@gt\"]\nenabled = true\n[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n":                           1,
	} {
		testenv.NoError(t, os.WriteFile(filepath.Join(a.Folder, "config.toml"), []byte(config), 0o600))
		a.Sources = plugins(a)
		if got := blockers(a); len(got) != want {
			t.Errorf("%s: %+v of %d", config, got, len(a.Sources))
		}
	}
}
