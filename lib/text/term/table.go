package term

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	xterm "golang.org/x/term"
)

const columnGap = "  "

// Width returns the columns that a table on w may take: COLUMNS, or the terminal's width; 0
// (no limit) if w is not a terminal.
func Width(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := xterm.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// Narrow removes columns with these headings, in this order, until the others are readable
// in width; 0 is no limit.
func Narrow(width int, rows [][]string, headings ...string) [][]string {
	for _, heading := range headings {
		need := -len(columnGap)
		for column := range rows[0] {
			most := readable
			if name := rows[0][column]; name == "NAME" || name == "STATUS" { // the one is typed, the other is never cut
				most = minPath
			}
			if last := len(rows[0]) - 1; column == last {
				most = minLast
				if slices.ContainsFunc(rows, func(row []string) bool { return isPath(row[last]) }) {
					most = pathsRoom(width)
				}
			}
			widest := 0
			for _, row := range rows {
				widest = max(widest, columns(Clean(row[column]), most))
			}
			need += widest + len(columnGap)
		}
		at := slices.Index(rows[0], heading)
		if width <= 0 || need <= width {
			break
		}
		if at >= 0 {
			kept := make([][]string, len(rows))
			for i, row := range rows {
				kept[i] = slices.Concat(row[:at], row[at+1:])
			}
			rows = kept
		}
	}
	return rows
}

// Painter styles a cell, which is cleaned and cut already. It must not change its text.
type Painter func(row, column int, cell string) string

// Table writes rows in columns two spaces apart, and cleans every cell (see Clean). The
// last column gets the rest of width and is cut with an ellipsis. If that is less than
// minLast, the widest other columns are cut. Width 0 cuts nothing. The first row is the
// heading: it is bold, and the other cells are painted, if the style is on. paint may be nil.
func (s Style) Table(w io.Writer, width int, rows [][]string, paint Painter) error {
	return s.table(w, width, rows, minLast, Cut, s.painter(paint))
}

// TableOfPaths is Table with paths in the last column. They are cut at the front, because
// their ends say most, and get more of the line.
func (s Style) TableOfPaths(w io.Writer, width int, rows [][]string, paint Painter) error {
	cut := func(s string, width int) string {
		if isPath(s) {
			return CutFront(s, width)
		}
		return Cut(s, width)
	}
	return s.table(w, width, rows, pathsRoom(width), cut, s.painter(paint))
}

func isPath(cell string) bool { return strings.HasPrefix(cell, "/") || strings.HasPrefix(cell, "~") }

// pathsRoom returns how much of a line a last column of paths gets at least.
func pathsRoom(width int) int { return min(minPath, max(width/3, minLast)) }

// painter adds the bold heading to paint, or returns nil if the style is off.
func (s Style) painter(paint Painter) Painter {
	if !s.on {
		return nil
	}
	return func(row, column int, cell string) string {
		switch {
		case row == 0:
			return s.Bold(cell)
		case paint == nil:
			return cell
		}
		return paint(row, column, cell)
	}
}

// table writes rows. least is the least width of the last column, whose cells cut shortens.
func (s Style) table(w io.Writer, width int, rows [][]string, least int, cut func(s string, width int) string, paint Painter) error {
	cleaned, widths := measure(width, rows)
	if width > 0 && len(rows) > 0 {
		whole := slices.Index(rows[0], s.whole)
		if whole == len(widths) { // the last column: nothing of it is cut while others can be
			least = 0
			for _, row := range cleaned {
				least = max(least, columns(row[len(row)-1], width-len(columnGap)-minLast))
			}
			least = max(least, minLast)
		}
		shrink(widths, width, least, whole)
	}
	out := bufio.NewWriterSize(w, 64<<10) // lists can have thousands of rows
	var b strings.Builder
	if paint == nil {
		paint = func(_, _ int, cell string) string { return cell }
	}
	for i, row := range cleaned {
		used := 0
		for j, cell := range row {
			if j > 0 {
				b.WriteString(columnGap)
				used += len(columnGap)
			}
			if j == len(row)-1 {
				if width > 0 {
					cell = cutUnjoined(cell, max(width-used, 1), cut)
				}
				b.WriteString(paint(i, j, cell))
				break
			}
			if width > 0 {
				cell = Cut(cell, widths[j])
			}
			b.WriteString(paint(i, j, cell))
			b.WriteString(strings.Repeat(" ", max(widths[j]-columns(cell, maxColumn), 0)))
			used += widths[j] + unjoinedWidth(cell)
		}
		// Empty last cells leave no trailing blanks.
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.Flush()
}

// measure returns the cleaned rows and the width of each column, except that of each row's
// last cell.
func measure(width int, rows [][]string) (cleaned [][]string, widths []int) {
	cleaned = make([][]string, len(rows))
	for i, row := range rows {
		cleaned[i] = make([]string, len(row))
		for j, cell := range row {
			cleaned[i][j] = Clean(cell)
			if j == len(row)-1 {
				break
			}
			if j == len(widths) {
				widths = append(widths, 0)
			}
			if n := columns(cleaned[i][j], max(width, maxColumn)); width > 0 || n < maxColumn {
				widths[j] = max(widths[j], n)
			}
		}
	}
	return cleaned, widths
}

const (
	// maxColumn bounds a column if nothing is cut. A wider cell only widens its own row.
	maxColumn = 200
	// minLast is the minimum for the last column.
	minLast = 8
	// readable is the minimum for a cut cell to be recognizable.
	readable = 16
	// minPath is the minimum for a column of paths.
	minPath = 24
)

// shrink narrows the widest columns until the last one, which is not in widths, has at least
// least of the width. It narrows the column whole only when the others are as narrow as minLast.
func shrink(widths []int, width, least, whole int) {
	// size is the width by which the widest column is chosen.
	size := func(j int) int {
		if j == whole {
			return min(widths[j], minLast)
		}
		return widths[j]
	}
	for {
		over, widest := least-width, 0
		for j, n := range widths {
			over += n + len(columnGap)
			if size(j) > size(widest) || size(j) == size(widest) && n > widths[widest] {
				widest = j
			}
		}
		if widest == whole { // the last column shrinks first, down to minLast
			over -= max(least-minLast, 0)
		}
		if len(widths) == 0 || over <= 0 || widths[widest] <= 1 {
			return
		}
		widths[widest]--
	}
}

// bytesPerColumn is the maximum size of a character per column, with its combining marks.
// Larger ones, such as a megabyte of accents on one letter, are not text.
const bytesPerColumn = 32

// textColumns returns the columns that s takes, with a fast path for ASCII.
func textColumns(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// unjoinedWidth returns how many columns more s takes in a terminal that shows the parts of an
// emoji beside each other: its skin tone, and what it is joined with. tmux before 3.6,
// Alacritty and terminals of VTE do, and a line as wide as the terminal would be broken.
func unjoinedWidth(s string) int {
	more, joins := 0, false
	for _, r := range s {
		if joins && r > '\u2000' || r >= '\U0001f3fb' && r <= '\U0001f3ff' {
			more += uniseg.StringWidth(string(r))
		}
		joins = r == '\u200d'
	}
	return more
}

// cutUnjoined cuts s so that it also fits a terminal that shows the parts of an emoji beside each
// other (unjoinedWidth). It cuts more until it does.
func cutUnjoined(s string, width int, cut func(s string, width int) string) string {
	for room := width; ; {
		shown := cut(s, room)
		more := unjoinedWidth(shown)
		over := Columns(shown) + more - width
		if more == 0 || over <= 0 || room == 1 {
			return shown
		}
		const parts = 4 // of a large family, which takes as many times its columns
		room = max(room-(over+parts-1)/parts, 1)
	}
}

// fits reports whether s takes at most width columns. It is fast for very long texts.
func fits(s string, width int) bool {
	return len(s) <= bytesPerColumn*(max(width, 0)+1) && textColumns(s) <= width
}

// columns returns the width of s, up to most.
func columns(s string, most int) int {
	if len(s) > bytesPerColumn*(most+1) {
		return most
	}
	return min(textColumns(s), most)
}

// Cut shortens s to width columns, including an ellipsis. It does not split a grapheme,
// unless that has too many bytes. Without room for the ellipsis it returns "".
func Cut(s string, width int) string {
	if fits(s, width) {
		return s
	}
	if width < 1 {
		return ""
	}
	var b strings.Builder
	left, state := width-1, -1
	for s != "" {
		// A grapheme can be as long as the text, and no terminal shows that.
		front := s[:min(len(s), bytesPerColumn*(width+1))]
		// StepString would link its tables of words, sentences and lines, a quarter of a
		// megabyte, into every program.
		cluster, _, w, next := uniseg.FirstGraphemeClusterInString(front, state)
		if w > left || b.Len()+len(cluster) > bytesPerColumn*width {
			break
		}
		state, left, s = next, left-w, s[len(cluster):]
		b.WriteString(cluster)
	}
	return b.String() + "…"
}

// Column is a column of a table of items.
type Column[T any] struct {
	Heading string
	Hidden  bool
	Cell    func(T) string
}

// Cells returns the rows of a table: the visible headings, and a row for each item.
func Cells[T any](columns []Column[T], items []T) [][]string {
	rows := make([][]string, 1+len(items))
	for _, c := range columns {
		if c.Hidden {
			continue
		}
		rows[0] = append(rows[0], c.Heading)
		for i, item := range items {
			rows[1+i] = append(rows[1+i], c.Cell(item))
		}
	}
	return rows
}

// Style marks text for a terminal: bold, dim or coloured. Without a terminal, or with
// NO_COLOR (no-color.org), it does nothing; CLICOLOR_FORCE and FORCE_COLOR stand for a
// terminal. Clean the text first: Clean removes styles.
type Style struct {
	on    bool
	whole string // see CutLast
}

// StyleFor returns the style for output to w.
func StyleFor(w io.Writer, getenv func(string) string) Style {
	set := func(name string) bool { return !slices.Contains([]string{"", "0", "false"}, getenv(name)) }
	forced := set("CLICOLOR_FORCE") || set("FORCE_COLOR")
	return Style{on: getenv("NO_COLOR") == "" && (forced || IsTerminal(w) && getenv("TERM") != "dumb")}
}

// Styled returns a style that is always on or off, as the person asked for.
func Styled(on bool) Style { return Style{on: on} }

// CutLast returns the style for tables in which the column with that heading is cut after all
// others.
func (s Style) CutLast(heading string) Style {
	s.whole = heading
	return s
}

func (s Style) IsEnabled() bool { return s.on }

func (s Style) Bold(text string) string { return s.mark("1", text) }
func (s Style) Dim(text string) string  { return s.mark("2", text) }

// Reverse exchanges the colours of text and background.
func (s Style) Reverse(text string) string { return s.mark("7", text) }

func (s Style) Red(text string) string    { return s.mark("31", text) }
func (s Style) Green(text string) string  { return s.mark("32", text) }
func (s Style) Yellow(text string) string { return s.mark("33", text) }
func (s Style) Cyan(text string) string   { return s.mark("36", text) }

// Match marks a match, like grep.
func (s Style) Match(text string) string { return s.mark("1;31", text) }

func (s Style) mark(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// TrimEllipsis returns a name that may have been copied from a table that had no room for all of it,
// without its ellipsis.
func TrimEllipsis(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "…"), "...")
}
