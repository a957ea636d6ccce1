package hook

import (
	"errors"
	"gt/internal/testenv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The last answer's count is found before tools' results of any length, and nothing that
// only looks like a count is taken.
func TestTokens(t *testing.T) {
	answer := func(n, more string) string {
		return `{"id":"a","type":"gemini","content":"x","tokens":{"input":` + n + `,"output":1},"model":"m-` + n + `"` + more + "}\n"
	}
	result := func(n int) string { return `{"id":"r","type":"user","content":"` + strings.Repeat("y", n) + "\"}\n" }
	for name, c := range map[string]struct {
		text string
		n    int64
	}{
		"nothing":              {"", 0},
		"no answer":            {result(10), 0},
		"the last of two":      {answer("1", "") + answer("2", ""), 2},
		"a result behind":      {answer("3", "") + result(100<<10), 3},
		"a longer result":      {answer("4", "") + result(3<<20), 4},
		"too long a result":    {answer("5", "") + result(9<<20), 0},
		"a long answer":        {answer("6", `,"toolCalls":"`+strings.Repeat("z", 1<<20)+`"`), 6},
		"a torn one":           {answer("7", "") + strings.TrimSuffix(answer("8", ""), "}\n"), 7},
		"in a call":            {answer("9", `,"toolCalls":[{"args":{"tokens":{"input":10}}}]`), 9},
		"in a text":            {answer("11", "") + `{"id":"u","content":"\"tokens\":{\"input\":12}"}` + "\n", 11},
		"in another's object":  {answer("13", "") + `{"id":"u","args":{"tokens":{"input":14}}}` + "\n", 13},
		"no number":            {answer("15", "") + answer(`"many"`, ""), 15},
		"deep":                 {answer("16", "") + `{"tokens":{"input":17},"a":` + strings.Repeat("[", 1<<20) + "\n", 16},
		"no JSON, and no line": {`"tokens":{"input":18}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			testenv.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			n, model, err := lastRequestTokens(path)
			if n != c.n || err != nil || (n != 0) != strings.HasPrefix(model, "m-") {
				t.Errorf("%d, %q, %v", n, model, err)
			}
		})
	}
	if _, _, err := lastRequestTokens(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
