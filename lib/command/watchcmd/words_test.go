package watchcmd

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/live/status"
	"gt/lib/state/session"
)

// A filter finds names at once, and then conversations, with what they say and the best
// chosen. Words that changed meanwhile take no late answer.
func TestFilterFindsConversations(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\n" + `echo "$*" >>'` + dir + `/ran'
case $* in *anchor*) ;; *) exit 1 ;; esac
echo '{"session_id":"of-web","turn":2,"text":"The anchor holds."}'
echo '{"session_id":"before","chain_id":"of-db","turn":1,"text":"An anchor chain."}'
`
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "gt-seance"), []byte(script), 0o700))
	var rows []row
	for _, name := range []string{"api", "db", "web"} {
		r := testRow("", name, "", "~/"+name, status.Running, "", time.Minute)
		r.member.SessionID, r.member.ChainID = session.ID("of-"+name), session.ID("of-"+name)
		rows = append(rows, r)
	}
	m := testModel(100, 20, rows)
	m.env.Dir, m.env.Environ = t.TempDir(), []string{"PATH=" + dir + ":/bin:/usr/bin"}
	names := func() (all []string) {
		for _, i := range m.items {
			all = append(all, i.row.Name)
		}
		return all
	}
	m.filter = "anchor"
	early := m.searchFilter()
	m.filter = "anchors"
	late := m.searchFilter()
	if a := early(); a != nil || len(names()) > 0 {
		t.Errorf("%v, %q", a, names())
	}
	m.Update(late())
	if got := fmt.Sprint(names()); got != "[db web]" || m.chosen != rows[2].key {
		t.Errorf("%s, chosen %q", got, m.chosen)
	}
	if screen := m.View().Content; !strings.Contains(screen, "The anchor holds.") || !strings.Contains(screen, "An anchor chain.") {
		t.Error(screen)
	}
	m.filter = "api"
	done := m.searchFilter()
	if got := fmt.Sprint(names()); got != "[api]" { // before any search ends
		t.Error(got)
	}
	m.Update(done())
	m.filter = ""
	if m.searchFilter(); len(names()) != 3 {
		t.Error(names())
	}
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	testenv.NoError(t, err)
	if want := "search --json --limit 0 -- anchors\nsearch --json --limit 0 -- api\n"; string(ran) != want {
		t.Errorf("it ran %q", ran)
	}
}
