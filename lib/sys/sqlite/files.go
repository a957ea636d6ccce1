package sqlite

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"gt/lib/sys/atomicfile"
)

// files is all that SQLite sees of the file system: a database and its write-ahead log,
// which are open for reading.
type files struct {
	name string   // by which SQLite finds it
	main *os.File // the database
	log  *os.File // nil if there is none
}

var _ vfs.VFS = (*files)(nil)

// opened counts the files that were opened, to give each its name.
var opened atomic.Int64

// openFiles opens the files of a database.
func openFiles(path string) (*files, error) {
	f := &files{name: fmt.Sprintf("gt%d", opened.Add(1))}
	var err error
	if f.main, err = atomicfile.Open(path); err != nil {
		return nil, err
	}
	if f.log, err = atomicfile.Open(path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.main.Close()
		return nil, err
	}
	vfs.Register(f.name, f)
	return f, nil
}

func (f *files) Close() {
	vfs.Unregister(f.name)
	f.main.Close()
	if f.log != nil {
		f.log.Close()
	}
}

// Open returns one of the two files. No other is there, and none is made.
func (f *files) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	switch {
	case flags&vfs.OPEN_MAIN_DB != 0:
		return file{f.main, f.log == nil}, vfs.OPEN_MAIN_DB | vfs.OPEN_READONLY, nil
	case flags&vfs.OPEN_WAL != 0 && f.log != nil:
		return file{f.log, false}, vfs.OPEN_WAL | vfs.OPEN_READONLY, nil
	}
	return nil, flags, sqlite3.CANTOPEN
}

// Access says that there is no journal, of which DB.stale knows, and no log: SQLite opens
// that where the database says that it has one.
func (f *files) Access(string, vfs.AccessFlag) (bool, error) { return false, nil }

func (f *files) Delete(string, bool) error { return sqlite3.READONLY }

func (f *files) FullPathname(name string) (string, error) { return name, nil }

// file is one of the files. Its locks are none.
type file struct {
	*os.File
	immutable bool
}

// Close leaves the file open, which is closed by files.
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

// DeviceCharacteristics tells SQLite of a database without a log not to look for one.
func (f file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	if f.immutable {
		return vfs.IOCAP_IMMUTABLE
	}
	return 0
}
