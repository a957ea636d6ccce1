package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"gt/lib/sys/sqlite"
)

// open opens a database with the real SQLite.
func open(t *testing.T, path string, pragmas ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, p := range pragmas {
		exec(t, db, "PRAGMA "+p)
	}
	return db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// compare reads all tables with both, row by row.
func compare(t *testing.T, db *sql.DB, path string) {
	t.Helper()
	ours, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	names := ask(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table'")
	for _, name := range names {
		table := name[0].(string)
		columns := ours.Columns(table)
		var quoted []string
		for _, c := range columns {
			quoted = append(quoted, `"`+strings.ReplaceAll(c, `"`, `""`)+`"`)
		}
		for i, c := range columns {
			if strings.HasPrefix(c, "virtual_") { // it stands in no file
				quoted[i] = "NULL"
			}
		}
		want := ask(t, db, fmt.Sprintf(`SELECT rowid, %s FROM "%s" ORDER BY rowid`, strings.Join(quoted, ", "), table))
		if all := ask(t, db, fmt.Sprintf(`SELECT name FROM pragma_table_xinfo('%s')`, table)); len(all) != len(columns) {
			t.Fatalf("%s has %d columns, read were %q", table, len(all), columns)
		}
		var got [][]any
		if err := ours.Do(func() error {
			got = nil
			return ours.Scan(table, func(r sqlite.Row) bool {
				row := []any{r.ID}
				for _, c := range columns {
					row = append(row, r.Value(c))
				}
				got = append(got, row)
				return true
			})
		}); err != nil {
			t.Fatal(err)
		}
		same(t, table, columns, got, want)

		// Each text that stands in a column is found by it.
		for i, c := range columns {
			seen := map[string]bool{"": true, "nowhere": true}
			for _, row := range want {
				if s, ok := row[i+1].(string); ok && len(seen) < 12 {
					seen[s] = true
				}
			}
			for s := range seen {
				var wanted, found []int64
				for _, row := range want {
					if row[i+1] == any(s) {
						wanted = append(wanted, row[0].(int64))
					}
				}
				if err := ours.Where(table, c, s, func(r sqlite.Row) bool {
					found = append(found, r.ID)
					return true
				}); err != nil {
					t.Fatal(err)
				}
				if slices.Sort(found); !slices.Equal(found, wanted) {
					t.Fatalf("%s where %s is %.40q: rows %v, not %v", table, c, s, found, wanted)
				}
			}
		}
	}
}

func ask(t *testing.T, db *sql.DB, query string) [][]any {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]any
	for rows.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, table string, columns []string, got, want [][]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d rows, read were %d", table, len(want), len(got))
	}
	for i := range want {
		for j := range want[i] {
			g, w := got[i][j], want[i][j]
			if gb, ok := g.([]byte); ok {
				if wb, ok := w.([]byte); ok && bytes.Equal(gb, wb) {
					continue
				}
			}
			if gf, ok := g.(float64); ok {
				if wf, ok := w.(float64); ok && (gf == wf || math.IsNaN(gf) && math.IsNaN(wf)) {
					continue
				}
			}
			if !reflect.DeepEqual(g, w) {
				t.Fatalf("%s, row %d, column %d of %q: read %T %.60v, not %T %.60v", table, i, j, columns, g, g, w, w)
			}
		}
	}
}

var pageSizes = []int{512, 1024, 4096, 65536}

// value makes something to store: of every kind, and of lengths around what
// still lies on a page.
func value(r *rand.Rand, page int) any {
	switch r.IntN(9) {
	case 0:
		return nil
	case 1:
		return r.Int64() >> r.IntN(64)
	case 2:
		return -r.Int64() >> r.IntN(64)
	case 3:
		return r.NormFloat64()
	case 4:
		return bytes.Repeat([]byte{byte(r.Int())}, r.IntN(3*page))
	case 5:
		return strings.Repeat("é", r.IntN(page))
	case 6:
		return float64(r.IntN(5))
	}
	return fmt.Sprintf("text %d", r.IntN(30))
}

