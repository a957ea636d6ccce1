package process

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Socket is a socket that was opened: who connects to it connects to that one,
// whatever takes its name meanwhile.
type Socket struct {
	File *os.File // to be given to who connects; nil where the system has no such thing
	path string
}

// OpenSocket opens a socket, without following a link and without connecting.
func OpenSocket(path string) (Socket, error) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	return Socket{f, path}, err
}

// Stat describes the socket.
func (s Socket) Stat() (os.FileInfo, error) { return s.File.Stat() }

// Close gives it up.
func (s Socket) Close() { s.File.Close() }

func (s Socket) address() string { return "/proc/self/fd/" + strconv.Itoa(int(s.File.Fd())) }

// Peer is who listens at a socket.
type Peer struct {
	PID int // 0 where it is outside of our PID namespace
	UID int
}

// Peer connects and returns who began to listen there.
func (s Socket) Peer() (Peer, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return Peer{}, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: s.address()}); err != nil {
		return Peer{}, err
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid)}, nil
}

// Confined says what keeps a process in that does not keep us in: a PID namespace
// of its own, no_new_privs, a seccomp filter. Every sandbox that a user can make
// leaves one of them behind, and none can be shed. "" where there is none.
func Confined(pid int) string {
	ours, err := namespace()
	if err != nil {
		return "is answered by a process that cannot be looked at"
	}
	theirs, err := namespaceOf(strconv.Itoa(pid))
	switch {
	case err != nil:
		return "is answered by a process that cannot be looked at"
	case theirs != ours:
		return "is answered by a process of another PID namespace"
	}
	self, err := confinement("self")
	peer, perr := confinement(strconv.Itoa(pid))
	if errors.Join(err, perr) != nil {
		return "is answered by a process that cannot be looked at"
	}
	for i := range peer {
		if peer[i] > self[i] {
			return "is answered from within a sandbox"
		}
	}
	return ""
}

// Freer reports whether a process is kept in by less than we are: we run in a sandbox,
// and it does not. One that cannot be looked at counts as freer.
func Freer(pid int) bool {
	self, err := confinement("self")
	peer, perr := confinement(strconv.Itoa(pid))
	if errors.Join(err, perr) != nil {
		return true
	}
	for i := range peer {
		if peer[i] < self[i] {
			return true
		}
	}
	return false
}

// confinement is how far a process is kept in: no_new_privs, the mode of seccomp
// and how many filters it has.
func confinement(pid string) (level [3]int, err error) {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return level, err
	}
	for line := range strings.Lines(string(data)) {
		for i, name := range []string{"NoNewPrivs:", "Seccomp:", "Seccomp_filters:"} {
			if n, ok := strings.CutPrefix(line, name); ok {
				level[i], _ = strconv.Atoi(strings.TrimSpace(n))
			}
		}
	}
	return level, nil
}
