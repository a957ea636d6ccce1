package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// table is the schema of a table.
type table struct {
	name    string
	root    uint32
	columns []*column
	rowid   *column // the column that is an alias of the rowid
	indexes []index
	unique  []string // the columns of the first PRIMARY KEY or UNIQUE that has an index
	err     error    // why the table cannot be read
}

// column is the schema of a column.
type column struct {
	name    string
	place   int  // in a record; -1 for a generated column that is not stored
	real    bool // integers are read as floats
	collate bool // its text is not ordered by bytes
	missing any  // the value in rows that are older than the column
}

// index is an index that can be searched: it orders the text of its first column by
// bytes.
type index struct {
	root  uint32
	first string
}

// column returns a column by its name, ignoring case.
func (t *table) column(name string) *column {
	for _, c := range t.columns {
		if c.name == name || strings.EqualFold(c.name, name) {
			return c
		}
	}
	return nil
}

// maxSchema bounds how many tables and indexes are read.
const maxSchema = 10000

// readSchema reads the tables and indexes of the database.
func (db *DB) readSchema() (map[string]*table, error) {
	tables := map[string]*table{}
	if db.pages == 0 {
		return tables, nil
	}
	schema := &table{columns: []*column{{name: "type"}, {name: "name", place: 1},
		{name: "tbl_name", place: 2}, {name: "rootpage", place: 3}, {name: "sql", place: 4}}}
	type made struct {
		on, name, sql string
		root          uint32
	}
	var indexes []made
	budget, count := int64(db.pages), 0
	err := db.walk(1, -1<<63, &budget, 0, func(rowid int64, payload []byte) error {
		if count++; count > maxSchema {
			return fmt.Errorf("it has more than %d tables", maxSchema)
		}
		fields, err := record(payload)
		if err != nil {
			return err
		}
		r := Row{rowid, schema, fields}
		name, sql, root := r.Text("name"), r.Text("sql"), r.Int("rootpage")
		if root <= 0 || root > int64(db.pages) {
			return nil // a view, a virtual table
		}
		switch r.Text("type") {
		case "table":
			t := parseTable(sql)
			t.name, t.root = name, uint32(root)
			tables[strings.ToLower(name)] = t
		case "index":
			indexes = append(indexes, made{r.Text("tbl_name"), name, sql, uint32(root)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, m := range indexes {
		t := tables[strings.ToLower(m.on)]
		if t == nil {
			continue
		}
		first := ""
		if m.sql != "" {
			first = parseIndex(m.sql)
		} else if strings.EqualFold(m.name, "sqlite_autoindex_"+m.on+"_1") && len(t.unique) > 0 {
			first = t.unique[0] // the only automatic index whose columns are certain
		}
		if c := t.column(first); first != "" && c != nil && !c.collate {
			t.indexes = append(t.indexes, index{m.root, c.name})
		}
	}
	return tables, nil
}

// Tables returns the names of the tables.
func (db *DB) Tables() []string {
	var names []string
	for _, t := range db.tables {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// Columns returns the names of a table's columns in their order, or none if there is no
// such table.
func (db *DB) Columns(name string) []string {
	var names []string
	if t := db.tables[strings.ToLower(name)]; t != nil {
		for _, c := range t.columns {
			names = append(names, c.name)
		}
	}
	return names
}

// find returns a table that can be read.
func (db *DB) find(name string) (*table, error) {
	t := db.tables[strings.ToLower(name)]
	switch {
	case t == nil:
		return nil, db.failed(fmt.Errorf("it has no table '%s'", name))
	case t.err != nil:
		return nil, db.failed(fmt.Errorf("table '%s' is not read here: %w", name, t.err))
	}
	return t, nil
}

// Scan calls each for the rows of a table in the order of their rowids, until each
// returns false. It must be called inside Do.
func (db *DB) Scan(name string, each func(Row) bool) error {
	t, err := db.find(name)
	if err != nil {
		return err
	}
	budget := int64(db.pages)
	err = db.walk(t.root, -1<<63, &budget, 0, func(rowid int64, payload []byte) error {
		fields, err := record(payload)
		if err != nil {
			return err
		}
		if !each(Row{rowid, t, fields}) {
			return errStop
		}
		return nil
	})
	if err != nil && err != errStop {
		return db.failed(err)
	}
	return nil
}

// Where is Scan for the rows whose column has this text. If an index begins with the
// column, only those rows are read, in the order of the index.
func (db *DB) Where(name, column, text string, each func(Row) bool) error {
	t, err := db.find(name)
	if err != nil {
		return err
	}
	c := t.column(column)
	if c == nil {
		return db.failed(fmt.Errorf("table '%s' has no column '%s'", name, column))
	}
	i := slices.IndexFunc(t.indexes, func(x index) bool { return x.first == c.name })
	if i < 0 {
		return db.Scan(name, func(r Row) bool {
			s, ok := r.Value(c.name).(string)
			return !ok || s != text || each(r)
		})
	}
	budget := int64(db.pages)
	err = db.seek(t.indexes[i].root, []byte(text), &budget, 0, func(wanted int64) error {
		deep := int64(db.pages)
		err := db.walk(t.root, wanted, &deep, 0, func(rowid int64, payload []byte) error {
			if rowid != wanted {
				return errStop // longer than MaxRow; or not there, of which SQLite makes nothing either
			}
			fields, err := record(payload)
			if err != nil {
				return err
			}
			if !each(Row{rowid, t, fields}) {
				return errEnough
			}
			return errStop
		})
		if err == errStop {
			err = nil
		}
		return err
	})
	if err != nil && err != errStop && err != errEnough {
		return db.failed(err)
	}
	return nil
}

// errEnough is errStop from within another walk.
var errEnough = errors.New("enough of all")

// parseTable parses the text of a CREATE TABLE.
func parseTable(sql string) *table {
	t := &table{}
	tokens := tokenize(sql)
	open := slices.IndexFunc(tokens, func(k token) bool { return k.is("(") })
	if open < 0 || len(tokens) < 2 || !tokens[0].is("create") || slices.ContainsFunc(tokens[:open], func(k token) bool { return k.is("virtual") }) {
		t.err = errors.New("its definition is not understood")
		return t
	}
	items, rest := split(tokens[open+1:])
	for i, k := range rest {
		if k.is("without") && i+1 < len(rest) && rest[i+1].is("rowid") {
			t.err = errors.New("it is WITHOUT ROWID")
		}
	}
	place := 0
	integer := map[string]*column{}
	constraint := func(columns []string) {
		if len(columns) > 0 && t.unique == nil {
			t.unique = columns
		}
	}
	for _, item := range items {
		if len(item) == 0 {
			continue
		}
		if first := item[0]; first.is("constraint") || first.is("primary") || first.is("unique") || first.is("check") || first.is("foreign") {
			for i, k := range item {
				primary := k.is("primary") && i+1 < len(item) && item[i+1].is("key")
				if !primary && !k.is("unique") {
					continue
				}
				at := slices.IndexFunc(item[i:], func(k token) bool { return k.is("(") })
				if at < 0 {
					break
				}
				columns, _ := split(item[i+at+1:])
				var names []string
				for _, c := range columns {
					if len(c) > 0 {
						names = append(names, c[0].text)
					}
				}
				if primary && len(names) == 1 && t.rowid == nil && integer[strings.ToLower(names[0])] != nil {
					t.rowid = integer[strings.ToLower(names[0])]
					break
				}
				if len(columns) > 0 && slices.ContainsFunc(columns[0], func(k token) bool { return k.is("collate") || k.is("desc") }) {
					names = []string{""} // it has another order
				}
				constraint(names)
				break
			}
			continue
		}
		c := &column{name: item[0].text, place: place}
		t.columns = append(t.columns, c)
		typ, rest := columnType(item[1:])
		c.real = isReal(typ)
		if strings.EqualFold(typ, "integer") {
			integer[strings.ToLower(c.name)] = c
		}
		c.constraints(rest, func(primary, desc bool) {
			if primary && !desc && strings.EqualFold(typ, "integer") {
				t.rowid = c
				return
			}
			if desc {
				constraint([]string{""})
			} else {
				constraint([]string{c.name})
			}
		})
		if c.place >= 0 {
			place++
		}
	}
	if len(t.columns) == 0 && t.err == nil {
		t.err = errors.New("its definition is not understood")
	}
	return t
}

// constraintWords are the words that can follow a column's type.
var constraintWords = []string{"constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "generated", "as"}

// columnType splits a column's type from its constraints.
func columnType(tokens []token) (typ string, rest []token) {
	var words []string
	for i := 0; i < len(tokens); i++ {
		k := tokens[i]
		if k.is("(") { // varchar(255)
			for depth := 0; i < len(tokens); i++ {
				if tokens[i].is("(") {
					depth++
				} else if tokens[i].is(")") {
					if depth--; depth == 0 {
						break
					}
				}
			}
			continue
		}
		if slices.ContainsFunc(constraintWords, k.is) {
			return strings.Join(words, " "), tokens[i:]
		}
		words = append(words, k.text)
	}
	return strings.Join(words, " "), nil
}

// isReal reports whether a column of this type has real affinity, so that integers are
// read as floats.
func isReal(typ string) bool {
	typ = strings.ToUpper(typ)
	for _, word := range []string{"INT", "CHAR", "CLOB", "TEXT", "BLOB"} {
		if strings.Contains(typ, word) {
			return false
		}
	}
	return strings.Contains(typ, "REAL") || strings.Contains(typ, "FLOA") || strings.Contains(typ, "DOUB")
}

// constraints parses what follows a column's type, and calls unique for constraints that
// create an index.
func (c *column) constraints(tokens []token, unique func(primary, desc bool)) {
	depth := 0
	for i, k := range tokens {
		next := func(n int) token {
			if i+n < len(tokens) {
				return tokens[i+n]
			}
			return token{}
		}
		switch {
		case k.is("("):
			depth++
		case k.is(")"):
			depth--
		case depth > 0:
		case k.is("primary") && next(1).is("key"):
			unique(true, next(2).is("desc"))
		case k.is("unique"):
			unique(false, false)
		case k.is("collate"):
			c.collate = !next(1).is("binary")
		case k.is("default"):
			c.missing = literal(next(1), next(2))
			if f, ok := c.missing.(int64); ok && c.real {
				c.missing = float64(f)
			}
		case k.is("as") && next(1).is("("):
			if !tokens[len(tokens)-1].is("stored") && !slices.ContainsFunc(tokens[i:], func(k token) bool { return k.is("stored") }) {
				c.place = -1
			}
		}
	}
}

// literal returns the value of a default that is a literal.
func literal(k, next token) any {
	sign := ""
	if k.is("+") || k.is("-") {
		sign, k = k.text, next
	}
	switch {
	case k.quote == '\'' || k.quote == '"':
		return k.text
	case k.is("true"):
		return int64(1)
	case k.is("false"):
		return int64(0)
	}
	if i, err := strconv.ParseInt(sign+k.text, 10, 64); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(sign+k.text, 64); err == nil && k.text[0] <= '9' {
		return f
	}
	return nil
}

// parseIndex returns the first column of an index that can be searched.
func parseIndex(sql string) string {
	tokens := tokenize(sql)
	open := slices.IndexFunc(tokens, func(k token) bool { return k.is("(") })
	if open < 0 {
		return ""
	}
	columns, rest := split(tokens[open+1:])
	if len(rest) > 0 || len(columns) == 0 || len(columns[0]) == 0 { // a partial index (WHERE) lacks rows
		return ""
	}
	first := columns[0]
	if len(first) > 1 && !(len(first) == 2 && first[1].is("asc")) || first[0].quote == '\'' {
		return ""
	}
	return first[0].text
}

// split splits a parenthesized list at its commas. The opening parenthesis has been
// consumed.
func split(tokens []token) (items [][]token, rest []token) {
	depth, begin := 1, 0
	for i, k := range tokens {
		switch {
		case k.is("("):
			depth++
		case k.is(")"):
			if depth--; depth == 0 {
				return append(items, tokens[begin:i]), tokens[i+1:]
			}
		case k.is(",") && depth == 1:
			items = append(items, tokens[begin:i])
			begin = i + 1
		}
	}
	return items, nil
}

// token is a word or sign of SQL.
type token struct {
	text  string
	quote byte // 0 of a word without quotes
}

// is reports whether a token is this word or sign, and not quoted.
func (k token) is(word string) bool { return k.quote == 0 && strings.EqualFold(k.text, word) }

// tokenize splits SQL into tokens, without comments.
func tokenize(sql string) []token {
	var all []token
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
		case strings.HasPrefix(sql[i:], "--"):
			n := strings.IndexByte(sql[i:], '\n')
			if n < 0 {
				return all
			}
			i += n
		case strings.HasPrefix(sql[i:], "/*"):
			n := strings.Index(sql[i+2:], "*/")
			if n < 0 {
				return all
			}
			i += n + 4
		case c == '\'' || c == '"' || c == '`' || c == '[':
			last := c
			if c == '[' {
				last = ']'
			}
			var text strings.Builder
			i++
			for ; i < len(sql); i++ {
				if sql[i] == last {
					if c == '[' || i+1 >= len(sql) || sql[i+1] != last {
						break
					}
					i++
				}
				text.WriteByte(sql[i])
			}
			i++
			all = append(all, token{text.String(), c})
		case isWord(c):
			begin := i
			for i < len(sql) && (isWord(sql[i]) || sql[i] == '.' && begin < i && sql[begin] <= '9') {
				i++
			}
			all = append(all, token{sql[begin:i], 0})
		default:
			all = append(all, token{sql[i : i+1], 0})
			i++
		}
	}
	return all
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
