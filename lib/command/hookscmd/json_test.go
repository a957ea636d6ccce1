package hookscmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.Write("home/.claude/settings.json", "{}\n")
	w.Write("town/town.toml", "")
	w.Prepare("trust", "--yes", w.Path("town"))
	w.JSON("prove", "prove", "claude", "--json")
	w.JSON("status", "status", "claude", "--json")
	w.JSON("trust", "trust", "--list", "--json")
}
