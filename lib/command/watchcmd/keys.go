package watchcmd

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"gt/lib/text/term"
)

type binding struct {
	keys         []string
	label        string // the keys in the help, if they are not those
	helpText     string // "" leaves it out of the help
	footerText   string // in the line at the bottom, "" leaves it out
	needsNoAgent bool   // it is of use without an agent, too
	do           func(m *model) tea.Cmd

	harmless bool // it changes what is on the screen, and no agent
}

// bindings are the keys while nothing is typed. The help has them in this order.
func bindings() []binding {
	// act, confirm and change run gt-session VERB for the chosen row: at once, once the person has
	// said yes, or with a text that the person types.
	act := func(verb string) func(m *model) tea.Cmd {
		return onRow(func(m *model, r *row) tea.Cmd { return m.startCommand(m.sessionCommand(r, verb)) })
	}
	confirm := func(verb string) func(m *model) tea.Cmd {
		return onRow(func(m *model, r *row) tea.Cmd { return m.askToConfirm(r, verb) })
	}
	change := func(verb string, a ask, text func(*row) string) func(m *model) tea.Cmd {
		a.do = func(m *model, r *row, typed string) tea.Cmd { return m.startCommand(m.sessionCommand(r, verb, typed)) }
		return onRow(func(m *model, r *row) tea.Cmd { return m.promptFor(r, a, text(r)) })
	}
	return []binding{
		{keys: []string{"enter"}, harmless: true, footerText: "attach", do: onRow((*model).attach),
			helpText: "attach; Ctrl-b d leaves it, in tmux Ctrl-b L"},
		{keys: []string{"a"}, footerText: "answer", helpText: "answer what it asks", do: onRow((*model).answerQuestion)},
		{keys: []string{"s"}, harmless: true, footerText: "send", helpText: "send it a prompt", do: onRow(func(m *model, r *row) tea.Cmd {
			text := ""
			if m.unsent.rowKey == m.chosen { // nobody types it twice
				text = m.unsent.input
			}
			return m.promptFor(r, ask{title: "send", multiline: true, do: sendPrompt}, text)
		})},
		{keys: []string{"A"}, helpText: "acknowledge that it waits", do: act("ack")},
		{keys: []string{"p"}, helpText: "read its screen again, on another host, too", do: onRow((*model).peekScreen)},
		{keys: []string{"o"}, helpText: "start it", do: act("start")},
		{keys: []string{"x"}, helpText: "stop it", do: confirm("stop")},
		{keys: []string{"r"}, helpText: "restart it", do: confirm("restart")},
		{keys: []string{"f"}, helpText: "fork it, with a copy of its conversation", do: onRow(func(m *model, r *row) tea.Cmd {
			return m.promptFor(r, ask{title: "name of the fork of", allowsEmpty: true, do: forkAgent}, "")
		})},
		{keys: []string{"m"}, helpText: "move it to a group",
			do: change("move", ask{title: "group of", allowsEmpty: true}, func(r *row) string { return r.Group })},
		{keys: []string{"R"}, helpText: "rename it",
			do: change("rename", ask{title: "new name of"}, func(r *row) string { return r.Name })},
		{keys: []string{"e"}, helpText: "archive it, or bring it back", do: onRow(func(m *model, r *row) tea.Cmd {
			if r.archived {
				return m.startCommand(m.sessionCommand(r, "unarchive"))
			}
			return m.askToConfirm(r, "archive")
		})},
		{keys: []string{"X"}, helpText: "remove it from the list, once it is stopped", do: confirm("rm")},
		{keys: []string{"n"}, footerText: "new", needsNoAgent: true, helpText: "start a new agent: folder, client, git worktree, prompt", do: (*model).askForNewAgent},
		{keys: []string{"d"}, harmless: true, helpText: "its diff, and its screen again", do: (*model).toggleDiff},
		{keys: []string{"space"}, harmless: true, footerText: "next", helpText: "next agent that waits", do: func(m *model) tea.Cmd { m.chooseNext(); return nil }},
		{keys: []string{"tab"}, harmless: true, footerText: "waiting", helpText: "only what waits, and all again", do: func(m *model) tea.Cmd { m.toggleWaiting(); return nil }},
		{keys: []string{"E"}, harmless: true, helpText: "archived agents, and the others again", do: func(m *model) tea.Cmd { m.toggleArchived(); return nil }},
		{keys: []string{"/"}, harmless: true, footerText: "filter", helpText: "filter by name, group, status, words said …", do: (*model).openFilter},
		{keys: []string{"esc"}, harmless: true, helpText: "no filter", do: func(m *model) tea.Cmd { m.showAll(); return nil }},
		{keys: []string{"down", "j"}, harmless: true, label: "up, down, k, j", helpText: "choose, as pgup, pgdown, a click and the wheel", do: func(m *model) tea.Cmd { m.step(1); return nil }},
		{keys: []string{"up", "k"}, harmless: true, do: func(m *model) tea.Cmd { m.step(-1); return nil }},
		{keys: []string{"pgdown", "ctrl+f"}, do: func(m *model) tea.Cmd { m.step(m.listHeight()); return nil }},
		{keys: []string{"pgup", "ctrl+b"}, do: func(m *model) tea.Cmd { m.step(-m.listHeight()); return nil }},
		{keys: []string{"home", "g"}, harmless: true, label: "g, G", helpText: "first and last", do: func(m *model) tea.Cmd { m.selectRow(0); return nil }},
		{keys: []string{"end", "G"}, harmless: true, do: func(m *model) tea.Cmd { m.selectRow(len(m.items) - 1); return nil }},
		{keys: []string{"?"}, footerText: "help", needsNoAgent: true, helpText: "this help", do: func(m *model) tea.Cmd { m.mode, m.scroll = helping, 0; return nil }},
		{keys: []string{"ctrl+z"}, do: func(*model) tea.Cmd { return tea.Suspend }},
		{keys: []string{"q", "ctrl+c"}, label: "q", footerText: "quit", needsNoAgent: true, helpText: "leave; the agents go on", do: func(*model) tea.Cmd { return tea.Quit }},
	}
}

