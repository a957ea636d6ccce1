// Package atomicfile reads and replaces the small files that gt's state is
// made of. It is the only place in gt that renames a file.
//
// A file is replaced whole: the new content goes to a temporary file in the
// same folder, which then takes the old one's name. Whoever reads sees the old
// content or the new, never a part, and a process that is killed at any point
// leaves one of the two, plus at most one temporary file that Sweep removes.
//
// Nothing here follows a symbolic link in the last element of a path, and
// nothing blocks on a FIFO: what is not a regular file is refused.
package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/natefinch/atomic"
)

// MaxSize bounds what Read takes in: 16 MiB, far over any state file of ours.
const MaxSize = 16 << 20

var (
	// ErrTooLarge is what reading a file over the limit gives.
	ErrTooLarge = errors.New("file too large")
	// ErrNotRegular is what a symbolic link, FIFO, device or folder gives
	// where a file is expected.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotFolder is what stands in the place of a folder gives, be it a link to one.
	ErrNotFolder = errors.New("not a folder")
)

// Durability says what must survive a loss of power.
type Durability bool

const (
	// Synced waits until content and name are on disk: for what would be
	// missed.
	Synced Durability = true
	// Unsynced leaves it to the kernel: whole for every reader and after any
	// crash of the process, but a power cut may bring back the old content or
	// none. For what is rewritten every few seconds.
	Unsynced Durability = false
)

// tmpMark stands in the name of every temporary file, so that Sweep knows its
// own.
const tmpMark = ".gt-tmp-"

// Read returns the content of the file, at most limit bytes of it; more is
// ErrTooLarge. A missing file gives an error that is fs.ErrNotExist.
//
// Hooks read some dozens of files and nothing else in between, so the system is asked
// directly: an os.File costs as much again, for what it can do besides.
func Read(path string, limit int64) ([]byte, error) {
	fd, err := openFile(path)
	if err != nil {
		return nil, opening(path, err)
	}
	defer syscall.Close(fd)
	data, err := readAll(fd, limit)
	if errors.Is(err, ErrNotRegular) {
		return nil, opening(path, err)
	}
	return data, Error("read", path, err)
}

