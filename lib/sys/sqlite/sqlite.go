// Package sqlite reads an SQLite database that another program is writing, without a trace: SQLite
// gets two files that are open for reading, and nothing else of the file system. It takes no lock
// and creates no file. Instead this package detects changes by a writer and reads again.
//
// It trusts nothing in a file: damage is an error, and every query ends.
//
// Cache is another kind: a cache of gt's own, as one file that is never changed.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"gt/lib/sys/atomicfile"
)

// MaxRow bounds a row, in bytes, as conversation.MaxRecord does a line. Longer rows are skipped.
const MaxRow = 16 << 20

var (
	// ErrBusy is returned if the database changed during every attempt.
	ErrBusy = errors.New("it changes all the time")
	// ErrCorrupt is returned for an invalid file.
	ErrCorrupt = errors.New("it is damaged")
)

const (
	headerSize    = 100
	walHeaderSize = 32
	attempts      = 5
)

// maxMemory bounds SQLite's memory for a database, in bytes: a row and copies. Tests lower it.
var maxMemory int64 = 128 << 20

// DB is a database as of Open or the last attempt of View. It is not safe for concurrent use.
type DB struct {
	path  string
	files *files
	conn  *sqlite3.Conn

	state    fileState
	logState logState
	columns  map[string][]string // of each table, by its name in lower case
}

// fileState shows whether a database changed while it was read.
//
// A writer in WAL mode only appends to the log, after the commit that a reader reads up to.
// But a checkpoint writes to the main file, after recording in the -shm file how far it
// will go, and restarts the log with another salt in its header. A writer without a log
// counts its changes in the main file's header, and has a journal while it writes.
type fileState struct {
	header   [headerSize]byte
	size     int64
	changed  int64 // modification time, in nanoseconds
	wal      [walHeaderSize]byte
	attempt  [8]byte // from the -shm file
	replaced bool    // another file has the name now
	journal  bool    // a writer without a log is at work, or was killed
}

