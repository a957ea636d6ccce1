package client

import (
	"gt/internal/testenv"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// Every folder with a block is in the table, and every block describes only the agent
// that its folder is named after.
func TestNames(t *testing.T) {
	files, err := fs.Glob(blocks, "*/agent.toml")
	testenv.NoError(t, err)
	var folders []string
	for _, file := range files {
		folders = append(folders, path.Dir(file))
	}
	if names := slices.Sorted(slices.Values(Names())); !slices.Equal(folders, names) {
		t.Errorf("the folders are %q, the names %q", folders, names)
	}
	for _, name := range folders {
		text := string(Block(name))
		if !strings.HasPrefix(text, "[agents."+name+"]\n") {
			t.Errorf("%s/agent.toml does not begin with its name", name)
		}
		for line := range strings.Lines(text) {
			if line := strings.TrimSpace(line); strings.HasPrefix(line, "[agents.") && line != "[agents."+name+"]" && !strings.HasPrefix(line, "[agents."+name+".") {
				t.Errorf("%s/agent.toml has %s", name, line)
			}
		}
	}
}