// openFile opens a file for reading, as open does.
func openFile(path string) (fd int, err error) {
	err = again(func() error {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// readAll is Read for what is open.
func readAll(fd int, limit int64) ([]byte, error) {
	var st syscall.Stat_t
	err := again(func() error { return syscall.Fstat(fd, &st) })
	switch {
	case err != nil:
		return nil, err
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return nil, ErrNotRegular
	case st.Size > limit:
		return nil, tooLarge(limit)
	}
	data := make([]byte, 0, max(st.Size+1, 1024)) // a file of /proc says that it is empty
	for {
		n := 0
		err := again(func() (err error) {
			n, err = syscall.Read(fd, data[len(data):cap(data)])
			return err
		})
		if err != nil {
			return nil, err
		}
		data = data[:len(data)+n]
		switch {
		case n == 0 || int64(len(data)) == st.Size: // what is appended meanwhile is another's
			return data, nil
		case int64(len(data)) > limit:
			return nil, tooLarge(limit)
		case len(data) == cap(data):
			data = slices.Grow(data, len(data))
		}
	}
}

// again does what the system interrupts once more, as package os does.
func again(do func() error) error {
	for {
		if err := do(); err != syscall.EINTR {
			return err
		}
	}
}

func tooLarge(limit int64) error { return fmt.Errorf("%w (over %d bytes)", ErrTooLarge, limit) }

// ReadIf is Read for a file that passes judge, which says what is wrong with it.
// It is judged by what was opened: what is looked at by its name first may be
// another file by the time that it is read.
func ReadIf(path string, limit int64, judge func(fs.FileInfo) error) ([]byte, error) {
	if judge == nil {
		return Read(path, limit)
	}
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = judge(info)
	}
	if err != nil {
		return nil, Error("use", path, err)
	}
	data, err := ReadFrom(f, limit)
	return data, Error("read", path, err)
}

// ReadFrom is Read for a file that is open: a regular one.
func ReadFrom(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNotRegular
	}
	var data []byte
	if info.Size() <= limit { // or none of it is held
		data, err = io.ReadAll(io.LimitReader(f, limit+1))
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > limit || int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

// Open opens a regular file for reading, without following a symbolic link and
// without waiting for the other end of a FIFO.
func Open(path string) (*os.File, error) {
	return open(path, os.O_RDONLY, 0)
}

// OpenFollowing opens a regular file for reading, or the one that a symbolic link
// leads to, for files of another program's that people may keep elsewhere. It never
// waits for a FIFO.
func OpenFollowing(path string) (*os.File, error) {
	f, err := Open(path)
	if !errors.Is(err, ErrNotRegular) {
		return f, err
	}
	target, rerr := filepath.EvalSymlinks(path)
	if rerr != nil || target == path {
		return nil, err
	}
	return Open(target)
}

// Absent reports whether an error means that there is no file or folder to read:
// none has the path, or what has it is something else.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, ErrNotRegular)
}

// OpenAppend opens a regular file for reading and appending, and creates it
// with mode 0600 where it is missing.
func OpenAppend(path string) (*os.File, error) {
	return open(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// OpenLock opens a file that is nothing but a lock for writing, and creates it
// where it is missing. Its mode is 0200, so that who may only read, as an agent's
// command in its sandbox, cannot hold the lock: the kernel gives one to any
// descriptor. One that is wider, as older versions made it, is narrowed where it
// is ours. With common it is one that another program opens for reading: 0600.
func OpenLock(path string, common bool) (*os.File, error) {
	mode := fs.FileMode(0o200)
	if common {
		mode = 0o600
	}
	f, err := open(path, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	// One that has another name as well may be any file of the person's, of which
	// somebody has put that name there.
	if err == nil && Owner(info) == os.Geteuid() && OneName(info) == nil {
		if perm := info.Mode().Perm(); common && perm&mode != mode || !common && perm != mode {
			err = f.Chmod(mode)
		}
	}
	if err != nil {
		f.Close()
		return nil, Error("open", path, err)
	}
	return f, nil
}

// ErrNames is what a file gives that has another name as well.
var ErrNames = errors.New("it has more than one name")

// OneName reports, as ErrNames, that a file has more names than one: who can write to
// one of the folders can have put any file of the person's there, and it would be
// changed with this one.
func OneName(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return ErrNames
	}
	return nil
}

// Owner is the user that a file belongs to, -1 where nobody says.
func Owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// opening words why a file cannot be opened.
func opening(path string, err error) error {
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = ErrNotRegular // a symbolic link, and a socket
	}
	return Error("open", path, err)
}

func open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, opening(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, Error("open", path, err)
	}
	return f, nil
}

// Write replaces the content of path, or creates it. The file has mode 0600
// whatever the umask says, also where the old one was wider. The folder must
// exist. What is there and is no regular file is refused.
func Write(path string, data []byte, d Durability) error {
	return WriteMode(path, data, 0o600, d)
}

// WriteMode is Write with another mode, for a file that is not ours alone.
func WriteMode(path string, data []byte, perm fs.FileMode, d Durability) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return Error("replace", path, ErrNotRegular)
	}
	return Error("write", path, place(path, data, perm, d, atomic.ReplaceFile))
}

// WriteIn is Write for a file in an opened folder, where a project's is written:
// nothing is reached that lies elsewhere. It does not wait for the disk.
func WriteIn(dir *os.Root, name string, data []byte) error {
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	tmp := temporaryName(name)
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := closed(f); err == nil {
		err = cerr
	}
	if err == nil {
		err = RenameIn(dir, tmp, name)
	}
	if err != nil {
		_ = dir.Remove(tmp) // a later Sweep does it
	}
	return err
}

// Create writes a file that must not exist yet, with mode 0600, and fails with
// fs.ErrExist where it does. Only one of several processes that call it
// succeeds, and nobody sees the file before it is whole.
func Create(path string, data []byte, d Durability) error {
	return Error("create", path, place(path, data, 0o600, d, func(from, to string) error {
		if err := os.Link(from, to); err != nil { // which a rename would replace
			return err
		}
		return os.Remove(from)
	}))
}

