package timeline

import (
	"fmt"
	"strings"

	"gt/lib/catalog"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/term"
	"gt/lib/view/chain"
	"gt/lib/view/palette"
)

const (
	// MaxSessionLines is the number of sessions up to which each gets a line by default.
	MaxSessionLines = 30
	maxLanes        = 50 // limit for the lanes in a text
	maxLabel        = 22 // columns of a lane's name
	maxID           = 16 // limit for the columns of a session's short id
	// columns of the numbers after a line of density
	countWidth = 11
	leastBar   = 20 // minimal columns of the chart
)

type cell struct {
	text  string
	style *palette.OutcomeStyle // nil: faint
	rank  int                   // a cell of a higher rank is not overwritten
	words bool                  // to be read, and in no colour
}

type glyphs struct{ one, several, fading, gap, turn, thread, loose, early string }

func glyphsOf(s palette.Style) glyphs {
	if s.ASCII {
		return glyphs{"-", "=", ".", ":", "`", "-", ".", "<"}
	}
	return glyphs{"━", "═", "┄", "┊", "╰", "─", "┄", "◂"}
}

// Text returns the picture for a terminal of width columns, with a line for each lane.
func (p *Picture) Text(style palette.Style, width int) string {
	if width <= 0 {
		width = 80
	}
	var b strings.Builder
	dot := " · "
	if style.ASCII {
		dot = ", "
	}
	line := func(s string) { b.WriteString(strings.TrimRight(s, " ") + "\n") }
	line(style.Plain(term.Cut(strings.ReplaceAll(p.heading(), " · ", dot), width)))

	labels := make([]string, len(p.lanes))
	widest, id := 0, 10
	for _, l := range p.lanes { // ids from the same minute share a long prefix
		id = max(id, min(term.Columns(l.name), maxID))
	}
	for i, l := range p.lanes {
		labels[i] = term.CutFront(l.name, maxLabel)
		if p.By == Session {
			s := p.bars[l.bars[0]]
			labels[i] = term.Pad(l.name, id) + " " + term.CutFront(term.Clean(s.facts.Value().actor), maxLabel-6)
		}
		widest = max(widest, term.Columns(labels[i]))
	}
	widest = min(widest, max(width-leastBar-2, 8))
	columns := max(width-widest-2, 8)
	dense := p.isDense(columns)
	if dense {
		columns = max(columns-countWidth, 8)
	}
	col := func(f float64) int { return min(max(int(f*float64(columns)), 0), columns-1) }
	lead := strings.Repeat(" ", widest+2)

	// With its gap, a time needs 7 columns, and a day above it 13.
	below, above := p.scale.ticks(max(columns/8, 2), 7/float64(columns), 13/float64(columns), p.Now.Year())
	for i, marks := range [][]tick{above, below} {
		if text := marksLine(marks, columns, col, i == 0); text != "" {
			line(lead + style.Dim(text))
		}
	}

	if dense {
		p.density(line, labels, widest, columns, width, style, col)
		return b.String()
	}
	g := glyphsOf(style)
	for n, l := range p.drawnLanes() {
		row := make([]cell, columns)
		for i := range row {
			row[i].text = " "
		}
		for _, piece := range p.scale.pieces {
			if piece.gap {
				row[col((piece.start+piece.end)/2)] = cell{text: g.gap}
			}
		}
		for _, i := range l.bars {
			p.drawCells(row, p.bars[i], g, style, col)
		}
		if p.By == Session {
			p.caption(row, p.bars[l.bars[0]], style, col)
		}
		line(term.Pad(style.Plain(labels[n]), widest) + "  " + paint(row, style))
	}
	p.hintUndrawn(line, style, width)
	line("")
	p.legend(line, style, width)
	return b.String()
}

// drawnLanes returns the lanes that a text shows: all if each is a session, otherwise the
// latest.
func (p *Picture) drawnLanes() []lane {
	if p.By == Session {
		return p.lanes
	}
	return p.lanes[:min(len(p.lanes), maxLanes)]
}

// hintUndrawn prints how many lanes and sessions the text leaves out.
func (p *Picture) hintUndrawn(line func(string), style palette.Style, width int) {
	n := 0
	left := p.lanes[len(p.drawnLanes()):]
	for _, l := range left {
		n += len(l.bars)
	}
	if n > 0 {
		text := fmt.Sprintf("and %d more lanes with %s; --rig, --agent and others choose, --html draws all", len(left), count.Plural(n, "session"))
		line(style.Dim(style.Plain(term.Cut(text, width))))
	}
}

// isDense reports whether there are too many sessions to tell their ends apart: more than one for
// two columns of a lane on average, and more than three for a column of the picture.
func (p *Picture) isDense(columns int) bool {
	return p.By != Session && columns >= leastBar+countWidth && len(p.bars) > len(p.lanes)*columns/2 && len(p.bars) > 3*columns
}

