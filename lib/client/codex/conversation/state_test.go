package codex

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gt/lib/conversation"
)

// Reading on with the state of the last Read gives the same entries as reading at once,
// wherever it stopped, and does not read what came before.
func TestReadOn(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/sessions/*/*/*/*.jsonl")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		whole, err := os.ReadFile(path)
		testenv.NoError(t, err)
		f := conversation.File{Client: "codex", Path: filepath.Join(t.TempDir(), filepath.Base(path))}
		read := func(from int64, state *string) (all []conversation.Entry, next int64) {
			next, err := new(Reader).Read(f, conversation.Options{From: from, ForSummary: true, State: state}, func(e conversation.Entry) bool {
				all = append(all, e)
				return true
			})
			testenv.NoError(t, err)
			return all, next
		}
		for at, c := range whole {
			if c != '\n' {
				continue
			}
			var state string
			testenv.NoError(t, os.WriteFile(f.Path, whole[:at+1], 0o600))
			_, next := read(0, &state)
			if next != int64(at+1) || state == "" {
				t.Fatalf("%s: it stopped at %d of %d, with the state %q", path, next, at+1, state)
			}
			testenv.NoError(t, os.WriteFile(f.Path, whole, 0o600))
			want, _ := read(next, nil) // this reads what came before
			got, _ := read(next, &state)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s from %d:\n%+v\nnot\n%+v", path, next, got, want)
			}
			// A state of another place, or none, loses ids but no text.
			for _, kept := range []string{"", `{"at":1}`, "null", "x"} {
				some, _ := read(next, &kept)
				if len(some) < len(want)-1 {
					t.Errorf("%s from %d with %q: %d entries, not %d", path, next, kept, len(some), len(want))
				}
			}
		}
	}
}
