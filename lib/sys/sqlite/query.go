package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Row is a row of a table. It is valid only during the call that gets it.
type Row struct {
	stmt    *sqlite3.Stmt
	columns []string
}

func columnIndex(columns []string, name string) int {
	return slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
}

// Text returns a column as text, "" for NULL or an unknown column.
func (r Row) Text(name string) string {
	if i := columnIndex(r.columns, name); i >= 0 {
		return r.stmt.ColumnText(i)
	}
	return ""
}

// Int returns a column as an integer, or 0 if it is not a number.
func (r Row) Int(name string) int64 {
	if i := columnIndex(r.columns, name); i >= 0 {
		return r.stmt.ColumnInt64(i)
	}
	return 0
}

// Columns returns a table's columns in order; none if there is no such table.
func (db *DB) Columns(table string) []string { return db.columns[strings.ToLower(table)] }

// Scan calls each for the rows of a table until it returns false. It must be called inside View.
func (db *DB) Scan(table string, each func(Row) bool) error {
	return db.scanRows(table, "", nil, each)
}

// SelectWhere calls each for the rows with a text in a column until it returns false. It must be
// called inside View.
func (db *DB) SelectWhere(table, name, text string, each func(Row) bool) error {
	return db.scanRows(table, name, []string{text}, each)
}

// Skipped returns how many rows SelectWhere skips because they are too long. Call it inside View.
func (db *DB) Skipped(table, name, text string) (n int, err error) {
	sql, _, err := db.selectSQL(table, name, "count(*)", ">")
	if err == nil {
		err = db.query(db.maxSteps(0), sql, []string{text}, func(s *sqlite3.Stmt) bool {
			n = s.ColumnInt(0)
			return true
		})
	}
	if err != nil {
		return 0, db.explainError(err)
	}
	return n, nil
}

// scanRows calls each for the rows of a table until it returns false. If name is not "", it gives only
// those with the text args[0] in that column. It skips rows over MaxRow.
func (db *DB) scanRows(table, name string, args []string, each func(Row) bool) error {
	sql, columns, err := db.selectSQL(table, name, "", "<=")
	if err == nil {
		err = db.query(db.maxSteps(len(columns)), sql, args, func(s *sqlite3.Stmt) bool { return each(Row{s, columns}) })
	}
	if err != nil {
		return db.explainError(err)
	}
	return nil
}

// selectSQL returns a query for what, or else for all columns, of the rows that are at most
// (<=) or more than (>) MaxRow long, and have a text in the named column unless name is "".
func (db *DB) selectSQL(table, name, what, comparison string) (sql string, columns []string, err error) {
	if columns = db.Columns(table); columns == nil {
		return "", nil, fmt.Errorf("it has no table '%s'", table)
	}
	var names, sizes []string
	for _, c := range columns {
		c = sqlite3.QuoteIdentifier(c)
		names, sizes = append(names, c), append(sizes, "ifnull(octet_length("+c+"), 0)")
	}
	where := ""
	if name != "" {
		if columnIndex(columns, name) < 0 {
			return "", nil, fmt.Errorf("table '%s' has no column '%s'", table, name)
		}
		where = sqlite3.QuoteIdentifier(name) + " = ? COLLATE BINARY AND "
	}
	return fmt.Sprintf("SELECT %s FROM main.%s WHERE %s%s %s %d",
		cmp.Or(what, strings.Join(names, ", ")), sqlite3.QuoteIdentifier(table), where, strings.Join(sizes, " + "), comparison, MaxRow), columns, nil
}

// query calls each for the rows of a query until it returns false. most bounds its steps.
func (db *DB) query(most int64, sql string, args []string, each func(*sqlite3.Stmt) bool) (err error) {
	defer outOfMemory(&err)
	limit := &stepLimit{context.Background(), most}
	db.conn.SetInterrupt(limit)
	s, _, err := db.conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer s.Close() // its error is the last step's
	for i, text := range args {
		if err := s.BindText(i+1, text); err != nil {
			return err
		}
	}
	for s.Step() {
		limit.stepsLeft++ // Step counts too
		if !each(s) {
			return nil
		}
	}
	return s.Err()
}

var errMemory = errors.New("it needs too much memory")

// outOfMemory converts a connection's panic when its memory is exhausted into an error.
func outOfMemory(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		if r.Error() != "sqlite3: out of memory" {
			panic(r)
		}
		*err = errMemory
	default:
		panic(r)
	}
}

// A step is a thousand instructions of SQLite, after which it asks whether to stop.
const (
	// schemaSteps suffice for the definitions of some 10,000 tables. With more tables, each
	// takes longer than the one before.
	schemaSteps = 100
	// fewSteps are granted to any query.
	fewSteps = 1000
)

// maxSteps bounds a query over a table with that many columns that reads each row once. If a
// file's pages form a cycle or share pages, there are more rows than its size allows.
func (db *DB) maxSteps(columns int) int64 {
	const smallest = 6 // of a row in its page, in bytes
	rows := (db.state.size + db.logState.size) / smallest
	return fewSteps + rows/1000*int64(20+4*columns)
}

// stepLimit is a context that is done after stepsLeft calls of Err.
type stepLimit struct {
	context.Context
	stepsLeft int64
}

func (l *stepLimit) Err() error {
	if l.stepsLeft--; l.stepsLeft < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
