package watchcmd

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"gt/lib/sys/tmux"
	"gt/lib/text/plain"
	"gt/lib/text/term"
)

type panel struct {
	panelText
	lines     []string
	at        time.Time // when they were read
	sameCount int       // how often they were the same
	busy      bool      // somebody reads them
	diffOf    string    // the key of the row whose diff it shows, "" for none
}

// panelText is what was read for the panel.
type panelText struct {
	key  string // of the row
	text string
	note string // what the text is, or why there is none
	pane bool   // it is what its pane shows
	diff bool

	answer string    // the agent's last one
	since  time.Time // of the status when the answer was read
}

// How often a pane is read: one that does not change, less often.
const (
	panePollFast = time.Second
	panePollSlow = 5 * time.Second
	slowAfter    = 5 // times the same
)

func (m *model) hasPaneHere(r *row) bool { return r.Member != nil && r.Member.Pane.ID != "" }

// refreshPanel returns a command that reads what the panel shows of the chosen agent: its pane, or
// without one its last answer. It returns nil if what was read is new enough, or is a diff.
func (m *model) refreshPanel() tea.Cmd {
	r := m.chosenRow()
	if r == nil || m.panel.busy || m.panelHeight() == 0 || m.mode == helping {
		return nil
	}
	if m.panel.diffOf == r.key {
		return nil
	}
	m.panel.diffOf = ""
	fresh := m.panel.key == r.key && m.panel.pane == m.hasPaneHere(r)
	switch {
	case m.hasPaneHere(r):
		every := panePollFast
		if m.panel.sameCount >= slowAfter {
			every = panePollSlow
		}
		if fresh && m.now.Sub(m.panel.at) < every-panePollFast/10 { // a tick may come a little early
			return nil
		}
		m.panel.busy = true
		server, pane, member := tmux.Server(r.Member.TmuxServer), r.Member.Pane.ID, r.Member
		s := panelText{key: r.key, pane: true, answer: m.panel.answer, since: r.Since}
		answered := fresh && m.panel.since.Equal(r.Since)
		return func() tea.Msg {
			if !answered {
				s.answer = member.LastAnswer(m.env.Redact)
			}
			var err error
			if s.text, err = server.CapturePane(pane); err != nil {
				s.note = "tmux does not show it: " + err.Error()
			}
			return s
		}
	case fresh && !m.panel.at.IsZero():
		return nil
	case r.Member == nil:
		m.showPanel(panelText{key: r.key, note: "p reads its screen from " + r.Host})
		return nil
	}
	m.panel.busy = true
	c, key := m.sessionCommand(r, "show", "--last"), r.key
	c.timeLimit = panelTime
	return func() tea.Msg {
		got := c.run()
		if got.failed != "" {
			return panelText{key: key, note: got.failed}
		}
		return panelText{key: key, text: got.out, note: "its last answer"}
	}
}

// showPanel puts what was read into the panel. It drops a diff if the panel no longer shows the
// diff of that row, and other text if it does now.
func (m *model) showPanel(s panelText) {
	if s.diff != (m.panel.diffOf == s.key && s.key != "") { // the person has gone on
		m.panel.busy = m.panel.busy && s.diff
		return
	}
	lines := strings.Split(strings.TrimRight(m.env.Text(s.text), "\n "), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " ")
	}
	same := 0
	if m.panel.key == s.key && strings.Join(lines, "\n") == strings.Join(m.panel.lines, "\n") {
		same = m.panel.sameCount + 1
	}
	s.note = plain.Cut(term.Clean(m.env.Redact(s.note)), maxTitle)
	m.panel = panel{panelText: s, lines: lines, at: m.now, sameCount: same, diffOf: m.panel.diffOf}
}

// The panel also shows the last exchange if there is room: beside the agent's screen from
// leastBeside columns on, above it from leastAbove lines on.
const (
	leastBeside = 110
	leastAbove  = 8
)

// lastExchange returns the person's last request and the agent's last answer, in so many lines at most,
// nil if neither is known.
func (m *model) lastExchange(r *row, width, height int) (lines []string) {
	if r.Member == nil || m.panel.diffOf == r.key || m.mode == answering {
		return nil
	}
	add := func(who, text string, most int) {
		first := who + "  "
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")); line == "" || most <= 0 {
				continue
			}
			for _, part := range strings.Split(term.Fill(first+line, width, len(first)), "\n") {
				if most--; most >= 0 {
					lines = append(lines, term.Cut(part, width))
				}
			}
			first = strings.Repeat(" ", len(first))
		}
	}
	answer := strings.TrimSpace(m.env.Text(m.panel.answer))
	most := height
	if answer != "" {
		most = max(height/3, 1) // the answer gets the rest
	}
	widest := max(len("you"), min(term.Columns(r.Agent), 12))
	add(term.Pad("you", widest), m.env.Line(r.Member.Activity().Request, maxTitle), most)
	add(term.Pad(r.Agent, widest), answer, height-len(lines))
	return lines
}

// peekScreen returns a command that reads the screen of an agent without a pane here. If the agent
// has one, it returns nil, and the next refreshPanel reads that pane again.
func (m *model) peekScreen(r *row) tea.Cmd {
	if m.hasPaneHere(r) {
		m.panel.at = time.Time{}
		return nil
	}
	c, key := m.sessionCommand(r, "peek"), r.key
	m.message = message{command: c.String(), text: "…"}
	return func() tea.Msg { return peekResult{key, c.run()} }
}

// peekResult is what an agent's screen shows that tmux does not show here.
type peekResult struct {
	key string
	ran commandResult
}

// showPeek shows the screen that was read, or why it could not be.
func (m *model) showPeek(p peekResult) {
	if p.ran.failed == "" {
		m.showPanel(panelText{key: p.key, text: p.ran.out, note: "at " + m.now.Format("15:04:05")})
		p.ran.out = ""
	}
	// showResult has the panel read again, which would replace the screen that was just read.
	at := m.panel.at
	m.showResult(p.ran)
	m.panel.at = at
}
