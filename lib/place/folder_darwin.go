package place

import "syscall"

func identify(path string) (Folder, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return Folder{}, err
	}
	return Folder{Device: uint64(st.Dev), Inode: st.Ino, Born: st.Birthtimespec.Nano()}, nil
}

// linkless reports whether a path exists and no part of it is a link. Here it always
// returns false: macOS has no single system call that answers.
func linkless(string) bool { return false }

// reborn reports whether a folder's time of birth can change.
func reborn(string) bool { return false }
