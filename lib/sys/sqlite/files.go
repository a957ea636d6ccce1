package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"gt/lib/sys/atomicfile"
)

// files is SQLite's view of the file system: a database and its write-ahead log, open for
// reading.
type files struct {
	name   string   // SQLite's name for it
	main   *os.File // the database
	log    *os.File // nil if there is none
	writes bool     // it is being made
}

var _ vfs.VFS = (*files)(nil)

var opened atomic.Int64

// connect opens the database. Close ends what it begins.
func (f *files) connect(mode string) (*sqlite3.Conn, error) {
	f.name = fmt.Sprintf("gt%d", opened.Add(1))
	vfs.Register(f.name, f)
	return sqlite3.OpenContext(sqlite3.WithMaxMemory(context.Background(), maxMemory), "file:db?"+mode+"&vfs="+f.name)
}

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

// Open returns one of the two files.
func (f *files) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	switch {
	case flags&vfs.OPEN_MAIN_DB != 0 && f.writes:
		return written{file{f.main, false}}, flags, nil
	case flags&vfs.OPEN_MAIN_DB != 0:
		return file{f.main, f.log == nil}, vfs.OPEN_MAIN_DB | vfs.OPEN_READONLY, nil
	case flags&vfs.OPEN_WAL != 0 && f.log != nil:
		return file{f.log, false}, vfs.OPEN_WAL | vfs.OPEN_READONLY, nil
	}
	return nil, flags, sqlite3.CANTOPEN
}

// Access reports that there is no journal, which DB.stale checks, and no log, which SQLite
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

// written is a file that SQLite writes.
type written struct{ file }

func (w written) WriteAt(p []byte, off int64) (int, error) { return w.File.WriteAt(p, off) }
func (w written) Truncate(size int64) error                { return w.File.Truncate(size) }

// DeviceCharacteristics keeps SQLite from looking for a log if there is none.
func (f file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	if f.immutable {
		return vfs.IOCAP_IMMUTABLE
	}
	return 0
}
