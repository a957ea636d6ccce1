package watchcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"gt/internal/testenv"
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
		r.Member.SessionID, r.Member.ChainID = session.ID("of-"+name), session.ID("of-"+name)
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

// An answer that comes after the person has chosen another agent, or has pressed a key of the
// list, lists what was found and moves no choice.
func TestLateAnswerMovesNoChoice(t *testing.T) {
	for name, act := range map[string]func(m *model){
		"nothing": func(*model) {},
		"down":    func(m *model) { press(m, "down") },
		"a key":   func(m *model) { press(m, "G", "g") },
		"a click": func(m *model) { m.Update(tea.MouseClickMsg{Button: tea.MouseLeft, Y: 2}) },
		"send":    func(m *model) { press(m, "s") },
	} {
		var rows []row
		for _, name := range []string{"api", "db", "web"} {
			r := testRow("", name, "", "~/"+name, status.Running, "", time.Minute)
			r.Member.SessionID = session.ID("of-" + name)
			rows = append(rows, r)
		}
		m := testModel(100, 20, rows)
		m.sought.found = map[session.ID]match{"of-api": {0, "an"}, "of-db": {1, "an"}, "of-web": {2, "an"}}
		m.sought.words, m.filter = "an", "an"
		m.fillItems()
		press(m, "/")
		m.Update(tea.PasteMsg{Content: "chor"})
		press(m, "enter")
		act(m)
		before := m.chosen
		m.Update(searchResult{words: "anchor", found: map[session.ID]match{"of-web": {0, "anchor"}, "of-api": {1, "anchor"}, "of-db": {2, "anchor"}}})
		if want := map[bool]string{true: rows[2].key, false: before}[name == "nothing"]; m.chosen != want {
			t.Errorf("%s: chosen %q, want %q", name, m.chosen, want)
		}
	}
}

// The end of the screen ends a search that runs.
func TestEndStopsSearch(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	script := "#!/bin/sh\necho $$ >'" + started + "'\nexec sleep 600\n"
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "gt-seance"), []byte(script), 0o700))
	m := testModel(100, 20, nil)
	m.env.Dir, m.env.Environ = t.TempDir(), []string{"PATH=" + dir + ":/bin:/usr/bin"}
	m.filter = "anchor"
	search := m.searchFilter()
	ended := make(chan tea.Msg)
	go func() { ended <- search() }()
	pid := 0
	for end := time.Now().Add(time.Minute); pid == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		data, _ := os.ReadFile(started)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	if pid == 0 {
		t.Fatal("it has not begun")
	}
	m.reader.close()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the search goes on")
	}
	if msg := <-ended; msg != nil {
		t.Error(msg)
	}
}
