package term

// A Column of a table has a heading, and a cell for each of its items.
type Column[T any] struct {
	Heading string
	Hidden  bool
	Cell    func(T) string
}

// Cells returns the rows of a table: the headings of the columns that are not hidden, and their
// cells for each item.
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
