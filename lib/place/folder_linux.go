package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gt/lib/sys/atomicfile"
)

// linkless reports whether a path exists without links. It uses one system call for all
// parts, and returns false if the kernel lacks it.
func linkless(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	fd, err := openNoLinks(path, unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// openNoLinks fails with ENOSYS before Linux 5.6.
func openNoLinks(path string, flags uint64) (fd int, err error) {
	err = atomicfile.RetryInterrupted(func() error {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
		return err
	})
	return fd, err
}

func identify(path string) (Folder, error) {
	return statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW)
}

// openFolder opens a folder that need not be readable.
const openFolder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

func identifyOpened(f *os.File) (Folder, error) { return statx(int(f.Fd()), "", unix.AT_EMPTY_PATH) }

// openLinkless opens a folder whose path contains no links.
func openLinkless(path string) (*os.File, error) {
	fd, err := openNoLinks(path, openFolder)
	if errors.Is(err, unix.ENOSYS) { // an older kernel: check the path once the folder is open
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

// statx identifies a folder, without its path. The birth time is 0 if the file system has none.
func statx(at int, path string, flags int) (Folder, error) {
	var st unix.Statx_t
	err := atomicfile.RetryInterrupted(func() error {
		return unix.Statx(at, path, flags, unix.STATX_INO|unix.STATX_BTIME, &st)
	})
	if err != nil {
		return Folder{}, err
	}
	f := Folder{Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		f.BirthTime = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return f, nil
}

// volumeOf returns how the file system at a path identifies its folders. It lists those of local
// disks and of memory as stable. Any other, such as one in user space or of a hypervisor, counts as
// unstable, because there are too many to list.
func volumeOf(path string) volumeKind {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return unknownVolume
	}
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e
	switch uint32(st.Type) {
	case unix.OVERLAYFS_SUPER_MAGIC:
		return overlayVolume
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, zfs, bcachefs:
		return stableVolume
	}
	return unstableVolume
}

// changeTime returns a file's ctime, which no program can set.
func changeTime(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }
