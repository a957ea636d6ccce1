package chain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

// View defines how chains are shown. The sessions' texts are redacted already; control
// characters are removed here.
type View struct {
	Style palette.Style
	Width int                     // in columns; 0 is no limit
	Now   time.Time               // the end of a session that still runs
	Short func(session.ID) string // shortens an id; "" if unknown
}

const (
	maxActor     = 22 // columns of an address
	maxDepth     = 8  // limit of the indentation
	maxSubagents = 5  // limit for each session
)

// EndOf returns when a session ended, or its last activity if that is unknown. It is now for
// a session that still runs.
func EndOf(s *catalog.Session, now time.Time) time.Time {
	end := s.EndedAt
	switch {
	case !end.IsZero():
	case s.Outcome == catalog.Active:
		end = now
	default:
		end = s.LastAt
	}
	if end.Before(s.StartedAt) {
		return s.StartedAt
	}
	return end
}

// FormatLasted returns the duration of a session for people, "" if only its start is known.
func FormatLasted(s *catalog.Session, now time.Time) string {
	end := EndOf(s, now)
	if s.StartedAt.IsZero() || s.EndedAt.IsZero() && end.Equal(s.StartedAt) {
		return ""
	}
	return FormatLength(end.Sub(s.StartedAt))
}

// FormatLength formats a duration in its two largest units.
func FormatLength(d time.Duration) string { return duration.Format(duration.Rough(d)) }

type lines struct{ down, branch, last, blank, dot string }

func (v View) lines() lines {
	if v.Style.ASCII {
		return lines{"| ", "|-", "`-", "  ", ", "}
	}
	return lines{"│ ", "├─", "└─", "  ", " · "}
}

// row is a line of the text: a session, or words between two.
type row struct {
	tree  string
	node  *Node
	words string
}

// Text returns the chain as a tree. The main line goes straight down, with what was handed
// over in between; other sessions branch off.
func (c Chain) Text(v View) string {
	var b strings.Builder
	b.WriteString(v.fitText(v.heading(c), 0) + "\n")
	var rows []row
	for _, n := range c.Roots {
		rows = v.addRows(rows, n, "", "", 0)
	}
	v.writeTable(&b, rows)
	return b.String()
}

// addRows adds the rows of a session, of what branches off from it, and then of its successors in
// the same way. head is the prefix of the first row, tree that of the others.
func (v View) addRows(rows []row, n *Node, head, tree string, depth int) []row {
	l := v.lines()
	for ; n != nil; n = n.Next {
		rows = append(rows, row{tree: head, node: n})
		head = tree
		var subagents int
		for i, side := range n.Branches {
			if side.Link == Subagent {
				if subagents++; subagents > maxSubagents {
					continue
				}
			}
			branch, below := l.branch, l.down
			if n.Next == nil && i == len(n.Branches)-1 && subagents <= maxSubagents {
				branch, below = l.last, l.blank // no row of this level follows
			}
			if side.Link == Follows { // a further successor, beside n.Next
				rows = append(rows, row{tree: tree + l.down, words: side.DescribeLink(n.Session)})
			}
			if depth == maxDepth { // deeper ones are indented no further
				branch, below = "", ""
			}
			rows = v.addRows(rows, side, tree+branch, tree+below, min(depth+1, maxDepth))
		}
		if more := subagents - maxSubagents; more > 0 {
			branch := l.branch
			if n.Next == nil {
				branch = l.last
			}
			rows = append(rows, row{tree: tree + branch, words: fmt.Sprintf(" and %d more subagents", more)})
		}
		if n.Next != nil {
			rows = append(rows, row{tree: tree + l.down, words: n.Next.DescribeLink(n.Session)})
		}
	}
	return rows
}

// heading sums a chain up in a line: its id, and its sessions, days and work units.
func (v View) heading(c Chain) string {
	all := c.Sessions()
	from, to := all[0].StartedAt, time.Time{}
	var works []string
	for _, s := range all {
		if end := EndOf(s, v.Now); end.After(to) {
			to = end
		}
		if s.WorkUnit != "" && !slices.Contains(works, s.WorkUnit) {
			works = append(works, s.WorkUnit)
		}
	}
	parts := []string{"chain " + v.shortID(c.ID), count.Plural(len(all), "session")}
	if !from.IsZero() {
		days := term.FormatDay(from, v.Now)
		if to := term.FormatDay(to, v.Now); to != days {
			days += " to " + to
		}
		parts = append(parts, days)
	}
	if works != nil {
		parts = append(parts, strings.Join(works, ", "))
	}
	return strings.Join(parts, v.lines().dot)
}

// shortID returns the short form of an id, or the whole one if none is known.
func (v View) shortID(id session.ID) string {
	if v.Short != nil {
		if short := v.Short(id); short != "" {
			return short
		}
	}
	return string(id)
}

func (v View) fitText(text string, used int) string {
	text = term.Clean(text)
	if v.Width > 0 {
		text = term.Cut(text, max(v.Width-used, 1))
	}
	return v.Style.Plain(text)
}

// writeTable writes the rows: a session's aligned cells and its headline, or the words between two.
func (v View) writeTable(b *strings.Builder, rows []row) {
	const gap = "  "
	cells := make([][]string, len(rows))
	var widths [6]int
	for i, r := range rows {
		if r.node == nil {
			continue
		}
		s := r.node.Session
		cells[i] = []string{
			r.tree + v.Style.MarkOf(palette.FindStyle(s.Outcome)) + " " + v.shortID(s.ID),
			v.Style.Plain(term.Cut(term.Clean(s.Agent), maxActor)),
			v.Style.Plain(term.CutFront(term.Clean(s.Address()), maxActor)),
			term.FormatDay(s.StartedAt, v.Now),
			FormatLasted(s, v.Now),
			v.Style.Plain(term.Cut(term.Clean(string(s.Outcome)), maxActor)),
		}
		for j, cell := range cells[i] {
			widths[j] = max(widths[j], term.Columns(cell))
		}
	}
	room := v.Width
	for _, width := range widths {
		if width > 0 {
			room -= width + len(gap)
		}
	}
	// A headline needs 12 columns: for them, drop the least important others, as empty ones are.
	for _, j := range []int{1, 2, 4, 3} { // agent, address, duration, start
		if v.Width > 0 && room < 12 && widths[j] > 0 {
			room += widths[j] + len(gap)
			widths[j] = 0
		}
	}
	for i, r := range rows {
		if r.node == nil {
			words := v.fitText(r.words, term.Columns(r.tree))
			b.WriteString(v.Style.Dim(r.tree+words) + "\n")
			continue
		}
		var line strings.Builder
		used := 0
		look := palette.FindStyle(r.node.Outcome)
		for j, width := range widths {
			if width == 0 {
				continue
			}
			cell := term.Pad(cells[i][j], width)
			used += width + len(gap)
			switch j {
			case 0:
				// The tree and the mark have styles of their own.
				rest := strings.TrimPrefix(cell, r.tree)
				mark := v.Style.MarkOf(look)
				line.WriteString(v.Style.Dim(r.tree) + v.Style.Paint(look, mark) + strings.TrimPrefix(rest, mark))
			case 5:
				line.WriteString(v.Style.Paint(look, cell))
			default:
				line.WriteString(cell)
			}
			line.WriteString(gap)
		}
		about := r.node.Headline()
		if r.node.Link == Fork || r.node.Link == Subagent {
			about = strings.TrimSuffix(string(r.node.Link)+": "+about, ": ")
		}
		if r.node.Headless {
			about = "headless " + about
		}
		line.WriteString(v.fitText(about, used))
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