// place writes a temporary file beside path and has move give it that name.
func place(path string, data []byte, perm fs.FileMode, d Durability, move func(from, to string) error) error {
	tmp, err := temporary(path, perm)
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil && d == Synced {
		err = tmp.Sync()
	}
	if cerr := closed(tmp); err == nil {
		err = cerr
	}
	if err == nil {
		err = move(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return err
	}
	if d == Synced {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// closed closes a file that was written. One whose close is interrupted is
// closed all the same.
func closed(f *os.File) error {
	err := f.Close()
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	return err
}

// DeliverIn writes a file in one folder of an opened one and, once it is whole and on
// disk, gives it a name in another: Maildir's tmp and new. Neither file may exist yet.
// A process that is killed leaves the file under to, or a part of it under tmp. An
// error names the files as they stand below the path at.
func DeliverIn(dir *os.Root, at, tmp, to string, data []byte) error {
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Error("create", filepath.Join(at, tmp), err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := closed(f); err == nil {
		err = cerr
	}
	if err != nil {
		_ = dir.Remove(tmp)
		return Error("write", filepath.Join(at, tmp), err)
	}
	if err := RenameIn(dir, tmp, to); err != nil {
		_ = dir.Remove(tmp)
		return Error("rename", filepath.Join(at, tmp), err)
	}
	folder := filepath.Dir(to)
	return Error("write", filepath.Join(at, folder), syncIn(dir, folder))
}

// Folder behind a name opens a folder of that name and nothing else, so that a FIFO,
// which somebody puts in its place, is not waited for.
const Folder = "/."

// OpenFolder is os.OpenRoot, and waits for no FIFO.
func OpenFolder(dir string) (*os.Root, error) { return os.OpenRoot(dir + Folder) }

// RenameIn is Rename for files in an opened folder. It does not wait for the disk.
func RenameIn(dir *os.Root, from, to string) error {
	for {
		// Unlike os.Rename, this gives an interrupted call back.
		if err := dir.Rename(from, to); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// MkdirIn makes a folder in an opened one, private to the user, and waits until it is
// on disk: fs.ErrExist where something has the name.
func MkdirIn(dir *os.Root, name string) error {
	if err := dir.Mkdir(name, 0o700); err != nil {
		return err
	}
	return syncIn(dir, ".")
}

// syncIn waits until the names in a folder of an opened one are on disk.
func syncIn(dir *os.Root, name string) error {
	f, err := dir.Open(name + Folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := closed(f); err == nil {
		err = cerr
	}
	return err
}

// OpenIn opens a regular file below an opened folder that is no link: os.Root
// follows those that stay within, so what was opened is held against what has the
// name. It waits for no FIFO.
func OpenIn(dir *os.Root, name string) (*os.File, error) {
	named, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := Same(named, f.Stat); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenAppendIn is OpenAppend for a file in an opened folder to which others can write;
// see OneName.
func OpenAppendIn(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	named, err := dir.Lstat(name)
	if err == nil && !named.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = cmp.Or(OneName(named), Same(named, f.Stat))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// LinkIn is Link for two names below an opened folder.
func LinkIn(dir *os.Root, from, to string) error {
	err := dir.Link(from, to)
	if err == nil {
		err = syncIn(dir, filepath.Dir(to))
	}
	return err
}

// Same reports as an error that what was opened is not what has the name.
func Same(named fs.FileInfo, opened func() (fs.FileInfo, error)) error {
	info, err := opened()
	if err == nil && !os.SameFile(named, info) {
		err = ErrNotRegular
	}
	return err
}

// Rename gives a file another name within its file system, replacing what
// stands there.
func Rename(from, to string, d Durability) error {
	if err := atomic.ReplaceFile(from, to); err != nil {
		return Error("rename", from, err)
	}
	if d == Synced {
		return Error("write", filepath.Dir(to), syncDir(filepath.Dir(to)))
	}
	return nil
}

// Remove deletes the file; that it is already gone is no error.
func Remove(path string) error {
	err := again(func() error { return syscall.Unlink(path) }) // os.Remove asks twice where there is none
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(path) // it may be a folder
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Error("remove", path, err)
}

// Quarantine renames a file that cannot be used, so that nothing is lost and the
// name is free again. It returns the new path, "<path>.bad" or, where that is
// taken, "<path>.bad.<n>".
func Quarantine(path string) (string, error) {
	to, err := aside(path)
	if err != nil {
		return "", Error("set aside", path, err)
	}
	return to, Remove(path) // nothing, where it was moved
}

// aside gives a file the name of one that cannot be used: beside its own, and
// where the file system has no links, in its place.
func aside(path string) (string, error) {
	for n := 0; ; n++ {
		to := path + ".bad"
		if n > 0 {
			to = fmt.Sprintf("%s.%d", to, n)
		}
		// Link fails where the name is taken; rename would replace.
		err := os.Link(path, to)
		if err == nil || same(path, to) { // or one who did this was killed at the next step
			return to, nil
		}
		if _, lerr := os.Lstat(to); lerr == nil {
			if n < 99 {
				continue
			}
			return "", err
		}
		// A folder stays where it is, for what is in it is not ours.
		if info, lerr := os.Lstat(path); lerr != nil || info.IsDir() {
			return "", err
		}
		if err := atomic.ReplaceFile(path, to); err != nil {
			return "", err
		}
		return to, nil
	}
}

// EnsurePrivateDir makes dir and what is missing above it, each with mode 0700. A
// symbolic link or a file in the place of dir is refused, and so is a folder
// that belongs to somebody else.
func EnsurePrivateDir(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MayMake(dir); err != nil {
			return Error("create", dir, err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Error("create", dir, err)
		}
		info, err = os.Lstat(dir)
	}
	switch {
	case err != nil:
		return Error("use", dir, err)
	case !info.IsDir():
		return Error("use", dir, ErrNotFolder)
	}
	if Owner(info) != os.Geteuid() {
		return Error("use", dir, errors.New("it belongs to another user"))
	}
	return nil
}

// MayMake reports why a folder that does not exist must not be made: another user's
// is where it would lie. Who is root by sudo, with the user's HOME, would leave
// folders there that the user can neither read nor write.
func MayMake(dir string) error {
	for {
		above := filepath.Dir(dir)
		info, err := os.Stat(above)
		switch {
		case errors.Is(err, fs.ErrNotExist) && above != dir:
			dir = above
			continue
		case err != nil:
			return err
		case Ours(info) != nil:
			return fmt.Errorf("'%s' belongs to another user", above)
		}
		return nil
	}
}

// CheckOwner returns an error for a file or folder that another user made, who may
// have meant us to read it, and nil for one that is ours, root's, or not there. In
// /tmp, and wherever else anybody may write, a path alone does not tell who speaks.
// It is for folders; a file is judged by what was opened (ReadIf).
func CheckOwner(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // whoever opens it says why
	}
	return Error("use", path, Ours(info))
}

// Ours is CheckOwner for a file that is opened: a judge for ReadIf.
func Ours(info fs.FileInfo) error {
	if uid := Owner(info); uid != 0 && uid != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}

// OursAlone is Ours, and refuses what others may write.
func OursAlone(info fs.FileInfo) error {
	if err := Ours(info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("others may write it")
	}
	return nil
}

// EnsurePrivateDirSynced is EnsurePrivateDir, and waits until a folder that it made is on disk.
// The folder above it must exist.
func EnsurePrivateDirSynced(dir string) error {
	_, err := os.Lstat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := EnsurePrivateDir(dir); err != nil || !made {
		return err
	}
	return Error("create", dir, syncDir(filepath.Dir(dir)))
}

// SweepIn is Sweep for an opened folder that is not ours alone: only what WriteIn left
// in the place of these names goes.
func SweepIn(dir *os.Root, names []string, now time.Time) {
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(4096)
	for _, e := range entries {
		name, _, ok := strings.Cut(strings.TrimPrefix(e.Name(), "."), tmpMark)
		if !ok || e.Name()[0] != '.' || !slices.Contains(names, name) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()).Abs() > time.Hour {
			_ = dir.Remove(e.Name())
		}
	}
}

// ReadDir is os.ReadDir for what may be something else than a folder: it waits for
// no FIFO.
func ReadDir(dir string) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return entries, err
}

// Sweep removes the temporary files that killed processes left in dir. One
// that is younger than an hour may still be in use and stays.
func Sweep(dir string, now time.Time) {
	entries, err := ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.Contains(e.Name(), tmpMark) {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()).Abs() > time.Hour {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Error words a failure the way every gt binary prints it: the verb, the path
// in quotes, the reason. It is nil where err is.
func Error(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	// The path stands in the message already; only the reason is wanted.
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return fmt.Errorf("cannot %s '%s': %w", verb, path, err)
}

// temporaryName is a new name for a temporary file in the place of name.
func temporaryName(name string) string {
	var random [8]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return fmt.Sprintf(".%s%s%x", name, tmpMark, random)
}

// temporary opens a new, hidden file beside path.
func temporary(path string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	name := dir + temporaryName(base)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(perm); err != nil { // the umask must not widen or narrow it
		f.Close()
		os.Remove(name)
		return nil, err
	}
	return f, nil
}

// syncDir makes a rename in dir durable. A file system that cannot sync a
// folder says so with EINVAL and is taken at its word.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Exists reports whether something has that name.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Copy writes what r holds to a file that must not exist yet, as Create does, of
// any size.
func Copy(path string, r io.Reader) error {
	tmp, err := temporary(path, 0o600)
	if err != nil {
		return Error("create", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, r)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := closed(tmp); err == nil {
		err = cerr
	}
	if err == nil {
		err = Link(tmp.Name(), path)
	}
	return Error("create", path, err)
}
