package watchcmd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/text/fold"
	"gt/lib/view/palette"
)

type model struct {
	env      *cli.Env
	reader   *reader
	style    palette.Style
	notified agent.Notify // what the person is told of by a command of theirs

	width, height int
	now           time.Time

	snapshot
	items        []item // what the list shows, after the filter
	widths       widths
	offset       int    // the first item on the screen
	chosen       string // the key of the chosen row
	waitingOnly  bool   // only what waits
	archivedOnly bool   // only archived agents, else only the others
	filter       string
	sought       filterSearch

	mode        mode
	scroll      int // the first line of the help on the screen
	input       textarea.Model
	about       string   // the key of the row that the mode is about
	typedNumber string   // the number of an option, as far as it is typed
	ask         ask      // what is confirmed, or what the input is for
	optionTexts []string // the options of a question
	asker       row      // who asks it, as it was then
	question    string   // the question's id

	panel   panel
	message message
	unsent  command // whose text did not get to its agent
	click   click
}

// item is a line of the list: a row, or the heading of a section.
type item struct {
	row     *row
	heading string
	waiting int // in the section
}

// mode is who gets the keys.
type mode int

const (
	browsing  mode = iota
	typing         // an input line
	asking         // yes or no
	answering      // the number of an option
	helping
)

// ask is a command that needs a word of the person first.
type ask struct {
	title       string
	multiline   bool // the text may have several lines
	allowsEmpty bool // no text is an answer, too
	needsNoRow  bool // it is about no row
	do          func(m *model, r *row, text string) tea.Cmd
}

type message struct {
	command, text string
	failed        bool
}

// click is the last click, to recognize a double one.
type click struct {
	key string
	at  time.Time
}

const doubleClick = 400 * time.Millisecond

func newModel(env *cli.Env, r *reader, style palette.Style) *model {
	return &model{env: env, reader: r, style: style, now: env.Now()}
}

type (
	tick            time.Time
	questionOptions struct {
		question string // its id, "" from an older gt of another host
		asker    row
		all      []string
		ran      commandResult
		screen   string // of an agent that tmux does not show here
	}
)

func (m *model) Init() tea.Cmd { return tea.Batch(m.reader.scheduleRead(m.took), m.nextTick()) }

// nextTick ticks in a second: what the screen says of the time, and the chosen pane, may be others.
func (m *model) nextTick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.now = m.env.Now()
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.searchFilter(), m.refreshPanel())
}

// update handles a message of the terminal or of a command, and returns what to run next.
func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		// With no height yet, scrollToChosen has put the chosen row above the screen.
		if m.height == 0 {
			m.offset = 0
		}
		m.width, m.height = msg.Width, msg.Height
		m.fitColumns()
		m.sizeInput()
		m.scrollToChosen()
	case snapshot:
		ring := m.showSnapshot(msg)
		return tea.Batch(m.reader.scheduleRead(m.took), ring)
	case tick:
		return m.nextTick()
	case panelText:
		m.showPanel(msg)
	case commandResult:
		m.showResult(msg)
	case peekResult:
		m.showPeek(msg)
	case questionOptions:
		m.offerOptions(msg)
	case searchResult:
		m.takeSearchResult(msg)
	case tea.PasteMsg:
		if text, ok := strings.CutPrefix(msg.Content, burstMark); ok {
			return m.takeBurst(text)
		}
		return m.updateInput(msg)
	case tea.KeyPressMsg:
		return m.handleKey(msg)
	case tea.MouseMsg:
		return m.handleMouse(msg)
	case tea.ResumeMsg:
		wakeReader(m.reader.changes.urgent)
	}
	return nil
}

