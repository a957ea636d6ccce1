package gt_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/client/readers"
	model "gt/lib/conversation"
	"gt/lib/conversation/price"
	"gt/lib/state/session"
)

// ccusageStores are where ccusage looks for the stores of the clients that it knows, below the
// home folder.
var ccusageStores = map[string]string{
	"claude": ".claude", "codex": ".codex", "copilot": ".copilot", "gemini": ".gemini", "kimi": ".kimi", "opencode": ".local/share/opencode", "pi": ".pi/agent", "qwen": ".qwen",
}

// ccusageDiffers says why ccusage (20.0.24) counts other tokens than gt, by recorded store.
var ccusageDiffers = map[string]string{
	"claude/2.1.197-print": partsAndCopies, "claude/2.1.329-print": partsAndCopies,
	"codex/0.169.0-exec":   "it misses the request of a fork that refers to its origin (history_base)",
	"copilot/1.0.102-pane": copies + "; " + compaction, "copilot/1.0.45": "it counts one of two shutdowns' sums",
	"gemini/0.20.0": thoughts, "gemini/0.61.0-headless": thoughts, "gemini/0.61.0-pane": thoughts, "gemini/0.20.0-then-0.61.0": thoughts + "; " + copies,
	"kimi/2.1.0-headless": copies, "kimi/2.1.0-pane": compaction,
	"opencode/1.18.33-run": copies,
	"pi/0.74.2-print":      copies, "pi/1.5.2": copies + "; " + compaction, "pi/1.5.2-pane": compaction, "pi/1.5.2-print": copies,
	"qwen/0.15.10-headless": cached, "qwen/0.15.10-pane": cached, "qwen/0.24.4-pane": cached, "qwen/0.24.4-headless": cached + "; " + copies,
}

const (
	partsAndCopies = "without request ids it counts each record of a message, and a fork's copies"
	copies         = "it counts a fork's copies"
	compaction     = "it does not count the request of a compaction"
	thoughts       = "it does not count thoughts"
	cached         = "its input includes what came from the cache"
)

// The tokens of each recorded store are those that ccusage counts, or it is known why not.
func TestUsageBesideCCUsage(t *testing.T) {
	program, err := exec.LookPath("ccusage")
	if err != nil {
		t.Skip("ccusage is not installed: npm install -g ccusage")
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-30s %-28s %-28s %s\n", "STORE", "GT (in read write out)", "CCUSAGE", "WHY")
	for _, path := range stores(t) {
		client := strings.Split(path, "/")[2]
		name := client + "/" + filepath.Base(path)
		home := t.TempDir()
		testenv.NoError(t, os.MkdirAll(filepath.Join(home, filepath.Dir(ccusageStores[client])), 0o700))
		testenv.NoError(t, os.CopyFS(filepath.Join(home, ccusageStores[client]), os.DirFS(path)))
		ours, theirs := spentIn(t, client, filepath.Join(home, ccusageStores[client])), ccusageOf(t, program, client, home)
		why, known := ccusageDiffers[name]
		fmt.Fprintf(&table, "%-30s %-28s %-28s %s\n", name, ours, theirs, why)
		switch {
		case ours != theirs && !known:
			t.Errorf("%s: %s here, and ccusage says %s", name, ours, theirs)
		case ours == theirs && known:
			t.Errorf("%s: no difference any more", name)
		}
	}
	t.Log("\n" + table.String())
}

// stores are the recorded stores of the clients that ccusage knows.
func stores(t *testing.T) (found []string) {
	all, err := filepath.Glob("lib/client/*/conversation/testdata/[0-9]*")
	testenv.NoError(t, err)
	for _, path := range all {
		if ccusageStores[strings.Split(path, "/")[2]] != "" {
			found = append(found, path)
		}
	}
	return found
}

// spentIn counts the tokens in a store.
func spentIn(t *testing.T, client, store string) string {
	r := readers.FindReader(client)
	var all []model.Conversation
	by := map[session.ID]model.Metadata{}
	testenv.NoError(t, r.Find(store, func(f model.File) {
		m, err := r.Metadata(f)
		testenv.NoError(t, err)
		if m.ID != "" {
			all, by[m.ID] = append(all, model.Conversation{File: f, Metadata: m}), m
		}
	}))
	first := map[string]session.ID{} // by the first entry
	slices.SortStableFunc(all, func(a, b model.Conversation) int { return a.Metadata.Started.Compare(b.Metadata.Started) })
	var tally model.UsageTally
	var sum model.Usage
	for _, c := range all {
		m := c.Metadata
		of := model.Lineage{ID: m.ID, Began: m.Started}
		for next := []session.ID{m.ForkOf, m.Parent, first[m.FirstID]}; len(next) > 0; next = next[1:] {
			if id := next[0]; id != "" && !slices.Contains(of.Ancestors, id) {
				of.Ancestors = append(of.Ancestors, id)
				next = append(next, by[id].ForkOf, by[id].Parent)
			}
		}
		if _, known := first[m.FirstID]; !known && m.FirstID != "" {
			first[m.FirstID] = m.ID
		}
		spent, err := model.ReadTokens(r, c.File)
		used := tally.AddTokens(spent, of)
		testenv.NoError(t, err)
		for _, u := range used {
			sum.Add(u.Usage)
		}
	}
	return fmt.Sprintf("%d %d %d %d", sum.Input, sum.CacheRead, sum.CacheWrite, sum.Output)
}

// ccusageOf returns what ccusage counts in the client's store below a home folder.
func ccusageOf(t *testing.T, program, client, home string) string {
	cmd := exec.Command(program, client, "daily", "--json", "--offline")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "NO_COLOR=1"}
	out, err := cmd.Output()
	var report struct {
		Totals struct{ InputTokens, CacheReadTokens, CacheCreationTokens, OutputTokens int64 }
	}
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	s := report.Totals
	return fmt.Sprintf("%d %d %d %d", s.InputTokens, s.CacheReadTokens, s.CacheCreationTokens, s.OutputTokens)
}

