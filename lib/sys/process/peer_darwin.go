package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// Socket is a socket. It cannot be opened here: what takes its name is another.
type Socket struct {
	File *os.File // always nil
	path string
}

// OpenSocket looks whether there is one.
func OpenSocket(path string) (Socket, error) {
	_, err := os.Lstat(path)
	return Socket{nil, path}, err
}

// Stat describes the socket.
func (s Socket) Stat() (os.FileInfo, error) { return os.Lstat(s.path) }

// Close gives it up.
func (s Socket) Close() {}

// Peer is who listens at a socket.
type Peer struct {
	PID int
	UID int
}

// Peer connects and returns who listens there.
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

// Confined says what keeps a process in that does not keep us in. The system tells
// nothing of its sandboxes without its C library; that the program is called tmux
// is what there is.
func Confined(pid int) string {
	if Name(pid) != "tmux" {
		return "is answered by a program that is no tmux"
	}
	return ""
}

// Freer reports whether a process is kept in by less than we are. Here nothing tells.
func Freer(int) bool { return true }
