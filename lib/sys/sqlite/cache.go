package sqlite

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"gt/lib/sys/atomicfile"
)

// Cache is a database of gt's own. It is made once, and from then on only read. Every page has a
// checksum, so that a query fails if it meets damage. Cache is not safe for concurrent use.
type Cache struct {
	files *files
	conn  *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
}

// pageSize is larger than SQLite's, because a large database is then made in less time.
const pageSize = 16 << 10

// cachePragmas keep temporary tables in memory, and at most 16000 KB of pages: whoever reads many
// rows in the order of an index comes to the same page again.
const cachePragmas = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000"

// Values is a row of a result. It is valid only during the call that gets it.
type Values struct{ stmt *sqlite3.Stmt }

func (v Values) Text(column int) string { return v.stmt.ColumnText(column) }

func (v Values) Bytes(column int) []byte { return v.stmt.ColumnBlob(column, nil) }

func (v Values) Int(column int) int64 { return v.stmt.ColumnInt64(column) }

// OpenCache opens a database for reading, as Replace writes it. It returns nil if there is
// none of that version that only this user can have written.
func OpenCache(path string, version int64) *Cache {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || atomicfile.CheckPrivate(info) != nil || info.Size()%pageSize != 0 { // half a page has no checksum
		f.Close()
		return nil
	}
	o, err := connect(&files{main: f}, "mode=ro")
	if err == nil {
		err = o.conn.Exec(cachePragmas)
	}
	var got int64
	if err == nil {
		err = o.Query(func(v Values) { got = v.Int(0) }, "PRAGMA user_version")
	}
	if err != nil || got != version {
		o.Close()
		return nil
	}
	return o
}

// InMemory makes an empty database that is no file.
func InMemory() (*Cache, error) {
	conn, err := sqlite3.OpenContext(sqlite3.WithMaxMemory(context.Background(), 1<<30), ":memory:")
	return &Cache{conn: conn, stmts: map[string]*sqlite3.Stmt{}}, err
}

// Replace makes a database in a folder, with what is in from unless that is nil. Several
// processes may do so at once: each replaces the whole file, and nobody writes into one
// that others read. It does not wait for the disk, and removes what killed writers left.
func Replace(dir *os.Root, name string, version int64, from *Cache, fill func(*Cache) error) error {
	atomicfile.SweepIn(dir, []string{name}, time.Now())
	return atomicfile.MakeIn(dir, name, func(f *os.File) error {
		if from != nil {
			info, err := from.files.main.Stat()
			if err == nil {
				_, err = io.Copy(f, io.NewSectionReader(from.files.main, 0, info.Size()))
			}
			if err != nil {
				return err
			}
		}
		return Make(f, func(o *Cache) error {
			if err := fill(o); err != nil {
				return err
			}
			return o.Exec(fmt.Sprintf("PRAGMA user_version = %d", version))
		})
	})
}

// Make writes a database into a file, which may have one already. The file stays open.
func Make(f *os.File, fill func(*Cache) error) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	o, err := connect(&files{main: f, writes: true}, "mode=rw")
	if err == nil {
		// Nobody reads the file before it is complete.
		err = o.conn.Exec(fmt.Sprintf("PRAGMA page_size = %d; ", pageSize) + "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; " + cachePragmas)
	}
	if err == nil && info.Size() == 0 {
		err = o.conn.EnableChecksums("main")
	}
	if err == nil {
		err = o.Exec("BEGIN")
	}
	if err == nil {
		err = fill(o)
	}
	if err == nil {
		err = o.Exec("COMMIT")
	}
	o.files.main = nil // stays open
	if closed := o.Close(); err == nil {
		err = closed
	}
	return err
}

func connect(f *files, mode string) (*Cache, error) {
	conn, err := f.connect(mode)
	return &Cache{files: f, conn: conn, stmts: map[string]*sqlite3.Stmt{}}, err
}

// Close closes the database and its file.
func (o *Cache) Close() error {
	var err error
	if o.conn != nil {
		for _, s := range o.stmts {
			s.Close()
		}
		err = o.conn.Close()
	}
	if o.files != nil {
		o.files.Close()
	}
	return err
}

// Exec runs a statement without a result, or several without arguments, which are texts, bytes
// and integers (int64).
func (o *Cache) Exec(sql string, args ...any) (err error) {
	defer outOfMemory(&err)
	if len(args) == 0 {
		return o.conn.Exec(sql)
	}
	return o.Query(func(Values) {}, sql, args...)
}

// Query calls each for the rows of a result.
func (o *Cache) Query(each func(Values), sql string, args ...any) (err error) {
	defer outOfMemory(&err)
	s := o.stmts[sql]
	if s == nil {
		if s, _, err = o.conn.Prepare(sql); err != nil {
			return err
		}
		o.stmts[sql] = s
	}
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			err = s.BindText(i+1, arg)
		case []byte:
			err = s.BindBlob(i+1, arg)
		case int64:
			err = s.BindInt64(i+1, arg)
		default:
			err = fmt.Errorf("%T cannot be an argument of a query", arg)
		}
		if err != nil {
			return err
		}
	}
	for s.Step() {
		each(Values{s})
	}
	return s.Reset()
}
