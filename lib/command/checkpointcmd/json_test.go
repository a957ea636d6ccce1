package checkpointcmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.Prepare("write", "--notes", "the lexer is done", "--step", "parser")
	w.JSON("read", "read", "--json")
}
