package place

import (
	"golang.org/x/sys/unix"
)

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
