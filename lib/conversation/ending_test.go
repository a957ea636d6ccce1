package conversation

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// StoppedAt finds a turn that stopped if its newest line that tells anything says so.
func TestStoppedAt(t *testing.T) {
	stop := func(s string) string { return `{"timestamp":"2026-01-17T01:00:0` + s + `Z","type":"stop"}` + "\n" }
	goes := func(s string) string { return `{"timestamp":"2026-01-17T01:00:0` + s + `Z","type":"over"}` + "\n" }
	note := func(s string) string { return `{"timestamp":"2026-01-17T01:00:0` + s + `Z","type":"note"}` + "\n" }
	after := time.Date(2026, 1, 17, 1, 0, 3, 0, time.UTC)
	for name, c := range map[string]struct {
		text string
		at   int // the second; 0 for none
	}{
		"nothing":                     {"", 0},
		"it was":                      {goes("2") + stop("4"), 4},
		"before":                      {stop("2"), 0},
		"at the same moment":          {stop("3"), 0},
		"notes follow":                {stop("4") + note("5"), 4},
		"it went on":                  {stop("4") + goes("5"), 0},
		"a later one":                 {stop("4") + goes("5") + stop("6"), 6},
		"a line without a time":       {stop("4") + `{"type":"over"}` + "\n", 4},
		"a torn line":                 {stop("4") + goes("5")[:30], 4},
		"the history in a line":       {stop("4") + `{"$set":"` + strings.Repeat("x", 200<<10) + "\"}\n", 4},
		"words that look like it":     {`{"timestamp":"2026-01-17T01:00:05Z","type":"note","text":"` + `{\"type\":\"stop\"}"}` + "\n", 0},
		"a history beyond all bounds": {stop("4") + `{"$set":"` + strings.Repeat("x", 5<<20) + "\"}\n", 0},
	} {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		got := StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
			return v.Get("type").Str == "stop", v.Get("type").Str == "over"
		})
		if got.IsZero() != (c.at == 0) || !got.IsZero() && got.Second() != c.at {
			t.Errorf("%s: %v", name, got)
		}
	}
	if at := StoppedAt(filepath.Join(t.TempDir(), "none"), after, nil); !at.IsZero() {
		t.Error(at)
	}
}
