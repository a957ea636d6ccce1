package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/sys/atomicfile"
)

// Old gives access to what earlier versions, which kept their state in projects, left
// in a folder: .runtime/ and .polecat-checkpoint.json in a home, or other folders of a
// town. Only an upgrade reads it.
//
// Anybody who can write to the project can have put these files there. So each file is
// reached from the opened folder without following links, and is checked after it was
// opened. Even a file that passes the checks is only a claim.
type Old struct {
	dir  string
	base *os.Root // what names are relative to
	top  *os.Root
}

// The names of an earlier version's files in .runtime.
const (
	OldSessions = "sessions"
	OldMail     = "mail"
	OldRole     = "role.md"
	OldLatest   = "session_id"
	OldMarker   = "handoff"
)

var (
	errOthers  = errors.New("it belongs to another user")
	errChanged = errors.New("it was replaced while gt looked at it")
	// ErrShared is returned for a file or folder that other users can read. gt
	// never made one like that, but git does when it checks out a repository.
	ErrShared = errors.New("other users can read it, and gt never made it so")
	// ErrWritable is returned for a file or folder that other users can write to.
	ErrWritable = errors.New("other users can write to it")
)

// OpenOld opens what an earlier version left in the home at dir. It returns
// fs.ErrNotExist if there is nothing.
func OpenOld(dir string) (*Old, error) {
	o, err := openOld(dir, Runtime)
	return o, atomicfile.Error("use", filepath.Join(dir, Runtime), err)
}

// OpenOldTown opens what an earlier version left at the top of a town.
func OpenOldTown(root string) (*Old, error) {
	o, err := openOld(root, ".")
	return o, atomicfile.Error("use", root, err)
}

func openOld(dir, base string) (*Old, error) {
	top, err := atomicfile.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	o := &Old{dir: filepath.Join(dir, base), top: top}
	if o.base, err = sound(top, base, 0o022); err != nil {
		top.Close()
		return nil, err
	}
	return o, nil
}

// Close releases the open folders.
func (o *Old) Close() {
	o.base.Close()
	o.top.Close()
}

// Path returns the path of a file, for messages only.
func (o *Old) Path(name string) string {
	if name == Checkpoint {
		return filepath.Join(filepath.Dir(o.dir), name)
	}
	return filepath.Join(o.dir, name)
}

// sound opens a folder below an open one. It refuses links, folders of other users and
// folders with any of the forbidden permissions.
func sound(above *os.Root, name string, forbidden fs.FileMode) (*os.Root, error) {
	seen, err := above.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("it is a symbolic link")
	case !seen.IsDir():
		return nil, atomicfile.ErrNotFolder
	case others(seen):
		return nil, errOthers // opening it would only fail with "permission denied"
	}
	dir, err := above.OpenRoot(name + atomicfile.Folder)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(seen, info):
		err = errChanged
	default:
		err = judge(info, forbidden)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// others reports whether a file belongs to another user.
func others(info fs.FileInfo) bool { return atomicfile.Ours(info) != nil }

func judge(info fs.FileInfo, forbidden fs.FileMode) error {
	switch mode := info.Mode().Perm(); {
	case others(info):
		return errOthers
	case mode&0o022 != 0:
		return ErrWritable
	case mode&forbidden != 0:
		return ErrShared
	}
	return nil
}

// folder opens the folder that a file is in, and returns it with the file's base name.
func (o *Old) folder(name string, forbidden fs.FileMode) (dir *os.Root, base string, err error) {
	if name == Checkpoint {
		dir, err = o.top.OpenRoot(".")
		return dir, name, err
	}
	elems := strings.Split(name, "/")
	if dir, err = o.base.OpenRoot("."); err != nil {
		return nil, "", err
	}
	for _, elem := range elems[:len(elems)-1] {
		above := dir
		dir, err = sound(above, elem, forbidden)
		above.Close()
		if err != nil {
			return nil, "", err
		}
	}
	return dir, elems[len(elems)-1], nil
}

