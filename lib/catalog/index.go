package catalog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/sqlite"
)

// The index, .sessions/index.db, holds which sessions a log and its archive had when they
// were last read, where their events are, and what is needed to go on. It is a cache, and
// is rebuilt if it cannot be trusted. A log that is read as fast has none.
//
// It is trusted if only this user can have written it, and if this log and archive have
// only grown since. Each page has a checksum.

// indexVersion changes with the index's format and with what entry.take makes of an event.
const indexVersion = 5

// guarded is how many bytes at the beginning of a file, and before the end of the part
// read, must be unchanged.
const guarded = 4 << 10

// worthWriting is how many new bytes of log make a new index worth writing: reading fewer
// is faster. Tests use less.
var worthWriting int64 = 256 << 10

// header says which files the index covers, and how the sessions of actors go on.
type header struct {
	Log      covered           `json:"log"`
	Archive  covered           `json:"archive"` // zero if there was none
	Sessions int               `json:"sessions"`
	Actors   map[uint64]*actor `json:"actors"`
}

// covered is a file and the part of it that was read.
type covered struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Size   int64  `json:"size"`  // the file's size
	Read   int64  `json:"read"`  // the end of the last whole line
	Guard  string `json:"guard"` // the checksum of the file's beginning and of the bytes before Read
}

// index is an open index.
type index struct {
	header
	*sqlite.Own
}

const cacheDir, indexName = ".sessions", "index.db"

func indexPath(log eventlog.Log) string {
	return filepath.Join(filepath.Dir(string(log)), cacheDir, indexName)
}

// load opens the index, or returns nil if it cannot be trusted. It stays open until nobody
// uses it.
func load(path string) *index {
	db := sqlite.OpenCache(path, indexVersion)
	if db == nil {
		return nil
	}
	x := &index{Own: db}
	var err error
	if readErr := x.Query(func(v sqlite.Values) { err = json.Unmarshal([]byte(v.Text(0)), &x.header) }, "SELECT header FROM header"); readErr != nil || err != nil || x.Actors == nil {
		db.Close()
		return nil
	}
	runtime.AddCleanup(x, func(db *sqlite.Own) { db.Close() }, db)
	return x
}

// readIndexed reads only what is new since the index was written if the index can be
// trusted, and else everything.
func (all sources) readIndexed(path string, progress Progress) (*book, error) {
	if all.size() < worthWriting {
		return all.read(progress)
	}
	indexed := func() (b *book, done bool, err error) {
		if x := load(path); x != nil && x.covers(all) {
			return x.readOn(path, all, progress)
		}
		return nil, false, nil
	}
	if b, done, err := indexed(); done || err != nil {
		return b, err
	}
	b, err := all.read(progress)
	if err != nil {
		return nil, err
	}
	all.save(path, b)
	if again, done, _ := indexed(); done {
		return again, nil // the new index has all, in less memory
	}
	return b, nil
}

func (all sources) size() (size int64) {
	for _, f := range all {
		size += f.size
	}
	return size
}

// covers reports whether the index is of these files, and sets where the part that it
// covers ends.
func (x *index) covers(all sources) bool {
	for i, c := range []covered{x.Archive, x.Log} {
		f := all[i]
		now, err := f.covered(c.Read)
		if err != nil || i == 0 && now.Size != c.Size { // new lines in the archive come before the log's
			return false
		}
		// The index's writer may have opened the file later, and read more.
		f.size, f.end = now.Size, c.Read
		if now.Size = c.Size; now != c {
			return false
		}
	}
	return true
}

// readOn reads what is new. done is false if an event belongs before one that is already
// in the index, or if the index is damaged.
func (x *index) readOn(path string, all sources, progress Progress) (b *book, done bool, err error) {
	b = newBook(all)
	b.index, b.actors = x, x.Actors
	b.again = func() (*book, error) { return nil, errDamaged }
	inOrder := true
	err = all.scan(progress, func(e *found) { inOrder = inOrder && b.add(&e.event, e.spot) && b.lost == nil })
	if err != nil || !inOrder {
		return nil, false, err
	}
	if all[1].end-x.Log.Read >= worthWriting {
		all.save(path, b)
	}
	return b, true, nil
}

var errDamaged = errors.New("the index is damaged")