// Open opens a database. An empty file has no tables.
func Open(path string) (*DB, error) {
	db := &DB{path: path}
	if err := db.View(func() error { return nil }); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (db *DB) Close() {
	if db.conn != nil {
		db.conn.Close() // fails only for open statements, which loses nothing
	}
	if db.files != nil {
		db.files.Close()
	}
	db.conn, db.files, db.columns = nil, nil, nil
}

// View calls read, which reads from the database as it is now. If the database changes
// meanwhile, View calls read again from the beginning. So the results of read are valid only
// when View returns nil or read's error.
func (db *DB) View(read func() error) error {
	current := db.columns != nil && db.readLogState() == db.logState && !db.isStale()
	for range attempts {
		if !current {
			if err := db.reopen(); err != nil {
				if db.files == nil || !db.isStale() { // an error that no writer caused
					return err
				}
				continue
			}
		}
		err := read()
		if !db.isStale() { // mutant always: TestChangedWhileRead
			return err
		}
		current = false
	}
	return db.explainError(ErrBusy)
}

// explainError adds the path. An interrupted query took more steps than the file's size can need.
func (db *DB) explainError(err error) error {
	switch {
	case errors.Is(err, sqlite3.NOTADB):
		err = errors.New("it is not an SQLite database")
	case errors.Is(err, sqlite3.CORRUPT):
		err = fmt.Errorf("%w: %v", ErrCorrupt, err)
	case errors.Is(err, sqlite3.INTERRUPT):
		err = fmt.Errorf("%w: reading it does not end", ErrCorrupt)
	}
	return atomicfile.Error("read", db.path, err)
}

// reopen opens the files again and reads the tables. It takes the state first, so that isStale
// notices any later change.
func (db *DB) reopen() (err error) {
	db.Close()
	if db.files, err = openFiles(db.path); err != nil {
		return err
	}
	db.state, db.logState = db.readState(), db.readLogState()
	if db.columns, err = db.readSchema(); err != nil {
		return db.explainError(err)
	}
	return nil
}

// readSchema opens the connection, which from then on sees the current commit, and reads
// the tables' columns.
func (db *DB) readSchema() (_ map[string][]string, err error) {
	if db.conn, err = db.files.connect("mode=ro"); err != nil {
		return nil, err
	}
	none := func(*sqlite3.Stmt) bool { return false }
	for _, sql := range []string{
		"PRAGMA locking_mode = EXCLUSIVE", // otherwise the index of a write-ahead log is a file
		"PRAGMA cell_size_check = ON",
		"SELECT 1 FROM sqlite_schema LIMIT 0", // reads all definitions
	} {
		if err := db.query(schemaSteps, sql, nil, none); err != nil {
			return nil, err
		}
	}
	// Leave out views, virtual tables and generated columns, which run what the database says.
	columns := map[string][]string{}
	err = db.query(db.maxSteps(0), "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.rootpage > 0", nil, func(s *sqlite3.Stmt) bool {
		table := strings.ToLower(s.ColumnText(0))
		columns[table] = append(columns[table], s.ColumnText(1))
		return true
	})
	return columns, err
}

// readState reads what shows whether another process has written. What cannot be read stays zero.
func (db *DB) readState() (s fileState) {
	db.files.main.ReadAt(s.header[:], 0)
	if info, err := db.files.main.Stat(); err == nil {
		s.size, s.changed = info.Size(), info.ModTime().UnixNano()
		named, err := os.Stat(db.path)
		s.replaced = err != nil || !os.SameFile(info, named)
	}
	log, err := os.Stat(db.path + "-wal")
	if db.files.log != nil {
		db.files.log.ReadAt(s.wal[:], 0)
		info, infoErr := db.files.log.Stat()
		s.replaced = s.replaced || err != nil || infoErr != nil || !os.SameFile(info, log)
	} else if err == nil && log.Size() > 0 {
		s.replaced = true
	}
	if f, err := atomicfile.Open(db.path + "-shm"); err == nil {
		// nBackfill and nBackfillAttempted of the log's index (sqlite.org/walformat.html).
		f.ReadAt(s.attempt[:4], 96)
		f.ReadAt(s.attempt[4:], 128)
		f.Close()
	}
	if f, err := atomicfile.Open(db.path + "-journal"); err == nil {
		// A journal that begins with zeros is over (journal_mode=PERSIST).
		var first [1]byte
		n, _ := f.ReadAt(first[:], 0)
		s.journal = n == 1 && first[0] != 0
		f.Close()
	}
	return s
}

// logState shows whether the log was appended to, which matters only when a new read begins.
type logState struct {
	size, changed int64
	head          [48]byte // of the -shm file, which has a counter of changes
}

// readLogState returns the state of the write-ahead log, and zero without one.
func (db *DB) readLogState() (w logState) {
	if db.files.log == nil {
		return w
	}
	if info, err := db.files.log.Stat(); err == nil {
		w.size, w.changed = info.Size(), info.ModTime().UnixNano()
	}
	if f, err := atomicfile.Open(db.path + "-shm"); err == nil {
		f.ReadAt(w.head[:], 0)
		f.Close()
	}
	return w
}

// isStale reports whether the data read may be inconsistent.
func (db *DB) isStale() bool {
	current := db.readState()
	return current != db.state || current.replaced || current.journal
}

// files is SQLite's view of the file system: a database and its write-ahead log, open for reading.
type files struct {
	name   string   // SQLite's name for it
	main   *os.File // the database
	log    *os.File // nil if there is none
	writes bool     // it is being made
}

var _ vfs.VFS = (*files)(nil)

var openCount atomic.Int64

// connect opens the database. Close ends what it begins.
func (f *files) connect(mode string) (*sqlite3.Conn, error) {
	f.name = fmt.Sprintf("gt%d", openCount.Add(1))
	vfs.Register(f.name, f)
	return sqlite3.OpenContext(sqlite3.WithMaxMemory(context.Background(), maxMemory), "file:db?"+mode+"&vfs="+f.name)
}

// openFiles opens a database and its write-ahead log, if there is one, without connecting to it.
func openFiles(path string) (f *files, err error) {
	f = &files{}
	if f.main, err = atomicfile.Open(path); err != nil {
		return nil, err
	}
	if f.log, err = atomicfile.Open(path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.main.Close()
		return nil, err
	}
	return f, nil
}

// Close closes the files, of which main is nil if it stays open.
func (f *files) Close() {
	vfs.Unregister(f.name)
	if f.main != nil {
		f.main.Close()
	}
	if f.log != nil {
		f.log.Close()
	}
}

// Open gives SQLite one of the two files, which are open already, and no other file.
func (f *files) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	switch {
	case flags&vfs.OPEN_MAIN_DB != 0 && f.writes:
		return writableFile{file{f.main, false}}, flags, nil
	case flags&vfs.OPEN_MAIN_DB != 0:
		return file{f.main, f.log == nil}, vfs.OPEN_MAIN_DB | vfs.OPEN_READONLY, nil
	case flags&vfs.OPEN_WAL != 0 && f.log != nil:
		return file{f.log, false}, vfs.OPEN_WAL | vfs.OPEN_READONLY, nil
	}
	return nil, flags, sqlite3.CANTOPEN
}

// Access reports that there is no journal, which DB.isStale checks, and no log, which SQLite
// opens anyway if the database uses one.
func (f *files) Access(string, vfs.AccessFlag) (bool, error) { return false, nil }

func (f *files) Delete(string, bool) error { return sqlite3.READONLY }

func (f *files) FullPathname(name string) (string, error) { return name, nil }

// file is one of the two files. Its locks do nothing.
type file struct {
	*os.File
	immutable bool
}

// Close does nothing; files.Close closes it.
func (file) Close() error { return nil }

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (file) WriteAt([]byte, int64) (int, error) { return 0, sqlite3.READONLY }
func (file) Truncate(int64) error               { return sqlite3.READONLY }
func (file) Sync(vfs.SyncFlag) error            { return nil }
func (file) Lock(vfs.LockLevel) error           { return nil }
func (file) Unlock(vfs.LockLevel) error         { return nil }
func (file) CheckReservedLock() (bool, error)   { return false, nil }
func (file) SectorSize() int                    { return 0 }

// writableFile is a file that SQLite writes.
type writableFile struct{ file }

func (w writableFile) WriteAt(p []byte, off int64) (int, error) { return w.File.WriteAt(p, off) }
func (w writableFile) Truncate(size int64) error                { return w.File.Truncate(size) }

// DeviceCharacteristics keeps SQLite from looking for a log if there is none.
func (f file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	if f.immutable {
		return vfs.IOCAP_IMMUTABLE
	}
	return 0
}
