package krccmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.JSON("config", "config", "--json")
	w.JSON("decay", "decay", "--json")
	w.JSON("prune", "prune", "--dry-run", "--json")
	w.JSON("stats", "stats", "--json")
	w.JSON("rotate", "rotate", "--json")
}
