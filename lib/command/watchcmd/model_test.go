package watchcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"gt/lib/client/agent"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/text/term"
)

// makeRows returns agents of this host and another one, in groups, as many as there are letters
// in what they do: w waits, r runs, i is idle, s stopped.
func makeRows(letters string) (rows []row) {
	is := map[rune]status.Status{'w': status.Waiting, 'r': status.Running, 'i': status.Idle, 's': status.Stopped}
	for i, letter := range letters {
		host, group := "", ""
		if i > len(letters)/2 {
			host = "box"
		}
		if i%len(letters) > len(letters)/4 {
			group = "work/工具箱"
		}
		rows = append(rows, testRow(host, fmt.Sprintf("agent-%d", i), group, "~/src/"+strings.Repeat("long", i%9), is[letter], status.Done, time.Duration(i)*time.Minute))
	}
	return rows
}

func press(m *model, keys ...string) {
	for _, key := range keys {
		code := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "tab": tea.KeyTab, "space": tea.KeySpace}[key]
		msg := tea.KeyPressMsg{Code: code}
		if code == 0 {
			msg = tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
		}
		m.Update(msg)
	}
}

// The screen has as many lines as the terminal, none wider, whatever its size and whoever
// has the keys.
func TestFits(t *testing.T) {
	rows := makeRows(strings.Repeat("rwisrri", 6))
	rows[3].title, rows[3].Depth = strings.Repeat("工具", 90), 30
	rows[7].Name = strings.Repeat("长", 60)
	modes := map[string]func(m *model){
		"list":   func(*model) {},
		"filter": func(m *model) { press(m, "/", "a", "工") },
		"send": func(m *model) {
			press(m, "s")
			m.Update(tea.PasteMsg{Content: strings.Repeat("工具 and more\n", 20)})
		},
		"stop": func(m *model) { press(m, "x") },
		"answer": func(m *model) {
			m.Update(questionOptions{asker: *m.chosenRow(), all: []string{"Yes", strings.Repeat("no ", 80), "x", "y", "z", "a", "b"}})
		},
		"help":   func(m *model) { press(m, "?") },
		"failed": func(m *model) { m.Update(commandResult{failed: strings.Repeat("it is not so; ", 40)}) },
		"none":   func(m *model) { press(m, "/", "~") },
	}
	for name, mode := range modes {
		for _, width := range []int{1, 7, 20, 40, 41, 60, 80, 120, 200} {
			for _, height := range []int{1, 2, 5, 10, 24} {
				m := testModel(width, height, slices.Clone(rows))
				m.showPanel(panelText{key: m.chosen, text: strings.Repeat("what it shows 工具 "+strings.Repeat("x", 300)+"\n", 60)})
				mode(m)
				lines := strings.Split(m.View().Content, "\n")
				if len(lines) != height {
					t.Fatalf("%s, %dx%d: %d lines", name, width, height, len(lines))
				}
				for _, line := range lines {
					if n := term.Columns(line); n > width {
						t.Fatalf("%s, %dx%d: %d columns: %q", name, width, height, n, line)
					}
				}
			}
		}
	}
}

// What is drawn does not depend on the number of agents.
func TestManyAgents(t *testing.T) {
	m := testModel(100, 30, makeRows(strings.Repeat("rrrrrrrrrw", 1000)))
	if allocs := testing.AllocsPerRun(20, func() { m.View() }); allocs > 5000 {
		t.Errorf("%.0f allocations for a screen of 30 lines", allocs)
	}
	press(m, "G")
	if last := m.chosenRow(); last == nil || last.Name != "agent-9999" || !strings.Contains(text(m), "> ● agent-9999@box") {
		t.Errorf("the last one is not chosen:\n%s", text(m))
	}
}

// Archived agents are in a list of their own, and count only there.
func TestArchived(t *testing.T) {
	rows := makeRows("ss")
	rows[1].archived = true
	m := testModel(80, 24, rows)
	shows := func(has, hasNot string) {
		t.Helper()
		if is := text(m); !strings.Contains(is, has) || !strings.Contains(is, " 1 stopped ") || strings.Contains(is, hasNot) {
			t.Errorf("without %q, or with %q:\n%s", has, hasNot, is)
		}
	}
	shows("agent-0", "agent-1")
	press(m, "tab")
	press(m, "E")
	shows("agent-1", "agent-0")
	press(m, "esc")
	shows("agent-0", "agent-1")
	m.Update(snapshot{rows: rows[1:]})
	if is := text(m); m.chosenRow() != nil || !strings.Contains(is, "all agents are archived (1); E shows them") {
		t.Errorf("where all are archived:\n%s", is)
	}
}

