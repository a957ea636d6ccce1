package price

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/lib/conversation"
)

const million = 1_000_000

func TestOf(t *testing.T) {
	table, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		model string
		at    time.Time
		used  conversation.Usage
		want  float64 // negative: unknown
	}{
		{"claude-opus-5-5", time.Time{}, conversation.Usage{Input: million, Output: million, CacheRead: million, CacheWrite: million}, 4 + 20 + 0.2 + 5},
		{"claude-opus-5-5", time.Time{}, conversation.Usage{CacheWrite: 3 * million, CacheWrite1h: million}, 2*5 + 8},
		{"claude-opus-5-5", time.Time{}, conversation.Usage{Output: million, Fast: true}, 40},
		{"claude-opus-4-8", time.Time{}, conversation.Usage{Output: million, Fast: true}, -1},
		{"anthropic/claude-opus-4.5", time.Time{}, conversation.Usage{Output: million}, 25},
		{"claude-sonnet-4-5-20250929[1m]", time.Time{}, conversation.Usage{Input: 200_000}, 0.6},
		{"claude-sonnet-4-5@20250929", time.Time{}, conversation.Usage{Input: 1, CacheRead: 200_000}, 0.120006},
		{"claude-sonnet-5-5", day("2026-10-06"), conversation.Usage{CacheRead: million}, 0.2},
		{"claude-sonnet-5-5", day("2026-10-07"), conversation.Usage{CacheRead: million}, 0.1},
		{"gpt-5.6-sol", day("2026-08-20"), conversation.Usage{Input: million}, 10},
		{"gpt-5.6-sol", day("2026-08-21"), conversation.Usage{Input: million}, 8},
		{"gpt-5.6-terra", day("2026-07-01"), conversation.Usage{Input: million}, -1},
		{"gpt-5-2025-08-07", time.Time{}, conversation.Usage{Input: million, CacheWrite: million}, 2 * 1.25},
		{"gpt-5-nonsense", time.Time{}, conversation.Usage{Input: million}, -1},
		{"us.anthropic.claude-opus-4-5-20251101-v1:0", time.Time{}, conversation.Usage{Input: million}, -1},
		{"local", time.Time{}, conversation.Usage{Input: million}, -1},
		{"", time.Time{}, conversation.Usage{Input: million}, -1},
	} {
		got, ok := table.RequestPrice(c.model, c.at, c.used)
		if ok != (c.want >= 0) || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s, %v, %+v: %v, %v, want %v", c.model, c.at, c.used, got, ok, c.want)
		}
	}
	if table.Read.IsZero() || len(table.Sources) == 0 {
		t.Error("the table does not say when and where its prices were read")
	}
}

// The person's prices stand in place of the table's. A file that cannot be used changes nothing.
func TestLoad(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".config/gt", File)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text       string
		local, fix float64
		refused    bool
	}{
		{"[models]\nlocal = [{ input = 0, output = 0 }]\n\"claude-opus-5\" = [{ input = 3, output = 1 }]\n", 0, 3, false},
		{"[models]\nlocal = [{ input = 1 }]\n", -1, 5, true},
		{"[models]\nlocal = [{ input = 1, output = -1 }]\n", -1, 5, true},
		{"[models]\nlocal = [{ input = 1, outptu = 1, output = 1 }]\n", -1, 5, true},
		{"[models\n", -1, 5, true},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := Load(filepath.Join(home, ".config", "gt"))
		of := func(model string) float64 {
			dollars, ok := table.RequestPrice(model, time.Time{}, conversation.Usage{Input: million})
			if !ok {
				return -1
			}
			return dollars
		}
		if (err != nil) != c.refused || of("local") != c.local || of("claude-opus-5") != c.fix {
			t.Errorf("%s: local %v, claude-opus-5 %v, %v", c.text, of("local"), of("claude-opus-5"), err)
		}
	}
}

// A price begins at the same moment on all machines.
func TestFromIsUTC(t *testing.T) {
	table, err := parse(`[models]
x = [{ from = 2026-11-20, input = 1, output = 1 }]`)
	if err != nil {
		t.Fatal(err)
	}
	if from := table.Models["x"][0].From; from != time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) {
		t.Errorf("from %v", from)
	}
}
