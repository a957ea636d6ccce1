package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// Socket is a socket's path. macOS cannot hold a socket open without connecting, so another
// can take its name.
type Socket struct {
	File *os.File // always nil
	path string
}

func OpenSocket(path string) (Socket, error) {
	_, err := os.Lstat(path)
	return Socket{nil, path}, err
}

func (s Socket) Stat() (os.FileInfo, error) { return os.Lstat(s.path) }

func (s Socket) Close() {}

type Peer struct {
	PID int
	UID int
}

// Peer connects and returns the listening process.
func (s Socket) Peer() (Peer, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return Peer{}, err
	}
	defer unix.Close(fd)
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return Peer{}, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: s.path}); err != nil {
		return Peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return Peer{}, err
	}
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{PID: pid, UID: int(cred.Uid)}, nil
}

// Confined returns why a process is confined more than this one, or "". macOS does not
// report sandboxes without its C library, so this only checks that the program is tmux.
func Confined(pid int) string {
	if Name(pid) != "tmux" {
		return "is answered by a program that is no tmux"
	}
	return ""
}

// Freer returns true: macOS does not report it.
func Freer(int) bool { return true }
