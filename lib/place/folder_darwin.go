package place

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func identify(path string) (Folder, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return Folder{}, err
	}
	return folderOf(&st), nil
}

func folderOf(st *syscall.Stat_t) Folder {
	return Folder{Device: uint64(st.Dev), Inode: st.Ino, BirthTime: st.Birthtimespec.Nano()}
}

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func identifyOpened(f *os.File) (Folder, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return Folder{}, err
	}
	return folderOf(&st), nil
}

// openLinkless opens a folder whose path contains no links.
func openLinkless(path string) (*os.File, error) {
	return os.OpenFile(path, openFolder|unix.O_NOFOLLOW_ANY, 0)
}

func (o *Opened) Dir() string { return o.Path }

// linkless always returns false: macOS has no single system call for it.
func linkless(string) bool { return false }

// volumeOf returns how the file system at a path identifies its folders.
func volumeOf(path string) volumeKind {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return unknownVolume
	}
	switch unix.ByteSliceToString(st.Fstypename[:]) {
	case "apfs", "hfs":
		return stableVolume
	}
	return unstableVolume
}

// changeTime returns a file's ctime, which no program can set.
func changeTime(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()) }
