package catalog

import (
	"fmt"
	"gt/internal/testenv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/text/term"
)

// Gas Town's times have whole seconds. Its hand-over, which names no session, is kept
// longer than the next session's start.
func TestReadAfterAPruneOfOneSecond(t *testing.T) {
	start := `{"ts":"2026-01-17T01:00:%02dZ","type":"session_start","actor":"a","payload":{"session_id":"s%d"}}` + "\n"
	handoff := `{"ts":"2026-01-17T01:00:07Z","type":"handoff","actor":"a","payload":{"subject":"from s1","to_session":true}}` + "\n"
	log := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	testenv.NoError(t, os.WriteFile(string(log), []byte(fmt.Sprintf(start, 5, 1)+handoff+fmt.Sprintf(start, 7, 2)), 0o600))
	for range 2 {
		all := slices.Collect(read(t, log).Sessions())
		if len(all) != 2 || all[0].Subject != "" || all[1].Subject != "from s1" {
			t.Errorf("%+v\n%+v", all[0], all[1])
		}
		_, err := log.Prune(eventlog.Pruning{Archive: true, Expired: func(h eventlog.Head) bool { return h.Type == "session_start" }})
		testenv.NoError(t, err)
	}
}

// Pruning and rotating the log never changes the catalog.
func TestReadAfterPrunesAndRotations(t *testing.T) {
	for seed := range testenv.Seeds(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		for minute := range 60 {
			id, actor := fmt.Sprint("s", r.IntN(12)), fmt.Sprint("demo/crew/", r.IntN(3))
			kind := []string{"session_start", "session_start", "session_end", "session_resume", "handoff", "handoff", "nudge"}[r.IntN(7)]
			payload := fmt.Sprintf(`"session_id":%q,"outcome":"done","reason":"r%d","subject":"about %d","cwd":"/c%d","to_session":true`, id, minute, minute, minute)
			switch {
			case kind == "handoff" && r.IntN(2) == 0: // Gas Town's, which names no session
				payload = fmt.Sprintf(`"subject":"about %d","to_session":true`, minute)
			case kind != "session_start":
			case r.IntN(2) == 0:
				payload += fmt.Sprintf(`,"parent_id":"s%d"`, r.IntN(12))
			}
			fmt.Fprintf(&text, `{"ts":%q,"type":%q,"actor":%q,"payload":{%s}}`+"\n", minutesAfter(minute).Format(time.RFC3339), kind, actor, payload)
		}
		log := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
		testenv.NoError(t, os.WriteFile(string(log), []byte(text.String()), 0o600))
		tell := func() string {
			var b strings.Builder
			for _, s := range read(t, log).Select(Filter{}, 0) {
				line, err := term.JSON(s)
				testenv.NoError(t, err)
				b.Write(line)
			}
			return b.String()
		}
		want := tell()
		for hour := 10; hour < 60; hour += 1 + r.IntN(20) {
			if r.IntN(5) == 0 {
				if _, err := log.Rotate(minutesAfter(hour), nil); err != nil {
					t.Fatal(err)
				}
				continue
			}
			ttl := map[string]int{"session_start": r.IntN(20), "session_end": r.IntN(20), "session_resume": r.IntN(20), "handoff": r.IntN(40)}
			_, err := log.Prune(eventlog.Pruning{Archive: true, Keep: r.IntN(10), Expired: func(h eventlog.Head) bool {
				return minutesAfter(hour).Sub(h.Time) > time.Duration(ttl[h.Type])*time.Minute
			}})
			testenv.NoError(t, err)
			if got := tell(); got != want {
				t.Fatalf("seed %d, in minute %d the catalog is\n%swhere it was\n%s", seed, hour, got, want)
			}
		}
	}
}
