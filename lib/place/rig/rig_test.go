package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/town"
)

func TestPrefixes(t *testing.T) {
	const gasTown = `{"version":1,"rigs":{"gastown":{"git_url":"x","beads":{"repo":"r","prefix":"gt"}},"beads":{"beads":{"prefix":"bd"}},"bare":{}}}`
	for name, c := range map[string]struct {
		toml, json string
		want       string
		bad        bool
	}{
		"neither":                  {want: "map[]"},
		"an empty town.toml":       {toml: "# nothing\n", want: "map[]"},
		"town.toml":                {toml: "[rigs.gastown]\nprefix = \"gt\"\n[rigs.x]\n", want: "map[gastown:gt]"},
		"Gas Town's":               {json: gasTown, want: "map[beads:bd gastown:gt]"},
		"both, and ours counts":    {json: gasTown, toml: "[rigs.gastown]\nprefix = \"g\"\n", want: "map[beads:bd gastown:g]"},
		"what gt does not know":    {toml: "name = \"x\"\n[mail]\nx = 1\n[rigs.a]\nprefix = \"a\"\nother = [1]\n", want: "map[a:a]"},
		"broken TOML":              {toml: "[rigs\n", bad: true},
		"broken JSON":              {json: `{"rigs":`, bad: true},
		"a prefix of another type": {toml: "[rigs.a]\nprefix = 7\n", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			testenv.NoError(t, os.Mkdir(filepath.Join(root, "mayor"), 0o700))
			for path, text := range map[string]string{"town.toml": c.toml, "mayor/rigs.json": c.json} {
				if text != "" {
					testenv.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
				}
			}
			trust, err := place.Survey(root)
			testenv.NoError(t, err)
			got, err := Prefixes(town.Town{Root: root, Trust: trust})
			if (err != nil) != c.bad || !c.bad && fmt.Sprint(got) != c.want {
				t.Errorf("%v %v", got, err)
			}
		})
	}
}