// Names returns the sorted names in a folder; "" is the top. It returns none if the
// folder does not exist.
func (o *Old) Names(folder string, forbidden fs.FileMode) ([]string, error) {
	dir, _, err := o.folder(filepath.Join(folder, "x"), forbidden)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("use", o.Path(folder), err)
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return nil, atomicfile.Error("read", o.Path(folder), err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, atomicfile.Error("read", o.Path(folder), err)
}

// Read returns the content of a regular file, at most limit bytes. It refuses files
// with a second hard link or with any of the forbidden permissions.
func (o *Old) Read(name string, limit int64, forbidden fs.FileMode) ([]byte, error) {
	data, err := o.read(name, limit, forbidden)
	return data, atomicfile.Error("read", o.Path(name), err)
}

func (o *Old) read(name string, limit int64, forbidden fs.FileMode) ([]byte, error) {
	f, err := o.file(name, forbidden)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return atomicfile.ReadFrom(f, limit)
}

// file opens a file and checks what was opened.
func (o *Old) file(name string, forbidden fs.FileMode) (*os.File, error) {
	dir, base, err := o.folder(name, 0o022)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if info, err := dir.Lstat(base); err == nil && others(info) {
		return nil, errOthers
	}
	f, info, err := openOwn(dir, base)
	if err != nil {
		return nil, err
	}
	if err := judge(info, forbidden); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Copy copies a file of any size to a path that must not exist yet.
func (o *Old) Copy(name, to string, forbidden fs.FileMode) error {
	f, err := o.file(name, forbidden)
	if err != nil {
		return atomicfile.Error("read", o.Path(name), err)
	}
	defer f.Close()
	return atomicfile.Copy(to, f)
}

// Check returns the error that Read would return, without reading the content.
func (o *Old) Check(name string, limit int64, forbidden fs.FileMode) error {
	f, err := o.file(name, forbidden)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = atomicfile.ErrTooLarge
	}
	return err
}

// Exists reports whether something of that name may exist. It also returns true if that
// cannot be determined; Read then says why.
func (o *Old) Exists(name string) bool {
	dir, base, err := o.folder(name, 0o022)
	if err == nil {
		defer dir.Close()
		_, err = dir.Lstat(base)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// Remove removes a file or an empty folder. A missing one is not an error.
func (o *Old) Remove(name string) error {
	dir, base, err := o.folder(name, 0o022)
	if err == nil {
		defer dir.Close()
		err = dir.Remove(base)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return atomicfile.Error("remove", o.Path(name), err)
}

// RemoveTop removes the opened folder itself, which must be empty. A missing one is not
// an error.
func (o *Old) RemoveTop() error {
	err := o.top.Remove(filepath.Base(o.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return atomicfile.Error("remove", o.dir, err)
}

// exclude is the line with which earlier versions hid the checkpoint from git, in
// .git/info/exclude of a repository whose top is the home.
const exclude = "*" + Checkpoint + "*"

var excludeIn = []string{".git", "info"}

// Excludes reports whether git's exclude file has that line.
func (o *Old) Excludes() bool {
	_, at, _ := o.excluding()
	return at != nil
}

// Unexclude removes the line and leaves the rest of the file unchanged.
func (o *Old) Unexclude() error {
	text, at, err := o.excluding()
	if err != nil || at == nil {
		return err
	}
	text = slices.Delete(text, at[0], at[1])
	dir, err := o.gitInfo()
	if err != nil {
		return err
	}
	defer dir.Close()
	name := "exclude"
	info, err := dir.Lstat(name)
	if err == nil {
		err = atomicfile.WriteIn(dir, name, text)
	}
	if err == nil {
		err = dir.Chmod(name, info.Mode().Perm())
	}
	return atomicfile.Error("write", filepath.Join(filepath.Dir(o.dir), ".git", "info", name), err)
}

func (o *Old) gitInfo() (*os.Root, error) {
	dir, err := o.top.OpenRoot(".")
	for _, elem := range excludeIn {
		if err != nil {
			return nil, err
		}
		above := dir
		dir, err = sound(above, elem, 0)
		above.Close()
	}
	return dir, err
}

// excluding returns the content of git's exclude file and the byte range of the line;
// at is nil if the file does not have it. A .git that is a link, or a file as in a
// linked worktree, counts as not having it.
func (o *Old) excluding() (text []byte, at []int, err error) {
	dir, err := o.gitInfo()
	if err != nil {
		return nil, nil, nil
	}
	defer dir.Close()
	text, _, err = readOwn(dir, "exclude", 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	begin := 0
	for line := range strings.Lines(string(text)) {
		if strings.TrimRight(line, "\r\n") == exclude {
			return text, []int{begin, begin + len(line)}, nil
		}
		begin += len(line)
	}
	return text, nil, nil
}

// OldPath returns the folder in which an earlier version kept the data of the home at
// dir.
func OldPath(dir string) string { return filepath.Join(dir, Runtime) }

// OldName returns the path of an old file relative to its home.
func OldName(name string) string {
	if name == Checkpoint {
		return name
	}
	return filepath.Join(Runtime, name)
}

// OldExclude returns the path of git's exclude file, to which an earlier version added
// a line.
func OldExclude(dir string) string {
	return filepath.Join(append(append([]string{dir}, excludeIn...), "exclude")...)
}

// OldRest reports whether a name in .runtime is a file that gt needed only while it
// ran.
func OldRest(name string) bool {
	switch name {
	case ".gitignore", "lock", "keepalive.json", "last_handoff_ts":
		return true
	}
	return strings.HasPrefix(name, "restart-") && strings.HasSuffix(name, ".json")
}
