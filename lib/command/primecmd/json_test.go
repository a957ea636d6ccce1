package primecmd

import (
	"testing"

	"gt/internal/golden"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.JSON("state", "--state", "--json")
}
