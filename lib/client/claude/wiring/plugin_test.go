package wiring

import (
	"flag"
	"gt/internal/testenv"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the plugin's command")

// The plugin has the command that gt-hooks installs, with the program on PATH.
func TestPluginCommand(t *testing.T) {
	const file = "../../../../hooks/commands/handoff.md"
	command := Client().Command
	want := strings.Replace(string(command.Files("", "")[command.File]), "Bash(gt-handoff:*), Bash(gt-handoff:*)", "Bash(gt-handoff:*)", 1)
	if *update {
		testenv.Must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what gt-hooks installs (%v): go test ./lib/client/claude/wiring -update writes it", file, err)
	}
}
