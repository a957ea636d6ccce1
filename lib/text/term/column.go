package term

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
