//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// remarks are forty messages of ten kinds, as people type them: two for each generation.
var remarks = []string{
	"Port the billing module to the new ledger.", "use the ledger-v2 client for it",
	"yes", "the staging box listens on 7443, not 443",
	"Use tabs, never spaces.", "hm, and the export as CSV too",
	"actually drop the CSV path", "ok do B",
	"bitte die Fehlermeldungen auf Deutsch lassen", "nein, nur die im Dialog",
	"/srv/billing/rates.json is the real one", "who calls settleAll() anyway?",
	"then delete it", "No, wait. Keep it until Friday.",
	"for the record: Postgres 13 on prod, 16 here", "same rules as for vendors",
	"I asked for a table, not a list", "better",
	"ask Dana if you need the vault", "we ship on the 14th, so nothing risky",
	"k", "revert that last thing",
	"It's `retry_max`, not `max_retry`!", "and keep the comment above it",
	"pourquoi ce test dort deux secondes?", "enlève-le",
	"Never touch the migrations by hand.", "only customer 4411 complained about it",
	"dont forget the changelog later", "option 2",
	"I'd rather have two small functions there", "skip the flaky one",
	"can you also do it for refunds", "looks good so far",
	"ssh to build-03 works, from the office net", "try again",
	"last thing today: bump the version", "but not the API's",
	"thanks, that's it for the module", "tell me when all of it is green",
}

// One task goes through twenty sessions or parts of one, of Claude Code and of Codex, which
// end by a hand-over, a compaction, a /clear, a crash or a change of the agent. Each message
// that the person typed on the way is in the thread of the last one, in order, and each is
// told to it once.
//
// S1-71
func TestEverythingSaid(t *testing.T) {
	l := newLine(t, "claude")
	w := l.w
	// A Codex with a server lives on without its screen.
	w.write(filepath.Join(w.home, ".config", "gt", "agents.toml"), "[agents.codex]\ncommand = \"codex -c hide_agent_reasoning=true\"\n")
	const generations = 20
	for n := range generations {
		first, last := remarks[2*n], remarks[2*n+1]
		w.says(l.p, l.agent, first)
		r := w.says(l.p, l.agent, last)
		if n == generations-1 {
			break
		}
		switch n % 5 {
		case 0:
			l.handOver(fmt.Sprintf("gt-handoff -s 'SUBJECT of %d' -m 'MESSAGE of %d'", n, n))
		case 1:
			l.compact()
		case 2:
			l.clear()
		case 3:
			l.crash(r, last)
		case 4:
			other := map[string]string{"claude": "codex", "codex": "claude"}[l.agent]
			l.handOver(fmt.Sprintf("gt-handoff --to %s -s 'SUBJECT of %d' -m 'MESSAGE of %d'", other, n, n))
		}
	}
	// A last hand-over, so that all of it is behind somebody who knows nothing.
	told := l.handOver("gt-handoff -s 'SUBJECT of all' -m 'MESSAGE of all'")
	var kept []string
	for _, q := range l.thread(told).Prompts {
		if q.Text != "please hand over" {
			kept = append(kept, q.Text)
		}
	}
	if !slices.Equal(kept, remarks) {
		t.Errorf("the thread has\n%s\nof\n%s", strings.Join(kept, "\n"), strings.Join(remarks, "\n"))
	}
	said := "\n" + hooksSaid(told)
	for _, text := range remarks {
		n := strings.Count(said, "\n"+text+"\n") + strings.Count(said, "\n- "+text+"\n")
		for _, what := range []string{"answering", "after"} { // what a short one follows
			n += strings.Count(said, "\n- "+text+" ("+what+" the agent's \"")
		}
		if n != 1 {
			t.Errorf("%q is told %d times", text, n)
		}
	}
	if t.Failed() {
		t.Logf("%s", said)
	}
	w.noHookErrors()
}
