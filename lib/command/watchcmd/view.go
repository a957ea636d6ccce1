package watchcmd

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"gt/lib/live/status"
	"gt/lib/text/duration"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// widths are those of the list's columns; 0 leaves one out.
type widths struct {
	name, status, age, agent, context, branch, about int

	short bool // the status is what row.shortStatus says
}

const maxAge = 6 // the width of the longest age, such as 12d23h

// gap is what is between two columns, margin what is before the first.
const gap, margin = 2, 4

func (r *row) shortStatus() string {
	if r.Status == status.Waiting && r.Reason != "" {
		return string(r.Reason)
	}
	return string(r.Status)
}

// fitColumns fits the columns into the screen: it narrows or leaves out those that say least first.
// They depend on all agents, so that nothing jumps when the list is scrolled.
func (m *model) fitColumns() {
	w := widths{age: maxAge}
	short := 0
	for i := range m.items {
		r := m.items[i].row
		if r == nil {
			continue
		}
		w.name = max(w.name, 2*r.Depth+term.Columns(r.address()))
		w.status = max(w.status, term.Columns(r.StatusText))
		w.agent = max(w.agent, term.Columns(r.Agent))
		w.context = max(w.context, term.Columns(r.context))
		w.branch = max(w.branch, term.Columns(r.branch))
		w.about = max(w.about, term.Columns(m.aboutText(r)))
		short = max(short, term.Columns(r.shortStatus()))
	}
	const leastName, leastStatus, leastAbout = 12, 19, 12 // 19 is "waiting (permission" and more of it
	const leastRest = 24                                  // of a topic beside a branch or a context
	longest := w.name
	w.name = min(w.name, max(m.width*3/10, leastName))
	w.agent = min(w.agent, 12)
	room := func() int { // what the columns leave
		left := m.width - margin - w.name
		for _, n := range []int{w.status, w.age, w.agent, w.context, w.branch} {
			if n > 0 {
				left -= gap + n
			}
		}
		return left
	}
	w.branch = min(w.branch, 40)
	if room() < leastRest {
		w.branch = 0
	}
	if room() < leastRest {
		w.context = 0
	}
	// What an agent is at says more than its client, which is often the same for all. So the client
	// goes if it would push that out, or if not even the narrowest status makes room for it.
	const clearAbout = 18
	rest := room() - gap
	if rest+gap < min(0, leastStatus-w.status) || rest < min(w.about, clearAbout) && rest+gap+w.agent >= min(w.about, leastAbout) {
		w.agent = 0
	}
	if over := -room(); over > 0 {
		w.status = max(w.status-over, min(w.status, leastStatus))
	}
	if w.short = room() < 0; w.short { // what it waits for says more than the age
		w.status = short
	}
	if over := -room(); over > 0 {
		w.name = max(w.name-over, min(w.name, 8))
	}
	if room() < 0 {
		w.age = 0
	}
	if over := -room(); over > 0 {
		w.status = max(w.status-over, 0)
	}
	if over := -room(); over > 0 || w.status < 4 {
		w.name, w.status = max(m.width-margin, 0), 0
	}
	if w.short { // nothing else needs the rest
		w.name = min(longest, w.name+max(room(), 0))
	}
	if rest := room() - gap; rest < leastAbout {
		w.about = 0
	} else {
		w.about = min(w.about, rest)
	}
	m.widths = w
}

const leastPanel = 8 // the height of a screen's body from which on it has a panel

// bodyHeight is the height between the first line and the last.
func (m *model) bodyHeight() int { return max(m.height-2, 0) }

// listHeight returns how many lines the list has. The panel gets the others.
func (m *model) listHeight() int {
	body := m.bodyHeight()
	if body < leastPanel || m.items == nil {
		return body
	}
	return min(max(len(m.items), 3), body-max(body*2/5, 5))
}

// panelHeight returns the lines of the panel, with its rule.
func (m *model) panelHeight() int { return m.bodyHeight() - m.listHeight() }

