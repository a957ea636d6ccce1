// Package atomicfile reads and replaces the small files of gt's state. No other package
// of gt renames files.
//
// A file is replaced atomically: the new content is written to a temporary file in the
// same folder, which is then renamed to the old one's name. A reader sees the old content
// or the new, never a part. A process that is killed at any point leaves one of the two,
// and at most one temporary file, which Sweep removes.
//
// Functions here do not follow a symbolic link in the last element of a path, unless their names
// say so, and do not block on a FIFO. They refuse anything that is not a regular file.
package atomicfile

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/natefinch/atomic"
)

// MaxSize is a limit for Read: 16 MiB, far more than any state file of gt.
const MaxSize = 16 << 20

var (
	// ErrTooLarge is returned for a file over the limit.
	ErrTooLarge = errors.New("file too large")
	// ErrNotRegular is returned for a symbolic link, FIFO, device or folder in the place of a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotFolder is returned for anything in the place of a folder, even a link to one.
	ErrNotFolder = errors.New("not a folder")
)

// Durability says whether a write must survive a loss of power.
type Durability bool

const (
	// Synced waits until content and name are on disk. It is for data whose loss would be noticed.
	Synced Durability = true
	// Unsynced does not wait. The file is complete for every reader and after any
	// crash of the process, but a loss of power can bring back the old content or
	// leave none. It is for files that are rewritten every few seconds.
	Unsynced Durability = false
)

// tmpMark is part of the name of every temporary file, so that Sweep recognizes them.
const tmpMark = ".gt-tmp-"