// pricesDiffer says why a price of ccusage (20.0.24), which are LiteLLM's of its day, is another.
var pricesDiffer = map[string]string{
	"claude-opus-5-5": newer, "claude-sonnet-5-5": newer, "claude-haiku-5-5": newer,
	"gpt-6.2-astra": newer, "gpt-6.2-sol": newer, "gpt-6.1-sol": newer, "gpt-6-sol": newer, "gpt-6-luna": newer,
	"gemini-4-neon": newer, "gemini-4-hydrogen": newer,
}

const newer = "it is newer than ccusage's table"

// Each price of a model is the one that ccusage has, or it is known why not.
func TestPricesBesideCCUsage(t *testing.T) {
	program, err := exec.LookPath("ccusage")
	if err != nil {
		t.Skip("ccusage is not installed: npm install -g ccusage")
	}
	prices, err := price.Load("")
	testenv.NoError(t, err)
	const n = 10_000 // below the size from which a prompt costs more
	kinds := map[string]model.Usage{"input": {Input: n}, "output": {Output: n}, "read": {CacheRead: n}, "write": {CacheWrite: n}, "write 1h": {CacheWrite: n, CacheWrite1h: n}}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	home := t.TempDir()
	dir := filepath.Join(home, ".claude/projects/-w")
	testenv.NoError(t, os.MkdirAll(dir, 0o700))
	var lines strings.Builder
	names := slices.Sorted(maps.Keys(prices.Models))
	// Only Claude Code says what was written into a cache; ccusage has a price for it for all.
	counts := func(name string, u model.Usage) bool { return u.CacheWrite == 0 || strings.HasPrefix(name, "claude-") }
	for _, name := range names {
		for kind, u := range kinds {
			if !counts(name, u) {
				continue
			}
			fmt.Fprintf(&lines, `{"type":"assistant","sessionId":"aaaaaaaa-0000-4000-8000-000000000001","uuid":"%[1]s %[2]s","timestamp":"%[3]s","cwd":"/w","version":"2.1.332","requestId":"r%[1]s %[2]s","message":{"id":"m%[1]s %[2]s","model":"%[1]s","role":"assistant","type":"message","content":[],"usage":{"input_tokens":%[4]d,"output_tokens":%[5]d,"cache_read_input_tokens":%[6]d,"cache_creation_input_tokens":%[7]d,"cache_creation":{"ephemeral_5m_input_tokens":%[8]d,"ephemeral_1h_input_tokens":%[9]d}}}}`+"\n",
				name, kind, at.Format(time.RFC3339), u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite-u.CacheWrite1h, u.CacheWrite1h)
		}
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "aaaaaaaa-0000-4000-8000-000000000001.jsonl"), []byte(lines.String()), 0o600))
	cmd := exec.Command(program, "claude", "daily", "--json", "--offline")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "NO_COLOR=1"}
	out, err := cmd.Output()
	testenv.NoError(t, err)
	var report struct {
		Daily []struct {
			ModelBreakdowns []struct {
				ModelName string
				Cost      float64
			}
		}
	}
	testenv.NoError(t, json.Unmarshal(out, &report))
	theirs := map[string]float64{}
	for _, day := range report.Daily {
		for _, m := range day.ModelBreakdowns {
			theirs[m.ModelName] += m.Cost
		}
	}
	var table strings.Builder
	for _, name := range names {
		ours := 0.0
		for _, u := range kinds {
			if !counts(name, u) {
				continue
			}
			dollars, ok := prices.RequestPrice(name, at, u)
			if ours += dollars; !ok {
				t.Errorf("%s has no price", name)
			}
		}
		why, known := pricesDiffer[name]
		fmt.Fprintf(&table, "%-24s %8.4f %8.4f %s\n", name, ours, theirs[name], why)
		if same := math.Abs(ours-theirs[name]) < 1e-9; same == known {
			t.Errorf("%s: %v here, %v in ccusage (%s)", name, ours, theirs[name], why)
		}
	}
	t.Log("\n" + table.String())
}