// showSnapshot puts a snapshot on the screen, and rings if an agent began to wait or is silent. Of
// one that is silent it has the person's command run, which no hook does.
func (m *model) showSnapshot(s snapshot) tea.Cmd {
	first := m.rows == nil
	before := map[string]time.Time{}
	for i := range m.rows {
		if r := &m.rows[i]; r.Status == status.Waiting || r.silent() {
			before[r.key] = r.Since
		}
	}
	if s.err != nil && (m.err == nil || m.err.Error() != s.err.Error()) {
		m.message = message{} // which would hide it
	}
	if s.rows == nil && s.err != nil { // what was there is better than nothing
		m.err, m.took = s.err, s.took
		return nil
	}
	last := m.chosenRow()
	m.snapshot = s
	m.fillItems()
	m.dropStaleQuestion()
	if chosen := m.chosenRow(); last != nil && chosen != nil && last.StatusText != chosen.StatusText { // its pane changes, too
		m.panel.sameCount = 0
	}
	if first {
		m.chosen = ""
		m.chooseNext()
		for i := range m.items {
			if r := m.items[i].row; r != nil && r.asksPerson() { // before one that is done
				m.selectRow(i)
				break
			}
		}
		return nil
	}
	var told, rings tea.Cmd
	for i := range m.rows {
		r := &m.rows[i]
		switch since, ok := before[r.key]; {
		case ok && since.Equal(r.Since): // it did so before
		case r.silent() && m.notified.RunsFor(activity.Silent):
			c := command{env: m.env, words: []string{"gt-session", "notify", "silent"}, dir: m.env.Dir, environ: m.env.Environ, timeLimit: commandTime}
			told = func() tea.Msg { c.run(); return nil }
		case r.silent(), r.Status == status.Waiting && !m.isNotified(r):
			rings = tea.Raw("\a")
		}
	}
	return tea.Batch(told, rings)
}

func (r *row) silent() bool { return r.Member != nil && r.Member.SilentFor > 0 }

// isNotified reports whether the person's own command notifies them that this agent waits.
func (m *model) isNotified(r *row) bool {
	return r.Member != nil && len(m.notified.Command) > 0 && slices.Contains(strings.Split(m.notified.Reasons(), ","), string(r.Member.Reason))
}

// fillItems fills m.items from m.rows: the rows that match the filter, under their sections' headings.
func (m *model) fillItems() {
	before := m.items
	m.items = make([]item, 0, len(before))
	words := foldedWords(m.filter)
	section, heading := "", -1
	for i := range m.rows {
		r := &m.rows[i]
		if r.archived != m.archivedOnly || m.waitingOnly && r.Status != status.Waiting {
			continue
		}
		if _, found := m.bestMatch(r); !found && !r.matchesWords(words) {
			continue
		}
		if s := r.headingText(); s != section {
			section, heading = s, -1
			if s != "" {
				heading = len(m.items)
				m.items = append(m.items, item{heading: s})
			}
		}
		if heading >= 0 && r.Status == status.Waiting {
			m.items[heading].waiting++
		}
		m.items = append(m.items, item{row: r})
	}
	m.fitColumns()
	m.chooseNeighbour(before)
	m.scrollToChosen()
}

// chooseNeighbour chooses the agent behind the chosen one, or before it, if that has left the list, as
// by a key: the next key means the next one.
func (m *model) chooseNeighbour(before []item) {
	isChosen := func(i item) bool { return i.row != nil && i.row.key == m.chosen }
	at := slices.IndexFunc(before, isChosen)
	if at < 0 || m.chosenIndex() >= 0 {
		return
	}
	last := m.chosen
	slices.Reverse(before[:at])
	for _, i := range slices.Concat(before[at+1:], before[:at]) {
		if i.row == nil {
			continue
		}
		if m.chosen = i.row.key; m.chosenIndex() >= 0 {
			return
		}
	}
	m.chosen = last
}

func foldedWords(text string) []string { return strings.Fields(fold.Text(text)) }