// Read returns the content of a file. It fails with ErrTooLarge if that is more than limit
// bytes, and with fs.ErrNotExist if there is no file.
//
// Hooks read dozens of files and do little else, so Read uses system calls directly: an
// os.File would double the cost.
func Read(path string, limit int64) ([]byte, error) {
	fd, err := openFile(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer syscall.Close(fd)
	data, err := readAll(fd, limit)
	if errors.Is(err, ErrNotRegular) {
		return nil, openError(path, err)
	}
	return data, Error("read", path, err)
}

// ReadJSON is Read for a file with one JSON value, which it puts into v.
func ReadJSON(path string, limit int64, v any) error {
	data, err := Read(path, limit)
	if err != nil {
		return err
	}
	return Error("read", path, json.Unmarshal(data, v))
}

// openFile opens a file for reading, like open.
func openFile(path string) (fd int, err error) {
	err = RetryInterrupted(func() error {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// readAll is Read for an open file descriptor.
func readAll(fd int, limit int64) ([]byte, error) {
	var st syscall.Stat_t
	err := RetryInterrupted(func() error { return syscall.Fstat(fd, &st) })
	switch {
	case err != nil:
		return nil, err
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return nil, ErrNotRegular
	case st.Size > limit:
		return nil, tooLarge(limit)
	}
	size := st.Size + 1
	if size == 1 { // files in /proc say that they have 0 bytes
		size = 1024
	}
	data := make([]byte, 0, size)
	for {
		n := 0
		err := RetryInterrupted(func() (err error) {
			n, err = syscall.Read(fd, data[len(data):cap(data)])
			return err
		})
		if err != nil {
			return nil, err
		}
		data = data[:len(data)+n]
		switch {
		case n == 0 || int64(len(data)) == st.Size: // ignore what is appended meanwhile
			return data, nil
		case int64(len(data)) > limit:
			return nil, tooLarge(limit)
		case len(data) == cap(data):
			data = slices.Grow(data, len(data))
		}
	}
}

// RetryInterrupted repeats a system call while it is interrupted, as most of package os
// does by itself. Root.Rename, Root.Link and Root.Symlink do not.
func RetryInterrupted(do func() error) error {
	for {
		if err := do(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func tooLarge(limit int64) error { return fmt.Errorf("%w (over %d bytes)", ErrTooLarge, limit) }

// ReadIf is Read for a file that judge accepts: it returns judge's error if there is one.
// judge gets the open file's info, because a file that is checked by its name first may
// be another one by the time that it is read.
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
	if err == nil { // mutant never: TestJudgedByWhatWasOpened
		err = judge(info)
	}
	if err != nil {
		return nil, Error("use", path, err)
	}
	data, err := ReadFrom(f, limit)
	return data, Error("read", path, err)
}

// ReadFrom is Read for an open file, which must be regular.
func ReadFrom(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNotRegular
	}
	var data []byte
	if info.Size() <= limit { // do not load a file that is too large
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

// Open opens a regular file for reading. It follows no symbolic link and does not block on a FIFO.
func Open(path string) (*os.File, error) {
	return openRegular(path, os.O_RDONLY, 0)
}

// OpenFollowing opens a regular file for reading and follows symbolic links. It is for
// files of other programs, which people may keep elsewhere. It does not block on a FIFO.
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

// ResolveLinks returns a path without symbolic links, or only cleaned if it cannot be followed.
func ResolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// IsSystemError reports whether an error is the system's: the file could not be read now, and
// nobody knows what it holds. Any other says that what was read is no use.
func IsSystemError(err error) bool {
	var system syscall.Errno
	return errors.As(err, &system)
}

// IsAbsent reports whether an error means that there is no file or folder to read: nothing
// has the path, or something that is neither.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, ErrNotRegular)
}

// IsHidden reports whether an error says that the system hides what may be there.
func IsHidden(err error) bool { return IsSystemError(err) && !IsAbsent(err) }

// OpenAppend opens a regular file for reading and appending. A missing one is made, with mode 0600.
func OpenAppend(path string) (*os.File, error) {
	return openRegular(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// AppendLines writes complete lines to the end of a file that OpenAppend opened, in one
// write. If a kill tore the last line, a line feed comes first, so that only that line is
// lost. The caller holds the lock of the file, if it has one.
func AppendLines(f *os.File, lines []byte) error {
	torn, err := EndsTorn(f)
	if err != nil {
		return Error("read", f.Name(), err)
	}
	if torn { // mutant never: ./lib/log/eventlog TestAppendEndsATornLineFirst
		lines = append([]byte("\n"), lines...)
	}
	_, err = f.Write(lines)
	return Error("write", f.Name(), err)
}

// EndsTorn reports whether a file's last line has no line feed.
func EndsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// OpenLock opens a lock file for writing and creates it if it is missing. Its mode is
// 0200, because the kernel grants a lock on any descriptor: a process that can only read,
// such as an agent's command in its sandbox, must not be able to hold the lock. OpenLock
// corrects the mode of a file that this user owns: a copy of a state folder may have another.
// With common the mode is 0600, for a lock that another program opens for reading.
func OpenLock(path string, common bool) (*os.File, error) {
	mode := fs.FileMode(0o200)
	if common {
		mode = 0o600
	}
	f, err := openRegular(path, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	// A file with a second hard link may be any of the person's, linked there by somebody. A common
	// lock may have more rights than mode; another has exactly those.
	if err == nil && Owner(info) == os.Geteuid() && CheckOneName(info) == nil {
		// mutant never: ./lib/sys/flock TestSandboxHoldsNoLock
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

// ErrHardLink is returned for a file with a second hard link.
var ErrHardLink = errors.New("it has more than one name")

// CheckOneName returns ErrHardLink if a file has a second hard link. Anybody who can write to its
// folder can have linked any file of the person's there, and that file would be changed.
func CheckOneName(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 { // mutant never: ./lib/log/eventlog TestAnotherNameOfAFile
		return ErrHardLink
	}
	return nil
}

// Owner returns the ID of the user who owns a file, or -1 if it is unknown.
func Owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func openError(path string, err error) error {
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = ErrNotRegular // ELOOP is a symbolic link, the others are a socket
	}
	return Error("open", path, err)
}

// openRegular opens a regular file. It refuses a symbolic link, and does not wait for a FIFO's other end.
func openRegular(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, openError(path, err)
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

// Write replaces the file at path, or creates it. The file has mode 0600, whatever the
// umask is and even if the old one had more permissions. The folder must exist. Write
// refuses to replace anything but a regular file.
func Write(path string, data []byte, d Durability) error {
	return WriteMode(path, data, 0o600, d)
}

// WriteJSON is Write for a value as JSON, on one line.
func WriteJSON(path string, v any, d Durability) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Write(path, append(data, '\n'), d)
}

// WriteMode is Write with another mode, for a file that other users share.
func WriteMode(path string, data []byte, perm fs.FileMode, d Durability) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return Error("replace", path, ErrNotRegular)
	}
	return Error("write", path, writeAndMove(path, data, perm, d, atomic.ReplaceFile))
}

// WriteIn is Write for a file in an open folder of a project: it cannot reach a file
// outside. It does not wait for the disk.
func WriteIn(dir *os.Root, name string, data []byte) error {
	return MakeIn(dir, name, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// MakeIn has write fill a file in an open folder of a project. It does not wait for the disk.
func MakeIn(dir *os.Root, name string, write func(*os.File) error) error {
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	tmp := filepath.Join(filepath.Dir(name), temporaryName(filepath.Base(name)))
	f, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	err = cmp.Or(err, Close(f))
	if err == nil {
		err = RenameIn(dir, tmp, name)
	}
	if err != nil {
		_ = dir.Remove(tmp) // if this fails, a later Sweep does it
	}
	return err
}

// IfExists returns what a read returned, or the zero value and no error if nothing is there.
func IfExists[T any](v T, err error) (T, error) {
	if errors.Is(err, fs.ErrNotExist) {
		var none T
		return none, nil
	}
	return v, err
}

// Create writes a file with mode 0600. It fails with fs.ErrExist if the file exists. If
// several processes call it, only one succeeds, and nobody sees an incomplete file.
func Create(path string, data []byte, d Durability) error {
	return Error("create", path, writeAndMove(path, data, 0o600, d, moveNew))
}

// writeAndMove writes data to a temporary file beside path, which the given function renames to path.
func writeAndMove(path string, data []byte, perm fs.FileMode, d Durability, move func(from, to string) error) error {
	return streamAndMove(path, perm, d, move, func(tmp *os.File) error {
		_, err := tmp.Write(data)
		return err
	})
}

// streamAndMove has write fill a temporary file beside path, and has move rename it to path.
func streamAndMove(path string, perm fs.FileMode, d Durability, move func(from, to string) error, write func(*os.File) error) error {
	tmp, err := createTemporary(path, perm)
	if err != nil {
		return err
	}
	err = write(tmp)
	if err == nil && d == Synced { // mutant never: ./faults TestProtocol
		err = tmp.Sync()
	}
	err = cmp.Or(err, Close(tmp))
	if err == nil {
		err = move(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return err
	}
	if d == Synced { // mutant never: ./faults TestProtocol
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// Close closes a file that was written. It ignores EINTR, after which the file is closed too.
func Close(f *os.File) error {
	err := f.Close()
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	return err
}

// DeliverIn writes a file to tmp and, when it is complete and on disk, renames it to to, both below
// an open folder: Maildir's tmp and new. Neither file may exist yet. A process that is killed
// leaves the complete file at to, or a part of it at tmp. at is the path of the folder, for errors.
func DeliverIn(dir *os.Root, at, tmp, to string, data []byte) error {
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Error("create", filepath.Join(at, tmp), err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = cmp.Or(err, Close(f))
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

// Folder is appended to a name to open only a folder, so that opening does not block on a
// FIFO that somebody has put in its place.
const Folder = "/."

// OpenFolder is os.OpenRoot, but does not block on a FIFO.
func OpenFolder(dir string) (*os.Root, error) { return os.OpenRoot(dir + Folder) }

// RenameIn is Rename for files in an open folder. It does not wait for the disk.
func RenameIn(dir *os.Root, from, to string) error {
	return RetryInterrupted(func() error { return dir.Rename(from, to) })
}

// MkdirIn creates a folder in an open one, private to the user, and syncs it to disk. It
// returns fs.ErrExist if the name exists.
func MkdirIn(dir *os.Root, name string) error {
	if err := dir.Mkdir(name, 0o700); err != nil {
		return err
	}
	return syncIn(dir, ".")
}

// ErrLink reports a link in the place of a folder.
var ErrLink = errors.New("a link is on the way")

// CheckLinksIn returns an error if a link is on the way to a folder below an open one. It
// makes missing folders if make is set.
func CheckLinksIn(root *os.Root, dir string, make bool) error {
	at := ""
	for elem := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
		if elem == "." {
			continue
		}
		at = filepath.Join(at, elem)
		info, err := root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && make:
			err = root.Mkdir(at, 0o777)
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			err = ErrLink
		case err == nil && !info.IsDir():
			err = errors.New("it is not a folder")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// syncIn syncs the names in a folder, which is inside an open one, to disk.
func syncIn(dir *os.Root, name string) error {
	f, err := dir.Open(name + Folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	return cmp.Or(err, Close(f))
}

// OpenIn opens a regular file below an open folder. It refuses links: os.Root follows
// links that stay inside, so OpenIn compares the open file with the one that has the name.
// It does not block on a FIFO.
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
	if err := CheckSameFile(named, f.Stat); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenAppendIn is OpenAppend for a file in an open folder to which others can write. It
// refuses files with a second hard link (see CheckOneName).
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
		err = cmp.Or(CheckOneName(named), CheckSameFile(named, f.Stat))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// LinkIn gives a file below an open folder a second name, which must not exist, and syncs
// that to disk. If the file system has no links, it makes a copy.
func LinkIn(dir *os.Root, from, to string) error {
	err := RetryInterrupted(func() error { return dir.Link(from, to) })
	if hasNoLinks(err) {
		err = copyIn(dir, from, to)
	}
	if err == nil {
		err = syncIn(dir, filepath.Dir(to))
	}
	return err
}

// CheckSameFile returns an error if the open file is not the one that has the name.
func CheckSameFile(named fs.FileInfo, opened func() (fs.FileInfo, error)) error {
	info, err := opened()
	if err == nil && !os.SameFile(named, info) {
		err = ErrNotRegular
	}
	return err
}

// Rename renames a file within its file system, and replaces the target if it exists.
func Rename(from, to string, d Durability) error {
	if err := atomic.ReplaceFile(from, to); err != nil {
		return Error("rename", from, err)
	}
	if d == Synced {
		return Error("write", filepath.Dir(to), syncDir(filepath.Dir(to)))
	}
	return nil
}

// Remove removes a file or an empty folder. A missing one is not an error.
func Remove(path string) error {
	err := RetryInterrupted(func() error { return syscall.Unlink(path) }) // os.Remove makes two calls for a missing file
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(path) // it may be a folder
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Error("remove", path, err)
}

// Quarantine renames a file that cannot be used, so that its content is kept and the name is free
// again. It returns the new path: "<path>.bad", or "<path>.bad.<n>" if that exists.
func Quarantine(path string) (string, error) {
	to, err := linkAside(path)
	if err != nil {
		return "", Error("set aside", path, err)
	}
	return to, Remove(path) // does nothing if linkAside has renamed it
}

// linkAside links a file to a free name for Quarantine. If the file system has no links, it
// renames the file.
func linkAside(path string) (string, error) {
	for n := 0; ; n++ {
		to := path + ".bad"
		if n > 0 {
			to = fmt.Sprintf("%s.%d", to, n)
		}
		// Link fails if the name exists; rename would replace it.
		err := os.Link(path, to)
		if err == nil || sameFile(path, to) { // an earlier process may have been killed after its link
			return to, nil
		}
		if _, lerr := os.Lstat(to); lerr == nil {
			if n < 99 {
				continue
			}
			return "", err
		}
		// A folder stays where it is, because its content is not ours.
		if info, lerr := os.Lstat(path); lerr != nil || info.IsDir() {
			return "", err
		}
		if err := atomic.ReplaceFile(path, to); err != nil {
			return "", err
		}
		return to, nil
	}
}

// EnsurePrivateDir creates dir and its missing parents with mode 0700. It returns an error
// if dir is a symbolic link or a file, or belongs to another user.
func EnsurePrivateDir(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := CheckMayMake(dir); err != nil {
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

// CheckMayMake returns an error if a folder that does not exist would be created inside another
// user's folder. Otherwise root, under sudo with the user's HOME, would leave folders there
// that the user can neither read nor write.
func CheckMayMake(dir string) error {
	for {
		above := filepath.Dir(dir)
		info, err := os.Stat(above)
		switch {
		case errors.Is(err, fs.ErrNotExist) && above != dir:
			dir = above
			continue
		case err != nil:
			return err
		case CheckFileOwner(info) != nil: // mutant never: ./attacks TestSudo
			return fmt.Errorf("'%s' belongs to another user", above)
		}
		return nil
	}
}

// CheckOwner returns an error if a file or folder belongs to another user, and nil if it
// belongs to this user or root, or does not exist. In /tmp, and wherever everybody can
// write, a path does not tell who wrote the file. CheckOwner is for folders; files are
// checked after they were opened (ReadIf).
func CheckOwner(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // opening it will fail, too
	}
	return Error("use", path, CheckFileOwner(info))
}

// CheckFileOwner is CheckOwner for an open file. It is a judge for ReadIf.
func CheckFileOwner(info fs.FileInfo) error {
	if uid := Owner(info); uid != 0 && uid != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}

// CheckPrivate is CheckFileOwner, but also returns an error if other users can write to the file.
func CheckPrivate(info fs.FileInfo) error {
	if err := CheckFileOwner(info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 { // mutant never: . TestHostileStores/a_cache_that_is_open_to_all
		return errors.New("other users can write to it")
	}
	return nil
}

// SweepIn is Sweep for an open folder that others share. It removes only temporary files
// that WriteIn left for these names.
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

// ReadDir is os.ReadDir, but does not block on a FIFO in the place of the folder.
func ReadDir(dir string) ([]fs.DirEntry, error) {
	f, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Files returns the names of the regular files in a folder, sorted, without hidden ones. It is nil
// for a folder that does not exist. It sweeps the folder if a killed writer left something.
func Files(dir string) (names []string, err error) {
	entries, err := Entries(dir)
	litter := false
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
			litter = true
		case e.Type().IsRegular():
			names = append(names, e.Name())
		}
	}
	if litter {
		Sweep(dir, time.Now())
	}
	return names, err
}

// IsFolder reports whether a path is that of a folder, or a link to one.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Folders returns the names of the folders in a folder, sorted, without hidden ones. It is
// nil for a folder that does not exist.
func Folders(dir string) (names []string, err error) {
	entries, err := Entries(dir)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Entries is ReadDir for a folder that need not exist. Its error names the folder.
func Entries(dir string) ([]fs.DirEntry, error) {
	entries, err := IfExists(ReadDir(dir))
	return entries, Error("read", dir, err)
}

func openDir(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

// Sweep removes temporary files that killed processes left in dir. It leaves those younger
// than an hour, which may still be in use, and looks at no more than some thousand names.
func Sweep(dir string, now time.Time) {
	f, err := openDir(dir)
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(4096)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.Contains(e.Name(), tmpMark) {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()).Abs() > time.Hour {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Error returns "cannot <verb> '<path>': <reason>", the form in which gt reports errors
// about files. If err is an fs.PathError or os.LinkError, the reason is the error inside,
// so that the path is not repeated, and an error of that form is returned as it is. The result
// wraps the reason. It is nil if err is nil.
func Error(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	prefix := fmt.Sprintf("cannot %s '%s': ", verb, path)
	if strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return fmt.Errorf("%s%w", prefix, err)
}

func temporaryName(name string) string {
	var random [8]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return fmt.Sprintf(".%s%s%x", name, tmpMark, random)
}

// createTemporary opens a new, hidden file beside path.
func createTemporary(path string, perm fs.FileMode) (*os.File, error) {
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

// syncDir makes a rename in dir durable. It ignores EINVAL, which means that the file
// system cannot sync a folder.
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

// Exists reports whether the path exists. It does not follow a symbolic link.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsPresent reports whether anything has the path. Other than for Exists, an error is not a no.
func IsPresent(path string) (bool, error) {
	info, err := IfExists(os.Lstat(path))
	return info != nil, Error("look at", path, err)
}

// Copy writes the content of r, of any size, to a file that must not exist yet. It is
// atomic, like Create, and synced to disk.
func Copy(path string, r io.Reader) error {
	return Stream(path, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// Stream has write produce the content of a file that must not exist yet, synced to disk.
func Stream(path string, write func(io.Writer) error) error {
	return Error("create", path, streamAndMove(path, 0o600, Synced, moveNew, func(tmp *os.File) error {
		out := bufio.NewWriterSize(tmp, 64<<10)
		if err := write(out); err != nil {
			return err
		}
		return out.Flush()
	}))
}
