package reconcilecmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.Write("home/.config/gt/town.toml", `[[agent]]
name = "worker"
provider = "claude"
work_dir = "ROOT/work"
[agent.pool]
min = 1
max = 1
`)
	w.JSON("status", "status", "--json")
	w.JSON("plan", "plan", "--json")
	w.JSON("tick", "tick", "--json") // no client is here
	w.Write("home/.config/gt/town.toml", "[[agent]]\nname = \"worker\"\nprovider = \"nobody\"\n")
	w.JSON("check", "check", "--json")
}
