package place

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// SharedFolder is a folder inside a project or town that others can write to, so its content is a
// claim. It is reached from the opened outer folder without following links. The zero
// value is empty and ignores writes.
type SharedFolder struct {
	project    string
	subfolders []string // folders from the project to it
}

// SharedIn returns the folder that is reached from top by these names.
func SharedIn(top string, names ...string) SharedFolder { return SharedFolder{top, names} }

// Path returns a file's path, for messages only.
func (s SharedFolder) Path(name string) string {
	return filepath.Join(append(append([]string{s.project}, s.subfolders...), name)...)
}

// Open opens the folder, or returns fs.ErrNotExist.
func (s SharedFolder) Open() (*os.Root, error) {
	dir, _, err := s.openPath(nil)
	return dir, atomicfile.Error("use", s.Path(""), err)
}

// Make opens the folder after creating missing parts, with mode 0700 and synced. An error
// names the folder in the way.
func (s SharedFolder) Make() (*os.Root, error) {
	dir, at, err := s.openPath(atomicfile.MkdirIn)
	return dir, atomicfile.Error("use", at, err)
}

// MakeOurs opens a folder beside a log, and creates it if necessary. It refuses another user's
// folder, and creates none inside such a folder.
func (s SharedFolder) MakeOurs() (*os.Root, error) {
	path := s.Path("")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := atomicfile.CheckMayMake(path); err != nil {
			return nil, atomicfile.Error("create", path, err)
		}
	}
	dir, err := s.Make()
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	if err == nil && atomicfile.Owner(info) != os.Geteuid() {
		err = errors.New("it belongs to another user")
	}
	if err != nil {
		dir.Close()
		return nil, atomicfile.Error("use", path, err)
	}
	return dir, nil
}

// mkdir is atomicfile.MkdirIn without waiting for the disk.
func mkdir(above *os.Root, name string) error { return above.Mkdir(name, 0o700) }

// openPath opens one folder after the other, and creates missing ones unless create is nil. at is the
// last path that it tried.
func (s SharedFolder) openPath(create func(above *os.Root, name string) error) (dir *os.Root, at string, err error) {
	if s.project == "" {
		return nil, "", fs.ErrNotExist
	}
	at = s.project
	dir, err = atomicfile.OpenFolder(s.project)
	for _, name := range s.subfolders {
		if err != nil {
			break
		}
		at = filepath.Join(at, name)
		above := dir
		if create != nil {
			err = create(above, name)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			dir, err = openDir(above, name)
		}
		above.Close()
	}
	if err != nil {
		return nil, at, err
	}
	return dir, at, nil
}

// openDir opens a folder below another, unless it is a link.
func openDir(above *os.Root, name string) (*os.Root, error) {
	info, err := above.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, atomicfile.ErrNotFolder
	}
	next, err := above.OpenRoot(name + atomicfile.Folder)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.CheckSameFile(info, func() (os.FileInfo, error) { return next.Stat(".") }); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// Write writes a file of the folder, which it makes. Outside a project it does nothing.
func (s SharedFolder) Write(name string, data []byte) error {
	if s.project == "" {
		return nil
	}
	dir, _, err := s.openPath(mkdir)
	if err == nil {
		defer dir.Close()
		err = atomicfile.WriteIn(dir, name, data)
	}
	return atomicfile.Error("write", s.Path(name), err)
}

// Read returns at most limit bytes of a file, or fs.ErrNotExist. It reads only regular
// files of this user or root with a single hard link.
func (s SharedFolder) Read(name string, limit int64) ([]byte, error) {
	data, _, err := s.readWithTime(name, limit)
	return data, err
}

// OpenFile opens a file that Read would read, of any size.
func (s SharedFolder) OpenFile(name string) (*os.File, error) {
	f, _, err := s.openOwnFile(name)
	return f, err
}

// readWithTime reads a file, and returns its ctime as well, which its writer cannot forge.
func (s SharedFolder) readWithTime(name string, limit int64) (data []byte, changed time.Time, err error) {
	f, info, err := s.openOwnFile(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		changed = changeTime(st)
	}
	data, err = atomicfile.ReadFrom(f, limit)
	return data, changed, atomicfile.Error("read", s.Path(name), err)
}

const maxNames = 4096

// Names returns up to 4096 names in the folder, which anybody can fill; none if there is none.
func (s SharedFolder) Names() (names []string, err error) {
	dir, _, err := s.openPath(nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f *os.File
	if err == nil {
		defer dir.Close()
		f, err = dir.Open(".")
	}
	if err == nil {
		defer f.Close()
		names, err = f.Readdirnames(maxNames)
	}
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return names, atomicfile.Error("read", s.Path(""), err)
}

// Remove removes a file if it exists.
func (s SharedFolder) Remove(name string) error {
	dir, _, err := s.openPath(nil)
	if err == nil {
		defer dir.Close()
		err = dir.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return atomicfile.Error("remove", s.Path(name), err)
}

// Sweep removes temporary files of killed writers of these names that are older than an hour.
func (s SharedFolder) Sweep(names []string, now time.Time) {
	dir, _, err := s.openPath(nil)
	if err != nil {
		return
	}
	defer dir.Close()
	atomicfile.SweepIn(dir, names, now)
}

// openOwnFile opens a file of this user, and returns what the open file is.
func (s SharedFolder) openOwnFile(name string) (f *os.File, info os.FileInfo, err error) {
	dir, _, err := s.openPath(nil)
	if err == nil {
		defer dir.Close()
		f, err = atomicfile.OpenIn(dir, name)
	}
	if err != nil {
		return nil, nil, atomicfile.Error("read", s.Path(name), err)
	}
	if info, err = f.Stat(); err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		switch others := atomicfile.CheckFileOwner(info); {
		case others != nil:
			err = others
		case !ok || st.Nlink != 1: // mutant never: ./lib/state/request TestTakeRefuses
			err = atomicfile.ErrHardLink
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, atomicfile.Error("read", s.Path(name), err)
	}
	return f, info, nil
}
