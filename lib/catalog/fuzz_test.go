package catalog

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"testing"

	"gt/lib/log/eventlog"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// For any log, the catalog can be listed: each session once, with a valid id that its
// short form finds, and as JSON.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"ts":"2026-01-17T01:00:00Z","type":"session_start","actor":"demo/crew/max","payload":{"session_id":"s","parent_id":"s","cwd":"/x"}}` + "\n" +
			`{"ts":"2026-01-17T01:01:00Z","type":"handoff","actor":"demo/crew/max","payload":{"to_session":true}}` + "\n" +
			`{"ts":"2026-01-17T01:02:00Z","type":"session_end","actor":"x","payload":{"session_id":"s"}}` + "\n",
		`{"ts":"0000-01-01T00:00:00Z","type":"session_resume","actor":5,"payload":{"session_id":"..","topic":{}}}` + "\n",
		`{"type":"session_end"}` + "\n" + `{"ts":"2026-01-17T01:00:00Z","type":"session_end","payload":[]}` + "\n\n\x00\n",
		`"session_` + "\n", `{"handoff"`, "",
	} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), ".events.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		testenv.NoError(t, os.WriteFile(path, data, 0o600))
		r, err := Read(eventlog.Log(path), nil)
		testenv.NoError(t, err)
		short := r.IDShortener()
		for _, s := range r.Select(Filter{}, 0) {
			if _, err := session.ParseID(string(s.ID)); err != nil {
				t.Fatal(err)
			}
			if found := r.Find(short(s.ID)); len(found) != 1 || found[0] != s {
				t.Fatalf("'%s' finds %d sessions", short(s.ID), len(found))
			}
			if s.Outcome == "" {
				t.Fatalf("'%s' has no outcome", s.ID)
			}
			if _, err := term.JSON(s); err != nil {
				t.Fatal(err)
			}
		}
	})
}
