package wirings

import (
	"gt/internal/testenv"
	"path/filepath"
	"slices"
	"testing"

	"gt/lib/client"
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
