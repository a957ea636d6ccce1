package seancecmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.JSON("chain", "chain", golden.Session, "--json")
	w.JSON("grep", "grep", "ported", "--json")
	w.JSON("list", "list", "--json")
	w.JSON("read", "read", golden.Session, "--json")
	w.JSON("search", "search", "ported", "--json")
	w.JSON("show", "show", golden.Session, "--json")
	w.JSON("usage", "usage", "--json")
}