func (b binding) name() string {
	return cmp.Or(b.label, strings.Join(b.keys, ", "))
}

// onRow is a command about the chosen row, and nothing without one.
func onRow(do func(m *model, r *row) tea.Cmd) func(m *model) tea.Cmd {
	return func(m *model) tea.Cmd {
		if r := m.chosenRow(); r != nil {
			return do(m, r)
		}
		return nil
	}
}

// handleKey handles a key in the present mode. A key that is not of the filter also tells a search
// that runs for the filter that the person went on (sought.acted).
func (m *model) handleKey(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Code == utf8.RuneError { // a key that only its terminal knows
		return nil
	}
	if m.mode != typing || m.about != "" { // not a key of the filter
		m.sought.acted = true
	}
	if m.mode != typing || msg.Mod&(tea.ModCtrl|tea.ModAlt) != 0 {
		msg = toLatinKey(msg)
	}
	key := msg.String()
	switch {
	case key == "ctrl+c" && m.mode == browsing:
		return tea.Quit
	case key == "ctrl+c", key == "esc" && m.mode != browsing:
		m.returnToList(true)
		return nil
	}
	switch m.mode {
	case helping:
		by := map[string]int{"down": 1, "j": 1, "up": -1, "k": -1, "pgdown": m.bodyHeight(), "pgup": -m.bodyHeight()}[key]
		if by == 0 || m.hiddenLines(m.helpLines()) == 0 {
			m.returnToList(false)
			return nil
		}
		m.scrollHelp(by)
		return nil
	case asking:
		yes := key == "y" || key == "Y"
		r, do := m.findRow(m.about), m.ask.do
		m.returnToList(false)
		if !yes || r == nil {
			return nil
		}
		return do(m, r, "")
	case answering:
		return m.takeDigit(key)
	case typing:
		if key == "enter" {
			return m.submitInput()
		}
		return m.updateInput(msg)
	}
	m.message = message{}
	if b := bindingOf(key); b != nil {
		return b.do(m)
	}
	return nil
}

func bindingOf(key string) *binding {
	for _, b := range bindings() {
		if slices.Contains(b.keys, key) {
			return &b
		}
	}
	return nil
}

func (m *model) scrollHelp(by int) { m.scroll = max(min(m.scroll+by, m.hiddenLines(m.helpLines())), 0) }

// returnToList returns to the list from any other mode. If the person cancelled that, a filter that
// was being typed is removed.
func (m *model) returnToList(cancelled bool) {
	if m.mode == typing && m.about == "" && cancelled {
		m.filter = ""
		m.fillItems()
	}
	m.mode, m.about, m.typedNumber, m.optionTexts = browsing, "", "", nil
	m.scrollToChosen()
}

