package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// linkless reports whether a path exists and no part of it is a link. It is a single
// system call instead of one for each part, and returns false if the kernel does not
// have it.
func linkless(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

func identify(path string) (Folder, error) {
	return statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW)
}

// openFolder opens a folder that need not be readable.
const openFolder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

func identifyOpened(f *os.File) (Folder, error) { return statx(int(f.Fd()), "", unix.AT_EMPTY_PATH) }

// openLinkless opens a folder if no part of its path is a link.
func openLinkless(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: openFolder, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.6: its path is looked at when it is open
		f, err := os.OpenFile(path, openFolder, 0)
		if err != nil {
			return nil, err
		}
		if at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || at != path {
			f.Close()
			return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
		}
		return f, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Dir is the path by which a program is started in the folder.
func (o *Opened) Dir() string { return fmt.Sprintf("/proc/self/fd/%d", o.file.Fd()) }

func statx(at int, path string, flags int) (Folder, error) {
	var st unix.Statx_t
	err := unix.Statx(at, path, flags, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err != nil {
		return Folder{}, err
	}
	f := Folder{Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		f.BirthTime = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return f, nil
}

// reborn reports whether a folder's time of birth can change. In a container's overlay
// file system, a folder of the image is copied when it is first written to; only its
// inode number stays the same.
func reborn(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}
