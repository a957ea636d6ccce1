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

// Old is what versions that kept their state in projects left in a folder: in a
// home .runtime/ and .polecat-checkpoint.json, in a town what other folders of it
// hold. Nothing but an upgrade reads it.
//
// Whoever can write to the project can have put it there, so each file is reached
// from the opened folder, through no link, and judged by what was opened. That a
// file is sound does not make it true.
type Old struct {
	dir  string
	base *os.Root // what names are relative to
	top  *os.Root
}

// The names of old, in .runtime.
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
	// ErrShared is what a file or folder gives that others may look into: gt made
	// none so, but git does, from a repository.
	ErrShared = errors.New("others may look into it, and gt makes no folder like that")
	// ErrWritable is what one gives that others may write to.
	ErrWritable = errors.New("others may write to it")
)

// OpenOld opens what an earlier version left in the home at dir: fs.ErrNotExist
// where that is nothing.
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

// Close closes it.
func (o *Old) Close() {
	o.base.Close()
	o.top.Close()
}

// Path is where a file of it stands; for people to read.
func (o *Old) Path(name string) string {
	if name == Checkpoint {
		return filepath.Join(filepath.Dir(o.dir), name)
	}
	return filepath.Join(o.dir, name)
}

// sound opens a folder in an opened one: a real one, of this user's, with none of
// the forbidden permissions.
func sound(above *os.Root, name string, forbidden fs.FileMode) (*os.Root, error) {
	seen, err := above.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("it is a link")
	case !seen.IsDir():
		return nil, atomicfile.ErrNotFolder
	case others(seen):
		return nil, errOthers // which opening it could not say
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

// folder opens the folder that a file stands in, with the file's own name.
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

// Names lists a folder of it, sorted; "" is its top. One that is not there has
// none.
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

// Read returns a regular file of it that has one name and none of the forbidden
// permissions.
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

// file opens a file of it, and judges what was opened.
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

// Copy copies a file of it, of any size, to a path that must be free.
func (o *Old) Copy(name, to string, forbidden fs.FileMode) error {
	f, err := o.file(name, forbidden)
	if err != nil {
		return atomicfile.Error("read", o.Path(name), err)
	}
	defer f.Close()
	return atomicfile.Copy(to, f)
}

// Check reports what is wrong with a file of it, as Read would, without reading
// what it holds.
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

// Exists reports whether something of that name may be there: whoever reads it says
// what is wrong.
func (o *Old) Exists(name string) bool {
	dir, base, err := o.folder(name, 0o022)
	if err == nil {
		defer dir.Close()
		_, err = dir.Lstat(base)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// Remove takes a file of it away, or a folder that is empty. That there is none is
// no error.
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

// RemoveTop takes the opened folder itself away, where it is empty.
func (o *Old) RemoveTop() error {
	err := o.top.Remove(filepath.Base(o.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return atomicfile.Error("remove", o.dir, err)
}

// exclude is the line by which earlier versions kept git from showing the
// checkpoint, and where it stands in a repository of which the home is the top.
const exclude = "*" + Checkpoint + "*"

var excludeIn = []string{".git", "info"}

// Excludes reports whether the line stands there.
func (o *Old) Excludes() bool {
	_, at, _ := o.excluding()
	return at != nil
}

// Unexclude takes the line away, and leaves all else as it is.
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

// excluding returns git's file with where in it the line stands, nil where it does
// not. A .git that is a link, or a file as in a linked worktree, has none here.
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

// OldPath is where an earlier version kept what belongs to the home at dir.
func OldPath(dir string) string { return filepath.Join(dir, Runtime) }

// OldName is the path of an old file in its home.
func OldName(name string) string {
	if name == Checkpoint {
		return name
	}
	return filepath.Join(Runtime, name)
}

// OldExclude is git's own file in which an earlier version wrote a line.
func OldExclude(dir string) string {
	return filepath.Join(append(append([]string{dir}, excludeIn...), "exclude")...)
}

// OldRest reports whether a name in .runtime is one of those that gt needed while
// it worked.
func OldRest(name string) bool {
	switch name {
	case ".gitignore", "lock", "keepalive.json", "last_handoff_ts":
		return true
	}
	return strings.HasPrefix(name, "restart-") && strings.HasSuffix(name, ".json")
}
