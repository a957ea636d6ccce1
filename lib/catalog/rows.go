package catalog

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"gt/lib/state/session"
	"gt/lib/sys/sqlite"
)

// row is what a log says of a session: the events that changed it, and what finds it. Times
// are in nanoseconds.
type row struct {
	id            session.ID
	started, last int64
	parent, chain session.ID
	work          string // the work unit
	actor         string // of the first event; only while the log is read
	ended         int64  // 1 if it did, else 0
	events        []byte // as event.pack writes them
}

func (r *row) session() *Session { return sessionOf(r.id, unpack(r.events)) }

// columns are those of the table, in the order of rowOf.
const columns = "id, started, last, parent, chain, work, ended, events"

// The table session is a log's; changed, which is in memory, has what is newer than the index,
// and known is the view of both. Most chains have the id of their only session.
const (
	columnTypes = "(id TEXT, started INTEGER, last INTEGER, parent TEXT, chain TEXT, work TEXT, ended INTEGER, events BLOB, PRIMARY KEY(started DESC, id)) WITHOUT ROWID"
	tableSQL    = "CREATE TABLE session" + columnTypes + `;
		CREATE INDEX parent ON session(parent) WHERE parent <> '';
		CREATE INDEX chain ON session(chain) WHERE chain <> id AND chain <> '';
		CREATE INDEX ended ON session(ended) WHERE ended = 0`
	indexesSQL = `CREATE UNIQUE INDEX id ON session(id);
		CREATE INDEX last ON session(last DESC, id)`
	knownSQL   = "CREATE TEMP VIEW known AS SELECT * FROM session"
	changedSQL = "CREATE TEMP TABLE changed" + columnTypes + "; DROP VIEW known; " +
		knownSQL + " WHERE id NOT IN (SELECT id FROM changed) UNION ALL SELECT * FROM changed"
)

func rowOf(v sqlite.Values) *row {
	return &row{
		id: session.ID(v.Text(0)), started: v.Int(1), last: v.Int(2), parent: session.ID(v.Text(3)), chain: session.ID(v.Text(4)),
		work: v.Text(5), ended: v.Int(6), events: v.Bytes(7),
	}
}

func create(db *sqlite.Cache, rows map[session.ID]*row) error {
	sorted := slices.SortedFunc(maps.Values(rows), func(a, b *row) int { // the table's order
		return cmp.Or(cmp.Compare(b.started, a.started), cmp.Compare(a.id, b.id))
	})
	return cmp.Or(db.Exec(tableSQL), insert(db, "session", sorted), db.Exec(indexesSQL))
}

// insert writes rows into a table, and replaces those with the same id.
func insert(db *sqlite.Cache, table string, rows []*row) error {
	const (
		placeholders = "(?, ?, ?, ?, ?, ?, ?, ?)"
		batch        = 10 // rows in a statement: one by one takes half as long again
	)
	var values []any
	for some := range slices.Chunk(rows, batch) {
		values = values[:0]
		for _, r := range some {
			values = append(values, string(r.id), r.started, r.last, string(r.parent), string(r.chain), r.work, r.ended, r.events)
		}
		sql := "REPLACE INTO " + table + " VALUES " + placeholders + strings.Repeat(", "+placeholders, len(some)-1)
		if err := db.Exec(sql, values...); err != nil {
			return err
		}
	}
	return nil
}

// order is an order of sessions by a time, the latest first, and then by id.
type order struct {
	column      string // of the rows
	sessionTime func(*Session) time.Time
	nanos       func(*row) int64
}

var (
	byStart = order{"started", func(s *Session) time.Time { return s.StartedAt }, func(r *row) int64 { return r.started }}
	byLast  = order{"last", func(s *Session) time.Time { return s.LastAt }, func(r *row) int64 { return r.last }}
)

func (o order) compare(a, b *Session) int {
	return cmp.Or(o.sessionTime(b).Compare(o.sessionTime(a)), cmp.Compare(a.ID, b.ID))
}