// density draws a line for each lane: in each column, a block as high as the number of sessions
// that ran, in the colour of crashes if a quarter of them crashed.
func (p *Picture) density(line func(string), labels []string, widest, columns, width int, style palette.Style, col func(float64) int) {
	steps := []rune("▁▂▃▄▅▆▇█")
	if style.ASCII {
		steps = []rune(".:-=+*%@")
	}
	crash := palette.FindStyle(session.Crash)
	counts := make([][]int, len(p.drawnLanes()))
	crashed := make([][]int, len(counts))
	most := 1
	for n, l := range p.drawnLanes() {
		counts[n], crashed[n] = make([]int, columns), make([]int, columns)
		for _, i := range l.bars {
			b := p.bars[i]
			to := col(p.scale.position(b.to))
			for c := col(p.scale.position(b.from)); c <= to; c++ {
				counts[n][c]++
				most = max(most, counts[n][c])
			}
			if b.style.Letter == crash.Letter {
				crashed[n][to]++
			}
		}
	}
	for n, l := range p.drawnLanes() {
		row := make([]cell, columns)
		all := 0
		for c := range row {
			row[c].text = " "
			if k := counts[n][c]; k > 0 {
				row[c].text = string(steps[(k*len(steps)-1)/most])
				if 4*crashed[n][c] >= k {
					row[c].style = crash
				}
			}
			all += crashed[n][c]
		}
		count := fmt.Sprintf(" %4d", len(l.bars))
		if all > 0 {
			count += fmt.Sprintf(" %s%d", style.MarkOf(crash), all)
		}
		line(term.Pad(style.Plain(labels[n]), widest) + "  " + paint(append(row, cell{text: count, words: true}), style))
	}
	p.hintUndrawn(line, style, width)
	line("")
	line(style.Plain(term.Cut(fmt.Sprintf("%c 1 to %c %d at work; behind: all sessions, and the crashed", steps[0], steps[len(steps)-1], most), width)))
}

// marksLine returns the marks of an axis that have room. With loose, a mark may move left
// to fit.
func marksLine(marks []tick, columns int, col func(float64) int, loose bool) string {
	line, used := "", 0
	for _, t := range marks {
		at := col(t.position)
		n := term.Columns(t.text)
		if loose {
			at = min(at, columns-n)
		}
		if at < used || at+n > columns {
			continue
		}
		line += strings.Repeat(" ", at-term.Columns(line)) + t.text
		used = at + n + 1
	}
	return line
}

// drawCells draws a session into the line of its lane.
func (p *Picture) drawCells(row []cell, b *bar, g glyphs, style palette.Style, col func(float64) int) {
	from, to := col(p.scale.position(b.from)), col(p.scale.position(b.to))
	if p.By == Session && b.above >= 0 {
		above := p.bars[b.above]
		turn := col(p.scale.position(above.to)) // where the thread from the other leaves its bar
		if b.link != chain.Follows {
			turn = max(col(p.scale.position(above.from)), from-3) // it began while the other ran
		}
		for i := turn; i < from; i++ {
			row[i] = cell{text: g.thread, rank: 1}
			if b.link != chain.Follows {
				row[i].text = g.loose
			}
			if i == turn {
				row[i].text = g.turn
			}
		}
	}
	// The force of a thread is 1, of a bar 2, and of the mark of an end 3 and more.
	put := func(i int, text string, force int) {
		if c := &row[i]; force >= c.rank {
			*c = cell{text: text, style: b.style, rank: force}
		}
	}
	body := g.one
	if b.style.Outcome == catalog.Gone {
		body = g.fading
	}
	for i := from; i < to; i++ {
		if row[i].rank == 2 && row[i].style != nil { // another bar is there
			row[i] = cell{text: g.several, style: b.style, rank: 2}
			continue
		}
		put(i, body, 2)
	}
	if b.fullSpan != nil && from < to { // it began before the picture
		put(from, g.early, 3)
	}
	put(to, style.MarkOf(b.style), 3+markRank(b.style))
}

// markRank returns the rank of a mark. The highest in a column is drawn, so crashes always are.
func markRank(l *palette.OutcomeStyle) int { return strings.Index("gdhakc", l.Letter) }

// caption writes what a session was about after its bar, or before it.
func (p *Picture) caption(row []cell, b *bar, style palette.Style, col func(float64) int) {
	const least = 8
	from, to := col(p.scale.position(b.from)), col(p.scale.position(b.to))
	if b.above >= 0 {
		from = min(from, col(p.scale.position(p.bars[b.above].to)))
	}
	text := term.Clean(b.about)
	room, at := len(row)-to-2, to+2
	if before := from - 1; term.Columns(text) > room && before > room {
		text = style.Plain(term.Cut(text, before))
		room, at = before, from-1-term.Columns(text)
	}
	if room < least || text == "" {
		return
	}
	text = style.Plain(term.Cut(text, room))
	n := term.Columns(text)
	for i := at; i < at+n; i++ {
		row[i] = cell{words: true}
	}
	row[at].text = text
}

// paint returns a row as text. It colours a run of cells with one style together.
func paint(row []cell, style palette.Style) string {
	var b, run strings.Builder
	var look *palette.OutcomeStyle
	words := false
	flush := func() {
		text := run.String()
		run.Reset()
		switch {
		case look != nil:
			text = style.Paint(look, text)
		case !words && strings.TrimSpace(text) != "":
			text = style.Dim(text)
		}
		b.WriteString(text)
	}
	for _, c := range row {
		same := c.style == look || c.style != nil && look != nil && c.style.Letter == look.Letter
		if !same || c.words != words {
			flush()
			look, words = c.style, c.words
		}
		run.WriteString(c.text)
	}
	// The caller cuts spaces at the end of a line, but not those before an escape sequence.
	if look == nil {
		trimmed := strings.TrimRight(run.String(), " ")
		run.Reset()
		run.WriteString(trimmed)
	}
	flush()
	return b.String()
}

// legend prints the marks of the outcomes that occur, in lines of at most width columns.
func (p *Picture) legend(line func(string), style palette.Style, width int) {
	text, used := "", 0
	for _, l := range p.outcomes() {
		const gap = "   "
		n := 2 + len(l.Outcome)
		switch {
		case used == 0:
		case used+len(gap)+n > width:
			line(text)
			text, used = "", 0
		default:
			text, used = text+gap, used+len(gap)
		}
		text += style.Paint(l, style.MarkOf(l)) + " " + string(l.Outcome)
		used += n
	}
	line(text)
}
