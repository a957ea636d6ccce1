package place

import (
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
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err != nil {
		return Folder{}, err
	}
	f := Folder{Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		f.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
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