func (m *model) findRow(key string) *row {
	for i := range m.rows {
		if m.rows[i].key == key {
			return &m.rows[i]
		}
	}
	return nil
}

func (m *model) promptFor(r *row, a ask, text string) tea.Cmd {
	a.title += " " + r.address()
	m.ask, m.about = a, r.key
	return m.openInput(text)
}

// openInput opens an input line for m.ask, with a text that the person can edit.
func (m *model) openInput(text string) tea.Cmd {
	m.mode = typing
	m.input = textarea.New()
	m.input.Prompt, m.input.ShowLineNumbers, m.input.EndOfBufferCharacter = "", false, ' '
	m.input.SetStyles(textarea.Styles{})
	m.input.SetVirtualCursor(false)
	m.input.KeyMap.Paste.SetEnabled(false) // it runs programs; a terminal pastes by itself
	m.input.KeyMap.InsertNewline.SetKeys("alt+enter", "shift+enter", "ctrl+j")
	m.input.KeyMap.InsertNewline.SetEnabled(m.ask.multiline)
	m.input.CharLimit, m.input.MaxContentHeight = 0, maxContent
	m.input.DynamicHeight, m.input.MaxHeight = true, maxInput
	m.input.SetValue(text)
	focus := m.input.Focus()
	m.sizeInput()
	return focus
}

// updateInput gives a key or a pasted text to the input. Backspace deletes what a person sees as one
// character.
func (m *model) updateInput(msg tea.Msg) tea.Cmd {
	if m.mode != typing {
		return nil
	}
	if text, ok := msg.(tea.PasteMsg); ok {
		content := strings.TrimRight(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text.Content), "\n")
		if !m.ask.multiline {
			content = strings.Join(strings.Fields(content), " ")
		}
		msg = tea.PasteMsg{Content: content}
	}
	var cmd tea.Cmd
	characters := func() int { return utf8.RuneCountInString(m.input.Value()) }
	repeats, left := m.clusterBefore(msg)-1, characters()-1
	m.input, cmd = m.input.Update(msg)
	for ; repeats > 0 && characters() == left; repeats-- { // none after a selection
		left--
		m.input, cmd = m.input.Update(msg)
	}
	if m.about == "" { // the filter counts while it is typed
		m.filter = m.input.Value()
		m.fillItems()
	}
	return cmd
}

// clusterBefore returns how many characters backspace deletes: all of what a person sees as one.
func (m *model) clusterBefore(msg tea.Msg) int {
	if key, ok := msg.(tea.KeyPressMsg); !ok || key.String() != "backspace" {
		return 1
	}
	line := []rune(strings.Split(m.input.Value(), "\n")[m.input.Line()])
	return utf8.RuneCountInString(term.LastCluster(string(line[:min(m.input.Column(), len(line))])))
}

// maxInput bounds the lines of an input that are on the screen, maxContent all.
const maxInput, maxContent = 5, 1 << 20

func (m *model) sizeInput() {
	if m.mode == typing {
		m.input.SetWidth(max(m.width-m.inputColumn(), 4))
	}
}

// submitInput handles Enter in the input line: it keeps the filter, or runs m.ask with the text. It
// does nothing if the row is gone, or if the text is empty and m.ask needs one.
func (m *model) submitInput() tea.Cmd {
	text := strings.TrimSpace(m.input.Value())
	filter, a, r := m.about == "", m.ask, m.findRow(m.about)
	if filter {
		m.filter = text
		m.fillItems()
	}
	m.returnToList(false)
	if filter || r == nil && !a.needsNoRow || text == "" && !a.allowsEmpty {
		return nil
	}
	return a.do(m, r, text)
}

func (m *model) openFilter() tea.Cmd {
	m.ask = ask{title: "/"}
	return m.openInput(m.filter)
}

// toggleArchived changes between the archived agents, none of which waits, and the others.
func (m *model) toggleArchived() {
	m.archivedOnly, m.waitingOnly = !m.archivedOnly, false
	m.fillItems()
}

func (m *model) showAll() {
	m.filter, m.waitingOnly, m.archivedOnly = "", false, false
	m.fillItems()
}

func (m *model) toggleWaiting() {
	m.waitingOnly = !m.waitingOnly
	m.fillItems()
}
