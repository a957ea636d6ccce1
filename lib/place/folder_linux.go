package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// linkless reports whether a path exists without links. It uses one system call for all
// parts, and returns false if the kernel lacks it.
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

// openLinkless opens a folder whose path contains no links.
func openLinkless(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: openFolder, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.6: check its path once it is open
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

// Dir returns the path by which a program is started in the folder.
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

// reborn reports whether a folder's birth time can change. In a container's overlay file
// system, the first write copies a folder of the image, and only the inode number stays.
func reborn(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}
