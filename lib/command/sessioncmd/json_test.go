package sessioncmd

import (
	"os"
	"os/exec"
	"testing"

	"gt/internal/golden"
	"gt/internal/testenv"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.JSON("new", "new", "--no-start", "-n", "api", "-g", "tools/go", "--json", "--", "--model", "opus")
	w.JSON("list", "list", "--json")
	w.JSON("show", "show", "api", "--json")
	w.JSON("group-list", "group", "list", "--json")
	w.Write("home/.config/gt/town.toml", "[[agent]]\nname = \"worker\"\nprovider = \"claude\"\nwork_dir = \"ROOT/work\"\n")
	w.Command("new", "--template", "worker", "--set", "name=bob") // it is made, but no client is here
	w.JSON("inspect", "inspect", "bob", "--json")
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("without tmux doctor says no more than that")
	}
	testenv.NoError(t, os.Symlink(tmux, w.Path("bin", "tmux")))
	w.JSON("doctor", "doctor", "--json")
}