// logView has the sessions of a log, as rows of the index, of memory, or of both.
type logView struct {
	db   *database
	size int // how many there are
	// reread reads the log without the index, which may be damaged; nil after that.
	reread func() (*logView, error)
	lost   error // why sessions are missing
}

// database is closed once nobody uses it.
type database struct{ *sqlite.Cache }

func newDatabase(c *sqlite.Cache) *database {
	db := &database{c}
	runtime.AddCleanup(db, func(c *sqlite.Cache) { c.Close() }, c)
	return db
}

// query returns what get makes of the results of a query. If the index turns out to be
// damaged, the log is read instead.
func query[T any](v *logView, get func(sqlite.Values) T, sql string, args ...any) (found []T) {
	err := v.db.Query(func(r sqlite.Values) { found = append(found, get(r)) }, sql, args...)
	if err == nil {
		return found
	}
	if v.reread != nil {
		read, failed := v.reread()
		if v.reread = nil; failed == nil {
			*v = *read
			return query(v, get, sql, args...)
		}
		err = failed
	}
	v.lost = cmp.Or(v.lost, err)
	return nil
}

// selectRows returns the sessions that meet a condition of SQL, of which args are the parameters.
func (v *logView) selectRows(condition string, args ...any) []*row {
	return query(v, rowOf, "SELECT "+columns+" FROM known WHERE "+condition, args...)
}

// findRow returns the session with that id, or nil.
func (v *logView) findRow(id session.ID) *row {
	for _, r := range v.selectRows("id = ?", string(id)) {
		return r
	}
	return nil
}

// pageSize is how many sessions are read at first, and largePage at last.
const pageSize, largePage = 32, 1024

// eachRow iterates over the sessions in an order. It reads them in pages, each of which begins
// behind the last session of the page before: ?1 is its time, ?2 its id.
func (v *logView) eachRow(o order) iter.Seq[*row] {
	next := strings.ReplaceAll("AT <= ?1 AND (AT < ?1 OR id > ?2) ORDER BY AT DESC, id LIMIT ?3", "AT", o.column)
	return func(yield func(*row) bool) {
		at, id := int64(math.MaxInt64), ""
		for size := pageSize; ; size = min(2*size, largePage) {
			page := v.selectRows(next, at, id, int64(size))
			for _, r := range page {
				if !yield(r) {
					return
				}
				at, id = o.nanos(r), string(r.id)
			}
			if len(page) < size {
				return
			}
		}
	}
}

// beginning returns the ids that begin with a prefix. The sign ~ sorts behind all that ids have.
func (v *logView) beginning(prefix string) []session.ID {
	return query(v, func(r sqlite.Values) session.ID { return session.ID(r.Text(0)) }, "SELECT id FROM known WHERE id >= ?1 AND id < ?1 || '~'", prefix)
}

// finder returns a function that reports whether the log has a session. calls is about how
// often it will be called: for few calls each of them is a query, for more all ids are read.
func (v *logView) finder(calls int) func(session.ID) bool {
	if v.size > calls {
		return func(id session.ID) bool { return v.findRow(id) != nil }
	}
	ids := v.beginning("")
	slices.Sort(ids)
	return func(id session.ID) bool {
		_, found := slices.BinarySearch(ids, id)
		return found
	}
}

func (v *logView) children(id session.ID) []*row {
	return v.selectRows("parent = ?1 AND parent <> '' AND id <> ?1", string(id))
}

// chained returns the sessions of a chain, without the one that has the chain's id. With
// prefix, it returns those of all chains whose id begins with chain.
func (v *logView) chained(chain session.ID, prefix bool) []*row {
	if prefix {
		return v.selectRows("chain >= ?1 AND chain < ?1 || '~' AND chain <> id AND chain <> ''", string(chain))
	}
	return v.selectRows("chain = ?1 AND chain <> id AND chain <> ''", string(chain))
}

func (v *logView) worked(unit string) []*row { return v.selectRows("work = ?1 AND work <> ''", unit) }

// open returns the sessions without an end in the log.
func (v *logView) open() []*row { return v.selectRows("ended = 0") }
