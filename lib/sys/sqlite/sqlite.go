// Package sqlite reads the rows of an SQLite database that another program is
// writing, and leaves no trace of it: files are opened to be read and no lock is
// taken, where SQLite itself would create two files beside a database in WAL
// mode, and would weigh as much as all of gt.
//
// It reads the file format as https://sqlite.org/fileformat2.html has it, as far
// as tables go: rows in UTF-8, with what lies in the write-ahead log as far as it
// was committed. It reads no WITHOUT ROWID tables, computes nothing, and takes
// every number in a file for somebody's lie.
package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"gt/lib/sys/atomicfile"
)

// MaxRow is how many bytes a row may have. A longer one is passed over.
const MaxRow = 32 << 20

// Errors that a caller may want to tell from others.
var (
	// ErrBusy: the database changed under each of the attempts to read it.
	ErrBusy = errors.New("it is being changed all the time")
	// ErrCorrupt: a number in the file cannot be.
	ErrCorrupt = errors.New("it is damaged")
)

const (
	headerSize      = 100
	walHeaderSize   = 32
	frameHeaderSize = 24
	attempts        = 5
	maxDepth        = 20      // of a tree, as SQLite has it
	cacheSize       = 1 << 20 // of pages, in bytes
)

// DB is a database as it was when Open or the last attempt of Do began. Only one
// goroutine may use it.
type DB struct {
	path string
	main *os.File
	wal  *os.File // nil where there is none

	state    state
	written  written
	pageSize int
	usable   int              // of a page
	pages    uint32           // that the database has
	frames   map[uint32]int64 // where in the log a page's last committed version is
	tables   map[string]*table
	cache    map[uint32][]byte
}

// state is what tells that a database was changed under its reader.
//
// A writer in WAL mode only appends to the log, and what is appended after the
// commit that a reader stopped at does not concern it. A checkpoint does: it
// writes to the main file (before it does, it notes in the -shm file up to where
// it means to), and it lets the log begin anew (with another salt in its header).
// A writer without a log counts its changes in the main file's header, and has a
// journal beside it as long as it writes.
type state struct {
	header   [headerSize]byte
	size     int64
	changed  int64 // when the file was, in nanoseconds
	wal      [walHeaderSize]byte
	attempt  [8]byte // from the -shm file
	replaced bool    // the file that is open is no longer the one of that name
	journal  bool
}

