package recordcmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Main)
	w.Prepare("sync", "--all")
	w.JSON("list", "list", "--json")
	w.JSON("show", "show", golden.Session, "--json")
	w.JSON("tail", "tail", golden.Session, "--json")
	w.JSON("continue", "continue", golden.Session, "--json")
	w.Write("home/.codex/config.toml", "")
	w.JSON("convert", "convert", "--to", "codex", golden.Session, "--json")
}