// Random tables, filled, changed, thinned out, widened, with and without a log,
// before and after checkpoints and a vacuum, are read as SQLite reads them.
func TestRandom(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			page := pageSizes[r.IntN(len(pageSizes))]
			path := filepath.Join(t.TempDir(), "x.db")
			mode := []string{"wal", "delete", "truncate"}[seed%3]
			db := open(t, path, fmt.Sprintf("page_size = %d", page), fmt.Sprintf("auto_vacuum = %d", r.IntN(3)),
				"synchronous = off", "journal_mode = "+mode, fmt.Sprintf("wal_autocheckpoint = %d", 50*r.IntN(3)))
			exec(t, db, `CREATE TABLE a ("the id" text PRIMARY KEY, b, [c d] real DEFAULT 7 NOT NULL, `+"`e`"+` varchar(20, 3) COLLATE NOCASE, f blob, CHECK (b <> ',)'))`)
			exec(t, db, "CREATE TABLE n (id INTEGER PRIMARY KEY, session_id text NOT NULL, -- a comment, (with signs)\n x integer, virtual_y GENERATED ALWAYS AS (x || '!') VIRTUAL, z text AS (x || '?') STORED, w double)")
			exec(t, db, "CREATE TABLE k (a text, b INTEGER, c text UNIQUE, PRIMARY KEY (b))")
			exec(t, db, "CREATE TABLE u (a int, b text, c text, CONSTRAINT one UNIQUE (b, a), UNIQUE (c, a))")
			exec(t, db, "CREATE INDEX n_session ON n (session_id, x)")
			exec(t, db, "CREATE INDEX a_e ON a (e)")
			exec(t, db, "CREATE INDEX a_b ON a (b DESC)")
			exec(t, db, "CREATE INDEX a_f ON a (f) WHERE f IS NOT NULL")
			exec(t, db, "CREATE VIEW v AS SELECT * FROM a")
			for i := range 60 + r.IntN(300) {
				exec(t, db, `INSERT OR IGNORE INTO a ("the id", b, [c d], e, f) VALUES (?, ?, ?, ?, ?)`, fmt.Sprint("id ", r.IntN(400)), value(r, page), r.IntN(9), value(r, page), value(r, page))
				exec(t, db, `INSERT INTO n (session_id, x, w) VALUES (?, ?, ?)`, fmt.Sprint("ses_", r.IntN(20)), value(r, page), r.IntN(3))
				exec(t, db, `INSERT OR IGNORE INTO k VALUES (?, ?, ?)`, value(r, page), r.Int64()-1<<62, value(r, page))
				exec(t, db, `INSERT OR IGNORE INTO u VALUES (?, ?, ?)`, r.IntN(4), value(r, page), value(r, page))
				if i == 20 && seed%4 == 0 {
					exec(t, db, "ALTER TABLE a ADD COLUMN late integer DEFAULT -5")
					exec(t, db, "ALTER TABLE a ADD COLUMN later text DEFAULT 'it''s'")
					exec(t, db, "ALTER TABLE a ADD COLUMN last")
					exec(t, db, "ALTER TABLE k RENAME TO \"k 2\"")
					exec(t, db, "ALTER TABLE \"k 2\" RENAME TO k")
				}
			}
			compare(t, db, path)
			exec(t, db, `DELETE FROM n WHERE id % 3 = 0`)
			exec(t, db, `UPDATE n SET x = session_id || x WHERE id % 5 = 0`)
			exec(t, db, `DELETE FROM a WHERE length("the id") = 5`)
			compare(t, db, path)
			switch r.IntN(4) {
			case 0:
				exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
			case 1:
				exec(t, db, "PRAGMA wal_checkpoint(RESTART)")
			case 2:
				exec(t, db, "VACUUM")
			}
			exec(t, db, `INSERT INTO n (session_id, x) VALUES ('ses_1', 'after')`)
			compare(t, db, path)
			exec(t, db, "DROP TABLE u")
			compare(t, db, path)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			compare(t, open(t, path), path)
		})
	}
}

