package gt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/readers"
	model "gt/lib/conversation"
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
		testenv.Must(t, os.MkdirAll(filepath.Join(home, filepath.Dir(ccusageStores[client])), 0o700))
		testenv.Must(t, os.CopyFS(filepath.Join(home, ccusageStores[client]), os.DirFS(path)))
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
	testenv.Must(t, err)
	for _, path := range all {
		if ccusageStores[strings.Split(path, "/")[2]] != "" {
			found = append(found, path)
		}
	}
	return found
}

// spentIn counts the tokens in a store.
func spentIn(t *testing.T, client, store string) string {
	r := readers.Of(client)
	var all []model.Conversation
	by := map[session.ID]model.Metadata{}
	testenv.Must(t, r.Find(store, func(f model.File) {
		m, err := r.Metadata(f)
		testenv.Must(t, err)
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
		for next := []session.ID{m.ForkOf, m.Parent, first[m.First]}; len(next) > 0; next = next[1:] {
			if id := next[0]; id != "" && !slices.Contains(of.Ancestors, id) {
				of.Ancestors = append(of.Ancestors, id)
				next = append(next, by[id].ForkOf, by[id].Parent)
			}
		}
		if _, known := first[m.First]; !known && m.First != "" {
			first[m.First] = m.ID
		}
		used, err := tally.Add(r, c.File, of)
		testenv.Must(t, err)
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