// matchesWords reports whether the row has each of the words, which are from foldedWords.
func (r *row) matchesWords(words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := fold.Text(strings.Join([]string{r.address(), r.title, r.headingText(), r.StatusText, r.Agent, r.Folder}, "\n"))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func (m *model) chosenIndex() int {
	return slices.IndexFunc(m.items, func(i item) bool { return i.row != nil && i.row.key == m.chosen })
}

func (m *model) chosenRow() *row {
	if i := m.chosenIndex(); i >= 0 {
		return m.items[i].row
	}
	return nil
}

// scrollToChosen brings the chosen row onto the screen. If there is none, the first there is chosen.
func (m *model) scrollToChosen() {
	at := m.chosenIndex()
	if at < 0 {
		at = m.nearestRow(m.offset)
		if at < 0 {
			m.chosen, m.offset = "", 0
			return
		}
		m.chosen = m.items[at].row.key
	}
	top := at
	if top > 0 && m.items[top-1].row == nil {
		top-- // with its heading
	}
	height := m.listHeight()
	// The list moves as little as possible, and leaves no empty lines below its end.
	m.offset = max(min(m.offset, top, len(m.items)-height), at-height+1, 0)
}

// nearestRow returns the row at a place of the list, or the nearest one, -1 if there is none.
func (m *model) nearestRow(at int) int {
	for i := max(at, 0); i < len(m.items); i++ {
		if m.items[i].row != nil {
			return i
		}
	}
	for i := min(at, len(m.items)) - 1; i >= 0; i-- {
		if m.items[i].row != nil {
			return i
		}
	}
	return -1
}

func (m *model) selectRow(at int) {
	if i := m.nearestRow(min(at, len(m.items)-1)); i >= 0 {
		m.chosen = m.items[i].row.key
		m.scrollToChosen()
	}
}

// step moves the choice by so many rows, up if by is negative. It skips headings.
func (m *model) step(by int) {
	at := m.chosenIndex()
	one := cmp.Compare(by, 0) // up or down
	for ; by != 0 && at >= 0; by -= one {
		i := at + one
		for i >= 0 && i < len(m.items) && m.items[i].row == nil {
			i += one
		}
		if i < 0 || i >= len(m.items) {
			break
		}
		at = i
	}
	if at >= 0 {
		m.selectRow(at)
	}
}

// chooseNext chooses the next row that waits, or with none the next that failed.
func (m *model) chooseNext() {
	at := max(m.chosenIndex(), -1)
	for _, want := range []status.Status{status.Waiting, status.Error} {
		for n := range m.items {
			i := (at + 1 + n) % len(m.items)
			if r := m.items[i].row; r != nil && r.Status == want {
				m.selectRow(i)
				return
			}
		}
	}
}

// handleMouse moves the choice with the wheel. A click chooses a row, a double click attaches to it.
func (m *model) handleMouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	m.sought.acted = true // the result of a search leaves the choice alone
	switch msg.(type) {
	case tea.MouseWheelMsg:
		by := map[tea.MouseButton]int{tea.MouseWheelUp: -wheel, tea.MouseWheelDown: wheel}[at.Button]
		switch m.mode {
		case browsing:
			m.step(by)
		case helping:
			m.scrollHelp(by)
		}
	case tea.MouseClickMsg:
		// The header line is above the list.
		i := m.offset + at.Y - 1
		if at.Button != tea.MouseLeft || m.mode != browsing || at.Y < 1 || at.Y > m.listHeight() || i >= len(m.items) || m.items[i].row == nil {
			return nil
		}
		last := m.click
		m.click = click{m.items[i].row.key, m.now}
		if m.click.key == last.key && m.chosen == last.key && m.now.Sub(last.at) < doubleClick {
			return m.attach(m.items[i].row) // the chosen one: after the first click the wheel may have turned
		}
		m.selectRow(i)
	}
	return nil
}

const wheel = 3 // how many rows the wheel moves the choice

// countStatuses returns how many agents of the list have each status.
func (m *model) countStatuses() map[status.Status]int {
	by := map[status.Status]int{}
	for i := range m.rows {
		if m.rows[i].archived == m.archivedOnly {
			by[m.rows[i].Status]++
		}
	}
	return by
}