// View draws the screen. A footer of several lines replaces the last lines of the panel.
func (m *model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen, v.MouseMode, v.WindowTitle = true, tea.MouseModeCellMotion, m.windowTitle()
	v.KeyboardEnhancements.ReportAlternateKeys = true // see toLatinKey
	if m.width < 1 || m.height < 1 {
		return v
	}
	lines := []string{m.headerLine()}
	if m.mode == helping {
		help := m.helpLines()
		lines = append(lines, help[min(m.scroll, m.hiddenLines(help)):]...)
	} else {
		lines = append(lines, m.listLines()...)
		if m.panelHeight() > 0 {
			lines = append(lines, m.panelLines()...)
		}
	}
	last := m.footerLines()
	last = last[:min(len(last), m.height)]
	for len(lines) < m.height {
		lines = append(lines, "")
	}
	lines = append(lines[:m.height-len(last)], last...)
	text := strings.Join(lines, "\n")
	if m.style.ASCII {
		text = ascii.Replace(text)
	}
	v.SetContent(text)
	if m.mode == typing {
		v.Cursor = m.input.Cursor()
		if v.Cursor != nil {
			v.Cursor.X += m.inputColumn()
			v.Cursor.Y += m.height - len(last)
		}
	}
	return v
}

// ascii replaces gt's own signs on a terminal without them.
var ascii = strings.NewReplacer("─", "-", "·", "-", "…", "~", "↑", "^", "↓", "v", "│", "|")

func (m *model) windowTitle() string {
	n := 0
	for i := range m.rows {
		if m.rows[i].Status == status.Waiting {
			n++
		}
	}
	if n == 0 {
		return "gt-watch"
	}
	return fmt.Sprintf("%d waiting – gt-watch", n)
}

// headerLine returns the counts of each status, and at the right what the list is limited to.
func (m *model) headerLine() string {
	var left strings.Builder
	used := 0
	put := func(text string, paint func(string) string) {
		if used+term.Columns(text) <= m.width {
			left.WriteString(paint(text))
			used += term.Columns(text)
		}
	}
	between, counts := " ", m.countStatuses()
	for _, s := range roster.StatusOrder {
		text := fmt.Sprintf("%d %s", counts[s], s)
		if counts[s] == 0 {
			continue
		} else if used+term.Columns(between+text) > m.width {
			break
		}
		put(between, m.style.Dim)
		put(text, m.statusPaint(s, s == status.Waiting || s == status.Error))
		between = " · "
	}
	var parts []string
	if m.waitingOnly {
		parts = append(parts, "only waiting")
	}
	if m.archivedOnly {
		parts = append(parts, "archived")
	}
	if m.filter != "" {
		parts = append(parts, "/"+m.filter)
	}
	if m.reader.profile != "" {
		parts = append(parts, "profile "+m.reader.profile)
	}
	room := max(m.width-used-2, 0)
	if right := strings.Join(append(parts, "gt-watch"), " · "); term.Columns(right) <= room { // half a name says nothing
		parts = append(parts, "gt-watch")
	}
	right := term.Cut(m.env.Line(strings.Join(parts, " · "), maxTitle), room)
	space := m.width - used - term.Columns(right) - 1
	if space < 1 {
		return left.String()
	}
	return left.String() + strings.Repeat(" ", space) + m.style.Dim(right)
}

func unpainted(text string) string { return text }

// statusPaint returns what paints a text in the colour of a status, bold if it is urgent.
func (m *model) statusPaint(of status.Status, urgent bool) func(string) string {
	return func(text string) string {
		if text = m.style.PaintStatus(of, text); urgent {
			text = m.style.Bold(text)
		}
		return text
	}
}