// The space bar goes round those that wait; the choice stays with its agent whatever changes.
func TestChoice(t *testing.T) {
	m := testModel(80, 24, makeRows("rwrrw"))
	chosen := func(want string) {
		t.Helper()
		if r := m.chosenRow(); r == nil || r.Name != want {
			t.Errorf("%v is chosen, not %s:\n%s", r, want, text(m))
		}
	}
	chosen("agent-1")
	press(m, "space")
	chosen("agent-4")
	press(m, "space")
	chosen("agent-1")
	press(m, "down")
	chosen("agent-2")
	rows := makeRows("rwrrw")
	m.Update(snapshot{rows: append(makeRows("rr")[1:], rows[2:]...)})
	chosen("agent-2")
	m.Update(snapshot{rows: rows[3:]}) // it is gone
	chosen("agent-3")
	m.Update(snapshot{rows: makeRows("rrrrr")})
	press(m, "down")
	chosen("agent-4")
	m.Update(snapshot{rows: makeRows("rrrr")}) // the one behind it is none
	chosen("agent-3")
	m.Update(snapshot{rows: rows[3:]})
	press(m, "tab")
	chosen("agent-4")
	press(m, "/", "n", "o", "n", "e")
	if m.chosenRow() != nil || !strings.Contains(text(m), "no agent matches (2 in all)") {
		t.Errorf("something is chosen:\n%s", text(m))
	}
	press(m, "s") // it is typed
	press(m, "esc", "esc")
	chosen("agent-4")
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	chosen("agent-3")
}

// An agent that begins to wait rings once, unless a command of the person's tells of it.
func TestRings(t *testing.T) {
	rings := func(m *model, rows []row) bool { return m.showSnapshot(snapshot{rows: rows}) != nil }
	m := testModel(80, 24, makeRows("rw"))
	switch {
	case rings(m, makeRows("rw")):
		t.Error("it rings for what has been there")
	case !rings(m, makeRows("ww")):
		t.Error("it does not ring")
	case rings(m, makeRows("ww")):
		t.Error("it rings twice")
	}
	later := makeRows("ww")
	later[0].Since = testTime
	if !rings(m, later) {
		t.Error("it does not ring for another wait")
	}
	m = testModel(80, 24, makeRows("rr"))
	m.notified = agent.Notify{Command: []string{"bell"}, On: []activity.Reason{activity.Done}}
	if rings(m, makeRows("wr")) {
		t.Error("it rings although a command tells")
	}
	m.notified.On = []activity.Reason{activity.Permission}
	m.showSnapshot(snapshot{rows: makeRows("rr")})
	if !rings(m, makeRows("wr")) {
		t.Error("it does not ring for what no command tells")
	}
	m.notified.On = append(m.notified.On, activity.Silent)
	m.showSnapshot(snapshot{rows: makeRows("rr")})
	both := makeRows("rw")
	both[0].Member = &fleet.Member{SilentFor: time.Hour}
	if all, ok := m.showSnapshot(snapshot{rows: both})().(tea.BatchMsg); !ok || len(all) != 2 {
		t.Errorf("of one that is silent and one that waits, it tells %v", all)
	}
}

// What reads a pane is never lost: the next one is read after it.
func TestPanelGoesOn(t *testing.T) {
	m := testModel(80, 24, makeRows("ss"))
	for _, key := range []string{"x", "n", "m", "esc", "/", "enter", "down", "?", "q"} {
		m.panel = panel{}
		var cmd tea.Cmd
		if key == "esc" || key == "enter" || key == "down" {
			_, cmd = m.Update(tea.KeyPressMsg{Code: map[string]rune{"esc": tea.KeyEscape, "enter": tea.KeyEnter, "down": tea.KeyDown}[key]})
		} else {
			_, cmd = m.Update(tea.KeyPressMsg{Code: []rune(key)[0], Text: key})
		}
		if m.panel.busy && cmd == nil {
			t.Errorf("%s: nothing reads the pane", key)
		}
	}
}

