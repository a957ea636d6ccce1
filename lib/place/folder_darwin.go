package place

import (
	"os"
	"syscall"

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
	return Folder{Device: uint64(st.Dev), Inode: st.Ino, Born: st.Birthtimespec.Nano()}
}

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func identifyOpened(f *os.File) (Folder, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return Folder{}, err
	}
	return folderOf(&st), nil
}

// openLinkless opens a folder if no part of its path is a link.
func openLinkless(path string) (*os.File, error) {
	return os.OpenFile(path, openFolder|unix.O_NOFOLLOW_ANY, 0)
}

// Dir is the path by which a program is started in the folder.
func (o *Opened) Dir() string { return o.Path }

// linkless reports whether a path exists and no part of it is a link. Here it always
// returns false: macOS has no single system call that answers.
func linkless(string) bool { return false }

// reborn reports whether a folder's time of birth can change.
func reborn(string) bool { return false }
