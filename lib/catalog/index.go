package catalog

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/sqlite"
)

// The index, .sessions/index.db, has what a log and its archive said of sessions when they
// were last read, and what is needed to go on. It is a cache, and is rebuilt if it cannot be
// trusted. A log that is read as fast has none.
//
// It is trusted if only this user can have written it, and if this log and archive have
// only grown since. Each page has a checksum.

// indexVersion changes with the index's format and with what a row has of an event.
const indexVersion = 6

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
	Actors   map[string]*actor `json:"actors"`
}

type covered struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Size   int64  `json:"size"`  // the file's size
	Read   int64  `json:"read"`  // the end of the last whole line
	Guard  string `json:"guard"` // the checksum of the file's beginning and of the bytes before Read
}

type index struct {
	header
	*logView
}

const cacheDir, indexName = ".sessions", "index.db"

func indexPath(log eventlog.Log) string {
	return filepath.Join(filepath.Dir(string(log)), cacheDir, indexName)
}

// openIndex opens the index, or returns nil if it cannot be trusted.
func openIndex(path string) *index {
	db := sqlite.OpenCache(path, indexVersion)
	if db == nil {
		return nil
	}
	x := &index{logView: &logView{db: newDatabase(db)}}
	var err error
	if readErr := db.Query(func(v sqlite.Values) { err = json.Unmarshal([]byte(v.Text(0)), &x.header) }, "SELECT header FROM header"); readErr != nil || err != nil || x.Actors == nil || db.Exec(knownSQL) != nil {
		return nil
	}
	return x
}

// view reads only what is new since the index was written if the index can be trusted, and
// else everything.
func (all sources) view(path string, progress Progress) (*logView, error) {
	if path == "" || all.size() < worthWriting {
		return all.viewAnew("", progress)
	}
	if x := openIndex(path); x != nil && x.covers(all) {
		if v, err := x.readOn(path, all, progress); v != nil || err != nil {
			return v, err
		}
	}
	return all.viewAnew(path, progress)
}

// viewAnew reads everything, and writes the index unless its path is "". It returns a view of that
// index, or of a database in memory if the index cannot be written or is outdated already.
func (all sources) viewAnew(path string, progress Progress) (*logView, error) {
	r, err := all.read(progress)
	if err != nil {
		return nil, err
	}
	if path != "" && all.save(path, r) {
		if x := openIndex(path); x != nil && x.covers(all) {
			if v, err := x.readOn("", all, nil); v != nil && err == nil {
				return v, nil
			}
		}
	}
	db, err := sqlite.InMemory()
	if err != nil {
		return nil, err
	}
	return &logView{db: newDatabase(db), size: r.size}, cmp.Or(create(db, r.rows), db.Exec(knownSQL))
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
		if now.Size = c.Size; now != c { // another file, or changed before the end of what was read
			return false
		}
	}
	return true
}

// readOn reads what the log, all[1], has got since the index was written. It writes the index
// anew unless that is little or its path is "". It returns nil if an event belongs before one
// that is already in the index, or if the index is damaged.
func (x *index) readOn(path string, all sources, progress Progress) (*logView, error) {
	r := &reading{known: x.logView, rows: map[session.ID]*row{}, actors: x.Actors, size: x.Sessions}
	inOrder := true
	// lost is set once a row of the index turns out to be damaged.
	err := all.scan(progress, func(e *event) { inOrder = inOrder && r.addEvent(e) && x.lost == nil })
	if err != nil || !inOrder {
		return nil, err
	}
	if path != "" && all[1].end-x.Log.Read >= worthWriting {
		all.save(path, r)
	}
	x.size = r.size
	if len(r.rows) > 0 {
		err = cmp.Or(x.db.Exec(changedSQL), insert(x.db.Cache, "changed", slices.Collect(maps.Values(r.rows))))
	}
	return x.logView, err
}

// save writes the index, and reports whether it could: a failure only costs time. If r goes on
// from an earlier index, its rows replace or join that one's.
func (all sources) save(path string, r *reading) bool {
	dir, err := place.SharedIn(filepath.Dir(filepath.Dir(path)), cacheDir).MakeOurs()
	if err != nil {
		return false
	}
	defer dir.Close()
	h := header{Sessions: r.size, Actors: r.actors}
	for i, c := range []*covered{&h.Archive, &h.Log} {
		if *c, err = all[i].covered(all[i].end); err != nil {
			return false
		}
		c.Size = all[i].size // it may have grown since
	}
	text, err := json.Marshal(h)
	if err != nil {
		return false
	}
	_ = dir.Remove("index.jsonl") // the index of v0.1.0
	var from *sqlite.Cache
	if r.known != nil {
		from = r.known.db.Cache
	}
	return sqlite.Replace(dir, indexName, indexVersion, from, func(db *sqlite.Cache) (err error) {
		if from == nil {
			err = cmp.Or(db.Exec("CREATE TABLE header(header TEXT)"), create(db, r.rows))
		} else {
			err = cmp.Or(db.Exec("DELETE FROM header"), insert(db, "session", slices.Collect(maps.Values(r.rows))))
		}
		return cmp.Or(err, db.Exec("INSERT INTO header VALUES (?)", string(text)))
	}) == nil
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