// listLines returns the lines of the list, or why it is empty, in exactly listHeight lines.
func (m *model) listLines() (lines []string) {
	height := m.listHeight()
	switch {
	case len(m.items) > 0:
		for i := m.offset; i < len(m.items) && len(lines) < height; i++ {
			lines = append(lines, m.rowLine(&m.items[i]))
		}
	case len(m.rows) > 0 && m.filter == "" && !m.waitingOnly:
		text := fmt.Sprintf("    all agents are archived (%d); E shows them", len(m.rows))
		if m.archivedOnly {
			text = "    no agent is archived; E shows the others"
		}
		lines = append(lines, m.style.Dim(term.Cut(text, m.width)))
	case len(m.rows) > 0:
		lines = append(lines, m.style.Dim(term.Cut(fmt.Sprintf("    no agent matches (%d in all); esc shows them", len(m.rows)), m.width)))
	default:
		lines = append(lines, "", term.Cut("  "+roster.NoneYet(m.reader.profile), m.width))
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// rowLine draws a row or heading of the list. A width of 0 hides the column.
func (m *model) rowLine(i *item) string {
	switch {
	case i.row == nil:
		return m.headingLine(i)
	case m.width < margin:
		return ""
	}
	r, w := i.row, m.widths
	chosen := r.key == m.chosen
	urgent := r.asksPerson() || r.Status == status.Error
	paint, name, dim := m.statusPaint(r.Status, urgent), unpainted, m.style.Dim
	if urgent {
		name = m.style.Bold
	}
	begin := "  "
	// A colour ends with a reset, which would end the reverse video of the chosen row, too.
	if chosen {
		paint, name, dim, begin = unpainted, unpainted, unpainted, "> "
	}
	does := r.StatusText
	if w.short {
		does = r.shortStatus()
	}
	cut, about := term.Cut, m.aboutText(r)
	if about == r.Folder {
		cut = term.CutFront
	}
	line := begin + paint(m.style.StatusMark(r.Status)) + " " + name(term.Pad(strings.Repeat("  ", r.Depth)+r.address(), w.name))
	for _, c := range []struct {
		width int
		text  string
		fit   func(string, int) string
		paint func(string) string
	}{
		{w.status, does, term.Pad, paint}, {w.age, m.ageText(r.Since), padLeft, unpainted}, {w.agent, r.Agent, term.Pad, dim},
		{w.context, r.context, padLeft, dim}, {w.branch, r.branch, term.Pad, dim}, {w.about, about, cut, dim},
	} {
		if c.width > 0 {
			line += "  " + c.paint(c.fit(c.text, c.width))
		}
	}
	if !chosen {
		return line
	}
	return m.style.Reverse(term.Pad(line, m.width))
}

func padLeft(text string, width int) string { return fmt.Sprintf("%*s", width, text) }

// headingLine returns the line of a heading, with when a host that does not answer was last seen.
func (m *model) headingLine(i *item) string {
	text := i.heading
	for host, seen := range m.silent {
		if text == host || strings.HasPrefix(text, host+" · ") {
			text += " (" + seen + ")"
		}
	}
	text = term.Cut("  "+text, m.width)
	if i.waiting > 0 {
		if count := fmt.Sprintf("  %d waiting", i.waiting); term.Columns(text+count) <= m.width {
			return m.style.Cyan(text) + m.style.PaintStatus(status.Waiting, count)
		}
	}
	return m.style.Cyan(text)
}

func (m *model) ageText(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	d := max(m.now.Sub(since), 0)
	if d >= time.Minute {
		d = d.Truncate(time.Minute)
	}
	return duration.Format(duration.Rough(d))
}

// panelLines returns the panel: its rule, the last exchange and what was read of the chosen agent.
func (m *model) panelLines() []string {
	height := m.panelHeight()
	r := m.chosenRow()
	lines := []string{m.panelRule(r)}
	if r == nil {
		return lines
	}
	height--
	if m.panel.key != r.key {
		return lines // nobody has read it yet
	}
	if m.panel.note != "" && strings.TrimSpace(strings.Join(m.panel.lines, "")) == "" {
		return append(lines, m.style.Dim(term.Cut("  "+m.panel.note, m.width)))
	}
	if m.width >= leastBeside {
		left := m.width * 2 / 5
		if said := m.lastExchange(r, left-2, height); said != nil {
			shown := m.visibleLines(r, height)
			for i := range max(len(said), len(shown)) {
				line := strings.Repeat(" ", left)
				if i < len(said) {
					line = m.style.Dim(term.Pad("  "+said[i], left))
				}
				if line += m.style.Dim(" │ "); i < len(shown) {
					line += term.Cut(shown[i], m.width-left-3)
				}
				lines = append(lines, line)
			}
			return lines
		}
	} else if height >= leastAbove && !r.asksPerson() {
		for _, line := range m.lastExchange(r, m.width-2, max(height/3, 2)) {
			lines = append(lines, m.style.Dim("  "+line))
			height--
		}
	}
	for _, line := range m.visibleLines(r, height) {
		lines = append(lines, term.Cut("  "+line, m.width))
	}
	return lines
}

var firstOption = lazyregexp.New(`^[^\pL\pN]*1[.)] `)

// visibleLines returns the lines of the panel for which there is room: the last ones, or of
// a question the question and the beginning of its options rather than a hint below them.
// While options are asked for at the bottom, they are not shown twice.
func (m *model) visibleLines(r *row, height int) []string {
	lines := m.panel.lines
	if m.panel.diffOf == r.key {
		return lines[:min(height, len(lines))]
	}
	if m.mode == answering {
		height = max(height-len(m.optionTexts)-1, 0)
	}
	first := len(lines) - 1
	for first >= 0 && !firstOption().MatchString(lines[first]) {
		first--
	}
	from := max(len(lines)-height, 0)
	if height > 0 && first > 0 && r.asksPerson() {
		asked := first - 1
		for asked > 0 && strings.TrimSpace(lines[asked]) == "" {
			asked--
		}
		if m.mode == answering {
			lines = lines[:asked+1]
			return lines[max(len(lines)-height, 0):]
		}
		from = min(from, asked)
	}
	return lines[from:min(from+height, len(lines))]
}

// panelRule returns the line above the panel: the chosen row, and at the right what the list hides.
func (m *model) panelRule(r *row) string {
	left := "──"
	if r != nil {
		left += " " + r.address()
		folder := ""
		if r.title != "" {
			folder = r.Folder // which the list does not have
		}
		// The note is left out here if panelLines prints it in place of an empty text.
		for _, more := range []string{r.title, r.today, folder, m.panel.note} {
			if more != "" && (more != m.panel.note || m.panel.key == r.key && len(m.panel.lines) > 0 && strings.TrimSpace(m.panel.lines[0]) != "") {
				left += " · " + more
			}
		}
		left += " "
	}
	right := m.describeHidden()
	if right != "" {
		right = " " + right + " ──"
	}
	if term.Columns(right) > m.width/2 {
		right = ""
	}
	left = term.Cut(left, max(m.width-term.Columns(right), 0))
	return m.style.Dim(left + strings.Repeat("─", max(m.width-term.Columns(left)-term.Columns(right), 0)) + right)
}

// describeHidden returns how many rows are above and below the screen, as "↑3 · ↓12, 2 waiting".
func (m *model) describeHidden() string {
	var parts []string
	say := func(sign string, items []item) {
		rows, waiting := 0, 0
		for i := range items {
			if r := items[i].row; r != nil {
				if rows++; r.Status == status.Waiting {
					waiting++
				}
			}
		}
		switch {
		case waiting > 0:
			parts = append(parts, fmt.Sprintf("%s%d, %d waiting", sign, rows, waiting))
		case rows > 0:
			parts = append(parts, fmt.Sprintf("%s%d", sign, rows))
		}
	}
	say("↑", m.items[:min(m.offset, len(m.items))])
	say("↓", m.items[min(m.offset+m.listHeight(), len(m.items)):])
	return strings.Join(parts, " · ")
}

// footerLines returns what the mode asks for, else an outcome, an error, a warning or the keys.
func (m *model) footerLines() []string {
	cut := func(text string) string { return term.Cut(text, m.width) }
	switch m.mode {
	case helping:
		text := " any key goes back"
		if m.hiddenLines(m.helpLines()) > 0 {
			text = " up, down · another key goes back"
		}
		return []string{m.style.Dim(cut(text))}
	case asking:
		return []string{m.style.Bold(m.style.Yellow(cut(" " + m.ask.title)))}
	case answering:
		var lines []string
		for i, text := range m.optionTexts {
			lines = append(lines, m.style.Bold(m.style.Yellow(cut(fmt.Sprintf(" %d. %s", i+1, text)))))
		}
		return append(lines, cut(fmt.Sprintf(" answer %s with 1 to %d, or esc: %s", m.addressOrIt(m.about), len(m.optionTexts), m.typedNumber)))
	case typing:
		prompt := m.inputPrompt()
		lines := strings.Split(m.input.View(), "\n")
		for i := range lines {
			lines[i] = cut(strings.TrimRight(prompt+lines[i], " "))
			prompt = strings.Repeat(" ", term.Columns(prompt))
		}
		return lines
	}
	if m.message.command != "" {
		return m.outcomeLines()
	}
	switch {
	case m.err != nil:
		return []string{m.style.Red(cut(" " + m.env.Line(m.err.Error(), maxMessage)))}
	case m.warned != "":
		return []string{m.style.Yellow(cut(" " + m.warned))}
	}
	var keys []string
	for _, b := range bindings() {
		if b.footerText != "" && (len(m.rows) > 0 || b.needsNoAgent) {
			keys = append(keys, b.keys[0]+" "+b.footerText)
		}
	}
	text := " " + strings.Join(keys, " · ")
	for len(keys) > 2 && term.Columns(text) > m.width { // the last ones are help and quit
		keys = append(keys[:len(keys)-3], keys[len(keys)-2:]...)
		text = " " + strings.Join(keys, " · ")
	}
	return []string{m.style.Dim(cut(text))}
}

const maxOutcome = 3 // bounds the lines of an error

// outcomeLines returns the result of the last command: one line, or some red ones if it failed.
func (m *model) outcomeLines() []string {
	text := " " + m.message.command
	if m.message.text != "" {
		text += ": " + m.message.text
	}
	if !m.message.failed {
		return []string{term.Cut(text, m.width)}
	}
	lines := strings.Split(term.Fill(text, m.width, 2), "\n")
	lines = lines[:min(len(lines), maxOutcome)]
	for i := range lines {
		lines[i] = m.style.Red(term.Cut(lines[i], m.width))
	}
	return lines
}

// addressOrIt returns the address of the agent in the row with this key, or "it" if the row is gone.
func (m *model) addressOrIt(key string) string {
	if r := m.findRow(key); r != nil {
		return r.address()
	}
	return "it"
}

func (m *model) inputPrompt() string {
	if m.about == "" {
		return " /"
	}
	return term.Cut(" "+m.ask.title, max(m.width/2, 1)) + ": "
}

func (m *model) inputColumn() int { return term.Columns(m.inputPrompt()) }

// hiddenLines returns how many lines of the help the screen has no room for.
func (m *model) hiddenLines(help []string) int { return max(len(help)-m.bodyHeight(), 0) }

// helpLines returns the help: what each key does, and the mark of each status.
func (m *model) helpLines() (lines []string) {
	widest := 0
	for _, b := range bindings() {
		widest = max(widest, len(b.name()))
	}
	lines = append(lines, "")
	for _, b := range bindings() {
		if b.helpText != "" {
			key := "  " + term.Pad(b.name(), widest) + "  "
			does := strings.Split(term.Fill(key+b.helpText, m.width, len(key)), "\n")
			does[0] = m.style.Bold(term.Cut(key, m.width)) + term.Cut(strings.TrimPrefix(does[0], key), m.width-len(key))
			for i := range does[1:] {
				does[i+1] = term.Cut(does[i+1], m.width)
			}
			lines = append(lines, does...)
		}
	}
	var legend strings.Builder
	left := m.width
	for _, s := range roster.StatusOrder {
		if left -= len("  x ") + len(s); left >= 0 {
			legend.WriteString("  " + m.style.PaintStatus(s, m.style.StatusMark(s)) + " " + string(s))
		}
	}
	return append(lines, "", legend.String())
}
