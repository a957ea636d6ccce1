package term

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	xterm "golang.org/x/term"
)

// columnGap is what stands between two columns.
const columnGap = "  "

// Width says how many columns a table may take when it is written to w: the
// terminal's width, or COLUMNS where that is set; 0 (no limit) when w is no
// terminal and COLUMNS is unset.
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

// IsTerminal says whether v is a file that is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// Table writes rows in columns two spaces apart, every cell cleaned (see
// Clean). The last column takes what is left of width and is cut there with
// an ellipsis; width 0 cuts nothing. The first row is the heading.
func Table(w io.Writer, width int, rows [][]string) error {
	var widths []int
	cleaned := make([][]string, len(rows))
	for i, row := range rows {
		cleaned[i] = make([]string, len(row))
		for j, cell := range row {
			cell = Clean(cell)
			cleaned[i][j] = cell
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], uniseg.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range cleaned {
		used := 0
		for j, cell := range row {
			if j > 0 {
				b.WriteString(columnGap)
				used += len(columnGap)
			}
			if j == len(row)-1 {
				if width > 0 {
					cell = Cut(cell, max(width-used, 1))
				}
				b.WriteString(cell)
				break
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[j]-uniseg.StringWidth(cell)))
			used += widths[j]
		}
		// A heading or cell that is empty leaves no blanks behind.
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// Cut shortens s to at most width columns; what is cut ends in an ellipsis.
// It never cuts inside what a reader sees as one character. Where there is not
// even room for the ellipsis, nothing is left.
func Cut(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	var b strings.Builder
	left, state := width-1, -1
	for s != "" {
		var cluster string
		var boundaries int
		cluster, s, boundaries, state = uniseg.StepString(s, state)
		w := boundaries >> uniseg.ShiftWidth
		if w > left {
			break
		}
		left -= w
		b.WriteString(cluster)
	}
	return b.String() + "…"
}