// In the help every key goes back, q too.
func TestHelp(t *testing.T) {
	m := testModel(80, 30, makeRows("w"))
	press(m, "?")
	for _, b := range bindings() {
		if !strings.Contains(text(m), b.helpText) {
			t.Errorf("the help does not have %q", b.helpText)
		}
	}
	cmd := m.handleKey(tea.KeyPressMsg{Code: 'q', Text: "q"})
	if m.mode != browsing || cmd != nil {
		t.Error("q leaves the program")
	}
}

// On a small screen the help is scrolled, and nothing of it is cut.
func TestHelpScrolls(t *testing.T) {
	m := testModel(40, 10, makeRows("w"))
	press(m, "?")
	var seen []string
	for range 60 {
		seen = append(seen, strings.Split(text(m), "\n")[1:9]...)
		press(m, "down")
	}
	words := strings.Join(strings.Fields(strings.Join(slices.Compact(seen), " ")), " ")
	for _, b := range bindings() {
		for _, word := range strings.Fields(b.helpText) {
			if !strings.Contains(words, word) {
				t.Errorf("the help does not have %q of %q", word, b.helpText)
			}
		}
	}
	if m.mode != helping || !strings.Contains(text(m), "● waiting") {
		t.Errorf("the end is not on the screen:\n%s", text(m))
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	press(m, "k", "x")
	if m.mode != browsing {
		t.Error("another key does not go back")
	}
	press(m, "?")
	if !strings.Contains(text(m), "enter ") {
		t.Errorf("it does not begin with its beginning:\n%s", text(m))
	}
}

// A number answers the question whose options are on the screen, or nothing.
func TestAnswersWhatWasAsked(t *testing.T) {
	all := []string{"Yes", "No"}
	m := testModel(80, 24, makeRows("ww"))
	asker := *m.chosenRow()
	press(m, "down")
	m.Update(questionOptions{asker: asker, all: all})
	if m.mode != browsing {
		t.Errorf("the options of an agent that is no longer chosen are offered:\n%s", text(m))
	}
	for what, change := range map[string]func(rows []row) []row{
		"another question": func(rows []row) []row { rows[1].Since = testTime; return rows },
		"no question":      func(rows []row) []row { rows[1].Status = status.Running; return rows },
		"no agent":         func(rows []row) []row { return rows[:1] },
	} {
		m = testModel(80, 24, makeRows("ww"))
		press(m, "down")
		m.Update(questionOptions{asker: *m.chosenRow(), all: all})
		m.Update(snapshot{rows: makeRows("ww")})
		if m.mode != answering {
			t.Fatalf("it is not asked:\n%s", text(m))
		}
		m.Update(snapshot{rows: change(makeRows("ww"))})
		if press(m, "1"); m.mode != browsing || m.message.text == "…" {
			t.Errorf("%s: 1 is an answer:\n%s", what, text(m))
		}
	}
	m = testModel(80, 24, makeRows("r")) // it does not know yet that it waits
	m.Update(questionOptions{asker: *m.chosenRow(), all: all})
	m.Update(snapshot{rows: makeRows("w")})
	if press(m, "1"); m.message.command != "gt-session answer agent-0 1" {
		t.Errorf("it runs %q", m.message.command)
	}
}

// Yes is for the agent that was asked about, whatever the list has become.
func TestStopsWhatWasAskedAbout(t *testing.T) {
	m := testModel(80, 24, makeRows("ww"))
	press(m, "x")
	rows := makeRows("ww")
	rows[0].Name = "renamed"
	rows = append([]row{testRow("", "agent-00", "", "", status.Waiting, status.Done, 0)}, rows[1], rows[0])
	m.Update(snapshot{rows: rows})
	if press(m, "y"); m.message.command != "gt-session stop renamed" {
		t.Errorf("it runs %q", m.message.command)
	}
	press(m, "x")
	m.Update(snapshot{rows: rows[:2]})
	if !strings.Contains(text(m), "the agent is gone") {
		t.Errorf("it does not say that the agent is gone:\n%s", text(m))
	}
	if press(m, "y"); m.message.command != "" {
		t.Errorf("it runs %q", m.message.command)
	}
}

// A double click attaches to the agent that was clicked, also when the wheel has just
// chosen another one.
func TestDoubleClick(t *testing.T) {
	m := testModel(80, 24, makeRows("wwww"))
	click := func() { m.Update(tea.MouseClickMsg{Button: tea.MouseLeft, X: 8, Y: 2}) }
	click()
	clicked := m.chosen
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	if click(); m.chosen != clicked || m.message.command != "" {
		t.Errorf("%s is chosen, and it runs %q", m.chosen, m.message.command)
	}
	if click(); m.message.command != "gt-session attach "+m.chosenRow().Name {
		t.Errorf("it runs %q", m.message.command)
	}
}

// What could not be sent need not be typed again. What cannot be read is not hidden by what
// a command said.
func TestFailures(t *testing.T) {
	m := testModel(80, 24, makeRows("ww"))
	press(m, "s", "h", "i", "enter")
	c := m.sessionCommand(m.chosenRow(), "send", "-")
	c.input = "hi"
	m.Update(commandResult{command: c, failed: "it is not so"})
	if press(m, "s"); m.input.Value() != "hi" {
		t.Errorf("it offers %q", m.input.Value())
	}
	press(m, "esc", "down", "s")
	if m.input.Value() != "" {
		t.Errorf("it offers %q to another agent", m.input.Value())
	}
	press(m, "esc", "k")
	m.Update(commandResult{command: c})
	if press(m, "s"); m.input.Value() != "" {
		t.Errorf("it offers %q, which was sent", m.input.Value())
	}
	press(m, "esc")
	m.Update(commandResult{command: c})
	m.Update(snapshot{rows: makeRows("ww"), err: errors.New("cannot read it")})
	if !strings.Contains(text(m), "cannot read it") {
		t.Errorf("the error is not on the screen:\n%s", text(m))
	}
}

// An option with a number of two digits can be typed.
func TestNumber(t *testing.T) {
	m := testModel(80, 40, makeRows("w"))
	all := strings.Split("abcdefghijkl", "")
	m.Update(questionOptions{asker: *m.chosenRow(), all: all})
	press(m, "1")
	if m.mode != answering || !strings.HasSuffix(text(m), "or esc: 1") {
		t.Errorf("1 is taken, and may be 10:\n%s", text(m))
	}
	press(m, "2")
	if m.mode != browsing || m.message.command != "gt-session answer agent-0 12" {
		t.Errorf("it runs %q", m.message.command)
	}
	m.Update(questionOptions{asker: *m.chosenRow(), all: all})
	press(m, "0")
	press(m, "x")
	if m.mode != answering || m.typedNumber != "" {
		t.Errorf("%q is taken for an option", m.typedNumber)
	}
	press(m, "7")
	if m.message.command != "gt-session answer agent-0 7" {
		t.Errorf("it runs %q", m.message.command)
	}
}

// Once an agent has no pane, its last answer is read.
func TestPanelOfStopped(t *testing.T) {
	rows := makeRows("w")
	m := testModel(80, 24, rows)
	m.Update(panelText{key: m.chosen, pane: true, note: "tmux does not show it"})
	stopped := makeRows("s")
	m.Update(snapshot{rows: stopped})
	if !m.panel.busy {
		t.Error("the panel stays as it was when the pane went")
	}
}

// TestChoosesWhoAsks shows that an agent that asks is chosen first, before one that is done.
func TestChoosesWhoAsks(t *testing.T) {
	m := testModel(80, 20, nil)
	m.rows = nil
	m.showSnapshot(snapshot{rows: []row{
		testRow("", "api", "", "~/api", status.Waiting, status.Done, time.Minute),
		testRow("", "web", "", "~/web", status.Running, "", time.Minute),
		testRow("box", "train", "", "~/model", status.Waiting, status.Question, time.Minute),
	}})
	if r := m.chosenRow(); r == nil || r.Name != "train" {
		t.Errorf("chosen is %v", r)
	}
}

// On a low screen the question and its first options stay, and the hint below them goes.
func TestLowScreen(t *testing.T) {
	rows := []row{testRow("", "api", "", "~/api", status.Waiting, status.Permission, time.Minute)}
	screen := "Bash command\n\n  rm -r build\n\nDo you want to proceed?\n❯ 1. Yes\n  2. Yes, and don't ask again\n  3. No\n\nEsc to cancel\n\n"
	for height, want := range map[int]string{
		10: "Do you want to proceed?\n  ❯ 1. Yes\n    2. Yes, and don't ask again\n    3. No",
		12: "Do you want to proceed?\n  ❯ 1. Yes\n    2. Yes, and don't ask again\n    3. No\n\n  Esc to cancel",
	} {
		m := testModel(80, height, rows)
		m.showPanel(panelText{key: m.chosen, text: screen})
		if !strings.Contains(text(m), want) {
			t.Errorf("%d lines:\n%s", height, text(m))
		}
		m.Update(questionOptions{asker: *m.chosenRow(), all: []string{"Yes", "No"}})
		if m.mode != answering || !strings.Contains(text(m), "proceed?") || strings.Contains(text(m), "❯ 1. Yes") {
			t.Errorf("%d lines, while it is answered:\n%s", height, text(m))
		}
	}
}

// On a narrow screen the reason stays, then the name, then the age; a title rather than a
// folder that says the name again.
func TestNarrowScreen(t *testing.T) {
	rows := []row{
		testRow("", "a-feature-branch", "", "~/src/a-feature-branch", status.Waiting, status.Permission, 3*time.Minute),
		testRow("", "say", "", "~/src/say", status.Waiting, status.Done, 0),
		testRow("", "old", "", "~/src/old", status.Idle, status.Done, 12*24*time.Hour+23*time.Hour),
	}
	rows[1].title = "Port the parser"
	for width, want := range map[int]string{
		28: "> ● a-feature-b…  permission\n  ● say           done\n  ○ old           idle",
		40: "> ● a-feature-branch  permission      3m\n  ● say               done\n  ○ old               idle        12d23h",
		80: "> ● a-feature-branch  waiting (permission)      3m  claude  …rc/a-feature-branch\n  ● say               waiting (done)                claude  Port the parser\n",
	} {
		m := testModel(width, 14, rows)
		if !strings.Contains(text(m), want) {
			t.Errorf("%d columns:\n%s", width, text(m))
		}
		if first := strings.Split(text(m), "\n")[0]; strings.HasSuffix(first, "·") || strings.Contains(first, "…") {
			t.Errorf("the first line is %q", first)
		}
	}
}

// On 80 columns a long name leaves room for what an agent is at rather than for its client.
func TestLongNames(t *testing.T) {
	one := testRow("", "a-name-that-somebody-gave", "", "~/src/say", status.Waiting, status.Permission, time.Minute)
	one.title = "Port the parser"
	m := testModel(80, 14, []row{one})
	if got := text(m); !strings.Contains(got, "1m  Port the parser\n") {
		t.Errorf("the topic is cut:\n%s", got)
	}
	if m = testModel(120, 14, m.rows); !strings.Contains(text(m), "1m  claude  Port the parser\n") {
		t.Errorf("the client is missing:\n%s", text(m))
	}
}

// The last answer stands above the screen, and beside it on a wide terminal; of a question the
// screen needs the room.
func TestSaid(t *testing.T) {
	for _, c := range []struct {
		width  int
		reason status.Reason
		want   string
	}{
		{80, status.Done, "  claude  Done.\n          All tests are green.\n  its screen"},
		{120, status.Done, "  claude  Done.                                  │ its screen\n          All tests are green."},
		{80, status.Permission, "──\n  its screen"},
	} {
		m := testModel(c.width, 30, []row{testRow("", "api", "", "~/src/api", status.Waiting, c.reason, time.Minute)})
		m.showPanel(panelText{key: m.chosen, pane: true, text: "its screen", answer: "Done.\n\n\x1b[31mAll\ttests are green."})
		if got := text(m); !strings.Contains(strings.ReplaceAll(got, "[31m", ""), c.want) {
			t.Errorf("%d columns, %s: no %q in\n%s", c.width, c.reason, c.want, got)
		}
	}
}

// A prompt that did not get to its agent stays, whatever else is done.
func TestUnsent(t *testing.T) {
	m := testModel(80, 24, makeRows("ww"))
	failed := func(c command) { m.showResult(commandResult{command: c, failed: "it is not there"}) }
	failed(command{rowKey: "api", input: "a long text"})
	m.showResult(commandResult{command: command{rowKey: newKey, typedAnswers: []string{"~/x", "claude", "", ""}}})
	if m.unsent.input != "a long text" {
		t.Error("the text for api is lost")
	}
	failed(command{rowKey: newKey, typedAnswers: []string{"~/y", "claude", "", "begin"}})
	m.askForNewAgent()
	if len(m.unsent.typedAnswers) != 4 {
		t.Error("what was typed is lost before anything is made of it")
	}
}