// Open opens a database. A database that is empty has no tables.
func Open(path string) (*DB, error) {
	db := &DB{path: path}
	if err := db.Do(func() error { return nil }); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Close closes the files.
func (db *DB) Close() {
	for _, f := range []*os.File{db.main, db.wal} {
		if f != nil {
			f.Close()
		}
	}
	db.main, db.wal = nil, nil
}

// Do calls read, which reads from the database as it is now, and once more from the beginning
// where the database was changed in a way that makes what it has read no one
// state: then what it got may be nonsense, and errors say nothing. What read gave
// out counts only when Do returns nil, or the error of read.
func (db *DB) Do(read func() error) error {
	if db.tables != nil && (db.lookLog() != db.written || db.stale()) {
		db.tables = nil
	}
	for range attempts {
		if db.tables == nil {
			if err := db.open(); err != nil {
				if db.main == nil || !db.stale() {
					return err
				}
				db.tables = nil
				continue
			}
		}
		err := read()
		if !db.stale() {
			return err
		}
		db.tables = nil
	}
	return db.failed(ErrBusy)
}

// failed says what could not be read.
func (db *DB) failed(err error) error { return atomicfile.Error("read", db.path, err) }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// open takes the database as it is now.
func (db *DB) open() (err error) {
	db.Close()
	db.tables, db.cache, db.frames, db.pages = nil, nil, nil, 0
	if db.main, err = atomicfile.Open(db.path); err != nil {
		return err
	}
	if db.wal, err = atomicfile.Open(db.path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		db.Close()
		return err
	}
	db.state, db.written = db.look(), db.lookLog()
	if err := db.readHeader(); err != nil {
		return db.failed(err)
	}
	tables, err := db.readSchema()
	if err != nil {
		return db.failed(err)
	}
	db.tables = tables
	return nil
}

// look reads what tells that the database was changed.
func (db *DB) look() (s state) {
	db.main.ReadAt(s.header[:], 0)
	if info, err := db.main.Stat(); err == nil {
		s.size, s.changed = info.Size(), info.ModTime().UnixNano()
		named, err := os.Stat(db.path)
		s.replaced = err != nil || !os.SameFile(info, named)
	}
	log, err := os.Stat(db.path + "-wal")
	if db.wal != nil {
		db.wal.ReadAt(s.wal[:], 0)
		info, infoErr := db.wal.Stat()
		s.replaced = s.replaced || err != nil || infoErr != nil || !os.SameFile(info, log)
	} else if err == nil && log.Size() > 0 {
		s.replaced = true
	}
	if f, err := atomicfile.Open(db.path + "-shm"); err == nil {
		f.ReadAt(s.attempt[:4], 96)
		f.ReadAt(s.attempt[4:], 128)
		f.Close()
	}
	if f, err := atomicfile.Open(db.path + "-journal"); err == nil {
		var first [1]byte
		n, _ := f.ReadAt(first[:], 0)
		s.journal = n == 1 && first[0] != 0
		f.Close()
	}
	return s
}

// written tells whether the log was appended to, which does not concern who is
// reading, but who begins to.
type written struct {
	size, changed int64
	head          [48]byte // of the -shm file, which counts the changes
}

func (db *DB) lookLog() (w written) {
	if db.wal == nil {
		return w
	}
	if info, err := db.wal.Stat(); err == nil {
		w.size, w.changed = info.Size(), info.ModTime().UnixNano()
	}
	if f, err := atomicfile.Open(db.path + "-shm"); err == nil {
		f.ReadAt(w.head[:], 0)
		f.Close()
	}
	return w
}

// stale reports whether what was read may be no one state of the database.
func (db *DB) stale() bool {
	now := db.look()
	return now != db.state || now.replaced || now.journal
}

// readHeader reads the main file's header and then the log.
func (db *DB) readHeader() error {
	h := db.state.header[:]
	if db.state.size == 0 {
		return nil // made, and not yet written to
	}
	if db.state.size < headerSize || string(h[:16]) != "SQLite format 3\x00" {
		return errors.New("it is not an SQLite database")
	}
	db.pageSize = int(binary.BigEndian.Uint16(h[16:]))
	if db.pageSize == 1 {
		db.pageSize = 65536
	}
	if db.pageSize < 512 || db.pageSize&(db.pageSize-1) != 0 {
		return corrupt("a page of %d bytes", db.pageSize)
	}
	db.usable = db.pageSize - int(h[20])
	if db.usable < 480 {
		return corrupt("pages of which %d bytes are used", db.usable)
	}
	pages := db.state.size / int64(db.pageSize)
	if n := int64(binary.BigEndian.Uint32(h[28:])); n > 0 && n < pages && bytes.Equal(h[24:28], h[92:96]) {
		pages = n
	}
	db.pages = uint32(min(pages, 1<<32-2))
	if h[19] == 2 && db.wal != nil {
		if err := db.readLog(); err != nil {
			return err
		}
	}
	if db.pages == 0 {
		return corrupt("it has not one page")
	}
	first, err := db.page(1)
	if err != nil {
		return err
	}
	if encoding := binary.BigEndian.Uint32(first[56:]); encoding > 1 {
		return errors.New("its text is UTF-16, which is not read here")
	}
	return nil
}

// readLog notes which pages of the write-ahead log count: those of the log's own
// salt and with the right checksum, up to the last commit. A log that begins with
// nonsense is one that was never used.
func (db *DB) readLog() error {
	h := db.state.wal[:]
	magic := binary.BigEndian.Uint32(h)
	if magic&^1 != 0x377f0682 {
		return nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	sum := checksum(order, [2]uint32{}, h[:24])
	if !matches(sum, h[24:]) {
		return nil
	}
	if size := binary.BigEndian.Uint32(h[8:]); size != uint32(db.pageSize) {
		return corrupt("pages of %d bytes, and of %d in the log", db.pageSize, size)
	}
	var pending []uint32 // the pages since the last commit
	frame := make([]byte, frameHeaderSize+db.pageSize)
	committed := map[uint32]int64{}
	for at := int64(walHeaderSize); ; at += int64(len(frame)) {
		if n, err := db.wal.ReadAt(frame, at); n < len(frame) {
			if err != nil && err != io.EOF {
				return err
			}
			break
		}
		if !bytes.Equal(frame[8:16], h[16:24]) {
			break
		}
		sum = checksum(order, sum, frame[:8])
		sum = checksum(order, sum, frame[frameHeaderSize:])
		page := binary.BigEndian.Uint32(frame)
		if !matches(sum, frame[16:24]) || page == 0 {
			break
		}
		pending = append(pending, page)
		size := binary.BigEndian.Uint32(frame[4:])
		if size == 0 {
			continue
		}
		first := at - int64(len(pending)-1)*int64(len(frame))
		for i, page := range pending {
			committed[page] = first + int64(i)*int64(len(frame)) + frameHeaderSize
		}
		pending = pending[:0]
		db.pages = size
	}
	db.frames = committed
	return nil
}

// checksum goes on with the checksum of a log.
func checksum(order binary.ByteOrder, sum [2]uint32, data []byte) [2]uint32 {
	a, b := sum[0], sum[1]
	for ; len(data) >= 8; data = data[8:] {
		a += order.Uint32(data) + b
		b += order.Uint32(data[4:]) + a
	}
	return [2]uint32{a, b}
}

func matches(sum [2]uint32, stored []byte) bool {
	return sum[0] == binary.BigEndian.Uint32(stored) && sum[1] == binary.BigEndian.Uint32(stored[4:])
}

// page returns a page, which nobody may change. Every page belongs to one place
// of one tree, so that no tree takes more pages than there are: more of them are
// a circle.
func (db *DB) page(n uint32) ([]byte, error) {
	if n == 0 || n > db.pages {
		return nil, corrupt("page %d of %d", n, db.pages)
	}
	if p := db.cache[n]; p != nil {
		return p, nil
	}
	f, at := db.main, int64(n-1)*int64(db.pageSize)
	if in, ok := db.frames[n]; ok {
		f, at = db.wal, in
	}
	p := make([]byte, db.pageSize)
	if _, err := f.ReadAt(p, at); err == io.EOF {
		return nil, corrupt("page %d lies behind the end", n)
	} else if err != nil {
		return nil, err
	}
	if db.cache == nil || len(db.cache)*db.pageSize >= cacheSize {
		db.cache = map[uint32][]byte{}
	}
	db.cache[n] = p
	return p, nil
}

// take is page for one of the pages that may still be read.
func (db *DB) take(n uint32, budget *int64) ([]byte, error) {
	if *budget--; *budget < 0 {
		return nil, corrupt("pages in a circle")
	}
	return db.page(n)
}
