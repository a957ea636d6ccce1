package watchcmd

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	tea "charm.land/bubbletea/v2"

	"gt/lib/cli"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/state/instance"
	"gt/lib/sys/tmux"
	"gt/lib/view/palette"
	"gt/lib/view/roster"
)

var update = flag.Bool("update", false, "update docs/watch.md")

var testTime = time.Date(2026, 11, 26, 21, 0, 0, 0, time.UTC)

// testModel returns a screen of a size, with these rows.
func testModel(width, height int, rows []row) *model {
	env := &cli.Env{Name: "gt-watch", Now: func() time.Time { return testTime }}
	m := newModel(env, newReader(env), palette.Style{})
	m.showSnapshot(snapshot{rows: rows})
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// testRow returns an agent of this host, or with a host of another one.
func testRow(host, name, group, folder string, is status.Status, reason status.Reason, age time.Duration) row {
	r := row{key: host + name, Hosted: roster.Hosted{Host: host, Name: name, Group: group, Folder: folder, Agent: "claude", Status: is, Reason: reason, StatusText: string(is)}}
	if reason != "" && is == status.Waiting {
		r.StatusText += fmt.Sprintf(" (%s)", reason)
	}
	if age > 0 {
		r.Since = testTime.Add(-age)
	}
	if host == "" {
		r.Member = &fleet.Member{Instance: &instance.Instance{ID: instance.ID(name), Name: name}, Status: is, Reason: reason}
		r.Scope.Town.Personal = true
		if is != status.Stopped {
			r.Member.Pane = tmux.Pane{ID: "%1"}
		}
	}
	return r
}

// text returns what the screen shows, without blanks at the ends of lines.
func text(m *model) string {
	lines := strings.Split(m.View().Content, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// The picture on the page is that of the program.
func TestPage(t *testing.T) {
	rows := []row{
		testRow("", "api", "", "~/src/api", status.Waiting, status.Permission, 3*time.Minute),
		testRow("", "web", "", "~/src/web", status.Running, "", 40*time.Second),
		testRow("", "docs", "", "~/src/docs", status.Idle, status.Done, 2*time.Hour),
		testRow("box", "train", "", "~/src/model", status.Waiting, status.Question, 12*time.Minute),
	}
	rows[0].title = "Port the parser"
	rows[1].Agent = "codex"
	file := filepath.Join("..", "..", "..", "docs", "watch.md")
	page, err := os.ReadFile(file)
	testenv.NoError(t, err)
	parts := strings.Split(string(page), "```")
	if len(parts) != 3 {
		t.Fatalf("the page has %d pictures, not 1", len(parts)/2)
	}
	m := testModel(80, 13, rows)
	m.showPanel(panelText{key: m.chosen, text: "Bash command\n  rm -r build\nDo you want to proceed?\n❯ 1. Yes\n  2. No"})
	parts[1] = "text\n" + text(m) + "\n"
	want := strings.Join(parts, "```")
	if *update {
		testenv.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	} else if want != string(page) {
		t.Errorf("docs/watch.md is not what the program shows; go test ./lib/command/watchcmd -run TestPage -update writes it")
	}
}
