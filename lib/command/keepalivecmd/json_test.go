package keepalivecmd

import (
	"fmt"
	"os"
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.JSON("show-none", "show", "--json")
	w.Prepare("touch", "Bash")
	w.JSON("show", "show", "--json")
	w.JSON("check", "check", "--json")
	w.Prepare("pid", "track", "gt-max", fmt.Sprint(os.Getpid()))
	w.JSON("pid-list", "pid", "list", "--json")
}
