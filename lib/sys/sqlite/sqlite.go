// Package sqlite reads the rows of an SQLite database that another program is writing,
// and leaves no trace: it only opens files for reading and takes no lock. SQLite itself
// would create two files beside a database in WAL mode, and would be as large as all of
// gt.
//
// It reads the tables of the file format at https://sqlite.org/fileformat2.html: rows in
// UTF-8, including the committed part of the write-ahead log. It does not read WITHOUT
// ROWID tables and does not compute generated columns. It trusts no number in a file.
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

// MaxRow is the maximum size of a row in bytes. Longer rows are skipped.
const MaxRow = 32 << 20

// Errors that a caller may want to distinguish.
var (
	// ErrBusy is returned if the database changed during every attempt to read it.
	ErrBusy = errors.New("it changes all the time")
	// ErrCorrupt is returned if the file is not valid.
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

// DB is a database as it was when Open or the last attempt of Do began. It must not be
// used by several goroutines at once.
type DB struct {
	path string
	main *os.File
	wal  *os.File // nil if there is none

	state    state
	written  written
	pageSize int
	usable   int              // bytes of a page
	pages    uint32           // in the database
	frames   map[uint32]int64 // the offset in the log of each page's last committed version
	tables   map[string]*table
	cache    map[uint32][]byte
}

// state is what shows that a database changed while it was read.
//
// A writer in WAL mode only appends to the log. Frames after the commit at which a reader
// stopped do not matter to it. A checkpoint does: it writes to the main file (after it
// has recorded in the -shm file how far it will go), and it restarts the log (with
// another salt in its header). A writer without a log counts its changes in the main
// file's header, and has a journal beside it while it writes.
type state struct {
	header   [headerSize]byte
	size     int64
	changed  int64 // the modification time, in nanoseconds
	wal      [walHeaderSize]byte
	attempt  [8]byte // from the -shm file
	replaced bool    // the open file is no longer the one with that name
	journal  bool
}

// Open opens a database. An empty file is a database without tables.
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

// Do calls read, which reads from the database as it is now. If the database changed
// meanwhile, so that the data is not of one consistent state, Do calls read again from
// the beginning. In that case the data and the error of the earlier call are meaningless:
// the results of read are valid only when Do returns nil or read's error.
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

// failed adds the path to an error.
func (db *DB) failed(err error) error { return atomicfile.Error("read", db.path, err) }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// open opens the files and reads the schema as it is now.
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

// look reads the current state.
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

// written shows whether the log was appended to. That matters only when a new read
// begins.
type written struct {
	size, changed int64
	head          [48]byte // of the -shm file, which has a counter of changes
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

// stale reports whether the data that was read may not be of one consistent state.
func (db *DB) stale() bool {
	now := db.look()
	return now != db.state || now.replaced || now.journal
}

// readHeader reads the main file's header and then the log.
func (db *DB) readHeader() error {
	h := db.state.header[:]
	if db.state.size == 0 {
		return nil // created, but not written to yet
	}
	if db.state.size < headerSize || string(h[:16]) != "SQLite format 3\x00" {
		return errors.New("it is not an SQLite database")
	}
	db.pageSize = int(binary.BigEndian.Uint16(h[16:]))
	if db.pageSize == 1 {
		db.pageSize = 65536
	}
	if db.pageSize < 512 || db.pageSize&(db.pageSize-1) != 0 {
		return corrupt("the page size is %d", db.pageSize)
	}
	db.usable = db.pageSize - int(h[20])
	if db.usable < 480 {
		return corrupt("only %d bytes of a page are usable", db.usable)
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
		return corrupt("it has no pages")
	}
	first, err := db.page(1)
	if err != nil {
		return err
	}
	if encoding := binary.BigEndian.Uint32(first[56:]); encoding > 1 {
		return errors.New("its text is UTF-16, which gt cannot read")
	}
	return nil
}

// readLog records which pages of the write-ahead log are valid: those with the log's salt
// and a correct checksum, up to the last commit. A log without a valid header was never
// used.
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
		return corrupt("the page size is %d, but %d in the log", db.pageSize, size)
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

// checksum continues the checksum of a log with more data.
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

// page returns a page, which the caller must not change.
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
		return nil, corrupt("page %d is beyond the end of the file", n)
	} else if err != nil {
		return nil, err
	}
	if db.cache == nil || len(db.cache)*db.pageSize >= cacheSize {
		db.cache = map[uint32][]byte{}
	}
	db.cache[n] = p
	return p, nil
}

// take is page, and counts the page against the budget. A tree cannot have more pages
// than the database, so one that exceeds the budget has a cycle.
func (db *DB) take(n uint32, budget *int64) ([]byte, error) {
	if *budget--; *budget < 0 {
		return nil, corrupt("the pages form a cycle")
	}
	return db.page(n)
}
