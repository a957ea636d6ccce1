package pickcmd

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/cli"
)

// What was found comes first, the best first, each session once, with every word as it was
// typed, so that the finder finds it as well; the others follow as they were.
func TestFoundRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	testenv.NoError(t, os.WriteFile(path, []byte("a\t--last=3\ta the lamp\nb\t--last=3\tb the Boat\nc\t--last=3\tc\n"), 0o600))
	var out strings.Builder
	env := &cli.Env{Stdout: &out, Stdin: strings.NewReader(`{"session_id":"c","turn":4,"text":"the boats and the lámp"}
{"session_id":"gone","turn":1,"text":"boat"}
{"session_id":"b","subagent_id":"s","turn":9,"text":"` + strings.Repeat("x ", 300) + `a boat\u001b[31m","matches":["boat"]}
{"session_id":"c","turn":5,"text":"boat again"}
{"session_id":"a","tu`)}
	testenv.NoError(t, printFound(env, path, "'boat ^lamp !web | lamp$"))
	want := "c\t--turns=4\tc · the boats and the lámp [lamp]\n" +
		"b\t--last=3\tb the Boat · …" + strings.Repeat("x ", 14) + "a boat [lamp]\na\t--last=3\ta the lamp\n"
	if got := out.String(); got != want {
		t.Errorf("%q", got)
	}
}
