package wirings

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client"
	"gt/lib/client/wiring"
)

// The list has every client with a wiring package, in the table's order, and each has an
// end of a turn at which its wiring writes a checkpoint.
func TestAll(t *testing.T) {
	var have, want []string
	for _, c := range Clients() {
		have = append(have, c.Name)
		handlers, err := c.Wanted("/bin", []string{"--agent", c.Name})
		testenv.NoError(t, err)
		for _, h := range handlers {
			if h.Binary == "gt-checkpoint" && !slices.Contains(c.TurnEnds, h.Event) {
				t.Errorf("%s: a checkpoint is written at %s, which is not the end of a turn", c.Name, h.Event)
			}
		}
	}
	for _, name := range client.Names() {
		if files, _ := filepath.Glob(filepath.Join("..", name, "wiring", "*.go")); files != nil {
			want = append(want, name)
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("listed are %q, there are %q", have, want)
	}
}

// Where the programs are gone, no client's hook fails, prints, or says so to a client that shows
// what a hook writes to standard error. A script catches what cannot be started itself.
func TestProgramsGone(t *testing.T) {
	shows := []string{"gemini", "qwen", "cursor", "antigravity"} // of the latter two it is not known
	for _, c := range Clients() {
		if c.Shape == wiring.Script {
			continue
		}
		handlers, err := c.Wanted(filepath.Join(t.TempDir(), "it's gone"), []string{"--agent", c.Name})
		testenv.NoError(t, err)
		for _, h := range handlers {
			var stdout, stderr bytes.Buffer
			cmd := exec.Command("/bin/sh", "-c", h.Command)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if h.Args != nil || err != nil || strings.Trim(stdout.String(), "{}\n") != "" || stderr.Len() > 0 && slices.Contains(shows, c.Name) {
				t.Errorf("%s: %s: %v: %q, %q", c.Name, h.Command, err, &stdout, &stderr)
			}
		}
	}
}