// What is in the log and was not committed is not read, nor is what a log holds
// of the time before it began anew.
func TestUncommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, "journal_mode = wal", "wal_autocheckpoint = 0", "cache_size = 5")
	exec(t, db, "CREATE TABLE a (b)")
	exec(t, db, "INSERT INTO a VALUES ('committed')")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	before := size(t, path+"-wal")
	for range 400 { // more than the cache holds, so that it goes to the log
		if _, err := tx.Exec("INSERT INTO a VALUES (?)", strings.Repeat("x", 3000)); err != nil {
			t.Fatal(err)
		}
	}
	if size(t, path+"-wal") == before {
		t.Fatal("nothing reached the log")
	}
	if got := rows(t, path, "a"); !slices.Equal(got, []string{"committed"}) {
		t.Errorf("%d rows", len(got))
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "INSERT INTO a VALUES ('later')")
	compare(t, db, path)
	exec(t, db, "PRAGMA wal_checkpoint(RESTART)")
	exec(t, db, "INSERT INTO a VALUES ('anew')")
	compare(t, db, path)
}

// A reader that a checkpoint, or a writer without a log, comes in between of
// begins again, and what it then has is one state.
func TestChangedWhileRead(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		path := filepath.Join(t.TempDir(), "x.db")
		db := open(t, path, "journal_mode = "+mode, "wal_autocheckpoint = 0")
		exec(t, db, "CREATE TABLE a (b)")
		exec(t, db, "CREATE TABLE c (b)")
		exec(t, db, "INSERT INTO a VALUES ('1')")
		exec(t, db, "INSERT INTO c VALUES ('1')")
		exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
		ours, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		times := 0
		var a, c []string
		if err := ours.Do(func() error {
			times++
			a, c = column(t, ours, "a"), nil
			if times == 1 {
				exec(t, db, "UPDATE a SET b = '2'")
				exec(t, db, "UPDATE c SET b = '2'")
				exec(t, db, "PRAGMA wal_checkpoint(PASSIVE)")
			}
			c = column(t, ours, "c")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if times != 2 || !slices.Equal(a, []string{"2"}) || !slices.Equal(c, a) {
			t.Errorf("%s: %d times; %q and %q", mode, times, a, c)
		}
	}
}

// What is appended to the log while somebody reads does not disturb it.
func TestAppendedWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, "journal_mode = wal", "wal_autocheckpoint = 0")
	exec(t, db, "CREATE TABLE a (b)")
	exec(t, db, "INSERT INTO a VALUES ('1')")
	ours, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	times := 0
	if err := ours.Do(func() error {
		times++
		exec(t, db, "UPDATE a SET b = '2'")
		if got := column(t, ours, "a"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("%q", got)
		}
		return nil
	}); err != nil || times != 1 {
		t.Error(times, err)
	}
	// Who begins to read sees it.
	if err := ours.Do(func() error {
		if got := column(t, ours, "a"); !slices.Equal(got, []string{"2"}) {
			t.Errorf("%q", got)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// What cannot be read says so.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, "encoding = 'UTF-16le'")
	exec(t, db, "CREATE TABLE a (b)")
	if _, err := sqlite.Open(path); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Error(err)
	}
	path = filepath.Join(t.TempDir(), "y.db")
	db = open(t, path)
	exec(t, db, "CREATE TABLE a (b PRIMARY KEY) WITHOUT ROWID")
	exec(t, db, "INSERT INTO a VALUES (1)")
	ours, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := ours.Scan("a", func(sqlite.Row) bool { return true }); err == nil || !strings.Contains(err.Error(), "WITHOUT ROWID") {
		t.Error(err)
	}
}

func rows(t *testing.T, path, table string) []string {
	t.Helper()
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return column(t, db, table)
}

// column returns the first column of a table.
func column(t *testing.T, db *sqlite.DB, table string) (all []string) {
	t.Helper()
	if err := db.Scan(table, func(r sqlite.Row) bool {
		all = append(all, r.Text("b"))
		return true
	}); err != nil {
		all = append(all, err.Error())
	}
	return all
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