// save writes the index: with b's index, what is new since. Errors are ignored, because
// they only cost time.
func (all sources) save(path string, b *book) {
	dir, err := place.SharedIn(filepath.Dir(filepath.Dir(path)), cacheDir).MakeOurs()
	if err != nil {
		return
	}
	defer dir.Close()
	h := header{Sessions: b.size(), Actors: b.actors}
	for i, c := range []*covered{&h.Archive, &h.Log} {
		if *c, err = all[i].covered(all[i].end); err != nil {
			return
		}
		c.Size = all[i].size // it may have grown since
	}
	text, err := json.Marshal(h)
	if err != nil {
		return
	}
	_ = dir.Remove("index.jsonl") // the index of v0.1.0
	var from *sqlite.Own
	if b.index != nil {
		from = b.index.Own
	}
	_ = sqlite.Replace(dir, indexName, indexVersion, from, func(db *sqlite.Own) error { return b.tables(db, string(text)) })
}

// columns are a session's, in the order of entryOf.
const columns = "id, started, last, parent, chain, actor, work, names, outcome, events"

// ownChain stands for a chain with the session's own id, as most have.
const ownChain = "."

func entryOf(v sqlite.Values) *entry {
	e := &entry{
		id: session.ID(v.Text(0)), started: v.Int(1), last: v.Int(2), parent: session.ID(v.Text(3)), chain: session.ID(v.Text(4)),
		actor: uint64(v.Int(5)), work: uint64(v.Int(6)),
		facets: facets{uint64(v.Int(7)), uint64(v.Int(8))}, events: []byte(v.Text(9)),
	}
	if e.chain == ownChain {
		e.chain = e.id
	}
	return e
}

// tables writes the tables, which are new or have what an earlier index had.
func (b *book) tables(db *sqlite.Own, header string) error {
	before, after := "DELETE FROM header", ""
	if b.index == nil {
		before = `CREATE TABLE header(header TEXT);
			CREATE TABLE session(id TEXT, started INTEGER, last INTEGER, parent TEXT, chain TEXT, actor INTEGER, work INTEGER, names INTEGER, outcome INTEGER, events BLOB, PRIMARY KEY(started DESC, id)) WITHOUT ROWID`
		after = `CREATE UNIQUE INDEX id ON session(id);
			CREATE INDEX latest ON session(last DESC, id);
			CREATE INDEX child ON session(parent) WHERE parent <> '';
			CREATE INDEX chained ON session(chain) WHERE chain > '.';
			CREATE INDEX worked ON session(work) WHERE work <> 0;
			CREATE INDEX open ON session(outcome) WHERE outcome = 0`
	}
	if err := db.Do(before); err != nil {
		return err
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	var values []any
	sorted := slices.SortedFunc(maps.Values(b.fresh), byStart.compareEntries) // the table's order
	for some := range slices.Chunk(sorted, 10) {                              // one by one takes half as long again
		values = values[:0]
		for _, e := range some {
			chain := e.chain
			if chain == e.id {
				chain = ownChain
			}
			values = append(values, string(e.id), e.started, e.last, string(e.parent), string(chain),
				int64(e.actor), int64(e.work), int64(e.facets.names), int64(e.facets.outcome), e.events)
		}
		if err := db.Do("INSERT OR REPLACE INTO session VALUES "+row+strings.Repeat(", "+row, len(some)-1), values...); err != nil {
			return err
		}
	}
	if err := db.Do(after); err != nil {
		return err
	}
	return db.Do("INSERT INTO header VALUES (?)", header)
}

// covered returns the file's identity, its size, and the part of it that was read.
func (f *source) covered(read int64) (covered, error) {
	if f.File == nil {
		return covered{}, nil
	}
	info, err := f.Stat()
	if err != nil {
		return covered{}, err
	}
	c := covered{Size: info.Size(), Read: read}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		c.Device, c.Inode = uint64(st.Dev), st.Ino // their types differ between systems
	}
	hash := fnv.New64a()
	var part [guarded]byte
	for _, from := range []int64{0, max(read-guarded, 0)} {
		n, err := f.ReadAt(part[:min(guarded, read-from)], from)
		if err != nil {
			return covered{}, err
		}
		hash.Write(part[:n])
	}
	c.Guard = hex.EncodeToString(hash.Sum(nil))
	return c, nil
}
